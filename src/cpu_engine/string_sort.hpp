// Sorts row ids by a string of theirs and the keys after it: what is left where the first characters, as words, did not decide.
//
// The next characters behind those that all rows have in common become words that are radix sorted, again and again for rows that tie:
// each character is read about twice, where comparisons read it anew each time. (Strings sorted by cached characters: Ng, Kakehi,
// "Cache efficient radix sort for string sorting", 2007.)
//
//   string_sorter<std::uint32_t> strings(keys, 0, scheduler, pool, cancel);   // keys[0]: the string
//   strings.sort(ids, n);   // stable
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <query/detail/stop.hpp>

#include "cpu_engine/merge_sort.hpp"
#include "cpu_engine/order_keys.hpp"
#include "cpu_engine/radix_sort.hpp"
#include "cpu_engine/scalar_order.hpp"
#include "runtime/buffer_pool.hpp"
#include "runtime/scheduler.hpp"

namespace query::cpu {

template <class Id>
class string_sorter {
 public:
  static constexpr std::size_t few = 64;  // rows so few are compared

  string_sorter(std::span<const sort_key> keys, std::size_t string, runtime::scheduler& scheduler, runtime::buffer_pool& pool,
                const runtime::cancel_flag& cancel)
      : key_(keys[string]), rest_(keys.subspan(string + 1)), scheduler_(scheduler), pool_(pool), cancel_(cancel) {}

  void sort(Id* ids, std::size_t n) {
    open_.push_back({ids, n, 0});
    while (!open_.empty()) {
      const tied run = open_.back();
      open_.pop_back();
      if (run.n <= few) compare(run);
      else sort_by_words(run);
    }
  }

 private:
  // Rows whose strings have the first `depth` characters in common.
  struct tied {
    Id* ids;
    std::size_t n, depth;
  };
  static constexpr unsigned characters = 15;              // of a word
  static constexpr std::size_t chunk = std::size_t{1} << 16, a_look = std::size_t{1} << 10, ahead = 8;

  const std::string& text(Id id) const { return *static_cast<const std::string*>(key_.at(static_cast<std::size_t>(id))); }
  std::string_view text_from(Id id, std::size_t depth) const {
    const std::string_view s = text(id);
    return s.substr(std::min(depth, s.size()));
  }
  // f(i) for the rows of a run, chunks side by side, done(chunk) after each.
  template <class F, class Done> void each(const tied& run, F f, Done done) const {
    scheduler_.for_each((run.n + chunk - 1) / chunk, [&](std::size_t c) {
      const std::size_t last = std::min(run.n, (c + 1) * chunk);
      auto one = f();
      detail::in_runs<a_look>(c * chunk, last, [&](std::size_t i, std::size_t end) {
        for (; i < end; ++i) {
          if (i + ahead < last) __builtin_prefetch(&text(run.ids[i + ahead]));
          one(i);
        }
      });
      done(c, one);
    }, cancel_);
  }

  // How many characters after `depth` all rows have in common.
  std::size_t common(const tied& run) const {
    struct shared_prefix {
      const string_sorter* of;
      const tied* run;
      std::string_view first;
      std::size_t n;
      void operator()(std::size_t i) {
        const std::string_view s = of->text_from(run->ids[i], run->depth);
        n = std::min(n, s.size());
        n = static_cast<std::size_t>(std::mismatch(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(n), s.begin()).first -
                                     first.begin());
      }
    };
    const std::string_view first = text_from(run.ids[0], run.depth);
    std::vector<std::size_t> least((run.n + chunk - 1) / chunk);
    each(run, [&] { return shared_prefix{this, &run, first, first.size()}; },
         [&](std::size_t c, const shared_prefix& p) { least[c] = p.n; });
    return *std::min_element(least.begin(), least.end());
  }

  void sort_by_words(tied run) {
    run.depth += common(run);
    const runtime::buffer first = pool_.allocate_array<wide_word_row>(run.n), second = pool_.allocate_array<wide_word_row>(run.n);
    wide_word_row* pairs = first.as<wide_word_row>();
    each(run, [&] {
      return [&](std::size_t i) {
        const u128 w = string_word(text_from(run.ids[i], run.depth), characters);
        const wide_word word{static_cast<std::uint64_t>(w >> 64), static_cast<std::uint64_t>(w)};
        pairs[i] = {key_.descending ? wide_word{~word.high, ~word.low} : word, static_cast<std::uint64_t>(run.ids[i])};
      };
    }, [](std::size_t, const auto&) {});
    const wide_word_row* sorted = radix_sort(pairs, second.as<wide_word_row>(), run.n, 0, scheduler_, pool_, cancel_);
    std::vector<tied> ties;
    detail::in_runs<chunk>(0, run.n, [&](std::size_t i, std::size_t end) {
      for (; i < end; ++i) run.ids[i] = static_cast<Id>(sorted[i].row);
    });
    const detail::stop_point looked(cancel_.state());
    for (std::size_t i = 0; i < run.n;) {
      looked.check();
      std::size_t j = i + 1;
      while (j < run.n && sorted[j].word == sorted[i].word) ++j;
      if (j - i > 1) {
        if (length_in(sorted[i].word) > characters) ties.push_back({run.ids + i, j - i, run.depth + characters});
        else if (!rest_.empty()) by_the_rest(run.ids + i, j - i);
      }
      i = j;
    }
    // Small ones side by side, the others in turn.
    const auto large = std::partition(ties.begin(), ties.end(), [](const tied& t) { return t.n <= few; });
    open_.insert(open_.end(), large, ties.end());
    const auto small = static_cast<std::size_t>(large - ties.begin());
    constexpr std::size_t a_task = 1 << 10;
    scheduler_.for_each((small + a_task - 1) / a_task, [&](std::size_t t) {
      for (std::size_t i = t * a_task; i < std::min(small, (t + 1) * a_task); ++i) compare(ties[i]);
    }, cancel_);
  }
  // The length as a word has it: that of its characters, or more than they are.
  unsigned length_in(const wide_word& w) const { return static_cast<unsigned>((key_.descending ? ~w.low : w.low) & 0xff); }

  void compare(const tied& t) const {
    const detail::stop_point looked(cancel_.state());
    std::stable_sort(t.ids, t.ids + t.n, [&](Id a, Id b) {
      looked.check();
      const int c = text_from(a, t.depth).compare(text_from(b, t.depth));
      if (c != 0) return key_.descending ? c > 0 : c < 0;
      return !rest_.empty() && less_by_the_rest(a, b);
    });
  }
  void by_the_rest(Id* ids, std::size_t n) const {
    const runtime::buffer spare = pool_.allocate_array<Id>(n);
    merge_sort(ids, spare.as<Id>(), n, [&](Id a, Id b) { return less_by_the_rest(a, b); }, scheduler_, cancel_);
  }
  bool less_by_the_rest(Id a, Id b) const { return compare_rows(rest_, static_cast<std::size_t>(a), static_cast<std::size_t>(b)) < 0; }

  const sort_key& key_;
  const std::span<const sort_key> rest_;
  runtime::scheduler& scheduler_;
  runtime::buffer_pool& pool_;
  const runtime::cancel_flag& cancel_;
  std::vector<tied> open_;
};

}  // namespace query::cpu
