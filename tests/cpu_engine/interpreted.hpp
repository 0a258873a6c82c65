// Interprets a lambda over rows and compares with calling it: the native form is the oracle of the traced one.
//
//   expect_same<Trade>([](auto t) { return t.price * t.qty; }, trades);
#pragma once

#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <cpu_engine/interpreter.hpp>
#include <query/detail/traced_row.hpp>

namespace query::testing {

template <class T, class F> ir::traced trace(const F& f) {
  return ir::run_trace([&] { return detail::to_node(f(detail::make_twin<T>(detail::row_node(ir::describe<T>(), 0)))); });
}

// Raw memory for n values, which are destroyed at the end.
template <class R> class results {
 public:
  explicit results(std::size_t n) : memory_(static_cast<R*>(::operator new(sizeof(R) * (n + 1), std::align_val_t{alignof(R)}))) {}
  ~results() {
    std::destroy_n(memory_, made_);
    ::operator delete(memory_, std::align_val_t{alignof(R)});
  }
  results(const results&) = delete;
  results& operator=(const results&) = delete;
  R* data() { return memory_; }
  void made(std::size_t n) { made_ = n; }
  const R& operator[](std::size_t i) const { return memory_[i]; }

 private:
  R* memory_;
  std::size_t made_ = 0;
};

template <class R, class T>
std::vector<R> interpret(const ir::node* root, const std::vector<T>& rows, const interpreter::environment& with = {}) {
  const interpreter::program p(root);
  interpreter::scratch s;
  const interpreter::binding b{rows.data(), sizeof(T), {}};
  results<R> out(rows.size());
  p.run({&b, 1}, with, rows.size(), out.data(), s);
  out.made(rows.size());
  std::vector<R> r;
  for (std::size_t i = 0; i < rows.size(); ++i) r.push_back(out[i]);
  return r;
}

// Equal, where NaN equals NaN.
template <class R> bool same(const R& a, const R& b) {
  if constexpr (std::is_floating_point_v<R>) return a == b || (std::isnan(a) && std::isnan(b));
  else return a == b;
}

template <class T, class F> void expect_same(const F& f, const std::vector<T>& rows, const interpreter::environment& with = {}) {
  using R = std::remove_cvref_t<decltype(f(rows[0]))>;
  const ir::traced t = trace<T>(f);
  ASSERT_TRUE(t) << t.reason;
  ASSERT_EQ(t.root->type->k, ir::kind_of<R>()) << ir::show(t);
  const auto got = interpret<R>(t.root, rows, with);
  for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_TRUE(same<R>(f(rows[i]), got[i])) << "row " << i << " of " << ir::show(t);
}

}  // namespace query::testing
