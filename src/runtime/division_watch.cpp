// The signal handler of query/detail/division_watch.hpp.
#include <query/detail/division_watch.hpp>

#include <csignal>
#include <cstdint>
#include <cstring>

#include <query/detail/divide.hpp>

#include "runtime/refused_division.hpp"

namespace query::detail {

constinit const stop_state division_scope::checking{false, nullptr, true};

namespace {

constinit thread_local division_watch* innermost_watch = nullptr;

#ifdef QUERY_DIVISIONS_ARE_REFUSED
struct sigaction handler_before;

// Another's signal: as if this handler were not there.
void hand_on(int number, siginfo_t* info, void* context) {
  if (handler_before.sa_flags & SA_SIGINFO) {
    handler_before.sa_sigaction(number, info, context);
  } else if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN) {
    handler_before.sa_handler(number);
  } else if (handler_before.sa_handler == SIG_IGN && info->si_code <= 0) {
    return;  // somebody sent it
  } else {
    (void)::sigaction(number, &handler_before, nullptr);  // the instruction runs again, and ends the process
    if (info->si_code <= 0) (void)::raise(number);        // no instruction: somebody sent it
  }
}

void on_fault(int number, siginfo_t* info, void* context) {
  division_watch* const watch = innermost_watch;
  if (!watch || info->si_code != FPE_INTDIV) return hand_on(number, info, context);
  const auto division = runtime::refused_division::at(*static_cast<ucontext_t*>(context));
  if (!division) return hand_on(number, info, context);
  watch->tell(division->by_zero ? division_watch::fault::zero : division_watch::fault::overflow);
  division->skip(*static_cast<ucontext_t*>(context));
}

// Once, by the first query that checks: programs without one keep their handlers.
void install() {
  static const int installed = [] {
    struct sigaction a {};
    a.sa_sigaction = on_fault;
    a.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&a.sa_mask);
    return ::sigaction(SIGFPE, &a, &handler_before);
  }();
  (void)installed;
}
#else
void install() {}
#endif

}  // namespace

division_watch* division_watch::innermost() { return innermost_watch; }

void division_watch::begin() {
  install();
  outer_ = innermost_watch;
  begun_ = true;
  innermost_watch = this;
}
void division_watch::end() {
  innermost_watch = outer_;
  if (outer_ && refused_ != fault::none) outer_->tell(refused_);
}

bool division_watch::take_refused() {
  asm volatile("" ::: "memory");
  const bool was = refused_ != fault::none;
  refused_ = fault::none;
  return was;
}
void division_watch::check_refused() const {
  asm volatile("" ::: "memory");
  const fault what = refused_;
  refused_ = fault::none;
  if (what == fault::zero) division_by_zero();
  if (what == fault::overflow) division_overflow();
}

}  // namespace query::detail
