#include "corpus/forms.hpp"

namespace corpus {

std::vector<form> nested() {
  collector to("nested");
  const auto centres = query::broadcast(std::vector<Vec3>{{1, 2, 3}, {-4, 5, -6}, {0, 0, 0}, {7, -8, 2}});
  const auto rates = query::broadcast(std::vector<double>{1.5, 2.5, 0.25, 4, 1});
  const auto numbers = query::broadcast(std::vector<int>{1, 3, 5});
  static const auto kept = query::broadcast(std::vector<double>{1.5, 2.5});
  const auto none = query::broadcast(std::vector<int>{});
  TRACED_ORDER("sum over a list", [](auto t) { return query::sum(t.legs, [](auto l) { return l.qty * l.price; }); });
  TRACED_ORDER("sum of integers over a list", [](auto t) { return query::sum(t.legs, [](auto l) { return l.qty; }); });
  TRACED_ORDER("sum of a list of numbers", [](auto t) { return query::sum(t.marks); });
  TRACED_ORDER("sum with the row", [](auto t) { return query::sum(t.marks, [&](auto m) { return m * t.price; }); });
  TRACED_ORDER("min and max of a list", [](auto t) { if (t.marks.empty()) return t.price; return query::max(t.marks) - query::min(t.marks, [](auto m) { return m * m; }); });
  TRACED_ORDER("any", [](auto t) { return query::any(t.legs, [](auto l) { return l.qty > 3 && l.price < 1; }); });
  TRACED_ORDER("all", [](auto t) { return query::all(t.marks, [](auto m) { return m > 0; }); });
  TRACED_ORDER("count", [](auto t) { return query::count(t.legs, [](auto l) { return l.qty > 2; }); });
  TRACED_ORDER("any in a branch", [](auto t) { if (query::any(t.marks, [](auto m) { return m > 3; })) return t.price; return t.price * 2; });
  TRACED_ORDER("fold", [](auto t) { return query::fold(t.legs, 0.0, [](auto s, auto l) { return s + l.qty * l.price; }); });
  TRACED_ORDER("fold from an int to a double", [](auto t) { return query::fold(t.legs, 0, [](auto s, auto l) { return s + l.qty * l.price; }); });
  TRACED_ORDER("fold with branches", [](auto t) { return query::fold(t.marks, 0.0, [](auto s, auto m) { if (m > s) return m; return s; }); });
  TRACED_ORDER("fold of a string", [](auto t) { return query::fold(t.legs, t.name, [](auto s, auto l) { return s + "x"; }); });
  TRACED_ORDER("fold of a pair", [](auto t) { return query::fold(t.marks, std::tuple{0.0 * t.price, 0 * t.id}, [](auto s, auto m) { auto [sum, n] = s; return std::tuple{sum + m, n + 1}; }); });
  TRACED_ORDER("a list inside a list's body", [](auto t) { return query::sum(t.legs, [&](auto l) { return query::sum(t.marks, [&](auto m) { return m * l.qty; }); }); });
  TRACED_ORDER("two sums over one list", [](auto t) { return query::sum(t.legs, [](auto l) { return l.price; }) / (1 + query::count(t.legs, [](auto l) { return l.price > 0; })); });
  TRACED_ORDER("list size()", [](auto t) { return t.legs.size(); });
  TRACED_ORDER("list empty()", [](auto t) { return t.marks.empty() ? 1 : 2; });
  TRACED_ORDER("list[0] under a test", [](auto t) { return t.marks.size() > 0 ? t.marks[0] : t.price; });
  TRACED_ORDER("front and back under a test", [](auto t) { if (t.legs.empty()) return t.price; return t.legs.front().price + t.legs.back().price; });
  TRACED_ORDER("return a list", [](auto t) { return t.marks; });
  OPAQUE_ORDER("range-for over a list", "a loop over a list field", [](auto t) { double s = 0; for (const auto& l : t.legs) s += l.price; return s; });
  OPAQUE_ORDER("std::accumulate over a list", "a loop over a list field", [](auto t) { return std::accumulate(t.marks.begin(), t.marks.end(), 0.0); });
  OPAQUE_ORDER("std::any_of over a list", "a loop over a list field", [](auto t) { return std::any_of(t.marks.begin(), t.marks.end(), [](auto m) { return m > 1; }); });
  OPAQUE_ORDER("list == list", "lists are compared as a whole", [](auto t) { return t.marks == t.marks; });
  OPAQUE_ORDER("list < plain list", "lists are compared as a whole", [](auto t) { return t.marks < std::vector<double>{1, 2}; });
  OPAQUE_ORDER("std::vector local from a list", PLAIN, [](auto t) { std::vector<double> v = t.marks; return v.size(); });
  OPAQUE_ORDER("an element stored outside", "an element of a nested query", [](auto t) { query::value_t<double, decltype(t)> last = 0; query::any(t.marks, [&](auto m) { last = m; return m > 1e9; }); return last * t.price; });
  TRACED("sum over an array field", [](auto t) { return query::sum(t.x, [](auto e) { return e * e; }); });
  TRACED("count over an array field", [](auto t) { return query::count(t.x, [](auto e) { return e > 0; }); });
  TRACED("max over an array field", [](auto t) { return query::max(t.x); });
  TRACED_SERIES("sum over an array field of 100 elements", [](auto t) { return query::sum(t.x, [&](auto e) { return e * t.scale; }); });
  TRACED("fold over an array of records", [](auto t) { return query::fold(t.legs, 1.0, [](auto s, auto l) { return s * l.price; }); });
  TRACED("any over a C array", [](auto t) { return query::any(t.raw, [](auto e) { return e > 3; }); });
  TRACED("sum over a captured vector", [v = std::vector<double>{1, 2, 3}](auto t) { return query::sum(v, [&](auto e) { return e * t.price; }); });
  TRACED("collection: arg_min(row, f)", [centres](auto t) { return centres.arg_min(t, [](auto t, auto c) { return query::squared_distance(t.pos, c); }); });
  TRACED("collection: arg_min(f)", [centres](auto t) { return centres.arg_min([&](auto c) { return query::squared_distance(t.pos, c); }); });
  TRACED("collection: arg_max", [rates](auto t) { return rates.arg_max(t, [](auto t, auto r) { return query::abs(t.price - r); }); });
  TRACED("collection: arg_min of ties", [numbers](auto t) { return numbers.arg_min(t.qty, [](auto q, auto n) { return q * 0; }); });
  TRACED("collection: arg_min of nothing", [none](auto t) { return none.arg_min(t.qty, [](auto q, auto n) { return q * n; }); });
  TRACED("collection: min and max", [rates](auto t) { return rates.min(t.price, [](auto p, auto r) { return p * r; }) + rates.max([&](auto r) { return r - t.price; }); });
  TRACED("collection: sum", [rates](auto t) { return rates.sum(t.price, [](auto p, auto r) { return p * r; }); });
  TRACED("collection: count", [numbers](auto t) { return numbers.count(t, [](auto t, auto n) { return n < t.qty; }); });
  TRACED("collection: any and all", [numbers](auto t) { return numbers.any(t.qty, [](auto q, auto n) { return n == q; }) || numbers.all(t.qty, [](auto q, auto n) { return n > q; }); });
  TRACED("collection: any(f) asks element by element", [numbers](auto t) { return numbers.any([&](auto n) { return n == t.qty; }); });
  TRACED("collection: contains", [numbers](auto t) { return numbers.contains(t.qty); });
  TRACED("collection: fold", [rates](auto t) { return rates.fold(t.price, 1.0, [](auto p, auto s, auto r) { return s * r + p; }); });
  TRACED("collection: fold over traced state", [rates](auto t) { return rates.fold(t.price, [](auto s, auto r) { return s * r; }); });
  TRACED("collection[field]", [rates](auto t) { return rates[t.qty % 5] * t.price; });
  TRACED("collection of records[field].member", [centres](auto t) { return centres[t.qty & 3].y; });
  TRACED("collection[constant]", [rates](auto t) { return rates[1] * t.price; });
  TRACED("collection size()", [rates](auto t) { return t.price * rates.size(); });
  TRACED("range-for over a small collection", [numbers](auto t) { int n = 0; for (int e : numbers) if (t.qty > e) ++n; return n; });
  TRACED("collection by reference", [&c = kept](auto t) { return c.sum(t.price, [](auto p, auto r) { return p * r; }); });
  TRACED("arg_min then [field]", [centres](auto t) { const auto i = centres.arg_min(t, [](auto t, auto c) { return query::squared_distance(t.pos, c); }); return centres[i].x; });
  OPAQUE("range-for over a large collection", "a loop over a captured collection of more than 64", [c = query::broadcast(std::vector<int>(100, 1))](auto t) { int n = 0; for (int e : c) n += t.qty > e; return n; });
  OPAQUE("collection of undescribed elements", "a captured collection whose elements have no QUERY_RECORD", [c = query::broadcast(std::vector<Undescribed>(3))](auto t) { return c.any(t.qty, [](auto q, const auto&) { return q > 2; }); });
  TRACED("query::loop of a number", [](auto t) { return query::loop(t.qty + 1, [](auto i) { return i < 1000; }, [](auto i) { return i * 2; }); });
  TRACED("query::loop of a tuple", [](auto t) { return std::get<1>(query::loop(std::tuple{t.qty, t.qty * 0}, [](auto s) { return std::get<0>(s) > 1; }, [](auto s) { auto [n, k] = s; return std::tuple{query::iff(query::lazy(n) % 2 == 0, n / 2, 3 * n + 1), k + 1}; })); });
  TRACED("query::loop with branches in step", [](auto t) { return std::get<1>(query::loop(std::tuple{t.qty, t.qty * 0}, [](auto s) { return std::get<0>(s) > 1; }, [](auto s) { auto [n, k] = s; if (n % 2 == 0) return std::tuple{n / 2, k + 1}; return std::tuple{3 * n + 1, k + 1}; })); });
  TRACED("query::loop of a record", [](auto t) { return query::loop(query::make<Out>(t.price, 0), [](auto o) { return o.b < 5; }, [](auto o) { return query::make<Out>(o.a * 0.5, o.b + 1); }); });
  TRACED("query::loop, Mandelbrot", [](auto t) { return std::get<2>(query::loop(std::tuple{t.price * 0, t.price * 0, t.qty * 0}, [](auto z) { auto [x, y, n] = z; return n < 100 && x * x + y * y < 4; }, [&](auto z) { auto [x, y, n] = z; return std::tuple{x * x - y * y + t.price / 8, 2 * x * y + t.qty / 8.0, n + 1}; })); });
  TRACED("query::loop, Newton", [](auto t) { auto a = query::abs(t.price) + 1; return query::loop(a, [&](auto x) { return query::abs(x * x - a) > 1e-9 * a; }, [&](auto x) { return (x + a / x) / 2; }); });
  TRACED("query::loop of plain values with the row", [](auto t) { return query::loop(query::value_t<int, decltype(t)>(0), [&](auto i) { return i * i < t.qty; }, [](auto i) { return i + 1; }); });
  TRACED("query::loop in a query::loop", [](auto t) { return query::loop(t.qty, [](auto i) { return i < 50; }, [](auto i) { return i + query::loop(i, [](auto j) { return j > 3; }, [](auto j) { return j / 2; }) + 1; }); });
  TRACED("query::loop of plain values only", [](auto t) { return t.price * query::loop(1, [](auto i) { return i < 100; }, [](auto i) { return i * 2; }); });
  OPAQUE("for (i < field)", "more than 64 data-dependent decisions", [](auto t) { int s = 0; for (int i = 0; i < t.qty; ++i) s += i; return s; });
  OPAQUE("while (p > 1) p /= 2", "more than 64 data-dependent decisions", [](auto t) { auto p = t.price; while (p > 1) p /= 2; return p; });
  TRACED("while with a bound of 10", [](auto t) { auto p = t.price; for (int i = 0; i < 10 && p > 1; ++i) p /= 2; return p; });
  TRACED("do while with a bound", [](auto t) { auto p = t.price; int i = 0; do { p /= 2; } while (++i < 6 && p > 1); return p; });
  return std::move(to.forms);
}

}  // namespace corpus
