// Where rows come from: from(container), from(columns), range, repeat, empty, generate, files, broadcast(query).
#pragma once

#include <initializer_list>
#include <limits>
#include <span>
#include <string>

#include <query/chain.hpp>
#include <query/csv.hpp>
#include <query/detail/sequence_count.hpp>
#include <query/file_paths.hpp>
#include <query/json_lines.hpp>

// Written before a parameter that the result refers to: clang warns where that outlives a local or a temporary.
#if defined(__clang__) && __has_cpp_attribute(clang::lifetimebound)
#define QUERY_DETAIL_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define QUERY_DETAIL_LIFETIMEBOUND
#endif

namespace query {

namespace detail {

inline std::shared_ptr<logical> source_node(verb v, std::string label, const ir::type* row, call_site at) {
  auto n = std::make_shared<logical>();
  n->what = v;
  n->label = std::move(label);
  n->row = row;
  n->where = at;
  return n;
}
// Notes where a source's columns are now. Of one query that several threads run at once, only one writes.
void see_columns(const void** noted, const void* const* now, std::size_t n);
template <class T> Query<T> query_of(std::shared_ptr<logical> n) { return Query<T>(pipe{std::move(n), nullptr}, nullptr); }

// A container of the caller's, which must be alive whenever a query reads it; one that was a temporary is the query's.
template <class C> std::shared_ptr<const std::remove_cvref_t<C>> kept_or_seen(C&& c) {
  using V = std::remove_cvref_t<C>;
  if constexpr (std::is_lvalue_reference_v<C>) return std::shared_ptr<const V>(std::shared_ptr<void>(), &c);
  else return std::make_shared<const V>(std::move(c));
}
template <class V> inline constexpr bool is_column = false;
template <class C> inline constexpr bool is_column<std::vector<C>> = true;

// The rows of a container that is alive when the query runs, seen as they are then.
template <class T, class C> Query<T> rows_of(std::shared_ptr<const C> c, const char* label, call_site at) {
  auto n = source_node(verb::source_rows, label, ir::describe<T>(), at);
  n->source = std::move(c);
  n->view = [](const void* s, row_block& b) {
    const C& rows = *static_cast<const C*>(s);
    b.rows = const_cast<T*>(rows.data());
    b.n = rows.size();
  };
  return query_of<T>(std::move(n));
}

template <class R> concept forward_range = !std::same_as<R, check::after_error> &&
                                           requires(const R& r, decltype(std::declval<const R&>().begin()) i) { r.end(); ++i; *i; };
template <class V> struct row_of_element { using type = V; };
template <class K, class V> struct row_of_element<std::pair<const K, V>> { using type = std::pair<K, V>; };  // of a std::map
template <class R> using range_value = typename row_of_element<std::remove_cvref_t<decltype(*std::declval<R&>().begin())>>::type;
// A view that is read while it is not const, as std::views::filter is: each run reads a copy. Its iterators are compared, as those of
// ranges that can be read again are.
template <class R> concept copied_range = !std::same_as<R, check::after_error> && !forward_range<R> && std::copy_constructible<R> &&
                                          requires(R& r, decltype(std::declval<R&>().begin()) i) { r.end(); i == i; ++i; *i; };

template <class T, class R> class range_stream final : public row_stream {
 public:
  explicit range_stream(R& r) : at_(r.begin()), end_(r.end()) {}
  std::size_t next(void* raw, std::size_t most) override {
    std::size_t n = 0;
    made_so_far<T> made(static_cast<T*>(raw));
    for (; n < most && at_ != end_; ++at_, ++n) made.add(n, *at_);
    made.keep();
    return n;
  }

 private:
  decltype(std::declval<R&>().begin()) at_;
  decltype(std::declval<R&>().end()) end_;
};
template <class T, class R> class copy_stream final : public row_stream {
 public:
  explicit copy_stream(const R& r) : rows_(r), stream_(rows_) {}
  std::size_t next(void* raw, std::size_t most) override { return stream_.next(raw, most); }

 private:
  R rows_;
  range_stream<T, R> stream_;
};
template <class T, class F> class generated_stream final : public row_stream {
 public:
  explicit generated_stream(const F& f) : f_(f) {}
  std::size_t next(void* raw, std::size_t most) override {
    std::size_t n = 0;
    // Rows made so far are the caller's only when this returns: it looks whether to stop, so the calls between are few.
    most = most < calls_a_look ? most : calls_a_look;
    made_so_far<T> made(static_cast<T*>(raw));
    while (n < most && !ended_) {
      auto r = f_();
      if (r) made.add(n++, std::move(*r));
      else ended_ = true;  // it is not asked again: it may wait for more, or begin anew
    }
    made.keep();
    return n;
  }

 private:
  F f_;
  bool ended_ = false;
};
template <class T, class R> Query<T> stream_of(std::shared_ptr<const R> r, const char* label, call_site at) {
  auto n = source_node(verb::source_stream, label, ir::describe<T>(), at);
  n->source = std::move(r);
  using stream = std::conditional_t<forward_range<R>, range_stream<T, const R>, copy_stream<T, R>>;
  n->open = [](const void* s) -> std::unique_ptr<row_stream> { return std::make_unique<stream>(*static_cast<const R*>(s)); };
  return query_of<T>(std::move(n));
}
template <class T> struct numbers {
  T first;
  std::uint64_t n;
  // Integers wrap on the way: from INT_MIN, the distance to a number may not fit an int where the number does.
  constexpr T operator[](std::uint64_t i) const {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<std::uint64_t>(first) + i);
    else return static_cast<T>(first + static_cast<T>(i));
  }
};
template <class T> class number_stream final : public row_stream {
 public:
  explicit number_stream(const numbers<T>& r) : r_(r) {}
  std::size_t next(void* raw, std::size_t most) override {
    std::size_t n = 0;
    for (; n < most && i_ < r_.n; ++n, ++i_) static_cast<T*>(raw)[n] = r_[i_];
    return n;
  }

 private:
  numbers<T> r_;
  std::uint64_t i_ = 0;
};
template <class T> class repeat_stream final : public row_stream {
 public:
  repeat_stream(T v, std::uint64_t n) : v_(std::move(v)), left_(n) {}
  std::size_t next(void* raw, std::size_t most) override {
    std::size_t n = 0;
    made_so_far<T> made(static_cast<T*>(raw));
    for (; n < most && left_; ++n, --left_) made.add(n, std::as_const(v_));
    made.keep();
    return n;
  }

 private:
  T v_;
  std::uint64_t left_;
};

}  // namespace detail

