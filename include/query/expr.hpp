// expr<T>: the symbolic value that a traced function computes with. Same operators as T; each builds a node.
//
// The rules that make plain C++ lambdas trace (docs/lambdas.md):
//   comparisons give a plain bool: both outcomes are explored, so `if`, `?:`, `&&`, early returns work as written;
//   expr<T> -> T gives up tracing (the function is opaque and runs natively); T -> expr<T> is explicit;
//   value_t<T, ...> names a local that also takes plain values, for accumulators in helper templates;
//   lazy(x) > 3 is a condition that does not fork, for iff(c, a, b).
//
//   [](auto t) { if (t.qty == 0) return false; return t.price > 3; }     // t.qty is an expr<int>
#pragma once

#include <compare>
#include <concepts>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include <query/detail/tracer.hpp>
#include <query/detail/type.hpp>

namespace query {

template <class T> class expr;
template <class T> class local;
template <class T> class lazy_expr;
class lazy_bool;

namespace detail {

template <class> inline constexpr bool never = false;

template <class X> struct expr_traits : std::false_type {};
template <class T> struct expr_traits<expr<T>> : std::true_type { using held = T; };
template <class T> struct expr_traits<local<T>> : std::true_type { using held = T; };
template <class T> struct expr_traits<lazy_expr<T>> : std::true_type { using held = T; };
template <> struct expr_traits<lazy_bool> : std::true_type { using held = bool; };

template <class X> concept symbolic = expr_traits<std::remove_cvref_t<X>>::value;
template <class X> concept arithmetic = std::is_arithmetic_v<std::remove_cvref_t<X>>;
template <class X> concept text = !symbolic<X> && std::convertible_to<const X&, std::string_view>;
template <class X>
concept plain = arithmetic<X> || std::is_enum_v<std::remove_cvref_t<X>> || text<X> || ir::counted<std::remove_cvref_t<X>>;
template <class X> concept operand = symbolic<X> || plain<X>;
template <class A, class B> concept mixed = (symbolic<A> || symbolic<B>) && operand<A> && operand<B>;

// The C++ type whose value X stands for: expr<T> -> T, "text" -> std::string, int -> int.
template <class X> struct value_of { using type = X; };
template <class X> requires symbolic<X> struct value_of<X> { using type = typename expr_traits<X>::held; };
template <text X> struct value_of<X> { using type = std::string; };
template <class X> using value_of_t = typename value_of<std::remove_cvref_t<X>>::type;

// U -> T loses nothing, as the ternary operator judges it.
template <class U, class T> concept widens = arithmetic<U> && arithmetic<T> && std::is_same_v<std::common_type_t<U, T>, T>;

// Functions of such values run natively.
template <class T> inline constexpr bool too_wide = arithmetic<T> && sizeof(T) > sizeof(std::uint64_t);
[[noreturn]] inline void give_up_wide_value() { ir::give_up("a value of more than 64 bits (long double, __int128)"); }

template <plain V> const ir::node* literal(const V& v) {
  if constexpr (text<V>) {
    return ir::current_arena().put(ir::op::literal, ir::describe<std::string>(), {}, 0, 0, std::string(std::string_view(v)));
  } else if constexpr (sizeof(V) > sizeof(std::uint64_t)) {
    give_up_wide_value();
  } else {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &v, sizeof v);
    return ir::current_arena().put(ir::op::literal, ir::describe<std::remove_cv_t<V>>(), {}, bits);
  }
}
template <operand A> const ir::node* node_of(const A& a) {
  if constexpr (symbolic<A>) return a.get();
  else return literal(a);
}
// A value of a time or a duration, as its number of units of To: multiplied, and divided where the unit is longer.
template <class To, class From> const ir::node* rescaled(const ir::node* x) {
  using ratio = ir::unit_ratio<ir::period_of<From>, ir::period_of<To>>;
  using Number = std::common_type_t<ir::number_in_t<From>, ir::number_in_t<To>, std::intmax_t>;
  auto& a = ir::current_arena();
  const ir::type* const t = ir::describe<Number>();
  const auto number = [&](std::int64_t n) {
    const auto v = static_cast<Number>(n);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &v, sizeof v);
    return a.put(ir::op::literal, t, {}, bits);
  };
  if constexpr (ratio::num != 1 || ratio::den != 1) x = ir::make_cast(a, x, t);
  if constexpr (ratio::num != 1) x = a.put(ir::op::mul, t, {x, number(ratio::num)});
  if constexpr (ratio::den != 1) x = a.put(ir::op::div, t, {x, number(ratio::den)});
  return ir::make_cast(a, x, ir::describe<To>());
}
// a as a value of type T; literals are converted at once.
template <class T, operand A> const ir::node* node_as(const A& a) {
  if constexpr (too_wide<T>) give_up_wide_value();
  else if constexpr (ir::ticking<T> && ir::ticking<value_of_t<A>> && !std::is_same_v<T, value_of_t<A>>) {
    if constexpr (symbolic<A>) return rescaled<T, value_of_t<A>>(a.get());
    else return literal(T(a));
  }
  else if constexpr (arithmetic<A> && arithmetic<T>) return literal(static_cast<T>(a));
  else if constexpr (std::is_same_v<A, char> && std::is_same_v<T, std::string>) return literal(std::string(1, a));
  else if constexpr (std::is_same_v<T, std::string> && !std::is_same_v<value_of_t<A>, std::string>)
    ir::give_up("a number or a character of the row joined to a string");
  else if constexpr (symbolic<A>) return ir::make_cast(ir::current_arena(), a.get(), ir::describe<T>());
  else return node_of(a);
}
inline const ir::node* binary(ir::op what, const ir::type* t, const ir::node* a, const ir::node* b) {
  return ir::current_arena().put(what, t, {a, b});
}
// Said once for two types, whatever the operator and the side that each is on.
template <class V, class W> constexpr bool are_compared() {
  constexpr bool ok = requires(V x, W y) { x == y; };
  constexpr bool text = std::is_same_v<V, std::string> || std::is_same_v<W, std::string>, number = arithmetic<V> || arithmetic<W>;
  constexpr bool time = ir::time_point<V> || ir::time_point<W>, duration = ir::duration<V> || ir::duration<W>;
  static_assert(ok || !(text && number), "query: a text is compared with a number. Compare it with a text, `t.name == \"3\"`, or read it "
                                         "as a number: query::parse<int>(t.name) > 3");
  static_assert(ok || !time, "query: a time is compared with what is none. Give the time: t.at > "
                             "query::make_time<std::chrono::sys_seconds>(2024, 1, 1), or one that query::parse_time made before the query");
  static_assert(ok || time || !duration, "query: a duration is compared with what is none. Give its unit: "
                                         "t.delay > std::chrono::minutes(5), or compare its number: t.delay.count() > 5");
  static_assert(ok || (text && number) || time || duration, "query: these two types cannot be compared; use query::cast<T>(x)");
  return ok;
}
// Both sides of a comparison in their common type.
template <class A, class B> const ir::node* compared(ir::op what, const A& a, const B& b) {
  using VA = value_of_t<A>;
  using VB = value_of_t<B>;
  if constexpr (arithmetic<VA> && arithmetic<VB>) {
    using C = std::common_type_t<VA, VB>;
    return binary(what, ir::describe<bool>(), node_as<C>(a), node_as<C>(b));
  } else if constexpr (!are_compared<VA, VB>()) {
    return nullptr;
  } else if constexpr (ir::ticking<VA> && ir::ticking<VB>) {
    using C = std::common_type_t<VA, VB>;
    return binary(what, ir::describe<bool>(), node_as<C>(a), node_as<C>(b));
  } else {
    return binary(what, ir::describe<bool>(), node_of(a), node_of(b));
  }
}
template <class T> [[noreturn]] void became_plain() { ir::became_plain(ir::describe<T>()); }

