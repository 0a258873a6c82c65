// Rows that come piece by piece, as they are asked for: what a pipeline reads where a source has no known length.
//
// Sources are generators and the like (generated_rows), and vertices that hand rows on as they come (vertex_streams.hpp).
//
//   detail::table rows;
//   while (source->next(rows, 1024)) use(rows);
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include <query/detail/plan.hpp>

#include "runtime/run_context.hpp"

namespace query::cpu {

class row_pieces {
 public:
  virtual ~row_pieces() = default;
  // The next rows, at least one; false at the end. `about`: how many the reader would like, a hint.
  virtual bool next(detail::table& rows, std::size_t about) = 0;
  // Each piece follows the one before without delay. Else the next one may take any time, or never come, and a reader works on
  // those that it has before it asks again.
  virtual bool prompt() const = 0;
};

// Of rows that a generator is asked for at once; a row may be larger.
inline constexpr std::size_t generated_bytes = std::size_t{1} << 20;
constexpr std::size_t most_generated_rows(std::size_t row_size) { return std::max<std::size_t>(generated_bytes / row_size, 1); }

// Pieces that need not follow each other without delay are cut into parts of so many rows: a single one is still work for several threads.
inline constexpr std::size_t piece_part_rows = 1 << 13;

// How many rows a verb makes and hands on at once, so that a session with a limit has room for pieces of many verbs. Pieces are whole parts
// if one fits: sums are added up part by part, whatever the limit.
inline std::size_t most_piece_rows(std::size_t row_size, const runtime::buffer_pool& pool) {
  if (!pool.limit()) return ~std::size_t{0};
  if (const std::size_t parts = pool.limit() / 64 / row_size / piece_part_rows) return parts * piece_part_rows;
  return std::clamp<std::size_t>(pool.limit() / 16 / row_size, 1, piece_part_rows);
}

// What a source calls for more rows, of type `row`.
std::unique_ptr<row_pieces> generated_rows(std::unique_ptr<detail::row_stream> stream, const ir::type* row, runtime::run_context& context);

}  // namespace query::cpu
