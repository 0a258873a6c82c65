// Integer divisions that the processor refuses (by zero, INT_MIN / -1), in compiled functions of queries that check. Such a division ends
// the process elsewhere. Here it gives 0, and the watch around it throws what an interpreted function throws.
//
// A stop_scope says whether a thread works for such a query. Watches nest: the innermost one is told, and the next one where that ends
// before it has been asked, as a reader may have rows enough. On processors that do not refuse
// divisions, and on other systems than Linux, there is nothing to be told (docs/design/008-integer-division.md).
//
//   const division_watch watch;
//   call_functions_of_the_user();
//   watch.check();   // throws unplaced_error
#pragma once

#include <query/detail/call.hpp>
#include <query/detail/stop.hpp>

namespace query::detail {

class division_watch {
 public:
  division_watch() {
    if (stop_here->checks_divisions) [[unlikely]] begin();
  }
  ~division_watch() {
    if (begun_) [[unlikely]] end();
  }
  division_watch(const division_watch&) = delete;
  division_watch& operator=(const division_watch&) = delete;

  // What has been refused since the watch began.
  QUERY_INLINE void check() const {
    if (begun_) [[unlikely]] check_refused();
  }
  // Whether there was one; nobody else is told.
  bool take_refused();

  // Told by the signal handler of this thread.
  enum class fault : unsigned char { none, zero, overflow };
  void tell(fault what) { refused_ = what; }
  static division_watch* innermost();

 private:
  void begin();
  void end();
  void check_refused() const;  // throws

  division_watch* outer_ = nullptr;
  mutable volatile fault refused_ = fault::none;
  bool begun_ = false;
};

// Outside of a run, as in planning, which calls functions to trace them.
class division_scope {
 public:
  explicit division_scope(bool checks) : scope_(checks ? checking : *stop_here) {}

 private:
  static constinit const stop_state checking;
  stop_scope scope_;
};

}  // namespace query::detail
