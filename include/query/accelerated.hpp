// A user's function with a counterpart for the GPU: natively it is the host's function, on the GPU kernels call the device's.
//
//   auto value = query::accelerated([](const Trade& t) { return t.price * t.qty; },
//       query::device_function{.symbol = "value", .code = R"(
//         extern "C" __device__ double value(const Trade* t) { return t->price * t->qty; })"});
//   query::from(trades).as_accelerated().select(value)              // and where, keys, aggregates of groups
//
// The planner sees into neither. The device's function gets the address of each row, in the host's layout, and gives the
// result by value: R symbol(const Row*), of two rows for a join's result. CUDA source is compiled at run time with the records
// of its row and result declared for it, from QUERY_RECORD; PTX, LTO-IR and cubins are linked to the kernels by nvJitLink, of
// the CUDA toolkit. What disagrees with the host's layout, has no such symbol or is for another architecture is a user_error
// with the verb, its place and the linker's log. Row and result must own no memory (strings, lists), else the CPU runs it.
//
// A host function may come from a shared library too: library_function<double(const Trade&)>("libvalue.so", "value").
#pragma once

#include <query/function.hpp>

namespace query {

enum class device_form : std::uint8_t { cuda, ptx, lto_ir, cubin };

// Sizes and offsets that a compiled device function was made for; what is not named here is not compared with the host's.
struct device_layout {
  struct part {
    std::string name;  // as in QUERY_RECORD
    std::size_t offset = 0;
  };
  std::size_t size = 0;  // bytes of the whole; 0: not compared
  std::vector<part> fields = {};
};

struct device_function {
  std::string symbol;                    // of an extern "C" __device__ function
  device_form form = device_form::cuda;
  std::string code = {};                 // CUDA or PTX as text, LTO-IR or a cubin (relocatable: nvcc -rdc=true) as bytes
  std::string file = {};                 // where to read the code if `code` is empty
  bool declares_records = false;         // CUDA source that declares its records itself; they are compared with the host's
  device_layout row = {}, result = {};   // of PTX, LTO-IR and cubins
};

namespace detail {

// Throws user_error for a function without symbol or code, or a file that cannot be read.
std::shared_ptr<const held_device_function> hold_device_function(device_function d, call_site at);
const device_function& function_of(const held_device_function& d);
// The call of it with whole rows, for engines that link it; only between ends of a trace.
const ir::node* device_call_node(const held_device_function& d, const ir::type* result, std::span<const ir::type* const> rows);
ir::traced device_call(const held_device_function& d, const ir::type* result, std::span<const ir::type* const> rows);

// A function of a shared library, which stays loaded. Throws user_error.
void* library_symbol(const std::string& library, const std::string& symbol, call_site at);

}  // namespace detail

// An extern "C" function of a shared library, as a host function.
template <class Signature> class library_function;
template <class R, class... A> class library_function<R(A...)> {
 public:
  library_function(const std::string& library, const std::string& symbol, detail::call_site at = detail::call_site::here())
      : f_(reinterpret_cast<R (*)(A...)>(detail::library_symbol(library, symbol, at))) {}
  R operator()(A... a) const { return f_(a...); }

 private:
  R (*f_)(A...);
};

template <class F> class accelerated_function {
 public:
  accelerated_function(F f, std::shared_ptr<const detail::held_device_function> d) : f_(std::move(f)), device_(std::move(d)) {}
  template <class... A> requires std::is_invocable_v<const F&, A...>
  decltype(auto) operator()(A&&... a) const noexcept(std::is_nothrow_invocable_v<const F&, A...>) { return f_(std::forward<A>(a)...); }
  const F& inner() const { return f_; }
  const std::shared_ptr<const detail::held_device_function>& device() const { return device_; }

 private:
  [[no_unique_address]] F f_;
  std::shared_ptr<const detail::held_device_function> device_;
};

// f with its counterpart for the GPU. They must compute the same: nothing compares them.
template <class F> auto accelerated(F f, device_function d, detail::call_site at = detail::call_site::here()) {
  return accelerated_function<F>(std::move(f), detail::hold_device_function(std::move(d), at));
}

namespace detail {

template <class F> inline constexpr bool is_accelerated = false;
template <class F> inline constexpr bool is_accelerated<accelerated_function<F>> = true;
template <class F> struct wrapper<accelerated_function<F>> {
  static constexpr bool opaque = true, must_trace = false, generic = false;
};

// What the plan keeps of the device's function: R f(Row...).
template <class R, class... Row, class F> void keep_device_form(user_function& u, const F& f) {
  if constexpr (is_accelerated<F> && ir::described_v<R> && (ir::described_v<Row> && ...)) {
    u.device = f.device();
    u.on_device = [](const held_device_function& d) {
      const ir::type* rows[] = {ir::describe<Row>()...};
      return device_call(d, ir::describe<R>(), rows);
    };
  }
}

}  // namespace detail
}  // namespace query
