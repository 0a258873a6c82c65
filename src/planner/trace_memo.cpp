#include "planner/trace_memo.hpp"

#include <query/detail/binding.hpp>

namespace query::planner {

namespace {
thread_local constinit trace_memo* memo_here = nullptr;
}

trace_memo::scope::scope(trace_memo& m) : before_(memo_here) { memo_here = &m; }
trace_memo::scope::~scope() { memo_here = before_; }

trace_memo* trace_memo::here() { return memo_here; }
void trace_memo::forget_here() {
  if (memo_here) decltype(memo_here->known_)().swap(memo_here->known_);  // clear() would keep the room for all, and go through it each time
}

ir::traced trace_memo::trace_of(const detail::user_function& f) {
  const auto tell = [](const entry& e) {
    for (const auto& c : e.captures) detail::note_capture(c);
    return e.trace;
  };
  const key wanted{f.f.get(), f.retrace};
  if (const auto it = known_.find(wanted); it != known_.end()) return tell(it->second);
  entry made{f.f, {}, {}};
  {
    const detail::capture_recorder recorder;
    made.trace = f.retrace(f.f.get());
    made.captures = recorder.found();
  }
  // Tracing may have traced others: queries that the function captured.
  return tell(known_.insert_or_assign(wanted, std::move(made)).first->second);
}

}  // namespace query::planner