// What expr<T> converts to. Specialised base classes rather than constrained operators: g++ 12 lets `switch` use a
// conversion function whose constraint is not satisfied.
template <class T> class convertible {
 public:
  operator T() const { became_plain<T>(); }  // NOLINT: implicit, so that such functions become opaque instead of errors
  const ir::node* get() const { return node_; }

 protected:
  const ir::node* node_ = nullptr;
};
template <class T> requires std::is_arithmetic_v<T> class convertible<T> {
 public:
  operator T() const { became_plain<T>(); }
  explicit operator bool() const { return ir::decide(binary(ir::op::ne, ir::describe<bool>(), node_, literal(T{}))); }
  const ir::node* get() const { return node_; }

 protected:
  const ir::node* node_ = nullptr;
};
template <class T> requires std::is_enum_v<T> class convertible<T> {
 public:
  operator T() const { became_plain<T>(); }
  template <class U> requires std::is_arithmetic_v<U> explicit operator U() const { became_plain<U>(); }  // static_cast<int>(t.side)
  const ir::node* get() const { return node_; }

 protected:
  const ir::node* node_ = nullptr;
};
template <> class convertible<bool> {
 public:
  operator bool() const { return ir::decide(node_); }
  const ir::node* get() const { return node_; }

 protected:
  const ir::node* node_ = nullptr;
};
template <> class convertible<std::string> {
 public:
  operator std::string() const { became_plain<std::string>(); }
  operator std::string_view() const { became_plain<std::string>(); }
  const ir::node* get() const { return node_; }

 protected:
  const ir::node* node_ = nullptr;
};

