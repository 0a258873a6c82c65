#include "planner/expression_function.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>

#include <query/cpu/segment_form.hpp>
#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "cpu_engine/interpreter.hpp"
#include "ir/visit.hpp"
#include "planner/trace_memo.hpp"

namespace query::planner {

namespace {

using cpu::batch_rows;

class expression_function : public std::enable_shared_from_this<expression_function> {
 public:
  expression_function(ir::traced expression, const ir::type* row, const ir::type* result)
      : expression_(std::move(expression)), row_(row), result_(result), program_(expression_.root) {}

  const ir::traced& expression() const { return expression_; }
  const ir::type* row() const { return row_; }
  const ir::type* result() const { return result_; }
  void filter(const void* rows, std::size_t n, bool* out) const;
  // Rows 0..n-1, or those that `select` names; constructs results in raw memory.
  void map(const void* rows, const std::uint32_t* select, std::size_t n, void* out) const;

 private:
  ir::traced expression_;
  const ir::type *row_, *result_;
  interpreter::program program_;
};

interpreter::scratch& scratch_here() {
  thread_local interpreter::scratch s;
  return s;
}

const expression_function& held(const void* f) { return *static_cast<const expression_function*>(f); }

// Functions that no code calls.
class expression_alone : public std::enable_shared_from_this<expression_alone> {
 public:
  explicit expression_alone(ir::traced expression) : expression_(std::move(expression)) {}
  const ir::traced& expression() const { return expression_; }

 private:
  ir::traced expression_;
};

// In an arena of its own: planners add nodes to a trace, and threads plan one query at once.
ir::traced copy_of(const ir::traced& t) {
  ir::traced copy{std::make_shared<ir::arena>(), nullptr, t.reason, t.runs};
  std::unordered_map<const ir::node*, const ir::node*> made;
  ir::each_node(t.root, [&](const ir::node* n) {
    ir::node own = *n;
    for (const ir::node*& k : own.kids) k = made.at(k);
    made.emplace(n, copy.owner->put(std::move(own)));
  });
  copy.root = made.at(t.root);
  return copy;
}
template <class Function> ir::traced fresh(const void* f) { return copy_of(static_cast<const Function*>(f)->expression()); }
// One copy for an execution, as a lambda is traced once for it.
template <class Function> ir::traced copy_for_this_execution(const void* f) {
  trace_memo* const known = trace_memo::here();
  if (!known) return fresh<Function>(f);
  detail::user_function made;
  made.f = static_cast<const Function*>(f)->shared_from_this();
  made.retrace = &fresh<Function>;
  return known->trace_of(made);
}
ir::traced retrace_alone(const void* f) { return copy_for_this_execution<expression_alone>(f); }
template <class... A> void no_code(A...) { throw internal_error("query: a function that has only its expression was to run as compiled"); }
ir::traced retrace(const void* f) { return copy_for_this_execution<expression_function>(f); }
void map(const void* f, const void* rows, const std::uint32_t* select, std::size_t n, void* out) { held(f).map(rows, select, n, out); }
void filter(const void* f, const void* rows, std::size_t n, bool* out) { held(f).filter(rows, n, out); }

// Small rows without memory of their own go on side by side, others as runs where they lie.
void push_side_by_side(const std::byte* rows, const bool* pass, std::size_t n, std::size_t size, std::byte* room, detail::batch_sink& to) {
  std::size_t k = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::memcpy(room + k * size, rows + i * size, size);
    k += pass[i];
  }
  if (!k) return;
  detail::row_block out;
  out.rows = room;
  out.n = k;
  out.owned = true;
  to.push(out);
}
void push_runs(std::byte* rows, const bool* pass, std::size_t n, std::size_t size, bool owned, detail::batch_sink& to) {
  for (std::size_t i = 0; i < n;) {
    if (!pass[i]) {
      ++i;
      continue;
    }
    std::size_t j = i + 1;
    while (j < n && pass[j]) ++j;
    detail::row_block out;
    out.rows = rows + i * size;
    out.n = j - i;
    out.owned = owned;
    to.push(out);
    i = j;
  }
}
void run_filter(const void* f, const detail::row_block& b, bool, detail::batch_sink& to) {
  constexpr std::size_t most_copied = 256;
  const expression_function& test = held(f);
  const ir::type& row = *test.row();
  const bool copies = row.trivial && row.size <= most_copied && row.align <= alignof(std::max_align_t);
  const auto room = copies ? std::make_unique_for_overwrite<std::byte[]>(std::min(batch_rows, b.n) * row.size) : nullptr;
  const detail::stop_point stop;
  bool pass[batch_rows];
  for (std::size_t from = 0; from < b.n; from += batch_rows) {
    const std::size_t n = std::min(batch_rows, b.n - from);
    std::byte* const rows = static_cast<std::byte*>(b.rows) + from * row.size;
    test.filter(rows, n, pass);
    if (copies) push_side_by_side(rows, pass, n, row.size, room.get(), to);
    else push_runs(rows, pass, n, row.size, b.owned, to);
    stop.check();
  }
}

// The results of a batch, which their receiver may move from.
void run_map(const void* f, const detail::row_block& b, bool, detail::batch_sink& to) {
  const expression_function& made = held(f);
  const ir::type &in = *made.row(), &out = *made.result();
  const std::size_t most = cpu::rows_a_batch(out.size);
  const std::align_val_t align{std::max(out.align, alignof(std::max_align_t))};
  struct freed {
    std::align_val_t align;
    void operator()(void* memory) const { ::operator delete(memory, align); }
  };
  const std::unique_ptr<void, freed> room(::operator new(most * out.size, align), freed{align});
  struct destroyed {
    const ir::type* type;
    void* rows;
    std::size_t n;
    ~destroyed() {
      if (!type->trivial) type->life.destroy(rows, n);
    }
  };
  const detail::stop_point stop;
  for (std::size_t from = 0; from < b.n; from += most) {
    const std::size_t n = std::min(most, b.n - from);
    made.map(static_cast<const std::byte*>(b.rows) + from * in.size, nullptr, n, room.get());
    const destroyed at_end{&out, room.get(), n};
    detail::row_block given;
    given.rows = room.get();
    given.n = n;
    given.first = b.first + from;
    given.owned = true;
    to.push(given);
    stop.check();
  }
}
bool no_fold(const void*, detail::fold_kind, const detail::row_block&, bool, detail::fold_state&) { return false; }

constexpr detail::segment_form filtering{
    .chain = {}, .run = &run_filter, .fold = &no_fold, .reads_columns = false, .needs_position = false, .keeps_position = false};
constexpr detail::segment_form mapping{
    .chain = {}, .run = &run_map, .fold = &no_fold, .reads_columns = false, .needs_position = false, .keeps_position = true};

void expression_function::filter(const void* rows, std::size_t n, bool* out) const {
  const interpreter::binding row{rows, row_->size, {}};
  program_.filter({&row, 1}, {}, n, out, scratch_here());
}

void expression_function::map(const void* rows, const std::uint32_t* select, std::size_t n, void* out) const {
  interpreter::binding row;
  row.base = rows;
  row.stride = row_->size;
  row.select = select;
  program_.run({&row, 1}, {}, n, out, scratch_here());
}

}  // namespace

