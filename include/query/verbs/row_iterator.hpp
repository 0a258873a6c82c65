// The iterator of a loop over a query: what begin() of the terminal verbs gives.
//
//   for (const Trade& t : trades.where(...)) ...
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <query/detail/execute.hpp>

namespace query {

// Reads a query's rows as they are computed; leaving the loop stops the query.
template <class T> class row_iterator {
 public:
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  row_iterator() = default;
  explicit row_iterator(std::unique_ptr<detail::row_cursor> c) : cursor_(std::move(c)) { load(); }
  const T& operator*() const { return static_cast<const T*>(block_.rows)[i_]; }
  const T* operator->() const { return &**this; }
  row_iterator& operator++() {
    if (++i_ >= block_.n) load();
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const row_iterator& a, std::default_sentinel_t) { return !a.cursor_; }

 private:
  void load() {
    i_ = 0;
    block_ = {};  // what the next throws, it throws again: no row is read twice
    do {
      if (!cursor_->next(block_)) {
        cursor_.reset();
        return;
      }
    } while (block_.n == 0);
  }
  std::unique_ptr<detail::row_cursor> cursor_;
  detail::row_block block_;
  std::size_t i_ = 0;
};

}  // namespace query
