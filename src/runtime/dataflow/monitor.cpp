#include "runtime/dataflow/monitor.hpp"

namespace query::runtime {

void monitor::wait(std::unique_lock<std::mutex>& held, seat& s, const char* what, function_ref<const std::string&()> edge,
                   function_ref<bool()> ready) {
  if (failed_) throw run_stopped();
  if (s.awaited) throw user_error("dataflow: two threads use the ports of one vertex: " + s.name);
  if (ready()) return;
  s.awaited = &ready;
  s.there = false;
  s.what = what;
  s.edge = &edge;
  ++waiting_;
  look_for_stall();
  try {
    while (!failed_ && !s.there && !ready()) s.wake.wait(held);
  } catch (...) {
    s.awaited = nullptr;
    --waiting_;
    throw;
  }
  s.awaited = nullptr;
  --waiting_;
  if (failed_) throw run_stopped();
}

void monitor::end() {
  const std::lock_guard held(lock_);
  ++ended_;
  supervisor_.notify_all();
  look_for_stall();
}

void monitor::fail(std::exception_ptr why) {
  const std::lock_guard held(lock_);
  fail_held(std::move(why));
}

void monitor::fail_held(std::exception_ptr why) {
  if (failed_) return;
  failed_ = std::move(why);
  for (seat* s : seats_) s->wake.notify_one();
  supervisor_.notify_all();
}

// Exact: a vertex that does not wait will change something or end, and what a waiting one needs is asked again here, as it may
// have been told and not be awake yet.
void monitor::look_for_stall() {
  if (failed_ || waiting_ == 0 || waiting_ < living()) return;
  try {
    for (seat* s : seats_) {
      if (s->awaited && (s->there || (s->there = (*s->awaited)()))) {
        s->wake.notify_one();
        return;
      }
    }
    std::string all;
    for (const seat* s : seats_) {
      if (s->awaited) all += (all.empty() ? "" : ", ") + ("'" + s->name + "' waits for ") + s->what + (*s->edge)() + "'";
    }
    fail_held(std::make_exception_ptr(user_error("dataflow: no vertex can go on: " + all)));
  } catch (...) {  // of a source whose edges do not fit together
    fail_held(std::current_exception());
  }
}

}  // namespace query::runtime
