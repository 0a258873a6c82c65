#include <atomic>

#include <query/detail/binding.hpp>
#include <query/detail/tracer.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/stop.hpp>

#include "runtime/cluster.hpp"

namespace query::detail {

namespace {
thread_local constinit std::span<const binding> bindings_here;
thread_local constinit capture_recorder* recorder_here = nullptr;
}  // namespace

static constinit std::atomic<std::uint64_t> last_slot{0};
std::uint64_t next_slot() { return ++last_slot; }

std::shared_ptr<const capture> make_capture(const ir::type* element, std::shared_ptr<const void> owner, const void* data,
                                            std::size_t size) {
  return std::make_shared<const capture>(capture{next_slot(), element, nullptr, std::move(owner), data, size});
}
std::shared_ptr<const capture> make_capture(const ir::type* element, std::shared_ptr<const void> plan,
                                            std::shared_ptr<const run_settings> settings) {
  return std::make_shared<const capture>(capture{next_slot(), element, std::move(plan), nullptr, nullptr, 0, std::move(settings)});
}

bound lookup_binding(const capture& c) {
  for (const binding& b : bindings_here)
    if (b.slot == c.slot) return {b.data, b.size};
  throw unplaced_error("a captured query was used outside the query that captures it, or by reference in an opaque function: capture "
                   "its handle by value");
}

void unknown_while_tracing() {
  ir::give_up("the rows of a captured query are not known while a function is traced: give the row, as in "
              "c.arg_min(row, [](auto row, auto e) {...}), c.count(row, f), c.any(row, f)");
}
// As the interpreter says it of a traced index; one that was negative is shown as such.
void outside_collection(std::size_t i, std::size_t size) {
  throw unplaced_error("index outside the collection: " + std::to_string(static_cast<std::int64_t>(i)) + " of " + std::to_string(size));
}
void endless_loop() { throw unplaced_error("loop: a row needs more than 16777216 iterations; mend its condition"); }
void unrolled_too_far() {
  ir::give_up("a loop over a captured collection of more than 64 elements: use its sum, min, any, fold...");
}

constinit thread_local const stop_state* stop_here = &never_stopped;
void throw_stopped(const stop_state& s) {
  s.raise(s);
  throw internal_error("query: a query that was stopped goes on");
}

binding_scope::binding_scope(std::span<const binding> all) : before_(bindings_here) { bindings_here = all; }
binding_scope::~binding_scope() { bindings_here = before_; }

capture_recorder::capture_recorder() : outer_(recorder_here) { recorder_here = this; }
capture_recorder::~capture_recorder() { recorder_here = outer_; }

void note_capture(const std::shared_ptr<const capture>& c) {
  if (!recorder_here || !c) return;
  for (const auto& known : recorder_here->found_)
    if (known->slot == c->slot) return;
  recorder_here->found_.push_back(c);
}

}  // namespace query::detail

void query::runtime::begin_slots_above(std::uint64_t last) { detail::last_slot = last; }
