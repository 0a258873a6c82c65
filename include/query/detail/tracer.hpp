// Calls a user's function with symbolic rows, once for each path through its branches, and folds the paths into one tree.
//
// A comparison of traced values is a plain bool: it asks `decide`, which explores both outcomes, one run of the function
// after the other. Method: forward symbolic execution with replay (depth first over the decisions taken).
#pragma once

#include <query/detail/node.hpp>

namespace query::ir {

struct trace_limits {
  int decisions = 64;          // on one path
  int paths = 1024;            // through one function
  std::size_t nodes = 1 << 16; // in one tree
};

// The arena of the trace that runs on this thread; throws untraceable if there is none (a traced value that outlived it).
arena& current_arena();
bool tracing() noexcept;

// Which way does this run go? Throws untraceable beyond the limits.
bool decide(const node* condition);

// Ends the trace: throws untraceable and poisons the trace, so that a user's `catch (...)` cannot hide it.
[[noreturn]] void give_up(std::string reason);

// Gives up over a conversion of a traced value to the C++ type that t describes.
[[noreturn]] void became_plain(const type* t);

// Runs `call` once per path; for the bodies of nested computations too.
const node* explore(function_ref<const node*()> call);

// A number for the row or state of a nested computation, the same in every run of the same function.
std::uint32_t enter_nested();
void leave_nested();
struct nested_scope {
  nested_scope() : id(enter_nested()) {}
  ~nested_scope() { leave_nested(); }
  nested_scope(const nested_scope&) = delete;
  nested_scope& operator=(const nested_scope&) = delete;
  std::uint32_t id;
};

// Traces twice, in two arenas, and compares: what differs is not a pure function of its row.
traced run_trace(function_ref<const node*()> call);

trace_limits& limits();  // of this thread; tests lower them

}  // namespace query::ir
