// Keys of rows that lie in several runs, each in columns of its own: nothing is copied so that they lie side by side.
//
//   key_runs keys(type);
//   keys.add(parts, n);                                     // keys 0 to n - 1
//   keys.each(first, k, [&](key_view view, std::size_t from, std::size_t m, std::size_t number) { ... });
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <query/cpu/segment_form.hpp>

#include "cpu_engine/key_hash.hpp"
#include "cpu_engine/permutation.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

class key_runs {
 public:
  // What the parts point to, and the type, must outlive the keys. A user's own equality wants keys that are whole.
  explicit key_runs(const ir::type* key, key_equality custom = {}) : type_(key), custom_(custom) {}
  void add(key_view parts, std::size_t n);

  const ir::type& type() const { return *type_; }
  key_equality custom() const { return custom_; }
  std::size_t size() const { return ends_.empty() ? 0 : ends_.back(); }

  // Calls f(view, from, m, number) for keys [first, first + n): m keys of a run, from key `from` of the view on. number: of the first.
  template <class F> void each(std::size_t first, std::size_t n, const F& f) const {
    for (std::size_t r = run_of(first), left = n; left; ++r) {
      const std::size_t from = first - begin_of(r), m = std::min(left, ends_[r] - first);
      f(key_view(runs_[r].parts), from, m, first);
      first += m;
      left -= m;
    }
  }
  // Calls f(view, i, m) for keys whose n numbers ascend: m keys, from numbers[i] on. The view begins with key numbers[i].
  template <class Id, class F> void each_of(const Id* numbers, std::size_t n, const F& f) const;
  // Of a type that owns no memory, keys [first, first + n) side by side: where they lie, or copied to room for them.
  const void* adjacent(std::size_t first, std::size_t n, void* room) const;
  bool are_adjacent() const;  // no room is needed
  // Those keys.
  key_runs chosen(const permutation& numbers, const vertex_tasks& tasks) const;

 private:
  struct run {
    std::vector<key_part> parts;
    std::shared_ptr<const void> selections;
  };
  std::size_t begin_of(std::size_t r) const { return r ? ends_[r - 1] : 0; }
  std::size_t run_of(std::size_t number) const {
    return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), number) - ends_.begin());
  }

  const ir::type* type_;
  key_equality custom_;
  std::vector<run> runs_;
  std::vector<std::size_t> ends_;  // of runs, none of which is empty
};

// Some keys of a run: its parts behind selections of their own, each different one once.
class narrowed_keys {
 public:
  // numbers[i] - first: which keys of the parts.
  template <class Id> key_view narrow(key_view parts, const Id* numbers, std::size_t first, std::size_t n) {
    parts_.assign(parts.begin(), parts.end());
    std::size_t used = 0;
    const std::uint32_t *before = nullptr, *now = nullptr;
    for (key_part& p : parts_) {
      if (!now || p.select != before) {
        if (used == selections_.size()) selections_.emplace_back();
        std::vector<std::uint32_t>& to = selections_[used++];
        to.resize(n);
        before = p.select;
        for (std::size_t i = 0; i < n; ++i) {
          const auto k = static_cast<std::size_t>(numbers[i]) - first;
          to[i] = before ? before[k] : static_cast<std::uint32_t>(k);
        }
        now = to.data();
      }
      p.select = now;
    }
    return parts_;
  }

 private:
  std::vector<key_part> parts_;
  std::vector<std::vector<std::uint32_t>> selections_;
};

template <class Id, class F> void key_runs::each_of(const Id* numbers, std::size_t n, const F& f) const {
  constexpr std::size_t most = batch_rows;
  narrowed_keys narrowed;
  std::vector<key_part> shifted;
  for (std::size_t i = 0; i < n;) {
    const std::size_t r = run_of(numbers[i]), first = numbers[i];
    // Selections have 32 bits, and count from the first of these keys.
    const std::size_t end = std::min<std::size_t>(ends_[r], first + (std::size_t{1} << 32));
    std::size_t m = 1;
    while (m < most && i + m < n && numbers[i + m] < end) ++m;
    shifted = runs_[r].parts;
    for (key_part& p : shifted) {
      if (p.select) p.select += first - begin_of(r);
      else p.base += (first - begin_of(r)) * p.stride;
    }
    f(narrowed.narrow(shifted, numbers + i, first, m), i, m);
    i += m;
  }
}

}  // namespace query::cpu
