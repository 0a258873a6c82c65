#include "cpu_engine/range_exchange.hpp"

#include <algorithm>
#include <vector>

#include <query/cpu/segment_form.hpp>

#include "cpu_engine/key_hash.hpp"
#include "cpu_engine/made_tables.hpp"
#include "cpu_engine/placed_rows.hpp"
#include "cpu_engine/sort_columns.hpp"
#include "cpu_engine/sort_rows.hpp"
#include "runtime/partition_bounds.hpp"

namespace query::cpu {

namespace {

// Finds ranges by words of keys; where these do not decide, by the keys.
template <class Word> class ranges {
 public:
  ranges(std::span<const sort_key> begins, std::size_t n, const key_encoder& of_begins, std::span<const sort_key> rows,
         const key_encoder& of_rows)
      : begins_(begins), rows_(rows), encoder_(&of_rows), words_(n) {
    of_begins.encode(0, n, words_.data());
  }
  // Of rows [first, first + k): how many ranges begin at them or before.
  void find(std::size_t first, std::size_t k, std::uint64_t* number) const {
    Word words[batch_rows];
    encoder_->encode(first, k, words);
    for (std::size_t i = 0; i < k; ++i) {
      std::size_t low = 0, high = words_.size();
      while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (begins_at(middle, words[i], first + i)) low = middle + 1;
        else high = middle;
      }
      number[i] = low;
    }
  }

 private:
  bool begins_at(std::size_t range, const Word& word, std::size_t row) const {
    if (words_[range] != word) return words_[range] < word;
    return encoder_->decides(word) || compare_rows(begins_, range, rows_, row) <= 0;
  }

  std::span<const sort_key> begins_, rows_;
  const key_encoder* encoder_;
  std::vector<Word> words_;
};

template <class Word>
placed_rows place(const sort_columns& begins, std::size_t n, const sort_columns& keys, const key_encoder& of_begins,
                  const key_encoder& of_keys, std::size_t rows, std::size_t partitions, const vertex_tasks& tasks) {
  const ranges<Word> all(begins.keys(), n, of_begins, keys.keys(), of_keys);
  return place_by_number(rows, partitions, tasks,
                         [&](std::size_t first, std::size_t k, std::uint64_t* number) { all.find(first, k, number); });
}

}  // namespace

detail::table sample_rows(const planner::vertex& v, const runtime::vertex_rows& rows, std::size_t wanted, runtime::run_context& context) {
  const vertex_tasks tasks(context, v.captures);
  const auto made = rows.here() ? nullptr : std::dynamic_pointer_cast<const made_tables>(rows.kept);
  const detail::table& all = made || rows.here() ? rows.rows : context.table_of(v);
  const std::size_t of = made ? static_cast<std::size_t>(made->size()) : all.n, n = std::min(wanted, of);
  std::vector<std::uint64_t> ids(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t begin = runtime::even_end(of, n, i), end = runtime::even_end(of, n, i + 1);
    ids[i] = begin + partition_of(hash_word(i), end - begin);  // not at equal distances, as rows may have a period
  }
  if (!made) return take_rows_by_id({all, false}, ids.data(), n, tasks);
  rows_buffer some(made->row(), context.pool);
  table_pass pass(made, context);
  std::size_t i = 0;
  std::uint64_t first = 0;
  for (detail::table t; pass.next(t); first += t.n)
    for (; i < n && ids[i] < first + t.n; ++i) some.append_rows(row_at(t, static_cast<std::size_t>(ids[i] - first)), 1);
  return std::move(some).to_table();
}

detail::table begins_of_ranges(const planner::vertex& v, const detail::table& samples, std::size_t partitions,
                               runtime::run_context& context) {
  const vertex_tasks tasks(context, v.captures);
  std::vector<std::uint64_t> begins;
  if (samples.n) {
    const sort_columns columns(v, samples, tasks);
    const permutation order = sort_rows(columns.keys(), samples.n, context.scheduler, context.pool, context.cancel);
    for (std::size_t p = 1; p < partitions; ++p) {
      // Where the last range begins with a key that many rows have, the next one begins after these.
      std::size_t at = runtime::even_end(samples.n, partitions, p);
      while (at < samples.n && !begins.empty() && compare_rows(columns.keys(), begins.back(), order[at]) == 0) ++at;
      if (at < samples.n) begins.push_back(order[at]);
    }
  }
  return take_rows_by_id({samples, false}, begins.data(), begins.size(), tasks);
}

detail::table put_in_ranges(const planner::vertex& v, const detail::table& rows, const detail::table& begins, std::size_t partitions,
                            runtime::run_context& context) {
  const vertex_tasks tasks(context, v.captures);
  const sort_columns keys(v, rows, tasks), of_begins(v, begins, tasks);
  const key_encoder words(keys.keys()), words_of_begins(of_begins.keys());
  const auto by = words.bits() <= 64 ? &place<std::uint64_t> : &place<wide_word>;
  placed_rows placed = by(of_begins, begins.n, keys, words_of_begins, words, rows.n, partitions, tasks);
  return runtime::with_bounds(take_rows_by_id({rows, false}, placed.order, tasks), std::move(placed.ends));
}

}  // namespace query::cpu
