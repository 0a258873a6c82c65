// A part of an input's rows: verbs that want the first or last of them bring no others to the device, and compute no more of
// those that lie there than a few millions at a time.
//
//   input_part in(v.inputs[0], run);
//   const auto rows = in.first(1000);     // at most that many, in order; less is computed of rows that lie on the host
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "gpu_engine/operators/operators.hpp"

namespace query::gpu_engine {

using shared_rows = std::shared_ptr<const device_rows>;

class input_part {
 public:
  input_part(const planner::branch& b, vertex_run& run);

  // The number of rows, where it is known before they are computed.
  std::optional<std::uint64_t> size() const { return keeps_count_ ? source_size_ : std::nullopt; }
  shared_rows all() { return range(0, ~0ull); }
  shared_rows first(std::uint64_t n) { return range(0, n); }
  // Rows [from, from + n), as many of them as there are.
  shared_rows range(std::uint64_t from, std::uint64_t n);
  shared_rows last(std::uint64_t n);  // found from the end

  // More and more of the rows, until enough(rows) or there are no more.
  template <class Enough> shared_rows until(std::uint64_t begin_with, Enough enough) {
    if (!grows()) {
      shared_rows rows = whole();
      (void)enough(*rows);
      return rows;
    }
    for (std::uint64_t n = begin_with;; n = n > ~0ull / growth ? ~0ull : n * growth) {
      shared_rows rows = of_source(0, n);
      if (enough(*rows) || n >= *source_size_) return rows;
    }
  }

 private:
  static constexpr std::uint64_t growth = 8;

  // Can a part of the source's rows be brought over, or made?
  bool grows() const { return source_size_.has_value(); }
  shared_rows whole();
  shared_rows of_source(std::uint64_t from, std::uint64_t n);

  const planner::branch& branch_;
  vertex_run& run_;
  std::optional<detail::row_block> host_;
  shared_rows there_;
  std::optional<std::uint64_t> source_size_;
  bool keeps_count_ = false;
};

// Throws not_generated where an input is made on the CPU by a verb that hands its rows on as they come: who reads them may stop
// early, and the verb should be there too.
void check_not_handed_on(const planner::vertex& v);

// Rows [from, from + n) of `rows`: where they are, if they are most of them; else a copy, which lets the others go.
shared_rows slice_of(const shared_rows& rows, std::uint64_t from, std::uint64_t n, vertex_run& run);

}  // namespace query::gpu_engine
