// A reference to a callable that lives longer than the call: the only price of keeping an algorithm out of a header.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace query {

template <class Signature> class function_ref;

template <class R, class... A> class function_ref<R(A...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, function_ref> && std::is_invocable_r_v<R, F&, A...>)
  function_ref(F&& f) noexcept  // NOLINT: a reference to any callable, by design implicit
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, A... a) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<A>(a)...);
        }) {}
  R operator()(A... a) const { return call_(object_, std::forward<A>(a)...); }

 private:
  void* object_;
  R (*call_)(void*, A...);
};

}  // namespace query
