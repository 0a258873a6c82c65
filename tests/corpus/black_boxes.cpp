#include "corpus/forms.hpp"

namespace corpus {

namespace {
struct functor {
  auto operator()(const auto& t) const { return t.price * factor; }
  double factor = 2;
};
struct typed_functor {
  double operator()(const Trade& t) const { return t.price * 2; }
};
double free_function(const Trade& t) { return t.price; }
template <class T> auto free_template(const T& t) { return t.price; }
struct not_const {
  template <class T> auto operator()(const T& t) { return t.price; }
  double operator()(const Trade& t) const { return t.price; }
};
}  // namespace

std::vector<form> black_boxes() {
  collector to("black boxes and side effects");
  OPAQUE("const Trade& t", "its parameter is not generic", [](const Trade& t) { return t.price; });
  OPAQUE("Trade t", "its parameter is not generic", [](Trade t) { t.price += 1; return t.price; });
  OPAQUE("function pointer", "its parameter is not generic", &free_function);
  OPAQUE("functor over Trade", "its parameter is not generic", typed_functor{});
  TRACED("functor over auto", functor{});
  TRACED("function template in a lambda", [](auto t) { return free_template(t); });
  OPAQUE("std::function", "its parameter is not generic", std::function<double(const Trade&)>(free_function));
  OPAQUE("pointer to member", "it cannot be called with a traced row", std::mem_fn(&Trade::price));
  OPAQUE("query::opaque", "query::opaque", query::opaque([](auto t) { double s = 0; for (auto e : t.x) s += e; return s; }));
  OPAQUE("query::opaque of a typed function", "query::opaque", query::opaque(free_function));
  TRACED("query::must_trace", query::must_trace([](auto t) { return t.price * 2; }));
  TRACED("query::with", query::with([](auto t, double k, int n) { return t.price * k + n; }, 2.5, 3));
  OPAQUE("query::with of a typed row", "its parameter is not generic", query::with([](const Trade& t, double k) { return t.price * k; }, 2.5));
  TRACED("query::with(collection)", query::with([](auto t, const auto& c) { return c.sum(t.price, [](auto p, auto e) { return p * e; }); }, query::broadcast(std::vector<double>{1, 2, 3})));
  OPAQUE("noexcept", "it is noexcept", [](auto t) noexcept { return t.price * 2; });
  OPAQUE("noexcept const auto&", "it is noexcept", [](const auto& t) noexcept { return t.price * 2; });
  TRACED("mutable beside const", [](auto t) { auto n = [k = 0]() mutable { return ++k; }; n(); return t.price * n(); });
  OPAQUE("side effect: ++count", "the function is not pure", [&n = counter](auto t) { ++n; return t.price > n; });
  OPAQUE("static counter", "the function is not pure", [](auto t) { static int n = 0; ++n; return t.price + n; });
  OPAQUE("alternating steps", "the function is not pure", [&n = counter](auto t) { if (++n % 2) return t.price > 0; return t.qty > 0; });
  TRACED("a side effect without influence", [&n = counter](auto t) { ++n; return t.price; });
  OPAQUE("catch (...) hides nothing", PLAIN, [](auto t) { try { double p = t.price; return p > 0; } catch (...) { return t.qty > 1; } });
  OPAQUE("catch (std::exception&) hides nothing", PLAIN, [](auto t) { try { return std::sqrt(t.price + 200) > 3; } catch (const std::exception&) { return true; } });
  OPAQUE("throws always", "the function threw while it was traced: never", [](auto t) { if (sizeof(t) != sizeof(Trade)) throw std::logic_error("never"); return t.price; });
  OPAQUE("throws a number", "the function threw while it was traced", [](auto t) { if (sizeof(t) != sizeof(Trade)) throw 3; return t.price; });
  OPAQUE("gives a pointer", "the function gives a type that cannot be traced", [](auto t) { return static_cast<const void*>(&limit); });
  OPAQUE("gives a std::map", "the function gives a type that cannot be traced", [](auto t) { return std::map<int, int>{{1, 2}}; });
  OPAQUE("gives a std::vector", "the function gives a type that cannot be traced", [](auto t) { return std::vector<int>{1, 2}; });
  OPAQUE("gives a vector of fields", "its results differ in type", [](auto t) { return std::vector{t.price, t.price}; });
  OPAQUE("constrained parameter", "it cannot be called with a traced row", [](const std::same_as<Trade> auto& t) { return t.price; });
  OPAQUE("branch on the row's type", "its results differ in type", [](auto t) { if constexpr (std::is_same_v<decltype(t), Trade>) return t.price; else return t.qty; });
  OPAQUE("endless loop", "the expression has more than", [](auto t) { auto p = t.price; for (int i = 0; i < 1000000; ++i) p += i; return p; });
  return std::move(to.forms);
}

}  // namespace corpus