struct from_node {
  const ir::node* n;
};

}  // namespace detail

// T: an arithmetic type, an enum, a time, a duration or std::string.
template <class T> class expr : public detail::convertible<T> {
 public:
  using value_type = T;

  expr() {
    if constexpr (detail::plain<T>)
      if (ir::tracing()) this->node_ = detail::literal(T{});
  }
  explicit expr(detail::from_node f) { this->node_ = f.n; }
  // Not trivial: memcpy and bit_cast must not compile. noexcept: else no lambda that takes a copy is nothrow-invocable.
  expr(const expr& o) noexcept : detail::convertible<T>() { this->node_ = o.node_; }
  ~expr() = default;

  template <class U> requires(!std::is_same_v<U, T> && detail::widens<U, T>)
  expr(const expr<U>& o) { this->node_ = detail::node_as<T>(o); }  // NOLINT: loses nothing
  template <class U> requires(!std::is_same_v<U, T> && detail::arithmetic<U> && detail::arithmetic<T> && !detail::widens<U, T>)
  explicit expr(const expr<U>& o) { this->node_ = detail::node_as<T>(o); }
  template <detail::plain U> explicit expr(const U& v) { this->node_ = detail::node_as<T>(v); }

  // To lvalues only: `t.x[0] = 5` on a temporary must not compile.
  expr& operator=(const expr& o) & {
    this->node_ = o.node_;
    return *this;
  }
  template <detail::operand U> requires(!std::is_same_v<U, expr>)
  expr& operator=(const U& v) & {
    this->node_ = detail::node_as<T>(v);
    return *this;
  }
#define QUERY_DETAIL_ASSIGN(op)                                             \
  template <detail::operand U> expr& operator op##=(const U& v) & {         \
    return *this = expr(detail::from_node{detail::node_as<T>(*this op v)}); \
  }
  QUERY_DETAIL_ASSIGN(+) QUERY_DETAIL_ASSIGN(-) QUERY_DETAIL_ASSIGN(*) QUERY_DETAIL_ASSIGN(/) QUERY_DETAIL_ASSIGN(%)
  QUERY_DETAIL_ASSIGN(&) QUERY_DETAIL_ASSIGN(|) QUERY_DETAIL_ASSIGN(^) QUERY_DETAIL_ASSIGN(<<) QUERY_DETAIL_ASSIGN(>>)