// The container is not copied: it must be alive, and may have changed, whenever the query runs. A function that returns a query
// over a container of its own moves it in: return query::from(std::move(rows)).where(...). Clang warns of `return query::from(rows)`.
template <class T, class A>
Query<T> from(QUERY_DETAIL_LIFETIMEBOUND const std::vector<T, A>& v, detail::call_site at = detail::call_site::here()) {
  return detail::rows_of<T>(detail::kept_or_seen(v), "vector", at);
}
// std::vector<bool> has no rows side by side: it is read bit by bit.
template <class A>
Query<bool> from(QUERY_DETAIL_LIFETIMEBOUND const std::vector<bool, A>& v, detail::call_site at = detail::call_site::here()) {
  return detail::stream_of<bool, std::vector<bool, A>>(detail::kept_or_seen(v), "vector", at);
}
// A temporary is moved into the query.
template <class T, class A> Query<T> from(std::vector<T, A>&& v, detail::call_site at = detail::call_site::here()) {
  return detail::rows_of<T>(std::make_shared<const std::vector<T, A>>(std::move(v)), "owned vector", at);
}
template <class T, std::size_t N>
Query<std::remove_cv_t<T>> from(QUERY_DETAIL_LIFETIMEBOUND std::span<T, N> s, detail::call_site at = detail::call_site::here()) {
  using U = std::remove_cv_t<T>;
  return detail::rows_of<U>(std::make_shared<const std::span<const U>>(s), "span", at);
}
template <class T, std::size_t N>
Query<T> from(QUERY_DETAIL_LIFETIMEBOUND const std::array<T, N>& a, detail::call_site at = detail::call_site::here()) {
  return detail::rows_of<T>(detail::kept_or_seen(a), "array", at);
}
// A C array; text is no array of rows.
template <class T, std::size_t N> requires(!std::is_same_v<std::remove_cv_t<T>, char>)
Query<std::remove_cv_t<T>> from(QUERY_DETAIL_LIFETIMEBOUND T (&a)[N], detail::call_site at = detail::call_site::here()) {
  return from(std::span<T, N>(a), at);
}
template <class T> Query<T> from(std::initializer_list<T> l, detail::call_site at = detail::call_site::here()) {
  return from(std::vector<T>(l), at);
}
// Any other forward range, read row by row; an lvalue must stay alive.
template <detail::forward_range R> requires(!requires { typename R::row; })
auto from(QUERY_DETAIL_LIFETIMEBOUND const R& r, detail::call_site at = detail::call_site::here()) {
  using T = detail::range_value<const R>;
  if constexpr (!check::from::copied<T>()) return check::after_error{};
  else return detail::stream_of<T, R>(detail::kept_or_seen(r), "range", at);
}
template <detail::forward_range R> requires(!std::is_lvalue_reference_v<R> && !requires { typename R::row; })
auto from(R&& r, detail::call_site at = detail::call_site::here()) {
  using T = detail::range_value<const R>;
  if constexpr (!check::from::copied<T>()) return check::after_error{};
  else return detail::stream_of<T, R>(std::make_shared<const R>(std::move(r)), "owned range", at);
}
// A view that is not read as const, such as std::views::filter, is copied; its container must stay alive.
template <detail::copied_range R> requires(!requires { typename R::row; })
auto from(const R& r, detail::call_site at = detail::call_site::here()) {
  if constexpr (!check::from::copied<detail::range_value<R>>()) return check::after_error{};
  else return detail::stream_of<detail::range_value<R>, R>(std::make_shared<const R>(r), "view", at);
}