detail::user_function function_of(std::string_view role, ir::traced expression, const ir::type* row, const ir::type* result) {
  detail::user_function f;
  f.role = role;
  f.held = true;
  f.retrace = &retrace;
  f.row = row;
  f.result = result;
  if (role == "predicate") f.native.filter = &filter;
  else f.native.map = &map;
  f.f = std::make_shared<const expression_function>(std::move(expression), row, result);
  return f;
}

detail::user_function function_of_groups(ir::traced expression, const ir::type* result) {
  detail::user_function f;
  f.role = "select";
  f.held = true;
  f.retrace = &retrace_alone;
  f.result = result;
  f.f = std::make_shared<const expression_alone>(std::move(expression));
  return f;
}

detail::user_function without_code(detail::user_function f, ir::traced expression) {
  // Whether there is a call tells a function of rows from one of pairs, and of row numbers.
  const auto none = []<class... A>(void (*&call)(A...)) {
    if (call) call = &no_code<A...>;
  };
  none(f.native.map);
  none(f.native.filter);
  none(f.native.map_pairs);
  none(f.native.expand);
  f.held = true;
  f.form = nullptr;
  f.retrace = &retrace_alone;
  f.f = std::make_shared<const expression_alone>(std::move(expression));
  return f;
}

const ir::traced* expression_of(const detail::user_function& f) {
  return f.retrace == &retrace ? &held(f.f.get()).expression() : nullptr;
}

std::shared_ptr<const detail::segment> segment_of(const detail::pipe& origin, const detail::user_function& f) {
  if (f.native.filter) return std::make_shared<const detail::segment>(origin, f.row, f.row, filtering, f.f);
  return std::make_shared<const detail::segment>(origin, f.row, f.result, mapping, f.f);
}

}  // namespace query::planner
