// A random expression over a row, drawn while it is compiled: one seed is one function template, which therefore has a
// native life and a traced one. Seeds of the parts derive from the seed of the whole.
//
//   const auto f = [](const auto& t) { return random_trees::result<17>(t); };
#pragma once

#include "corpus/random_trees/oracle.hpp"
#include "corpus/random_trees/sample.hpp"

namespace random_trees {

using seed = std::uint64_t;

// SplitMix64 (Steele, Lea, Flood 2014).
constexpr seed draw(seed s, seed which = 0) {
  seed z = s + (which + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}
constexpr seed part(seed s, seed i) { return draw(s, 100 + i); }
constexpr unsigned pick(seed s, unsigned of) { return static_cast<unsigned>(draw(s) % of); }

// What a part of the tree sees: the row, and the element or state of the loop that it is in.
template <class Row, class Local> struct scope {
  static constexpr bool traced = query::detail::is_twin_v<Row>;
  const Row& row;
  const Local& local;
};
template <class Row, class Local> scope<Row, Local> within(const Row& row, const Local& local) { return {row, local}; }

template <seed S, int Depth, class In> auto number(const In& in);
template <seed S, int Depth, class In> auto truth(const In& in);
template <seed S, int Depth, class In> auto text(const In& in);
template <seed S, int Depth, class In> auto whole(const In& in);
template <seed S, int Depth, class In> auto operand(const In& in);

// Parts as functions that are compiled when they are called: the body of a lambda would be compiled in any case.
#define QUERY_RANDOM_PART(name, function)                                  \
  template <seed S, int Depth, class In> struct name {                     \
    const In& in;                                                          \
    auto operator()() const { return function<S, Depth>(in); }             \
  };
QUERY_RANDOM_PART(a_number, number)
QUERY_RANDOM_PART(an_operand, operand)
QUERY_RANDOM_PART(a_whole, whole)
QUERY_RANDOM_PART(a_truth, truth)
QUERY_RANDOM_PART(a_text, text)
#undef QUERY_RANDOM_PART

template <seed S, class In> auto leaf(const In& in) {
  constexpr unsigned p = pick(S, 20);
  const auto& t = in.row;
  if constexpr (p == 0) return t.tiny;
  else if constexpr (p == 1) return t.small;
  else if constexpr (p == 2) return t.id;
  else if constexpr (p == 3) return t.large;
  else if constexpr (p == 4) return t.level;
  else if constexpr (p == 5) return t.port;
  else if constexpr (p == 6) return t.flags;
  else if constexpr (p == 7) return t.bits;
  else if constexpr (p == 8) return t.ratio;
  else if constexpr (p == 9) return t.price;
  else if constexpr (p == 10) return t.hot;
  else if constexpr (p == 11) return t.at.x;
  else if constexpr (p == 12) return t.at.y;
  else if constexpr (p == 13) return t.at.k;
  else if constexpr (p == 14) return t.x[draw(S, 1) % 4];
  else if constexpr (p == 15) return t.counts[draw(S, 1) % 3];
  else if constexpr (p == 16) return query::cast<int>(t.state);
  else return in.local;
}

template <seed S, int Depth, class In> auto whole(const In& in) {
  const auto n = number<part(S, 90), Depth>(in);
  using N = query::detail::value_of_t<decltype(n)>;
  if constexpr (std::is_integral_v<N> && !std::is_same_v<N, bool>) return n;
  else return to<std::int64_t>(n);
}
// The right side of an operator may be a plain number.
template <seed S, int Depth, class In> auto operand(const In& in) {
  constexpr unsigned p = pick(part(S, 91), 16);
  if constexpr (p == 0) return 3;
  else if constexpr (p == 1) return -7;
  else if constexpr (p == 2) return 5u;
  else if constexpr (p == 3) return 0.5;
  else if constexpr (p == 4) return std::int64_t{10'000'000'000};
  else if constexpr (p == 5) return 1.5f;
  else if constexpr (p == 6) return static_cast<std::int8_t>(-128);
  else return number<part(S, 92), Depth>(in);
}
template <seed S, int Depth, class In> auto divisor(const In& in) {
  const auto n = whole<part(S, 93), Depth>(in);
  if constexpr (draw(S, 7) % 4 == 0) return n;
  else return choose<In>(condition<In>(query::lazy(n) == 0), [] { return 1; }, [&] { return n; });
}

template <seed S, int Depth, class In> auto cast_number(const In& in) {
  const auto n = number<part(S, 0), Depth>(in);
  constexpr unsigned p = pick(part(S, 1), 11);
  if constexpr (p == 0) return to<std::int8_t>(n);
  else if constexpr (p == 1) return to<std::int16_t>(n);
  else if constexpr (p == 2) return to<std::int32_t>(n);
  else if constexpr (p == 3) return to<std::int64_t>(n);
  else if constexpr (p == 4) return to<std::uint8_t>(n);
  else if constexpr (p == 5) return to<std::uint16_t>(n);
  else if constexpr (p == 6) return to<std::uint32_t>(n);
  else if constexpr (p == 7) return to<std::uint64_t>(n);
  else if constexpr (p == 8) return to<float>(n);
  else if constexpr (p == 9) return to<double>(n);
  else return to<bool>(n);
}
template <seed S, int Depth, class In> auto mathematics(const In& in) {
  const auto n = number<part(S, 0), Depth>(in);
  constexpr unsigned p = pick(part(S, 1), 15);
  if constexpr (p == 0) return query::floor(n);
  else if constexpr (p == 1) return query::ceil(n);
  else if constexpr (p == 2) return query::round(n);
  else if constexpr (p == 3) return query::trunc(n);
  else if constexpr (p == 4) return query::sqrt(n);
  else if constexpr (p == 5) return query::exp(n);
  else if constexpr (p == 6) return query::log(n);
  else if constexpr (p == 7) return query::sin(n);
  else if constexpr (p == 8) return query::cbrt(n);
  else {
    const auto m = operand<part(S, 2), Depth>(in);
    if constexpr (p == 9) return query::pow(n, m);
    else if constexpr (p == 10) return query::atan2(n, m);
    else if constexpr (p == 11) return query::fmod(n, m);
    else if constexpr (p == 12) return query::hypot(n, m);
    else if constexpr (p == 13) return query::copysign(n, m);
    else return query::fma(n, m, number<part(S, 3), 0>(in));
  }
}
// Sums, folds and elements of lists and arrays; bodies see the element (or the fold's state) as their local number.
template <seed S, int Depth, class In> auto of_many(const In& in) {
  constexpr unsigned p = pick(part(S, 1), 14);
  const auto& t = in.row;
  const auto small = [&](const auto& e) { return to<std::int16_t>(number<part(S, 0), Depth>(within(t, e))); };
  const auto exact = [&](const auto& e) { return to<double>(number<part(S, 0), Depth>(within(t, e))); };
  if constexpr (p == 0) return query::sum(t.parts, small);
  else if constexpr (p == 1) return query::sum(t.marks, exact);
  else if constexpr (p == 2) return query::sum(t.counts, small);
  else if constexpr (p == 3) return query::sum(t.x);
  else if constexpr (p == 4) return query::dot(t.x, t.x);
  else if constexpr (p == 5) return query::max(t.x, exact);
  else if constexpr (p == 6) return query::min(t.counts);
  else if constexpr (p == 7) return query::count(t.marks, [&](const auto& e) { return truth<part(S, 0), Depth>(within(t, e)); });
  else if constexpr (p == 8) {
    const auto some = condition<In>(query::lazy(t.parts.size()) != 0u);
    return choose<In>(some, [&] { return query::min(t.parts, small); }, [&] { return t.small; });
  } else if constexpr (p == 9) {
    const auto two = condition<In>(query::lazy(t.marks.size()) > 1u);
    return choose<In>(two, [&] { return t.marks[1]; }, [&] { return t.price; });
  }
  else if constexpr (p == 10) return t.x[both_bits(to<std::int32_t>(whole<part(S, 2), Depth>(in)), 3)];
  else if constexpr (p == 11) {
    return query::fold(t.parts, to<std::int64_t>(t.small), [&](const auto& s, const auto& e) {
      return to<std::int64_t>(plus(number<part(S, 0), Depth>(within(t, s)), e));
    });
  } else if constexpr (p == 12) {
    return query::fold(t.marks, t.price, [&](const auto& s, const auto& e) {
      return choose<In>(truth<part(S, 0), Depth>(within(t, e)), [&] { return e; }, [&] { return s; });
    });
  } else return query::squared_distance(t.x, t.x * 0.5f);
}
template <seed S, int Depth, class In> auto rounds(const In& in) {
  using Row = std::remove_cvref_t<decltype(in.row)>;
  const auto& t = in.row;
  const auto start = std::tuple{to<std::int64_t>(number<part(S, 0), Depth>(in)), query::value_t<int, Row>(0)};
  const auto most = both_bits(to<std::int32_t>(leaf<part(S, 1)>(in)), 7);
  const auto end = query::loop(
      start,
      [&](const auto& s) {
        const auto go_on = condition<In>(query::lazy(std::get<1>(s)) < most);
        if constexpr (draw(S, 2) % 2) return go_on;
        else return both<In>([&] { return go_on; }, [&] { return truth<part(S, 2), Depth>(within(t, std::get<0>(s))); });
      },
      [&](const auto& s) {
        return std::tuple{to<std::int64_t>(number<part(S, 3), Depth>(within(t, std::get<0>(s)))), std::get<1>(s) + 1};
      });
  return std::get<0>(end);
}
template <seed S, int Depth, class In> auto of_optional(const In& in) {
  constexpr unsigned p = pick(part(S, 1), 6);
  const auto& t = in.row;
  const a_number<part(S, 0), Depth, In> n{in};
  if constexpr (p == 0) return t.lot.value_or(-1);
  else if constexpr (p == 1) return t.fee.value_or(t.price);
  else if constexpr (p == 2) return choose<In, true>(t.lot.has_value(), [&] { return *t.lot; }, n);
  else if constexpr (p == 3) return choose<In, true>(t.place.has_value(), [&] { return t.place->y; }, [&] { return t.at.y; });
  else if constexpr (p == 4) return choose<In, true>(t.fee.has_value(), [&] { return plus(*t.fee, n()); }, [] { return 0.25; });
  else return choose<In, true>(t.place.has_value(), [&] { return t.place->k; }, [&] { return -1; });
}

template <seed S, int Depth, class In> auto number(const In& in) {
  constexpr int d = Depth - 1;
  constexpr unsigned p = pick(S, 32);
  const a_number<part(S, 0), d, In> a{in};
  const an_operand<part(S, 1), d, In> b{in};
  const a_whole<part(S, 0), d, In> i{in};
  const a_whole<part(S, 1), d, In> j{in};
  const a_truth<part(S, 2), d, In> c{in};
  if constexpr (Depth <= 0 || p < 3) return leaf<part(S, 0)>(in);
  else if constexpr (p < 5) return plus(a(), b());
  else if constexpr (p < 7) return minus(a(), b());
  else if constexpr (p < 9) return times(a(), b());
  else if constexpr (p == 9) return random_trees::divided(a(), divisor<part(S, 1), d>(in));
  else if constexpr (p == 10) return random_trees::remainder(i(), divisor<part(S, 1), d>(in));
  else if constexpr (p == 11) return random_trees::divided(to<double>(a()), b());
  else if constexpr (p == 12) return both_bits(i(), j());
  else if constexpr (p == 13) return any_bits(i(), j());
  else if constexpr (p == 14) return other_bits(i(), j());
  else if constexpr (p == 15) return left(i(), j());
  else if constexpr (p == 16) return right(i(), j());
  else if constexpr (p == 17) return negated(a());
  else if constexpr (p == 18) return ~i();
  else if constexpr (p == 19) return absolute(a());
  else if constexpr (p == 20) return query::min(a(), b());
  else if constexpr (p == 21) return query::max(a(), b());
  else if constexpr (p == 22) return query::clamp(a(), b(), number<part(S, 3), 0>(in));
  else if constexpr (p == 23) return mathematics<part(S, 0), d>(in);
  else if constexpr (p == 24) return choose<In>(c(), a, b);
  else if constexpr (p == 25) return choose<In, true>(c(), a, b);
  else if constexpr (p == 26) return rounds<part(S, 0), d>(in);
  else if constexpr (p == 27 && draw(S, 1) % 2) return query::length(text<part(S, 0), d>(in));
  else if constexpr (p == 27) return query::find(text<part(S, 0), d>(in), "a");
  else if constexpr (p == 28) return of_optional<part(S, 0), d>(in);
  else if constexpr (p == 29) return of_many<part(S, 0), d>(in);
  else return cast_number<part(S, 0), d>(in);
}

template <seed S, int Depth, class In> auto compared(const In& in) {
  constexpr unsigned p = pick(part(S, 2), 6);
  const auto a = query::lazy(number<part(S, 0), Depth - 1>(in));
  const auto b = operand<part(S, 1), Depth - 1>(in);
  if constexpr (p == 0) return condition<In>(a < b);
  else if constexpr (p == 1) return condition<In>(a <= b);
  else if constexpr (p == 2) return condition<In>(a > b);
  else if constexpr (p == 3) return condition<In>(a >= b);
  else if constexpr (p == 4) return condition<In>(a == b);
  else return condition<In>(a != b);
}
template <seed S, int Depth, class In> auto about_text(const In& in) {
  constexpr unsigned p = pick(part(S, 2), 7);
  const auto a = query::lazy(text<part(S, 0), Depth - 1>(in));
  const auto b = text<part(S, 1), 0>(in);
  if constexpr (p == 0) return condition<In>(a < b);
  else if constexpr (p == 1) return condition<In>(a == b);
  else if constexpr (p == 2) return condition<In>(a >= "b");
  else if constexpr (p == 3) return condition<In>(query::starts_with(a, b));
  else if constexpr (p == 4) return condition<In>(query::ends_with(a, "a"));
  else if constexpr (p == 5) return condition<In>(query::contains(a, b));
  else return condition<In>(a != "");
}
// Questions that fork when traced.
template <seed S, int Depth, class In> auto asked(const In& in) {
  constexpr unsigned p = pick(part(S, 1), 9);
  const auto& t = in.row;
  const auto body = [&](const auto& e) { return truth<part(S, 0), Depth - 1>(within(t, e)); };
  if constexpr (p == 0) return condition<In>(query::any(t.parts, body));
  else if constexpr (p == 1) return condition<In>(query::all(t.marks, body));
  else if constexpr (p == 2) return condition<In>(query::any(t.x, body));
  else if constexpr (p == 3) return condition<In>(t.fee < 1.5);
  else if constexpr (p == 4) return condition<In>(t.lot == 3);
  else if constexpr (p == 5) return condition<In>(t.lot != std::nullopt);
  else if constexpr (p == 6) return condition<In>(t.note == "a");
  else if constexpr (p == 7) return condition<In>(t.name.empty());
  else return condition<In>(t.lot >= t.lot);
}
template <seed S, int Depth, class In> auto truth(const In& in) {
  constexpr unsigned p = pick(S, 20);
  const a_truth<part(S, 0), Depth - 1, In> a{in};
  const a_truth<part(S, 1), Depth - 1, In> b{in};
  if constexpr (Depth <= 0) return condition<In>(query::lazy(leaf<part(S, 0)>(in)) < leaf<part(S, 1)>(in));
  else if constexpr (p < 8) return compared<S, Depth>(in);
  else if constexpr (p < 10) return both<In>(a, b);
  else if constexpr (p < 12) return either<In>(a, b);
  else if constexpr (p < 14) return condition<In>(!a());
  else if constexpr (p == 14) return condition<In>(query::isnan(query::lazy(number<part(S, 0), Depth - 1>(in))));
  else if constexpr (p == 15) return condition<In>(query::lazy(in.row.state) == mood::brisk);
  else if constexpr (p == 16) return condition<In>(in.row.hot);
  else if constexpr (p == 17) return asked<S, Depth>(in);
  else return about_text<S, Depth>(in);
}

template <seed S, int Depth, class In> auto text(const In& in) {
  constexpr unsigned p = pick(S, 12);
  const auto& t = in.row;
  const a_text<part(S, 0), Depth - 1, In> a{in};
  const a_text<part(S, 1), Depth - 1, In> b{in};
  if constexpr (Depth <= 0 || p < 2) {
    if constexpr (p % 3 == 0) return t.name + "";
    else if constexpr (p % 3 == 1) return t.city + "a";
    else return "<" + t.name;
  } else if constexpr (p < 4) return a() + b();
  else if constexpr (p == 4) return a() + 'b';
  else if constexpr (p == 5) return query::to_upper(a());
  else if constexpr (p == 6) return query::to_lower(a());
  else if constexpr (p == 7) {
    const auto s = a();
    const auto at = query::min(to<std::uint64_t>(both_bits(whole<part(S, 1), Depth - 1>(in), 7)), query::length(s));
    return query::substr(s, at, both_bits(whole<part(S, 2), 0>(in), 7));
  } else if constexpr (p == 8) return choose<In>(truth<part(S, 2), Depth - 1>(in), a, b);
  else if constexpr (p == 9) return choose<In, true>(truth<part(S, 2), Depth - 1>(in), a, b);
  else if constexpr (p == 10) return t.note.value_or(t.city);
  else {
    return query::fold(t.parts, a(), [&](const auto& s, const auto& e) {
      return choose<In>(query::lazy(e) > 0, [&] { return s + "x"; }, [&] { return s + ""; });
    });
  }
}

// Trees of every kind of result.
template <seed S, class Row> auto result(const Row& t) {
  const auto in = within(t, t.id);
  constexpr unsigned p = pick(S, 16);
  constexpr int d = 3 + static_cast<int>(draw(S, 1) % 2);
  if constexpr (p < 7) return number<part(S, 0), d>(in);
  else if constexpr (p < 10) return truth<part(S, 0), d>(in);
  else if constexpr (p < 12) return text<part(S, 0), d>(in);
  else if constexpr (p == 12) {
    using In = std::remove_const_t<decltype(in)>;
    return choose<In>(truth<part(S, 0), 2>(in), a_number<part(S, 1), d - 1, In>{in}, [] { return std::nullopt; });
  }
  else if constexpr (p == 13) return std::tuple{number<part(S, 0), d - 1>(in), text<part(S, 1), 2>(in), truth<part(S, 2), 2>(in)};
  else {
    return query::make<outcome>(to<double>(number<part(S, 0), d - 1>(in)), to<std::int8_t>(number<part(S, 1), 2>(in)),
                                text<part(S, 2), 2>(in), truth<part(S, 3), 2>(in), t.lot,
                                query::cast<mood>(both_bits(whole<part(S, 4), 1>(in), 1)), to<std::uint64_t>(number<part(S, 5), 2>(in)));
  }
}

}  // namespace random_trees
