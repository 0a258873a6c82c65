#include "corpus/forms.hpp"

namespace corpus {

std::vector<form> branches() {
  collector to("branches");
  TRACED("&& || !", [](auto t) { return (t.price > 3 && t.qty < 5) || !t.hot; });
  TRACED("if/else, one type", [](auto t) { if (t.qty > 5) return t.price; else return t.price * 2; });
  TRACED("early return of a bool", [](auto t) { if (t.qty == 0) return false; return t.price > 3; });
  TRACED("early return of a bool, -> bool", [](auto t) -> bool { if (t.qty == 0) return false; return t.price > 3; });
  TRACED("-> value_t", [](auto t) -> query::value_t<double, decltype(t)> { if (t.qty > 5) return t.price; return 0.0; });
  TRACED("-> decltype of a field", [](auto t) -> decltype(t.price + 0) { if (t.qty > 5) return t.price; return t.price * 0; });
  OPAQUE("-> double", PLAIN, [](auto t) -> double { if (t.qty > 5) return t.price; return 0.0; });
  OPAQUE("?: field : 0.0", PLAIN, [](auto t) { return t.qty > 5 ? t.price : 0.0; });
  OPAQUE("?: field : 0", "its results differ in type: natively double, traced int (`?:` with", [](auto t) { return t.qty > 5 ? t.price : 0; });
  TRACED("?: double field : int field", [](auto t) { return t.hot ? t.price : t.qty; });
  OPAQUE("?: int field : 0.5", PLAIN, [](auto t) { return t.hot ? t.qty : 0.5; });
  TRACED("?: 1 : 0", [](auto t) { return t.qty > 5 ? 1 : 0; });
  TRACED("?: comparison : false", [](auto t) { return t.hot ? t.price > 3 : false; });
  TRACED("?: two expressions", [](auto t) { return t.price > 2 ? t.price * 2 : t.price + 1; });
  TRACED("?: two literals of text", [](auto t) { return t.hot ? "hi" : "lo"; });
  TRACED("chained ?:", [](auto t) { return t.qty < 2 ? 1.0 : t.qty < 4 ? 2.0 : 3.0; });
  TRACED("else if chain", [](auto t) { if (t.qty < 2) return t.price; else if (t.qty < 4) return t.price * 2; else return t.price * 3; });
  TRACED("nested if", [](auto t) { if (t.hot) { if (t.qty > 2) return 1; return 2; } if (t.price > 0) return 3; return 4; });
  TRACED("if with initialiser", [](auto t) { if (auto p = t.price * 2; p > 4) return p; return t.price; });
  TRACED("clamp by two ifs", [](auto t) { auto p = t.price; if (p < 0) p = 0; if (p > 5) p = 5; return p; });
  TRACED("assign in a branch", [](auto t) { auto p = t.price; if (t.hot) p = t.weight; return p; });
  TRACED("compound assign in a branch", [](auto t) { auto p = t.price; if (t.hot) p += 1; else p *= 2; return p; });
  TRACED("plain int in branches", [](auto t) { int n = 0; if (t.hot) n = 1; if (t.qty > 3) n += 2; return n; });
  TRACED("plain double in branches", [](auto t) { double k = 1; if (t.hot) k = 2.5; return t.price * k; });
  TRACED("bool local", [](auto t) { bool ok = t.price > 3; return ok && t.qty < 5; });
  TRACED("bool local from a bool field", [](auto t) { bool hot = t.hot; return hot || t.qty > 4; });
  TRACED("int += comparison", [](auto t) { int n = 0; n += t.price > 3; n += t.qty > 2; return n; });
  TRACED("sum of comparisons", [](auto t) { int n = (t.price > 3) + (t.qty > 2); return n; });
  TRACED("if (number)", [](auto t) { if (t.qty) return 1; return 2; });
  TRACED("!number", [](auto t) { return !t.qty; });
  TRACED("number && number", [](auto t) { return t.qty && t.lots; });
  TRACED("!bool field", [](auto t) { return !t.hot; });
  TRACED("bool == bool", [](auto t) { return t.hot == true; });
  TRACED("comparison == comparison", [](auto t) { return (t.price > 2) == (t.qty > 2); });
  TRACED("and, or, not", [](auto t) { return t.hot and not(t.qty < 2) or t.price > 5; });
  TRACED("de Morgan", [](auto t) { return !(t.hot || t.qty > 2) == (!t.hot && !(t.qty > 2)); });
  TRACED("xor of bools", [](auto t) { return (t.price > 2) != (t.qty > 2); });
  TRACED("& of comparisons", [](auto t) { return (t.price > 2) & (t.qty > 2); });
  TRACED("guarded division", [](auto t) { return t.qty != 0 && 12 / t.qty > 2; });
  TRACED("guarded division by early return", [](auto t) { if (t.qty == 0) return 0.0 * t.price; return t.price / t.qty; });
  TRACED("guarded integer division, ?:", [](auto t) { return t.qty != 0 ? 100 / t.qty : t.qty; });
  TRACED("in range", [](auto t) { return t.price >= -2 && t.price <= 2; });
  TRACED("in a set", [](auto t) { return t.qty == 1 || t.qty == 3 || t.qty == 5 || t.qty == 7; });
  TRACED("enum ==", [](auto t) { return t.side == Side::buy; });
  TRACED("enum != in a branch", [](auto t) { if (t.side != Side::buy) return -t.price; return +t.price; });
  TRACED("enum result", [](auto t) { return t.side; });
  TRACED("enum literals in branches", [](auto t) { if (t.price > 2) return Side::buy; return Side::sell; });
  OPAQUE("switch (int field)", PLAIN, [](auto t) { switch (t.qty) { case 1: return 1.0; case 2: return 2.0; default: return 0.0; } });
  OPAQUE("switch (enum field)", PLAIN, [](auto t) { switch (t.side) { case Side::buy: return 1; default: return -1; } });
  TRACED("goto", [](auto t) { if (t.qty > 3) goto big; return 1; big: return 2; });
  TRACED("inner lambda with if", [](auto t) { auto f = [&] { if (t.qty > 3) return t.price; return t.price + 1; }; return f() * f(); });
  TRACED("immediately called lambda", [](auto t) { const auto k = [&] { return t.hot ? 2 : 3; }(); return t.price * k; });
  TRACED("5 independent ifs", [](auto t) { int n = 0; for (int i = 0; i < 5; ++i) if (t.x[i] > 0) n += 1; return n; });
  TRACED("9 independent ifs", [](auto t) { int n = 0; for (int i = 0; i < 8; ++i) if (t.x[i] > 0) n += 1; if (t.price > 0) n += 1; return n; });
  OPAQUE("11 independent ifs", "more than 1024 paths", [](auto t) { int n = 0; for (int i = 0; i < 8; ++i) if (t.x[i] > 0) n += 1; for (int i = 0; i < 4; ++i) if (t.raw[i] > 0) n += 1; return n; });
  TRACED("the same as iff", [](auto t) { query::value_t<int, decltype(t)> n = 0; for (int i = 0; i < 8; ++i) n += query::iff(query::lazy(t.x[i]) > 0, 1, 0); for (int i = 0; i < 4; ++i) n += query::iff(query::lazy(t.raw[i]) > 0, 1, 0); return n; });
  TRACED("-> decltype of an expression", [](auto t) -> decltype(t.qty + t.price) { return t.qty; });
  TRACED("nothing of the row", [](auto) { return 42; });
  TRACED("constant condition", [](auto t) { constexpr bool wide = sizeof(int) > 2; if (wide) return t.price; return t.price * 2; });
  TRACED("if constexpr on a constant", [](auto t) { if constexpr (sizeof(int) == 4) return t.qty; else return t.price; });
  DIFFERS("if constexpr on the field's type", [](auto t) { if constexpr (std::is_same_v<decltype(t.price), double>) return t.price; else return t.price * 0; });
  DIFFERS("?: field : int with a constant condition", [k = false](auto t) { auto n = k ? t.price : 7; return n / 2 * t.price; });
  OPAQUE("throw in a branch", "the function threw while it was traced: negative", [](auto t) { if (t.qty < -100) throw std::runtime_error("negative"); return t.price; });
  OPAQUE("catch (...) around a typed local", PLAIN, [](auto t) { double p = 0; try { p = t.price; } catch (...) { p = -1; } return p; });
  TRACED("three-way comparison", [](auto t) { return (t.price <=> t.weight) < 0; });
  TRACED("three-way comparison of ints", [](auto t) { auto c = t.qty <=> t.lots; if (c == 0) return 0; return c < 0 ? -1 : 1; });
  return std::move(to.forms);
}

}  // namespace corpus
