// Looking up in asof_table.hpp.
#include <algorithm>
#include <bit>
#include <new>
#include <type_traits>
#include <utility>

#include "cpu_engine/asof_table.hpp"
#include "cpu_engine/scalar_order.hpp"

namespace query::cpu {

namespace {

constexpr std::uint64_t none = ~std::uint64_t{0};
constexpr std::size_t most_hints = std::size_t{1} << 16;
constexpr std::size_t ahead = 16;                // of prefetches
constexpr std::size_t step = 4, most_steps = 2;  // how near a time is to the last one, in places

// Times by place. less(place, w): is the time there before that of the word w?
struct stored_times {
  const std::uint64_t* words;
  bool less(std::uint64_t place, std::uint64_t w) const { return words[place] < w; }
  void prefetch(std::uint64_t place) const { __builtin_prefetch(words + place); }
};
template <class T> struct times_in_place {
  const std::byte* base;
  bool less(std::uint64_t place, std::uint64_t w) const {
    const T time = load<T>(base + place * sizeof(T));
    if constexpr (std::is_same_v<T, std::int64_t>) return time < static_cast<std::int64_t>(w ^ std::uint64_t{1} << 63);
    else return ordered(time) < w;
  }
  void prefetch(std::uint64_t place) const { __builtin_prefetch(base + place * sizeof(T)); }
};

}  // namespace

asof_table::finder::finder(const asof_table& table) : table_(&table) {
  const std::size_t hints = table.keys_ ? std::bit_ceil(std::clamp(table.keys_->distinct_keys(), std::size_t{1}, most_hints)) : 1;
  const std::lock_guard hold(table.lock_);
  if (table.idle_hints_.empty()) {
    hints_.resize(hints);
  } else {
    hints_ = std::move(table.idle_hints_.back());
    table.idle_hints_.pop_back();
  }
}
asof_table::finder::~finder() {
  const std::lock_guard hold(table_->lock_);
  try {
    table_->idle_hints_.push_back(std::move(hints_));
  } catch (const std::bad_alloc&) {  // the next finder begins without hints
  }
}

void asof_table::finder::find(const void* values, std::size_t n, std::uint64_t* rows) {
  const asof_table& t = *table_;
  const auto* const at = static_cast<const std::byte*>(values);
  const std::size_t stride = t.type_->size;
  all_timed_ = t.time_.words(at + t.time_at_, stride, n, words_, timeless_);
  if (t.keys_) {
    t.keys_->runs(at + t.key_at_, n, stride, runs_);
    for (std::size_t i = 0; !all_timed_ && i < n; ++i)
      if (timeless_[i] != 0) runs_[i] = {};
  }
  if (t.how_.direction == nearest::forward) {
    look(side::after, n);
  } else {
    look(side::before, n);
    if (t.how_.direction == nearest::either) {
      std::copy_n(at_, n, other_);
      look(side::after, n);
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t before = other_[i], after = at_[i];
        const bool takes_after =
            before == none || (after != none && t.time_.nearer(words_[i], t.word_at(after), t.word_at(before)));
        if (!takes_after) at_[i] = before;
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) rows[i] = at_[i] == none ? join_table::no_row : t.row_at(at_[i]);
}

// at_: the place of the last row before each time, or of the first one after it; none where there is none, or it is too far.
void asof_table::finder::look(side s, std::size_t n) {
  const asof_table& t = *table_;
  const bool before = s == side::before, later = before == t.how_.exact;  // the first row whose time is later, or not earlier
  if (t.keys_) search<true>(stored_times{t.words_.as<std::uint64_t>()}, later, n);
  else if (!t.in_place_) search<false>(stored_times{t.words_.as<std::uint64_t>()}, later, n);
  else if (t.time_.kind() == ir::kind::i64) search<false>(times_in_place<std::int64_t>{t.in_place_}, later, n);
  else if (t.time_.kind() == ir::kind::u64) search<false>(times_in_place<std::uint64_t>{t.in_place_}, later, n);
  else search<false>(times_in_place<double>{t.in_place_}, later, n);
  const auto place_of = [&](std::size_t i, const join_table::run& run) {
    const std::uint64_t first = later && words_[i] == ~std::uint64_t{0} ? run.end : at_[i];  // nothing is later than the last time
    if (before) return first > run.begin ? first - 1 : none;
    return first < run.end ? first : none;
  };
  if (t.keys_) {
    for (std::size_t i = 0; i < n; ++i) at_[i] = place_of(i, runs_[i]);
  } else {
    for (std::size_t i = 0; i < n; ++i) at_[i] = place_of(i, {0, t.n_});
    for (std::size_t i = 0; !all_timed_ && i < n; ++i)
      if (timeless_[i] != 0) at_[i] = none;
  }
  if (!t.how_.tolerance.given()) return;
  for (std::size_t i = 0; i < n; ++i)
    if (at_[i] != none && !t.time_.allows(t.how_.tolerance, words_[i], t.word_at(at_[i]))) at_[i] = none;
}

// at_: the first place of each run whose time is not before the row's, or is later. Near the last one of its run first, without branches
// that depend on how near; then all others by binary searches side by side, whose cache misses overlap.
template <bool Keyed, class Times> void asof_table::finder::search(const Times& times, bool later, std::size_t n) {
  const std::uint64_t past = later ? 1 : 0, all = table_->n_;
  const auto run_of = [&](std::size_t i) { return Keyed ? runs_[i] : join_table::run{0, all}; };
  std::size_t far = 0;
  std::uint64_t longest = 0, last = hints_[0];  // without a key it stays in a register
  const auto begin_at = [&](const join_table::run& r) {
    return r.begin + std::min<std::uint64_t>(Keyed ? hints_[hint_of(r.begin)] : last, r.end - r.begin);
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (Keyed && i + ahead < n) times.prefetch(begin_at(run_of(i + ahead)));
    const auto [begin, end] = run_of(i);
    const std::uint64_t wanted = words_[i] + past;
    if (begin == end) {
      at_[i] = end;
      continue;
    }
    std::uint64_t place = begin_at(run_of(i));
    bool found = false;
    if (place == begin || times.less(place - 1, wanted)) {
      for (std::size_t s = 0; s < most_steps && end - place >= step && !found; ++s) {
        std::uint64_t less = 0;
        for (std::size_t k = 0; k < step; ++k) less += times.less(place + k, wanted);
        place += less;
        found = less < step;
      }
      if (!found && end - place < step) {
        while (place < end && times.less(place, wanted)) ++place;
        found = true;
      }
    }
    if (found) {
      at_[i] = place;
      last = place - begin;
      if (Keyed) hints_[hint_of(begin)] = static_cast<std::uint32_t>(std::min<std::uint64_t>(last, ~0u));
    } else {
      far_[far++] = static_cast<std::uint32_t>(i);
      longest = std::max(longest, end - begin);
    }
  }
  if (!Keyed) hints_[0] = static_cast<std::uint32_t>(std::min<std::uint64_t>(last, ~0u));
  if (far == 0) return;
  std::uint64_t left[most];
  for (std::size_t f = 0; f < far; ++f) {
    const join_table::run run = run_of(far_[f]);
    at_[far_[f]] = run.begin;
    left[f] = run.end - run.begin;
  }
  for (; longest > 1; longest -= longest / 2) {
    for (std::size_t f = 0; f < far; ++f) {
      const std::size_t i = far_[f];
      const std::uint64_t half = left[f] / 2;
      at_[i] += times.less(at_[i] + std::max<std::uint64_t>(half, 1) - 1, words_[i] + past) ? half : 0;
      left[f] -= half;
    }
  }
  for (std::size_t f = 0; f < far; ++f) {
    const std::size_t i = far_[f];
    at_[i] += times.less(at_[i], words_[i] + past) ? 1 : 0;
    const std::uint64_t begin = run_of(i).begin;
    hints_[hint_of(begin)] = static_cast<std::uint32_t>(std::min<std::uint64_t>(at_[i] - begin, ~0u));
  }
}

}  // namespace query::cpu
