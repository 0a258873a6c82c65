// The rows of one source that several engines work on at once: each takes the next ones when it is ready for more.
//
// The local engine takes fixed parts from the front, in ascending order, while its one run over the whole source goes on; other
// engines take chunks from the end. They meet where they are, so nobody waits for an estimate that was wrong. A chunk is a part of
// what its taker is expected to do of the rest, judged by what it has done so far; so chunks get smaller towards the meeting.
// Guided self-scheduling: Polychronopoulos and Kuck, IEEE Transactions on Computers 1987.
//
//   shared_rows rows(n);
//   run_context.shared = &rows;                        // the local engine's: its pipeline asks before each part
//   shared_rows::taker gpu(rows, 0.6);                 // of another engine, that is expected to do three fifths
//   while (const row_span chunk = gpu.next(); chunk.size()) ...
#pragma once

#include <cstdint>
#include <mutex>

#include "runtime/part_costs.hpp"

namespace query::runtime {

class shared_rows {
 public:
  explicit shared_rows(std::uint64_t n) : end_(n), all_(n) {}
  shared_rows(const shared_rows&) = delete;
  shared_rows& operator=(const shared_rows&) = delete;

  // May the local engine run the rows [first, end)? Parts are asked for in about ascending order; once one is refused, so are those
  // behind it. Thread-safe.
  bool take(std::uint64_t first, std::uint64_t end);
  // The local engine's rows are [0, end()). Final when all have ended.
  std::uint64_t end() const;

  // The local engine's result has each row at its place among all of the source, and memory for the others' between.
  bool in_place = false;

  class taker {
   public:
    // `share`: of all rows, that it is expected to do.
    taker(shared_rows& of, double share);
    row_span next();  // empty: nothing is left that is worth a start

   private:
    shared_rows* of_;
    double share_;
    std::uint64_t least_, taken_ = 0;
  };

 private:
  mutable std::mutex lock_;
  std::uint64_t front_ = 0, end_, all_;  // between them: what nobody has taken
};

}  // namespace query::runtime
