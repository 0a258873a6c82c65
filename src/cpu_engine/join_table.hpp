// The build side of a hash join: finds, for each probe key, the build rows with an equal key, in build order.
//
// Large build sides are partitioned by hash and built in parallel, in chunk order, so that the table does not depend on the
// number of threads. Equal keys share one entry and their rows lie side by side: a skewed key costs a range, not a chain.
//
//   join_table table(ir::describe<std::int64_t>(), keys, n, {}, scheduler, pool, cancel);
//   join_table::cursor at;
//   match_batch out(2048);
//   while (table.probe(probe_keys, m, at, out)) use(out);     // out.size() pairs (probe, build)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <query/detail/function_ref.hpp>
#include <query/detail/type.hpp>

#include "cpu_engine/key_hash.hpp"
#include "cpu_engine/key_words.hpp"
#include "runtime/buffer_pool.hpp"
#include "runtime/scheduler.hpp"

namespace query::cpu {

template <class Word>
class slot_table;

// Pairs of row numbers, at most capacity() of them.
class match_batch {
 public:
  explicit match_batch(std::size_t capacity = 2048) : probe_(capacity), build_(capacity) {}
  std::size_t capacity() const { return probe_.size(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const std::uint32_t* probe() const { return probe_.data(); }  // index into the probed keys
  const std::uint64_t* build() const { return build_.data(); }  // row of the build side, or join_table::no_row
  // One pair for each of n probed keys, in order: their build rows are to be written there.
  std::uint64_t* one_each(std::size_t n) {
    for (; ordered_ < n; ++ordered_) probe_[ordered_] = static_cast<std::uint32_t>(ordered_);
    size_ = n;
    return build_.data();
  }

 private:
  friend class join_table;
  std::vector<std::uint32_t> probe_;
  std::vector<std::uint64_t> build_;
  std::size_t size_ = 0;
  std::size_t ordered_ = 0;  // of one_each
};

struct join_options {
  bool nulls_match = false;   // a null matches nothing, as in SQL; true: it equals other nulls (set operations)
  key_equality custom = {};
  std::size_t stride = 0;                  // from one key to the next; 0: they are adjacent
  const std::uint8_t* left_out = nullptr;  // 1 for each build row that matches nothing
  const std::uint64_t* carried = nullptr;  // a number of each build row, for take_carried()
  key_equality custom_equality() const {
    key_equality e = custom;
    e.sees_nulls = nulls_match;
    return e;
  }
};

class join_table {
 public:
  static constexpr std::uint64_t no_row = std::numeric_limits<std::uint64_t>::max();
  enum class unmatched : std::uint8_t { drop, keep };  // keep: a probe row without a match gives one pair with no_row

  // Builds from n keys, which must outlive the table (strings and other wide keys are compared in place).
  // Throws user_error if the type is neither hashable nor given an equality; resource_error; cancelled.
  join_table(const ir::type* key, const void* keys, std::size_t n, const join_options& options,
             runtime::scheduler& scheduler, runtime::buffer_pool& pool, const runtime::cancel_flag& cancel);
  ~join_table();
  join_table(const join_table&) = delete;
  join_table& operator=(const join_table&) = delete;

  // Where an enumeration stands; a fresh one for each batch of probe keys. Reuse by reset() saves its memory.
  class cursor {
   public:
    cursor();
    ~cursor();
    cursor(cursor&&) noexcept;
    cursor& operator=(cursor&&) noexcept;
    void reset();

   private:
    friend class join_table;
    struct state;
    std::unique_ptr<state> state_;
  };

  // Fills `out` with the next pairs, by probe index and then by build row; false when there are none left. Call it with
  // the same keys until then. n is at most 2^32 - 1. Several threads may probe, each with its own cursor.
  bool probe(const void* keys, std::size_t n, cursor& at, match_batch& out, unmatched rows = unmatched::drop) const;

  // The same of keys whose runs are known.
  struct run;
  bool probe(const run* runs, std::size_t n, cursor& at, match_batch& out, unmatched rows = unmatched::drop) const;

  // Writes 1 where a key has a match, else 0: semi and anti joins.
  void contains(const void* keys, std::size_t n, std::uint8_t* out) const;
  // Writes how many build rows match each key.
  void count(const void* keys, std::size_t n, std::uint64_t* out) const;

  // Remembers the build rows of `matches` (thread-safe); asked by right, full and build-side semi and anti joins.
  void mark(const match_batch& matches);
  bool matched(std::size_t row) const {
    return (marks_[row / 64].load(std::memory_order_relaxed) >> (row % 64) & 1) != 0;
  }
  // Appends to `out` up to `limit` rows from `row` on whose mark is `wanted`, in order, and advances `row` past the last one
  // looked at; false when there are no more.
  bool marked_rows(bool wanted, std::size_t& row, std::size_t limit, std::vector<std::uint64_t>& out) const;

  // For those who look for rows among those of one key: these lie in adjacent places.
  struct run {
    std::uint64_t begin = 0, end = 0;
  };
  static constexpr std::size_t most_runs = 1024;
  // The runs of at most most_runs keys.
  void runs(const void* keys, std::size_t n, std::size_t stride, run* out) const;
  // f(runs) for the keys of the build side with several rows, some at a time, in parallel.
  void each_runs(runtime::scheduler& scheduler, const runtime::cancel_flag& cancel, function_ref<void(std::span<const run>)> f) const;
  std::uint64_t places() const { return order_.size() / (wide_rows_ ? 8 : 4); }
  std::uint64_t row_at(std::uint64_t place) const {
    return wide_rows_ ? order_.as<std::uint64_t>()[place] : order_.as<std::uint32_t>()[place];
  }
  // The numbers that were given with the rows, by place, if they could be put there as the rows were; else empty.
  runtime::buffer take_carried() { return std::move(carried_); }
  bool has_row(std::uint64_t place) const { return !direct_unique_ || order_.as<std::uint32_t>()[place] != ~0u; }
  void put(std::uint64_t place, std::uint64_t row) {  // of the same run
    if (wide_rows_) order_.as<std::uint64_t>()[place] = row;
    else order_.as<std::uint32_t>()[place] = static_cast<std::uint32_t>(row);
  }

  std::size_t rows() const { return rows_; }            // of the build side, those with null keys included
  std::size_t distinct_keys() const { return distinct_; }
  std::uint64_t direct_range() const { return range_; }  // of integers that need no hash, as their range is small; 0: they do
  bool unique_keys() const { return distinct_ == inserted_; }

 private:
  struct part;
  class builder;
  // look_up(first, n, s) writes the runs of those keys.
  template <class LookUp> bool probe_keys(std::size_t n, cursor& at, match_batch& out, unmatched rows, const LookUp& look_up) const;
  void look_up(const void* keys, std::size_t n, std::size_t stride, cursor::state& s) const;
  void look_up_direct(const std::uint64_t* words, std::size_t n, cursor::state& s) const;
  template <class Word>
  void look_up_slots(slot_table<Word> part::*table, const std::uint64_t* words, std::size_t n, cursor::state& s) const;
  void look_up_tagged(const std::byte* keys, std::size_t stride, const wide_word* words, std::size_t n, cursor::state& s) const;
  void set_range(const part& p, std::uint32_t id, std::size_t i, cursor::state& s) const;
  void take_single_matches(cursor::state& s, match_batch& out, unmatched rows) const;
  std::size_t part_of_hash(std::uint64_t hash) const { return (hash >> 32) & ((std::size_t{1} << part_bits_) - 1); }

  key_words words_;
  key_words::form form_;
  const std::byte* keys_;
  std::size_t stride_;
  std::size_t rows_, inserted_ = 0, distinct_ = 0;
  bool nulls_match_, wide_rows_;
  // Integers of a small range need no table: the word less low_ is the entry's number.
  bool direct_ = false;
  bool direct_unique_ = false;  // order_[entry] is its only row, or ~0u
  unsigned direct_shift_ = 0;   // entries with the same number above these bits share a part
  std::uint64_t low_ = 0, range_ = 0;
  std::vector<part> parts_;
  unsigned part_bits_ = 0;  // a part is chosen by these bits of the hash, from bit 32 on
  runtime::buffer order_;   // row ids by entry, then by row
  runtime::buffer carried_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> marks_;
};

}  // namespace query::cpu
