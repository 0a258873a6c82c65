// The first rows of a branch, computed no further than needed: under take, take_while, zip and concat.
//
// Parts run side by side, but what the caller sees is what one thread would give: an error in a part after the end of the
// prefix is not reported. Rows that no one asked for may be computed; sources without an end are fine.
//
//   row_prefix rows(branch, vertex, tasks);
//   rows.reach(100);                         // computes until there are 100 rows or the source has ended
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "cpu_engine/function_calls.hpp"
#include "cpu_engine/pieces.hpp"

namespace query::cpu {

class row_prefix {
 public:
  // `test`: the prefix ends before the first row that fails it.
  row_prefix(const planner::branch& b, const planner::vertex& v, const vertex_tasks& tasks, const function_calls* test = nullptr);

  void reach(std::uint64_t rows);
  bool advance(std::uint64_t most);               // one more window of parts; false when ended
  std::uint64_t size() const { return size_; }    // may be more than was asked for
  bool ended() const { return ended_; }
  // The rows piece by piece, instead of what follows: at least one more, of which `most` at most are wanted; false at the end.
  bool next(detail::table& rows, std::uint64_t most);
  // What the branch reads, if that is a table to which nothing happens; the prefix is then complete from the start.
  bool is_table() const { return whole_.has_value(); }

  std::vector<piece> pieces() &&;
  detail::table to_table(std::uint64_t most) &&;

 private:
  bool next_slice(detail::table& rows);
  detail::table made_slice();
  void run_part(const pipeline::part& part, rows_buffer& out, std::uint64_t most, bool& stopped) const;

  pipeline pipeline_;
  const vertex_tasks* tasks_;
  const function_calls* test_;
  part_windows parts_;
  std::optional<detail::table> whole_;
  bool made_;            // the same, of rows that are made as they are read
  detail::table rest_;   // of the table that was made last
  std::vector<piece> pieces_;
  std::size_t given_ = 0;  // by next(): pieces of pieces_, or rows of whole_
  std::size_t slice_ = part_rows;
  std::uint64_t size_ = 0;
  bool ended_ = false;
};

// Number of the first row that fails the test; the table's size if none does.
std::size_t first_failing(const detail::table& rows, const function_calls& test, const vertex_tasks& tasks);

}  // namespace query::cpu
