// Rows as bytes that hold all that the rows own, for another partition of the cluster graph: in memory of its own, here or elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <query/detail/function_ref.hpp>

#include "runtime/buffer_pool.hpp"

namespace query::runtime {

inline constexpr std::size_t page_bytes = std::size_t{256} << 10;

// Rows one after the other, in their order; of about page_bytes, or one row that is larger.
struct row_page {
  buffer bytes;
  std::size_t rows = 0;
  bool repeatable = true;  // the same rows, computed again, have the same bytes
};
using row_pages = std::vector<row_page>;

// Takes pages as they are made, so that those before need not stay in memory.
using page_sink = function_ref<void(row_pages)>;
// Takes those of one receiver, or of all where there is one bucket, in their order.
using bucket_sink = function_ref<void(std::size_t bucket, row_pages)>;

// Hands out pages of several senders in their order, some at a time.
class page_feed {
 public:
  virtual ~page_feed() = default;
  virtual std::uint64_t rows() const = 0;                       // of all, as their senders say
  virtual std::uint64_t bytes() const = 0;
  virtual std::span<const row_page* const> next() = 0;          // until the next call; none: these were all
};
// Of pages that are all here.
class pages_here final : public page_feed {
 public:
  explicit pages_here(std::span<const row_page* const> all) : all_(all) {}
  std::uint64_t rows() const override {
    std::uint64_t n = 0;
    for (const row_page* p : all_) n += p->rows;
    return n;
  }
  std::uint64_t bytes() const override {
    std::uint64_t n = 0;
    for (const row_page* p : all_) n += p->bytes.size();
    return n;
  }
  std::span<const row_page* const> next() override { return std::exchange(all_, {}); }

 private:
  std::span<const row_page* const> all_;
};

}  // namespace query::runtime