// A temporary is moved into the query.
template <class A> Query<bool> from(std::vector<bool, A>&& v, detail::call_site at = detail::call_site::here()) {
  return detail::stream_of<bool, std::vector<bool, A>>(std::make_shared<const std::vector<bool, A>>(std::move(v)), "owned vector", at);
}
// What is no range, or a query already: says so.
template <class X> requires(((!detail::forward_range<X> && !detail::copied_range<X>) || requires { typename X::row; }) &&
                            !std::is_same_v<X, check::after_error>)
auto from(const X&) {
  check::from::rows<X>();
  return check::after_error{};
}
template <std::same_as<check::after_error> X> X from(X x) { return x; }
// Two iterators, or a pointer and a number, are a range in two parts: says how it is put together.
template <std::input_or_output_iterator I, class E> requires(std::sentinel_for<E, I> || std::is_integral_v<E>)
check::after_error from(I, E) {
  check::from::two_parts<I>();
  return {};
}

// Struct of arrays: one vector for each field of T, in order. A vector is not copied and must be alive whenever the query runs; a
// temporary is moved into the query.
template <record T, class... C> struct column_view {
  using column_types = std::tuple<C...>;
  std::tuple<std::shared_ptr<const std::vector<C>>...> vectors;
  mutable std::array<const void*, sizeof...(C)> bases{};
  detail::call_site at = {};  // of from
};
namespace detail {
template <class T, class... V> auto view_of_columns(V&&... c) {
  if constexpr (!check::columns::fit<T, typename std::remove_cvref_t<V>::value_type...>()) return check::after_error{};
  else return column_view<T, typename std::remove_cvref_t<V>::value_type...>{{kept_or_seen(std::forward<V>(c))...}, {}, {}};
}
}  // namespace detail
template <class T, class... V> requires((detail::is_column<std::remove_cvref_t<V>> && std::is_lvalue_reference_v<V>) && ...)
auto columns(QUERY_DETAIL_LIFETIMEBOUND V&&... c) {
  return detail::view_of_columns<T>(c...);
}
template <class T, class... V> requires((detail::is_column<std::remove_cvref_t<V>> && ...) && !(std::is_lvalue_reference_v<V> && ...))
auto columns(V&&... c) {
  return detail::view_of_columns<T>(std::forward<V>(c)...);
}
template <record T> auto columns(QUERY_DETAIL_LIFETIMEBOUND const columns_of<T>& c) {
  return std::apply([](const auto&... v) { return columns<T>(v...); }, c.fields);
}
template <record T> auto columns(columns_of<T>&& c) {
  return std::apply([](auto&... v) { return columns<T>(std::move(v)...); }, c.fields);
}
template <record T, class... C>
Query<T, cpu::columns<T>> from(QUERY_DETAIL_LIFETIMEBOUND column_view<T, C...> v, detail::call_site at = detail::call_site::here()) {
  using V = column_view<T, C...>;
  auto n = detail::source_node(detail::verb::source_columns, "columns", ir::describe<T>(), at);
  v.at = at;
  n->source = std::make_shared<const V>(std::move(v));
  n->view = [](const void* s, detail::row_block& b) {
    const V& view = *static_cast<const V*>(s);
    b.n = std::get<0>(view.vectors)->size();
    std::array<const void*, sizeof...(C)> bases{};
    std::size_t i = 0;
    std::apply(
        [&](const auto&... c) {
          ((c->size() == b.n
                ? void(bases[i++] = c->data())
                : detail::fail("from(columns)",
                               "the columns have different lengths: " + std::to_string(b.n) + " and " + std::to_string(c->size()),
                               view.at)),
           ...);
        },
        view.vectors);
    detail::see_columns(view.bases.data(), bases.data(), bases.size());
    b.columns = view.bases.data();
  };
  return {detail::query_state(detail::pipe{std::move(n), nullptr}, nullptr), cpu::columns<T>{}};
}