#undef QUERY_DETAIL_ASSIGN
  expr& operator++() & { return *this += static_cast<T>(1); }
  expr& operator--() & { return *this -= static_cast<T>(1); }
  expr operator++(int) & {
    expr old = *this;
    ++*this;
    return old;
  }
  expr operator--(int) & {
    expr old = *this;
    --*this;
    return old;
  }

  // The members of std::chrono's durations and times that trace.
  auto count() const requires ir::duration<T> {
    using Number = ir::number_in_t<T>;
    return expr<Number>(detail::from_node{ir::make_cast(ir::current_arena(), this->node_, ir::describe<Number>())});
  }
  auto time_since_epoch() const requires ir::time_point<T> {
    using Duration = typename T::duration;
    return expr<Duration>(detail::from_node{ir::make_cast(ir::current_arena(), this->node_, ir::describe<Duration>())});
  }

  // The members of std::string that trace.
  expr<std::size_t> size() const requires std::same_as<T, std::string>;
  expr<std::size_t> length() const requires std::same_as<T, std::string> { return size(); }
  bool empty() const requires std::same_as<T, std::string>;
  template <detail::operand U> bool starts_with(const U& u) const requires std::same_as<T, std::string> { return ask("starts_with", u); }
  template <detail::operand U> bool ends_with(const U& u) const requires std::same_as<T, std::string> { return ask("ends_with", u); }
  template <detail::operand U> bool contains(const U& u) const requires std::same_as<T, std::string> { return ask("contains", u); }
  template <detail::operand A, detail::operand B = std::size_t>
  expr<std::string> substr(const A& at, const B& n = std::string::npos) const requires std::same_as<T, std::string> {
    return expr<std::string>(detail::from_node{
        ir::current_arena().put(ir::op::call, ir::describe<std::string>(),
                                {this->node_, detail::node_as<std::size_t>(at), detail::node_as<std::size_t>(n)}, 0, 0, "substr")});
  }
  template <detail::operand U> expr<std::size_t> find(const U& u) const requires std::same_as<T, std::string>;
  // The rest of std::string's members make the function opaque instead of failing to compile.
  template <class I> char operator[](const I&) const requires std::same_as<T, std::string> { by_character(); }
  template <class I> char at(const I&) const requires std::same_as<T, std::string> { by_character(); }
  char front() const requires std::same_as<T, std::string> { by_character(); }
  char back() const requires std::same_as<T, std::string> { by_character(); }
  const char* begin() const requires std::same_as<T, std::string> { by_character(); }
  const char* end() const requires std::same_as<T, std::string> { by_character(); }
  const char* c_str() const requires std::same_as<T, std::string> { by_character(); }
  const char* data() const requires std::same_as<T, std::string> { by_character(); }
  template <class... X> int compare(const X&...) const requires std::same_as<T, std::string> { by_character(); }
  template <class... X> std::size_t rfind(const X&...) const requires std::same_as<T, std::string> { by_character(); }
  template <class... X> std::size_t find_first_of(const X&...) const requires std::same_as<T, std::string> { by_character(); }

 private:
  [[noreturn]] static void by_character() {
    ir::give_up("a string was read by character: what traces is ==, <, +, size, empty, starts_with, ends_with, contains, find, substr");
  }
  template <class U> bool ask(const char* name, const U& u) const {
    return ir::decide(
        ir::current_arena().put(ir::op::call, ir::describe<bool>(), {this->node_, detail::node_as<std::string>(u)}, 0, 0, name));
  }
};

namespace detail {
template <class T> expr<T> wrap(const ir::node* n) { return expr<T>(from_node{n}); }
}  // namespace detail

