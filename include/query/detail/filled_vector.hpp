// A std::vector that the rows of a query go into: how it takes them as they come, or has them assigned to it by all threads.
//
//   filled_vector<T> to(settings);
//   stream(pipe, settings, [&](std::uint64_t n) { to.reserve(n); }, [&](const row_block& b) { return to.append(b); });
//   std::vector<T> rows = std::move(to).take();
#pragma once

#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <query/detail/discard.hpp>
#include <query/detail/execute.hpp>
#include <query/detail/list_copy.hpp>
#include <query/detail/stop.hpp>
#include <query/record.hpp>

namespace query::detail {

template <class T> class filled_vector {
 public:
  explicit filled_vector(const settings& s) : settings_(&s) {}

  // Records with strings are faster assigned by all threads than moved there by one.
  static constexpr bool assigned = !std::is_trivially_copyable_v<T> && record<T>;

  void reserve(std::uint64_t n) {
    rows_.reserve(static_cast<std::size_t>(n));
    if constexpr (!std::is_same_v<T, bool>) fetch_pages(rows_.data(), rows_.capacity() * sizeof(T), *settings_);
  }
  bool append(const row_block& b) {
    T* r = static_cast<T*>(b.rows);
    if constexpr (std::is_trivially_copyable_v<T>) {
      rows_.insert(rows_.end(), r, r + b.n);
    } else if (b.owned) {
      for (std::size_t i = 0; i < b.n; ++i) rows_.push_back(std::move(r[i]));
    } else if constexpr (holds_lists<T>()) {
      for (std::size_t i = 0; i < b.n; ++i) rows_.push_back(copied_row<T>(r[i]));
    } else {
      rows_.insert(rows_.end(), static_cast<const T*>(r), static_cast<const T*>(r) + b.n);
    }
    return true;
  }
  // n value-initialised records, to be assigned.
  void* room(std::uint64_t n) requires assigned {
    reserve(n);
    in_runs(0, static_cast<std::size_t>(n), [&](std::size_t, std::size_t end) { rows_.resize(end); });
    return rows_.data();
  }
  std::vector<T> take() && { return std::move(rows_); }

 private:
  const settings* settings_;
  std::vector<T> rows_;
  discarded_if_stopped<std::vector<T>> left_{rows_};
};

}  // namespace query::detail
