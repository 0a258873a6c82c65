// The traces of one execution: each user function is traced once for its planning and its run, not by everyone who asks.
//
// Every execution traces anew, as what functions captured by reference may have changed since; within one, a trace is made the first
// time that user_function::trace() is asked and handed out again on the threads that work under a scope. Where the user's own code has
// run on the host meanwhile, the traces are forgotten.
//
//   trace_memo traces;
//   const trace_memo::scope here(traces);
//   f.trace();   // runs the function with a symbolic row
//   f.trace();   // does not; its captures are told to a capture_recorder as if it did
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include <query/detail/plan.hpp>

namespace query::planner {

// Used by one thread at a time.
class trace_memo {
 public:
  // Of this thread, until its end; the one around it does not shine through.
  class scope {
   public:
    explicit scope(trace_memo& m);
    ~scope();
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

   private:
    trace_memo* before_;
  };

  static trace_memo* here();  // null: none
  static void forget_here();

  ir::traced trace_of(const detail::user_function& f);

 private:
  struct entry {
    std::shared_ptr<const void> f;  // kept: another function may not take its address
    ir::traced trace;
    std::vector<std::shared_ptr<const detail::capture>> captures;  // that the trace names
  };
  struct key {
    const void* f;
    ir::traced (*retrace)(const void* f);
    bool operator==(const key&) const = default;
  };
  struct hash_of_key {
    std::size_t operator()(const key& k) const { return std::hash<const void*>{}(k.f); }
  };
  std::unordered_map<key, entry, hash_of_key> known_;
};

}  // namespace query::planner
