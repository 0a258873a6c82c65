#include "corpus/forms.hpp"

namespace corpus {

std::vector<form> arithmetic() {
  collector to("arithmetic");
  TRACED("mixed arithmetic", [](auto t) { return t.price * t.qty + 1; });
  TRACED("integer arithmetic", [](auto t) { return t.qty * 3 - t.symbol + 7; });
  TRACED("small integers promote", [](auto t) { return t.lots + t.level; });
  TRACED("float stays float", [](auto t) { return t.weight * 2.f + 1.f; });
  TRACED("float * double", [](auto t) { return t.weight * t.price; });
  TRACED("int64 and int32", [](auto t) { return t.when + t.qty; });
  TRACED("unsigned wraps", [](auto t) { return t.flags - 5u; });
  TRACED("unsigned and signed", [](auto t) { return t.flags * t.qty; });
  TRACED("% and /", [](auto t) { return t.qty % 3 + 7 / (t.qty + 1); });
  TRACED("% of negatives", [](auto t) { return t.symbol % 4; });
  TRACED("bit operators", [](auto t) { return (t.qty & 1) | (t.qty << 2); });
  TRACED("bit operators of unsigned", [](auto t) { return ((t.flags >> 3) ^ 0x55u) & ~t.flags; });
  TRACED("shift by a field", [](auto t) { return 1 << t.qty; });
  TRACED("shift of int64", [](auto t) { return t.when >> 2; });
  TRACED("unary minus", [](auto t) { return -t.price; });
  TRACED("unary minus of a short", [](auto t) { return -t.lots; });
  TRACED("unary plus", [](auto t) { return +t.level; });
  TRACED("~", [](auto t) { return ~t.qty; });
  TRACED("signed against unsigned", [](auto t) { return t.qty - 5 > t.flags; });
  TRACED("int against double", [](auto t) { return t.qty > t.price; });
  TRACED("float against double literal", [](auto t) { return t.weight > 0.1; });
  TRACED("bool in arithmetic", [](auto t) { return t.hot + 1; });
  TRACED("bool * double", [](auto t) { return t.hot * t.price; });
  TRACED("char literal", [](auto t) { return t.qty + 'a'; });
  TRACED("long literal", [](auto t) { return t.qty + 1L; });
  TRACED("unsigned long long literal", [](auto t) { return t.flags + 1ull; });
  TRACED("division of floats", [](auto t) { return t.price / (t.weight + 100); });
  TRACED("division by zero of floats", [](auto t) { return t.price / t.lots; });
  OPAQUE("long double literal", "a value of more than 64 bits", [](auto t) { return t.price * 2.0L; });
  TRACED("auto local", [](auto t) { auto p = t.price; p *= 2; return p; });
  TRACED("const auto local", [](auto t) { const auto p = t.price * t.qty; return p * p - p; });
  TRACED("auto& local", [](auto t) { auto& p = t.price; p += 1; return t.price; });
  TRACED("auto&& local", [](auto t) { auto&& p = t.price; return p * 2; });
  TRACED("decltype local from a field", [](auto t) { decltype(t.price) s = t.price; s += 1; return s; });
  TRACED("value_t local", [](auto t) { query::value_t<double, decltype(t)> s = 0; s += t.price; s -= t.qty; return s; });
  TRACED("value_t local of int", [](auto t) { query::value_t<int, decltype(t)> s = 1; s += t.qty; s <<= 1; return s; });
  TRACED("value_t converts as assignment does", [](auto t) { query::value_t<int, decltype(t)> n = t.price * 1.5; return n; });
  TRACED("int local += double", [](auto t) { auto n = t.qty; n += t.price; return n; });
  TRACED("int local *= double", [](auto t) { auto n = t.qty; n *= 1.5; return n; });
  TRACED("%= &= |= ^= <<= >>=", [](auto t) { auto n = t.qty; n %= 7; n |= 8; n ^= 3; n &= 0xff; n <<= 2; n >>= 1; return n; });
  TRACED("++ and --", [](auto t) { auto n = t.qty; ++n; n++; --n; auto old = n--; return old * 100 + n; });
  TRACED("const double of no field", [](auto t) { const double k = 2; return t.price * k; });
  OPAQUE("double p = field", PLAIN, [](auto t) { double p = t.price; return p * 2; });
  OPAQUE("double p{field}", PLAIN, [](auto t) { double p{t.price}; return p * 2; });
  OPAQUE("double s = 0; s += field", PLAIN, [](auto t) { double s = 0; s += t.price; return s; });
  OPAQUE("double s = 0; s = s + field", PLAIN, [](auto t) { double s = 0; s = s + t.price; return s; });
  OPAQUE("static_cast<double>(field)", PLAIN, [](auto t) { return static_cast<double>(t.qty) / 4; });
  OPAQUE("double(field)", PLAIN, [](auto t) { return double(t.qty) / 4; });
  OPAQUE("(int)field", PLAIN, [](auto t) { return (int)t.price; });
  OPAQUE("static_cast<int>(enum field)", PLAIN, [](auto t) { return static_cast<int>(t.side); });
  OPAQUE("int64 from a call of a template", PLAIN, [](auto t) { return std::max<std::int64_t>(t.qty, 3); });
  TRACED("query::cast<double>(int field)", [](auto t) { return query::cast<double>(t.qty) / 4; });
  TRACED("query::cast<int>(double field)", [](auto t) { return query::cast<int>(t.price); });
  TRACED("query::cast<float>(double)", [](auto t) { return query::cast<float>(t.price) * 0.1f; });
  TRACED("query::cast to a narrow integer", [](auto t) { return query::cast<signed char>(t.qty * 100); });
  TRACED("query::cast<bool>", [](auto t) { return query::cast<bool>(t.qty); });
  TRACED("query::cast<int>(enum)", [](auto t) { return query::cast<int>(t.side) * 10; });
  TRACED("query::cast<Side>(int)", [](auto t) { return query::cast<Side>(t.qty & 1); });
  TRACED("query::cast<unsigned>(negative)", [](auto t) { return query::cast<unsigned>(t.symbol); });
  TRACED("query::cast of a literal", [](auto t) { return t.price + query::cast<int>(2.9); });
  TRACED("compare with cast", [](auto t) { return query::cast<int>(t.price) == t.qty; });
  TRACED("recursion on a concrete depth", [](auto t) { auto f = [](auto self, auto x, int n) -> decltype(x) { return n == 0 ? x : self(self, x * 2, n - 1); }; return f(f, t.price + 0, 3); });
  TRACED("polynomial by Horner", [](auto t) { const double c[] = {1, -2, 3, 0.5}; auto p = t.price * 0; for (double k : c) p = p * t.price + k; return p; });
  TRACED("fast hash", [](auto t) { auto h = query::cast<std::uint64_t>(t.when) * 0x9E3779B97F4A7C15ull; h ^= h >> 32; return h; });
  TRACED("days and hours", [](auto t) { auto s = t.when % 86400; return s / 3600 * 100 + s % 3600 / 60; });
  TRACED("comma operator", [](auto t) { auto p = t.price; return p += 1, p * 2; });
  TRACED("captured number", [k = 2.5](auto t) { return t.price > k; });
  TRACED("captured int and double", [k = 2.5, n = 3](auto t) { return t.price * k + n; });
  TRACED("captured by reference", [](double& k) { return [&k](auto t) { return t.price > k; }; }(limit));
  TRACED("global variable", [](auto t) { return t.price > limit; });
  TRACED("captured enum", [s = Side::sell](auto t) { return t.side == s; });
  TRACED("captured record", [v = Vec3{1, 2, 3}](auto t) { return t.pos.x * v.x + t.pos.y * v.y + t.pos.z * v.z; });
  TRACED("captured pointer", [p = &limit](auto t) { return t.price > *p; });
  TRACED("captured std::array by constant index", [a = std::array<double, 3>{1, 2, 3}](auto t) { return a[0] * t.price + a[2]; });
  TRACED("captured vector by constant index", [a = std::vector<double>{1, 2, 3}](auto t) { return a[1] * t.price + a.size(); });
  TRACED("loop over a captured vector", [a = std::vector<double>{1, 2, 3}](auto t) { auto s = t.price * 0; for (double e : a) s += e * t.price; return s; });
  TRACED("captured lambda", [f = [](auto x) { return x * x; }](auto t) { return f(t.price); });
  TRACED("static const local", [](auto t) { static const double k = 3; return t.price * k; });
  TRACED("thread_local constant", [](auto t) { thread_local double k = 3; return t.price * k; });
  return std::move(to.forms);
}

}  // namespace corpus