template <class T> expr<std::size_t> expr<T>::size() const requires std::same_as<T, std::string> {
  return detail::wrap<std::size_t>(ir::current_arena().put(ir::op::size, ir::describe<std::size_t>(), {this->node_}));
}
template <class T> template <detail::operand U> expr<std::size_t> expr<T>::find(const U& u) const requires std::same_as<T, std::string> {
  return detail::wrap<std::size_t>(
      ir::current_arena().put(ir::op::call, ir::describe<std::size_t>(), {this->node_, detail::node_as<std::string>(u)}, 0, 0, "find"));
}
template <class T> bool expr<T>::empty() const requires std::same_as<T, std::string> {
  return size() == std::size_t{0};
}

// An expr<T> that also takes plain values: `query::value_t<float, decltype(t)> s = 0;`.
template <class T> class local : public expr<T> {
 public:
  local() = default;
  local(const expr<T>& e) : expr<T>(e) {}  // NOLINT: implicit by design, both below too
  template <class U> requires(!std::is_same_v<U, T> && detail::arithmetic<U>)
  local(const expr<U>& e) : expr<T>(detail::from_node{detail::node_as<T>(e)}) {}
  template <detail::plain U> local(const U& v) : expr<T>(v) {}
  using expr<T>::operator=;
};

// lazy(x): its comparisons are conditions that do not fork; for iff.
template <class T> class lazy_expr : public expr<T> {
 public:
  explicit lazy_expr(const expr<T>& e) : expr<T>(e) {}
};
class lazy_bool : public expr<bool> {
 public:
  explicit lazy_bool(const ir::node* n) : expr<bool>(detail::from_node{n}) {}
};

namespace detail {
template <class X> inline constexpr bool is_lazy = false;
template <class T> inline constexpr bool is_lazy<lazy_expr<T>> = true;
template <> inline constexpr bool is_lazy<lazy_bool> = true;
template <class... X> concept lazily = (is_lazy<std::remove_cvref_t<X>> || ...);

// A new node as a value of type R; lazy where one of the operands X is.
template <class R, class... X> auto wrap_like(const ir::node* n) {
  if constexpr (!lazily<X...>) return wrap<R>(n);
  else if constexpr (std::is_same_v<R, bool>) return lazy_bool(n);
  else return lazy_expr<R>(wrap<R>(n));
}
}  // namespace detail

namespace detail {
[[noreturn]] inline void calculated_with_part() {
  ir::give_up(
      "arithmetic with a std::chrono::year, month or day: calculate with query::year_of(t), month_of(t) and day_of(t), which are int");
}
// What both sides of an operator become, beside an operand of the other type that they meet; R: the operator's result. A time and a
// duration meet in the unit of R; what multiplies a duration is a number.
template <class A, class B, class R> struct side { using type = R; };
template <class A, class B, class R> requires(ir::ticking<A> && ir::ticking<B>) struct side<A, B, R> {
  using common = std::common_type_t<ir::duration_in_t<A>, ir::duration_in_t<B>>;
  using type = ir::with_duration_t<A, common>;
};
template <class A, class B, class R> requires(ir::ticking<R> && !ir::ticking<A>) struct side<A, B, R> { using type = ir::number_in_t<R>; };
}  // namespace detail

// Results have the type of the native operator; operands are cast to it first.
#define QUERY_DETAIL_ARITHMETIC(sign, name)                                                                     \
  template <class A, class B> requires detail::mixed<A, B> auto operator sign(const A& a, const B& b) {       \
    using VA = detail::value_of_t<A>;                                                                           \
    using VB = detail::value_of_t<B>;                                                                           \
    using R = decltype(std::declval<VA>() sign std::declval<VB>());                                             \
    if constexpr (ir::date_part<VA> || ir::date_part<VB>) detail::calculated_with_part();                       \
    return detail::wrap_like<R, A, B>(detail::binary(ir::op::name, ir::describe<R>(),                           \
                                                     detail::node_as<typename detail::side<VA, VB, R>::type>(a), \
                                                     detail::node_as<typename detail::side<VB, VA, R>::type>(b))); \
  }
