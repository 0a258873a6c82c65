// reverse and sample.
#include "cpu_engine/table_verbs.hpp"

namespace query::cpu {

namespace {

// A generator of 64-bit numbers: splitmix64 (Steele, Lea, Flood, OOPSLA 2014). The numbers are part of what `sample` promises.
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(seed) {}
  // Uniform in [0, n), n > 0.
  std::uint64_t below(std::uint64_t n) {
    __extension__ using u128 = unsigned __int128;
    return static_cast<std::uint64_t>(u128{next()} * n >> 64);
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace

detail::table reverse_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const input_rows rows = collect_input(v, 0, tasks);
  const std::size_t n = rows.table.n;
  permutation ids(static_cast<std::size_t>(std::min<std::uint64_t>(n, v.limit)), n, tasks.pool());
  tasks.chunks(ids.size(), [&](std::size_t first, std::size_t k) {
    for (std::size_t i = first; i < first + k; ++i) ids.set(i, n - 1 - i);
  });
  return take_rows_by_id(rows, ids, tasks);
}

// Knuth, The Art of Computer Programming 3.4.2, algorithm S: one pass, in order of the rows.
detail::table sample_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const input_rows rows = collect_input(v, 0, tasks);
  const std::size_t n = rows.table.n;
  if (v.node->count >= n) return rows.table;
  const auto wanted = static_cast<std::size_t>(v.node->count);
  permutation ids(wanted, n, tasks.pool());
  random_numbers random(v.node->seed);
  for (std::size_t i = 0, chosen = 0; chosen < wanted; ++i) {
    if (i % part_rows == 0) tasks.cancel().check();
    if (random.below(n - i) < wanted - chosen) ids.set(chosen++, i);
  }
  return take_rows_by_id(rows, ids, tasks);
}

}  // namespace query::cpu
