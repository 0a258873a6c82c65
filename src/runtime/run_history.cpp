#include "runtime/run_history.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <tuple>
#include <unordered_map>

#include "runtime/source_rows.hpp"

namespace query::runtime {

void run_history::put(notes& to, const detail::logical* n, std::string_view terminal, std::string text) {
  std::erase_if(to, [&](const note& x) {
    const auto node = x.node.lock();
    return !node || (node.get() == n && x.terminal == terminal);
  });
  if (!text.empty()) to.push_back({n->weak_from_this(), std::string(terminal), std::move(text)});
}
std::string run_history::text_of(const notes& in, const detail::logical* n, std::string_view terminal) {
  for (const note& x : in)
    if (x.terminal == terminal && x.node.lock().get() == n) return x.text;
  return {};
}

void run_history::note_fallback(const detail::logical* n, std::string_view terminal, std::string why) {
  const std::lock_guard hold(lock_);
  if (!why.empty()) all_fallbacks_ = {all_fallbacks_.first + 1, why};
  put(fallbacks_, n, terminal, std::move(why));
}
std::string run_history::fallback_of(const detail::logical* n, std::string_view terminal) const {
  const std::lock_guard hold(lock_);
  return text_of(fallbacks_, n, terminal);
}
std::pair<std::uint64_t, std::string> run_history::fallbacks() const {
  const std::lock_guard hold(lock_);
  return all_fallbacks_;
}

void run_history::note_pieces(const detail::logical* n, std::string_view terminal, std::string pieces) {
  const std::lock_guard hold(lock_);
  put(pieces_, n, terminal, std::move(pieces));
}
std::string run_history::pieces_of(const detail::logical* n, std::string_view terminal) const {
  const std::lock_guard hold(lock_);
  return text_of(pieces_, n, terminal);
}

namespace {

constexpr std::size_t most_remembered = 4096;

struct branch_key {
  std::uintptr_t functions;  // the loop of all verbs up to there, whose code is that of their types
  const void* rows;           // where the source begins; null of other vertices' tables
  bool operator==(const branch_key&) const = default;
};
struct key_hash {
  std::size_t operator()(const branch_key& k) const {
    return std::hash<std::uintptr_t>{}(k.functions) * 31 + std::hash<const void*>{}(k.rows);
  }
};
struct last_passes {
  std::array<double, 4> seconds{};
  std::size_t n = 0;
  int by_one_since = 0;  // of divided passes
};
// How many rows the source had is part of it, as a container of the same place may have grown.
using pass_key = std::tuple<std::uintptr_t, const void*, std::uint64_t, std::string, int, int>;
struct memory {
  std::mutex lock;
  std::unordered_map<branch_key, double, key_hash> a_row;
  std::map<pass_key, last_passes> passes;
};
// Never destroyed: destructors of static objects may run queries.
memory& remembered() {
  static memory& m = *new memory;
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
  // Not the form, of which each terminal verb has another. Functions with an expression alone share one loop.
  auto functions = reinterpret_cast<std::uintptr_t>(b.stages[stage].native->form.run);
  for (const detail::logical* n : b.stages[stage].nodes)
    for (const detail::user_function& f : n->functions)
      if (f.held) functions = functions * 31 + f.trace().root->shape;
  return branch_key{functions, rows.columns ? rows.columns[0] : rows.rows};
}

std::optional<pass_key> pass_of(const planner::branch& b, std::string_view way, int threads, std::optional<detail::fold_kind> fold) {
  const auto key = b.stages.empty() ? std::nullopt : key_of(b, b.stages.size() - 1);
  if (!key || !key->rows) return std::nullopt;
  return pass_key(key->functions, key->rows, block_of(b).n, way, threads, fold ? static_cast<int>(*fold) + 1 : 0);
}

}  // namespace

void note_selectivity(const planner::branch& b, std::uint64_t out, const run_context& context) {
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

std::optional<double> selectivity_of(const planner::branch& b, std::size_t stage) {
  const auto key = key_of(b, stage);
  if (!key) return std::nullopt;
  memory& m = remembered();
  const std::lock_guard hold(m.lock);
  const auto found = m.a_row.find(*key);
  return found == m.a_row.end() ? std::nullopt : std::optional(found->second);
}

pass_clock::pass_clock(const planner::branch* b, std::string_view way, int threads, std::optional<detail::fold_kind> fold)
    : branch_(b), way_(way), threads_(threads), failing_(std::uncaught_exceptions()), fold_(fold),
      begin_(std::chrono::steady_clock::now()) {}

pass_clock::~pass_clock() {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  if (!branch_ || std::uncaught_exceptions() > failing_) return;
  try {
    const auto key = pass_of(*branch_, way_, threads_, fold_);
    if (!key) return;
    memory& m = remembered();
    const std::lock_guard hold(m.lock);
    if (m.passes.size() >= most_remembered) m.passes.clear();
    last_passes& last = m.passes[*key];
    last.seconds[last.n++ % last.seconds.size()] = seconds;
    last.by_one_since = 0;
    if (way_ == "split") return;
    const auto divided = m.passes.find(*pass_of(*branch_, "split", threads_, fold_));
    if (divided != m.passes.end() && ++divided->second.by_one_since >= passes_until_tried_again) m.passes.erase(divided);
  } catch (const std::bad_alloc&) {  // nothing is remembered
  }
}

std::optional<double> pass_seconds(const planner::branch& b, std::string_view way, int threads, std::optional<detail::fold_kind> fold) {
  const auto key = pass_of(b, way, threads, fold);
  if (!key) return std::nullopt;
  memory& m = remembered();
  const std::lock_guard hold(m.lock);
  const auto found = m.passes.find(*key);
  if (found == m.passes.end() || found->second.n < 2) return std::nullopt;
  const auto& all = found->second.seconds;
  return *std::min_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(found->second.n, all.size())));
}

}  // namespace query::runtime