QUERY_DETAIL_ARITHMETIC(+, add)
QUERY_DETAIL_ARITHMETIC(-, sub)
QUERY_DETAIL_ARITHMETIC(*, mul)
QUERY_DETAIL_ARITHMETIC(/, div)
QUERY_DETAIL_ARITHMETIC(%, mod)
QUERY_DETAIL_ARITHMETIC(&, bit_and)
QUERY_DETAIL_ARITHMETIC(|, bit_or)
QUERY_DETAIL_ARITHMETIC(^, bit_xor)
QUERY_DETAIL_ARITHMETIC(<<, shl)
QUERY_DETAIL_ARITHMETIC(>>, shr)
#undef QUERY_DETAIL_ARITHMETIC

#define QUERY_DETAIL_COMPARE(sign, name)                                                                 \
  template <class A, class B> requires(detail::mixed<A, B>) auto operator sign(const A& a, const B& b) { \
    const ir::node* n = detail::compared(ir::op::name, a, b);                                          \
    if constexpr (detail::lazily<A, B>) return lazy_bool(n);                                           \
    else return ir::decide(n);                                                                         \
  }
QUERY_DETAIL_COMPARE(<, lt)
QUERY_DETAIL_COMPARE(<=, le)
QUERY_DETAIL_COMPARE(>, gt)
QUERY_DETAIL_COMPARE(>=, ge)
QUERY_DETAIL_COMPARE(==, eq)
QUERY_DETAIL_COMPARE(!=, ne)
#undef QUERY_DETAIL_COMPARE

// Three-way comparison asks up to three questions.
template <class A, class B> requires(detail::mixed<A, B>) auto operator<=>(const A& a, const B& b)
    -> std::compare_three_way_result_t<detail::value_of_t<A>, detail::value_of_t<B>> {
  using R = std::compare_three_way_result_t<detail::value_of_t<A>, detail::value_of_t<B>>;
  if (ir::decide(detail::compared(ir::op::lt, a, b))) return R::less;
  if (ir::decide(detail::compared(ir::op::eq, a, b))) return R::equivalent;
  if constexpr (std::is_same_v<R, std::partial_ordering>)
    if (!ir::decide(detail::compared(ir::op::gt, a, b))) return R::unordered;
  return R::greater;
}

inline lazy_bool operator&&(const lazy_bool& a, const lazy_bool& b) {
  return lazy_bool(detail::binary(ir::op::logical_and, ir::describe<bool>(), a.get(), b.get()));
}
inline lazy_bool operator||(const lazy_bool& a, const lazy_bool& b) {
  return lazy_bool(detail::binary(ir::op::logical_or, ir::describe<bool>(), a.get(), b.get()));
}
inline lazy_bool operator!(const lazy_bool& a) { return lazy_bool(ir::make_not(ir::current_arena(), a.get())); }

template <detail::symbolic A> requires detail::arithmetic<detail::value_of_t<A>> auto operator-(const A& a) {
  using R = decltype(-detail::value_of_t<A>{});
  return detail::wrap_like<R, A>(ir::current_arena().put(ir::op::negate, ir::describe<R>(), {detail::node_as<R>(a)}));
}
template <detail::symbolic A> requires detail::arithmetic<detail::value_of_t<A>> auto operator+(const A& a) {
  using R = decltype(+detail::value_of_t<A>{});
  return detail::wrap_like<R, A>(detail::node_as<R>(a));
}
template <detail::symbolic A> requires ir::duration<detail::value_of_t<A>> auto operator-(const A& a) {
  using R = detail::value_of_t<A>;
  return detail::wrap_like<R, A>(ir::current_arena().put(ir::op::negate, ir::describe<R>(), {a.get()}));
}
template <detail::symbolic A> requires std::integral<detail::value_of_t<A>> auto operator~(const A& a) {
  using R = decltype(~detail::value_of_t<A>{});
  return detail::wrap_like<R, A>(ir::current_arena().put(ir::op::bit_not, ir::describe<R>(), {detail::node_as<R>(a)}));
}

}  // namespace query
