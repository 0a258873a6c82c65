#include "runtime/seen_rows.hpp"

#include <functional>
#include <mutex>
#include <typeindex>
#include <unordered_map>

namespace query::runtime {

namespace {

constexpr std::size_t most_remembered = 4096;

struct branch_key {
  std::type_index functions;  // of all verbs up to there
  const void* rows;           // where the source begins; null of other vertices' tables
  bool operator==(const branch_key&) const = default;
};
struct key_hash {
  std::size_t operator()(const branch_key& k) const {
    return std::hash<std::type_index>{}(k.functions) * 31 + std::hash<const void*>{}(k.rows);
  }
};
struct memory {
  std::mutex lock;
  std::unordered_map<branch_key, double, key_hash> a_row;
};
memory& remembered() {
  static memory m;
  return m;
}

detail::row_block block_of(const planner::branch& b) {
  detail::row_block rows;
  if (b.source && b.source->view) b.source->view(b.source->source.get(), rows);
  return rows;
}

std::optional<branch_key> key_of(const planner::branch& b, std::size_t stage) {
  if (stage >= b.stages.size() || !b.stages[stage].native || (!b.table && !(b.source && b.source->view))) return std::nullopt;
  const detail::row_block rows = block_of(b);
  const detail::segment& functions = *b.stages[stage].native;
  return branch_key{typeid(functions), rows.columns ? rows.columns[0] : rows.rows};
}

}  // namespace

void note_seen(const planner::branch& b, std::uint64_t out, const run_context& context) {
  const auto key = b.stages.empty() ? std::nullopt : key_of(b, b.stages.size() - 1);
  if (!key) return;
  std::uint64_t source = block_of(b).n;
  if (b.table) {
    const auto of = context.tables.find(b.table);
    if (of != context.tables.end()) source = size_of(of->second);
  }
  if (!source) return;
  memory& m = remembered();
  const std::lock_guard hold(m.lock);
  if (m.a_row.size() >= most_remembered) m.a_row.clear();
  m.a_row[*key] = static_cast<double>(out) / static_cast<double>(source);
}

std::optional<double> seen_of(const planner::branch& b, std::size_t stage) {
  const auto key = key_of(b, stage);
  if (!key) return std::nullopt;
  memory& m = remembered();
  const std::lock_guard hold(m.lock);
  const auto found = m.a_row.find(*key);
  return found == m.a_row.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace query::runtime
