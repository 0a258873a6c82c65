// Row ids in a new order: 32 bits each where the rows' number allows, else 64.
//
//   permutation p = sort_rows(keys, n, scheduler, pool, cancel);
//   p.visit([&](const auto* row) { for (std::size_t i = 0; i < p.size(); ++i) use(row[i]); });
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "runtime/buffer_pool.hpp"

namespace query::cpu {

class permutation {
 public:
  permutation() = default;
  // `size` ids, uninitialised, of a table of `rows` rows.
  permutation(std::size_t size, std::size_t rows, runtime::buffer_pool& pool)
      : wide_(rows > std::numeric_limits<std::uint32_t>::max()), size_(size), ids_(pool.allocate(size * (wide_ ? 8u : 4u))) {}

  std::size_t size() const { return size_; }
  bool wide() const { return wide_; }
  std::size_t operator[](std::size_t i) const { return wide_ ? ids_.as<std::uint64_t>()[i] : ids_.as<std::uint32_t>()[i]; }
  void set(std::size_t i, std::size_t row) {
    if (wide_) ids_.as<std::uint64_t>()[i] = row;
    else ids_.as<std::uint32_t>()[i] = static_cast<std::uint32_t>(row);
  }

  // Calls f(const std::uint32_t*) or f(const std::uint64_t*) with the ids.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return wide_ ? std::forward<F>(f)(static_cast<const std::uint64_t*>(ids_.data()))
                 : std::forward<F>(f)(static_cast<const std::uint32_t*>(ids_.data()));
  }
  template <class F>
  decltype(auto) visit(F&& f) {
    return wide_ ? std::forward<F>(f)(ids_.as<std::uint64_t>()) : std::forward<F>(f)(ids_.as<std::uint32_t>());
  }

 private:
  bool wide_ = false;
  std::size_t size_ = 0;
  runtime::buffer ids_;
};

}  // namespace query::cpu
