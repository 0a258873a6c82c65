// A function that calls itself for what lies below in a plan, with its frames on the heap: plans of 100,000 verbs need no stack.
//
// Such a function is a coroutine that gives a plan_walk. It awaits the calls of itself; `run` starts the first and resumes whichever
// is innermost, in a loop. An exception goes through the callers one by one, as it does through functions.
//
//   plan_walk<int> depth_of(const pipe& p) { co_return p.node->inputs.empty() ? 0 : 1 + co_await depth_of(p.node->inputs[0]); }
//   int depth = run(depth_of(root));
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace query::planner {

using walk_frames = std::vector<std::coroutine_handle<>>;  // callers before those that they wait for

// What promises of all results share.
class walk_promise {
 public:
  std::suspend_always initial_suspend() noexcept { return {}; }
  auto final_suspend() noexcept {
    struct back_to_caller {
      walk_frames* frames;
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<>) noexcept { frames->pop_back(); }
      void await_resume() noexcept {}
    };
    return back_to_caller{frames_};
  }
  void unhandled_exception() { error_ = std::current_exception(); }

  void work_in(walk_frames& frames, std::coroutine_handle<> self) {
    frames_ = &frames;
    frames.push_back(self);
  }
  walk_frames& frames() const { return *frames_; }

 protected:
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  walk_frames* frames_ = nullptr;
  std::exception_ptr error_;
};

template <class T> class [[nodiscard]] plan_walk {
 public:
  class with_value : public walk_promise {
   public:
    plan_walk get_return_object() { return plan_walk(handle::from_promise(static_cast<promise_type&>(*this))); }
    template <class U> void return_value(U&& value) { value_.emplace(std::forward<U>(value)); }
    T take() {
      rethrow();
      return std::move(*value_);
    }

   private:
    std::optional<T> value_;
  };
  class without_value : public walk_promise {
   public:
    plan_walk get_return_object() { return plan_walk(handle::from_promise(static_cast<promise_type&>(*this))); }
    void return_void() {}
    void take() { rethrow(); }
  };
  struct promise_type : std::conditional_t<std::is_void_v<T>, without_value, with_value> {};
  using handle = std::coroutine_handle<promise_type>;

  explicit plan_walk(handle h) : handle_(h) {}
  plan_walk(plan_walk&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
  plan_walk(const plan_walk&) = delete;
  plan_walk& operator=(const plan_walk&) = delete;
  ~plan_walk() {
    if (handle_) handle_.destroy();
  }

  // Awaited by another walk.
  bool await_ready() const { return false; }
  template <class Caller> void await_suspend(std::coroutine_handle<Caller> caller) {
    handle_.promise().work_in(caller.promise().frames(), handle_);
  }
  T await_resume() { return handle_.promise().take(); }

 private:
  template <class U> friend U run(plan_walk<U> first);
  handle handle_;
};

template <class T> T run(plan_walk<T> first) {
  walk_frames frames;
  first.handle_.promise().work_in(frames, first.handle_);
  while (!frames.empty()) frames.back().resume();
  return first.await_resume();
}

}  // namespace query::planner