// first, first + 1, ..., n numbers, of the type of the first. A user_error where they do not fit it.
template <class T = std::int64_t, class N> Query<T> range(T first, N n, detail::call_site at = detail::call_site::here()) {
  if constexpr (!check::range::numbers<T, N>()) {
    return check::after_error{};
  } else {
    auto node = detail::source_node(detail::verb::source_stream, "range", ir::describe<T>(), at);
    node->count = detail::row_count("range", n, at);
    if constexpr (std::is_integral_v<T>) {
      constexpr T last = std::numeric_limits<T>::max();
      if (node->count && node->count - 1 > static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first))
        detail::fail_past_last("range", std::to_string(node->count) + " numbers from " + std::to_string(first), std::to_string(last), at);
    }
    node->source = std::make_shared<const detail::numbers<T>>(detail::numbers<T>{first, node->count});
    node->open = [](const void* s) -> std::unique_ptr<detail::row_stream> {
      return std::make_unique<detail::number_stream<T>>(*static_cast<const detail::numbers<T>*>(s));
    };
    return detail::query_of<T>(std::move(node));
  }
}
// first, first + step... as long as they do not pass `last`, which is among them if a step meets it; none if `last` lies on the other side.
// Integers are of the type of the first. Fractions, if one of the three is one, are first + i * step, without an error that adds up, and
// the last number is exactly `last` if it is met but for the rounding of those three. A user_error: a step of 0, a `last` that the type
// does not hold, numbers that are not finite, or too many of them (2^63; 2^53 of fractions). Computed where the query runs.
template <class T, class L, class S = int> auto sequence(T first, L last, S step = 1, detail::call_site at = detail::call_site::here()) {
  if constexpr (!check::sequence::numbers<T, L, S>()) {
    return check::after_error{};
  } else if constexpr (std::is_integral_v<T> && std::is_integral_v<L> && std::is_integral_v<S>) {
    const auto n = detail::count_of_sequence<T>(first, last, step, at);
    const auto from = static_cast<std::uint64_t>(first), by = static_cast<std::uint64_t>(step);
    return range(std::int64_t{0}, n, at).select([from, by](const auto& i) {
      return query::cast<T>(from + query::cast<std::uint64_t>(i) * by);
    }, at, "sequence");
  } else {
    using R = std::common_type_t<T, L, S>;
    using W = std::conditional_t<std::is_same_v<R, float>, double, R>;
    const W from = static_cast<W>(first), to = static_cast<W>(last), by = static_cast<W>(step);
    const auto [n, meets] = detail::count_of_fractions(from, to, by, std::numeric_limits<R>::epsilon(), at);
    const std::int64_t end = meets ? n - 1 : n;  // the number of the row that is `last`
    if constexpr (std::is_same_v<W, long double>)
      return range(std::int64_t{0}, n, at).select([=](const std::int64_t& i) { return i == end ? to : from + static_cast<W>(i) * by; }, at,
                                                  "sequence");
    else
      return range(std::int64_t{0}, n, at).select([=](const auto& i) {
        return query::cast<R>(query::iff(i == end, to, from + query::cast<W>(i) * by));
      }, at, "sequence");
  }
}
template <class T, class N> auto repeat(T value, N n, detail::call_site at = detail::call_site::here()) {
  if constexpr (!check::repeat::whole<N>() || !check::repeat::copied<T>()) {
    return check::after_error{};
  } else {
    auto node = detail::source_node(detail::verb::source_stream, "repeat", ir::describe<T>(), at);
    node->count = detail::row_count("repeat", n, at);
    node->step = 0;
    node->source = std::make_shared<const std::pair<T, std::uint64_t>>(std::move(value), node->count);
    node->open = [](const void* s) -> std::unique_ptr<detail::row_stream> {
      const auto& [v, times] = *static_cast<const std::pair<T, std::uint64_t>*>(s);
      return std::make_unique<detail::repeat_stream<T>>(v, times);
    };
    return detail::query_of<T>(std::move(node));
  }
}
template <class T> Query<T> empty(detail::call_site at = detail::call_site::here()) { return from(std::vector<T>{}, at); }
// Calls a copy of f until it gives an empty std::optional<T>; each run starts from a fresh copy. Views are stored: rows of a
// std::optional<std::string_view> are std::string.
template <class F> auto generate(F f, detail::call_site at = detail::call_site::here()) {
  if constexpr (!check::generate::gives_optional<F>()) {
    return check::after_error{};
  } else {
    using T = detail::stored_t<typename std::invoke_result_t<F&>::value_type>;
    auto n = detail::source_node(detail::verb::source_stream, "generate", ir::describe<T>(), at);
    n->source = detail::keep(std::move(f));
    n->open = [](const void* s) -> std::unique_ptr<detail::row_stream> {
      return std::make_unique<detail::generated_stream<T, F>>(*static_cast<const F*>(s));
    };
    return detail::query_of<T>(std::move(n));
  }
}
// The rows of a CSV file, or of several as one; columns are found by the record's field names. Only fields and rows that the query
// needs are parsed.
template <class T>
auto read_csv(const file_paths& files, const csv_options& options = {}, detail::call_site at = detail::call_site::here()) {
  if constexpr (!check::read_csv::described<T>()) return check::after_error{};
  else return Query<T>(detail::pipe{detail::csv_source(files, &options, ir::describe<T>(), at), nullptr}, nullptr);
}
// The rows of a file of JSON lines, or of several as one: an object a line, whose keys are the record's field names. Only fields and rows
// that the query needs are converted.
template <class T>
auto read_json_lines(const file_paths& files, const json_options& options = {}, detail::call_site at = detail::call_site::here()) {
  if constexpr (!check::read_json_lines::described<T>()) return check::after_error{};
  else return Query<T>(detail::pipe{detail::json_source(files, options, ir::describe<T>(), at), nullptr}, nullptr);
}
// The rows of a file, or of several, of nothing but rows as they lie in memory, as write_binary writes them: sizeof(T) bytes each. Nothing
// is converted or copied, and nothing is checked but the size of the file, which has to be a multiple of a row's.
template <class T> auto read_binary(const file_paths& files, detail::call_site at = detail::call_site::here()) {
  if constexpr (!check::read_binary::fixed_width<T>()) return check::after_error{};
  else return Query<T>(detail::pipe{detail::binary_source(files, ir::describe<T>(), at), nullptr}, nullptr);
}

