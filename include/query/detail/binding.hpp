// Captured collections at run time: which rows a handle stands for in the execution that this thread works for.
//
// A handle made from rows owns them. A handle made from a lazy query or a loop variable has a slot number, and the
// executor binds slots to rows for the length of a task:
//
//   query::detail::binding_scope bound(bindings_of_this_execution);   // std::span<const binding>; restored at the end
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <query/detail/type.hpp>

namespace query::detail {

struct run_settings;  // include/query/session.hpp

// One captured collection; immutable.
struct capture {
  ~capture();  // a plan may be long: detail::release

  std::uint64_t slot = 0;  // unique in the process
  const ir::type* element = nullptr;
  std::shared_ptr<const void> plan;   // what to run when it is bound lazily; null when `data` is there
  std::shared_ptr<const void> owner;  // of `data`; null when it is bound lazily
  const void* data = nullptr;
  std::size_t size = 0;
  std::shared_ptr<const run_settings> settings = {};  // of the query that `plan` is
};

struct bound {
  const void* data = nullptr;
  std::size_t size = 0;
};
struct binding {
  std::uint64_t slot = 0;
  const void* data = nullptr;
  std::size_t size = 0;
};

std::uint64_t next_slot();
// A capture of rows that are there already.
std::shared_ptr<const capture> make_capture(const ir::type* element, std::shared_ptr<const void> owner, const void* data, std::size_t size);
// A capture of rows that `plan` will give; the query that captures them takes its settings over.
std::shared_ptr<const capture> make_capture(const ir::type* element, std::shared_ptr<const void> plan,
                                            std::shared_ptr<const run_settings> settings = nullptr);

// The rows of this thread's execution context. Throws user_error if the slot is not bound.
bound lookup_binding(const capture& c);
inline bound lookup(const capture& c) { return c.owner ? bound{c.data, c.size} : lookup_binding(c); }

[[noreturn]] void unknown_while_tracing();
[[noreturn]] void outside_collection(std::size_t i, std::size_t size);
[[noreturn]] void unrolled_too_far();

// Sets the bindings of this thread; `all` lives longer than the scope. Bindings of the scope around it do not shine through.
class binding_scope {
 public:
  explicit binding_scope(std::span<const binding> all);
  ~binding_scope();
  binding_scope(const binding_scope&) = delete;
  binding_scope& operator=(const binding_scope&) = delete;

 private:
  std::span<const binding> before_;
};

// Collects the handles that are copied or traced on this thread: copy a function under a recorder to find what it captured
// by value; trace it under one to find what its expression names.
class capture_recorder {
 public:
  capture_recorder();
  ~capture_recorder();
  capture_recorder(const capture_recorder&) = delete;
  capture_recorder& operator=(const capture_recorder&) = delete;

  const std::vector<std::shared_ptr<const capture>>& found() const { return found_; }  // each once, in order of capture

 private:
  friend void note_capture(const std::shared_ptr<const capture>& c);
  std::vector<std::shared_ptr<const capture>> found_;
  capture_recorder* outer_;
};
void note_capture(const std::shared_ptr<const capture>& c);

// What a copy of f registers.
template <class F> std::vector<std::shared_ptr<const capture>> captures_of(const F& f) {
  capture_recorder recorder;
  [[maybe_unused]] const F copy(f);
  return recorder.found();
}

}  // namespace query::detail