// The rows of a lazy query, or of a loop's placeholder, for use inside a lambda: computed once an execution, bound anew in
// each round of a loop. centres.arg_min(p, f), rates.any(row, f)... (query/broadcast.hpp)
template <class T, class Chain> collection<T> broadcast(const Query<T, Chain>& q) {
  return collection<T>(detail::make_capture(ir::describe<T>(), std::make_shared<const detail::pipe>(q.to_pipe()), q.run_settings()));
}

// The value of a query for use inside a lambda, total.value(row): computed once an execution, anew in each round of a loop.
template <class T> collection<T> broadcast(const Value<T>& v) { return broadcast(v.query()); }

namespace verbs {
template <class R> struct source_of {
  using range = std::remove_cvref_t<R>;
  static constexpr bool takes = is_grouped<range> || detail::forward_range<range> || detail::copied_range<range> ||
                                (std::is_array_v<range> && !std::is_same_v<std::remove_extent_t<range>, char>) ||
                                requires { typename range::column_types; };
  static auto from(R&& r, call_site at) {
    if constexpr (is_grouped<range>) return r.groups(at);
    else return query::from(std::forward<R>(r), at);
  }
};
}  // namespace verbs

// Of other ranges that query::from takes (rows of bool, arrays, columns): keeps the rows as they are now.
template <class R>
  requires(verbs::source_of<R>::takes && !verbs::query_like<R> && !detail::other_range<std::remove_cvref_t<R>>)
auto broadcast(R&& range, detail::call_site at = detail::call_site::here()) {
  const auto q = verbs::source_of<R>::from(std::forward<R>(range), at);
  using T = typename std::remove_cvref_t<decltype(q)>::row;
  detail::table rows = detail::materialise(q.to_pipe(), nullptr);
  return collection<T>(detail::make_capture(ir::describe<T>(), std::move(rows.owner), rows.rows, rows.n));
}
template <class T> collection<T> broadcast(std::initializer_list<T> rows) { return broadcast(std::vector<T>(rows)); }

template <class T> detail::pipe rows_pipe(std::vector<T> rows, detail::call_site at) { return from(std::move(rows), at).to_pipe(); }

}  // namespace query

#undef QUERY_DETAIL_LIFETIMEBOUND
