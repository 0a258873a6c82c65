// The texts of what is missing in a function, a key or a row: the parts that check.hpp, which includes this and clears its macros, puts
// the checks of each verb together from.
//
//   struct take_while { QUERY_DETAIL_HAVE_PREDICATE(take_while) };   // check::take_while::predicate<F, Row>()
#pragma once

#include <query/detail/check_questions.hpp>

namespace query::check {

// To g++ a generic lambda with an unknown name in its return gives nothing.
#define QUERY_DETAIL_OR_ERROR ". If the function has an error above, mend that one first"
#define QUERY_DETAIL_POINTS(verb)                                                                                                         \
  "query: " #verb ": the function gives a pointer to a row or to a part of it, and rows end with the call that they are made for. Give "  \
  "the value, which is stored, or what tells the row apart, such as its index"
#define QUERY_DETAIL_IS_COPIED(verb)                                                                                                      \
  "query: " #verb ": the function holds what cannot be copied, such as a std::unique_ptr, and queries copy their functions. Capture a "   \
  "std::shared_ptr, or the rows by query::broadcast(rows)"
#define QUERY_DETAIL_KEEPS_VIEWS(verb)                                                                                                    \
  "query: " #verb ": the function gives a container, std::variant or range of views (std::string_view, std::span, references), which "     \
  "would look at rows that are gone. Give what owns its values: std::string, std::vector"
#define QUERY_DETAIL_HAVE_CALL(verb)                                                                                                      \
  template <class F, class... Row> static constexpr bool callable() {                                                                     \
    constexpr bool member = std::is_member_pointer_v<F>, named = std::is_convertible_v<const F&, std::string_view>;                       \
    constexpr bool is_mutable = !can_call<F, Row...> && !member && std::is_invocable_v<F&, const Row&...>;                                \
    static_assert(!member, "query: " #verb ": takes a function, not a pointer to a member. Write [](auto t) { return t.field; }");        \
    static_assert(!named, "query: " #verb ": takes a function, not the name of a field. Write [](auto t) { return t.field; }");           \
    static_assert(!is_mutable, "query: " #verb ": the function is `mutable` or its operator() is not const, and many threads share it. "  \
                               "Remove `mutable`; keep state in the rows or in a terminal verb");                                         \
    if constexpr (fails_inside<F, Row...> && (may_lack_match<Row> || ...))                                                                \
      static_assert(sizeof(F) == 0, "query: " #verb ": the function does not compile for these rows, as said above. They are, or hold, a "\
                                    "std::optional, empty without a match: test it before its fields, `if (!p.second) return ...;`");     \
    else if constexpr (changes<F, Row...>)                                                                                                \
      static_assert(sizeof(F) == 0, "query: " #verb ": the function takes the row by a reference to change it by, and rows are "          \
                                    "read-only. Take it as `const Row& t` or `auto t`; select gives new rows");                           \
    else if constexpr (!can_call<F, Row...> && !is_mutable && !member && !named)                                                          \
      static_assert(fails_inside<F, Row...>, "query: " #verb ": the function cannot be called with a row of this query. Take the row as " \
                                          "`auto t` or `const Row& t`");                                                                  \
    return can_call<F, Row...>;                                                                                                           \
  }                                                                                                                                       \
  template <class F, class... Row> static constexpr bool given() {                                                                        \
    if constexpr (!callable<F, Row...>() || gives_error<F, Row...>()) return false;                                                       \
    else {                                                                                                                                \
      static_assert(gives_value<F, Row...>(), "query: " #verb ": the function gives nothing. Return a value; for actions on rows "        \
                                              "there is for_each" QUERY_DETAIL_OR_ERROR);                                                 \
      static_assert(std::is_copy_constructible_v<F>, QUERY_DETAIL_IS_COPIED(verb));                                                       \
      static_assert(!gives_pointer<F, Row...>(), QUERY_DETAIL_POINTS(verb));                                                              \
      return gives_value<F, Row...>() && std::is_copy_constructible_v<F> && !gives_pointer<F, Row...>();                                  \
    }                                                                                                                                     \
  }                                                                                                                                       \
  /* Rows that pass through are the user's own. */                                                                                        \
  template <class F, class... Row> static constexpr bool value() {                                                                        \
    if constexpr (!given<F, Row...>()) return false;                                                                                      \
    else {                                                                                                                                \
      using R = detail::result_of<F, Row...>;                                                                                             \
      constexpr bool views = !(std::is_same_v<R, Row> || ...) && keeps_views<R>();                                                        \
      static_assert(!views, QUERY_DETAIL_KEEPS_VIEWS(verb));                                                                              \
      return !views;                                                                                                                      \
    }                                                                                                                                     \
  }
// Rows that a verb takes over, or that its function gives, are copied.
#define QUERY_DETAIL_HAVE_COPIES(verb)                                                                                                    \
  template <class T> static constexpr bool copied() {                                                                                     \
    static_assert(ir::copies_v<T>, "query: " #verb ": these rows cannot be copied, as a std::unique_ptr or what holds one, and queries "  \
                                   "copy rows. Give a std::shared_ptr, a pointer, or the value itself");                                  \
    return ir::copies_v<T>;                                                                                                               \
  }                                                                                                                                       \
  /* T: what a function's result is stored as. Rows that pass through are the user's own. */                                              \
  template <class T, class... Row> static constexpr bool kept() {                                                                         \
    constexpr bool views = !(std::is_same_v<T, Row> || ...) && keeps_views<T>();                                                          \
    static_assert(!views, QUERY_DETAIL_KEEPS_VIEWS(verb));                                                                                \
    if constexpr (views) return false;                                                                                                    \
    else return copied<T>();                                                                                                              \
  }
#define QUERY_DETAIL_HAVE_PREDICATE(verb)                                                                                                 \
  QUERY_DETAIL_HAVE_CALL(verb)                                                                                                            \
  template <class F, class... Row> static constexpr bool predicate() {                                                                    \
    if constexpr (!value<F, Row...>()) return false;                                                                                      \
    else {                                                                                                                                \
      using R = std::remove_cvref_t<std::invoke_result_t<const F&, const Row&...>>;                                                       \
      constexpr bool number = std::is_arithmetic_v<R> && !decides<R>, null = ir::is_optional_v<R>;                                        \
      static_assert(!number, "query: " #verb ": the predicate gives a number and must give bool. Compare it, as in `t.qty != 0`");        \
      static_assert(!null, "query: " #verb ": the predicate gives a std::optional and must give bool. Say what a null means: "            \
                           "`t.flag.value_or(false)`, `t.qty > 100`, or `t.qty.has_value()` for the rows that have one");                 \
      static_assert(decides<R> || number || null, "query: " #verb ": the predicate must give bool. Compare, as in `t.qty > 100`");        \
      return decides<R>;                                                                                                                  \
    }                                                                                                                                     \
  }
// The predicate takes the row, or the row and its number.
#define QUERY_DETAIL_HAVE_NUMBERED_PREDICATE(verb)                                                                                        \
  QUERY_DETAIL_HAVE_PREDICATE(verb)                                                                                                       \
  template <class F, class T> static constexpr bool tests() {                                                                             \
    if constexpr (takes_number<F, T>) return predicate<F, T, std::int64_t>();                                                             \
    else return predicate<F, T>();                                                                                                        \
  }
#define QUERY_DETAIL_KEY_OF_GROUP "[](const auto& g) { return g.key(); }"
// The key of a hash table.
#define QUERY_DETAIL_HAVE_KEY(verb, more)                                                                                                 \
  QUERY_DETAIL_HAVE_CALL(verb)                                                                                                            \
  template <class F, class Row> static constexpr bool key() {                                                                             \
    if constexpr (!value<F, Row>()) return false;                                                                                         \
    else {                                                                                                                                \
      constexpr bool ok = ir::described_v<detail::result_of<F, Row>>, group = is_group<detail::result_of<F, Row>>;                        \
      static_assert(!group, "query: " #verb ": a query::Group, which holds rows, is no key. Its own key is one: "                         \
                            QUERY_DETAIL_KEY_OF_GROUP);                                                                                   \
      constexpr bool said = detail::has_meta<detail::result_of<F, Row>>;                                                                  \
      static_assert(ok || group || said, "query: " #verb ": this key type has no description to compare and hash by. Use "                \
                                 "numbers of up to 64 bits, strings, enums, optionals, arrays, tuples or a QUERY_RECORD as the key" more);\
      return ok;                                                                                                                          \
    }                                                                                                                                     \
  }
// The user's own equality and hash of keys.
#define QUERY_DETAIL_HAVE_OWN_KEYS(verb, form)                                                                                            \
  template <class Equal> static constexpr bool no_second_key() {                                                                          \
    static_assert(sizeof(Equal) == 0, "query: " #verb ": the last function takes one row, and here only an equality of two keys and its " \
                                      "hash may stand: " #verb "(" form "equal, hash). Several fields are one key: [](auto t) { return "  \
                                      "std::tuple(t.a, t.b); }. Distinct rows and sets by a key: distinct_by(key), "                      \
                                      "union_with_by(q, key)");                                                                           \
    return false;                                                                                                                         \
  }                                                                                                                                       \
  template <class Equal> static constexpr bool no_hash() {                                                                                \
    static_assert(sizeof(Equal) == 0, "query: " #verb ": an equality of your own needs a hash that agrees with it, the same for equal "   \
                                      "keys: " #verb "(" form "equal, hash)");                                                            \
    return false;                                                                                                                         \
  }                                                                                                                                       \
  template <class K, class Equal, class Hash> static constexpr bool own_keys() {                                                          \
    if constexpr (forgotten<Hash, K>()) return no_hash<Hash>(); /* (..., result, equal) */                                                \
    else if constexpr (is_key<Equal> && !fits<Equal, K, K>) return no_second_key<Equal>();                                                \
    else {                                                                                                                                \
      constexpr bool equal = compares<Equal, K>, hash = gives<std::size_t, Hash, K>(), fails = fails_inside<Equal, K, K>;                 \
      static_assert(equal || fails, "query: " #verb ": the equality must take two keys and give bool: " #verb "(" form "equal, hash)");   \
      static_assert(hash || !equal || fails_inside<Hash, K>, "query: " #verb ": the hash must take a key and give std::size_t: "          \
                                                             #verb "(" form "equal, hash)");                                              \
      return equal && hash;                                                                                                               \
    }                                                                                                                                     \
  }
#define QUERY_DETAIL_HAVE_CUSTOM_KEY(verb, form)                                                                                          \
  QUERY_DETAIL_HAVE_OWN_KEYS(verb, form)                                                                                                  \
  template <class F, class Row, class Equal, class Hash> static constexpr bool custom_key() {                                             \
    if constexpr (!value<F, Row>()) return false;                                                                                         \
    else return own_keys<detail::result_of<F, Row>, Equal, Hash>();                                                                       \
  }
// The same of keys that the groups keep.
#define QUERY_DETAIL_HAVE_CUSTOM_GROUP_KEY(verb, form)                                                                                    \
  QUERY_DETAIL_HAVE_OWN_KEYS(verb, form)                                                                                                  \
  template <class F, class Row, class Equal, class Hash> static constexpr bool custom_key() {                                             \
    if constexpr (!value<F, Row>()) return false;                                                                                         \
    else {                                                                                                                                \
      using K = detail::result_of<F, Row>;                                                                                                \
      static_assert(ir::copies_v<K>, "query: " #verb ": this key cannot be copied, as a std::unique_ptr, and groups copy their keys. "    \
                                     "Give a std::shared_ptr, a pointer, or the value itself");                                           \
      if constexpr (ir::copies_v<K>) return own_keys<K, Equal, Hash>();                                                                   \
      else return false;                                                                                                                  \
    }                                                                                                                                     \
  }
// An equality where rows are compared one by one, A with B.
#define QUERY_DETAIL_HAVE_CUSTOM_EQUAL(verb, form)                                                                                        \
  template <class Equal, class A, class B> static constexpr bool custom_equal() {                                                         \
    constexpr bool ok = gives<bool, Equal, A, B>();                                                                                       \
    static_assert(ok || fails_inside<Equal, A, B>,                                                                                        \
                  "query: " #verb ": the equality must take two rows and give bool: " #verb "(" form "equal)");                           \
    return ok;                                                                                                                            \
  }
// The user's own order of keys, or of values.
#define QUERY_DETAIL_HAVE_CUSTOM_ORDER(verb, form)                                                                                        \
  template <class F, class Row, class Less> static constexpr bool custom_order() {                                                        \
    if constexpr (!value<F, Row>()) return false;                                                                                         \
    else {                                                                                                                                \
      using K = detail::result_of<F, Row>;                                                                                                \
      constexpr bool ok = orders<Less, K>::value, fails = order_fails<Less, K>();                                                         \
      constexpr bool key = !ok && !fails && sizeof(form) > 1 && fits<Less, Row>;                                                          \
      static_assert(!key, "query: " #verb ": the last function takes one row, and here only an order of two keys may stand: " #verb       \
                          "(" form "less). Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }; sorts have "          \
                          "order_by(a).then_by(b) as well");                                                                              \
      static_assert(ok || key || fails, "query: " #verb ": the order must take two keys and give bool: " #verb "(" form "less)");         \
      return ok;                                                                                                                          \
    }                                                                                                                                     \
  }
#define QUERY_DETAIL_HAVE_ORDER(verb, more)                                                                                               \
  QUERY_DETAIL_HAVE_CALL(verb)                                                                                                            \
  template <class F, class Row> static constexpr bool sort_key() {                                                                        \
    if constexpr (!fits<F, Row> && fits<F, Row, Row>) {                                                                                   \
      static_assert(sizeof(F) == 0, "query: " #verb ": takes a key of one row, as in [](auto t) { return t.price; }. An order of two "    \
                                    "rows goes to order(less)");                                                                          \
      return false;                                                                                                                       \
    } else if constexpr (!value<F, Row>()) return false;                                                                                  \
    else {                                                                                                                                \
      constexpr bool ok = ir::described_v<detail::result_of<F, Row>>, group = is_group<detail::result_of<F, Row>>;                        \
      static_assert(!group, "query: " #verb ": a query::Group, which holds rows, is no key. Its own key is one: "                         \
                            QUERY_DETAIL_KEY_OF_GROUP);                                                                                   \
      constexpr bool said = detail::has_meta<detail::result_of<F, Row>>;                                                                  \
      static_assert(ok || group || said, "query: " #verb ": this key type has no order that the library knows. Use "                      \
                                 "numbers of up to 64 bits, strings, enums, optionals, arrays, tuples or a QUERY_RECORD as the key" more);\
      return ok;                                                                                                                          \
    }                                                                                                                                     \
  }
// A function whose values are compared with <.
#define QUERY_DETAIL_HAVE_LESS(verb)                                                                                                      \
  QUERY_DETAIL_HAVE_CALL(verb)                                                                                                            \
  template <class F, class Row> static constexpr bool ordered() {                                                                         \
    if constexpr (!value<F, Row>()) return false;                                                                                         \
    else {                                                                                                                                \
      constexpr bool ok = less_than<without_null_t<detail::result_of<F, Row>>>;                                                           \
      static_assert(ok, "query: " #verb ": these values have no <. Give a number or a string (`" #verb "(f)`), or the record an "         \
                        "`auto operator<=>(const Row&) const = default`");                                                                \
      return ok;                                                                                                                          \
    }                                                                                                                                     \
  }
#define QUERY_DETAIL_HAVE_NUMBER(verb)                                                                                                    \
  QUERY_DETAIL_HAVE_CALL(verb)                                                                                                            \
  template <class V, bool Arrays = false> static constexpr bool number() {                                                                \
    constexpr bool ok = is_number<V> || (Arrays && is_number_array<without_null_t<V>>);                                                   \
    constexpr bool time = ir::time_point<without_null_t<V>>, duration = ir::duration<without_null_t<V>>;                                  \
    static_assert(!time, "query: " #verb ": these values are times. Of times there are min, max, first and last; " #verb                  \
                         " takes numbers: of the time between two of them, " #verb "([](auto t) { return (t.end - t.begin).count(); })"); \
    static_assert(!duration, "query: " #verb ": these values are durations. Give their numbers: " #verb                                   \
                             "([](auto t) { return t.delay.count(); }), or query::total<std::chrono::seconds>(t.delay)");                 \
    static_assert(ok || time || duration, "query: " #verb ": these values are no numbers. Say which number of the row is meant: " #verb   \
                                          "([](auto t) { return t.price; })");                                                            \
    return ok;                                                                                                                            \
  }                                                                                                                                       \
  template <class F, class Row, bool Arrays = false> static constexpr bool number_of() {                                                  \
    if constexpr (!value<F, Row>()) return false;                                                                                         \
    else return number<detail::result_of<F, Row>, Arrays>();                                                                              \
  }
#define QUERY_DETAIL_HAVE_COUNT(verb, more)                                                                                               \
  template <class N> static constexpr bool whole() {                                                                                      \
    static_assert(std::is_integral_v<N>, "query: " #verb ": takes a whole number of rows" more);                                          \
    return std::is_integral_v<N>;                                                                                                         \
  }
#define QUERY_DETAIL_HAVE_OTHER(verb)                                                                                                     \
  template <class Q> static constexpr bool other() {                                                                                      \
    constexpr bool ok = is_query_v<Q>;                                                                                                    \
    static_assert(ok || std::is_same_v<Q, after_error>, "query: " #verb ": the other rows must be a query, or what query::from takes: a " \
                                                        "container, or a range that can be read again");                                  \
    return ok;                                                                                                                            \
  }
#define QUERY_DETAIL_HAVE_SAME_ROW(verb)                                                                                                  \
  QUERY_DETAIL_HAVE_OTHER(verb)                                                                                                           \
  template <class Q, class T> static constexpr bool same_row() {                                                                          \
    if constexpr (!other<Q>()) return false;                                                                                              \
    else {                                                                                                                                \
      constexpr bool ok = std::is_same_v<typename Q::row, T>;                                                                             \
      static_assert(ok, "query: " #verb ": both queries must have the same row type. Use .select(...) on one of them");                   \
      return ok;                                                                                                                          \
    }                                                                                                                                     \
  }
// A value that must be a row of the query.
#define QUERY_DETAIL_HAVE_ROW(verb, more)                                                                                                 \
  template <class X, class T> static constexpr bool row() {                                                                               \
    constexpr bool ok = becomes_row<X, T>;                                                                                                \
    static_assert(ok, "query: " #verb ": the value must be a row of this query (or convert to one)" more);                                \
    return ok;                                                                                                                            \
  }
#define QUERY_DETAIL_APART                                                                                                                \
  " have different types. Take fields of one type, or convert one: query::to_string(t.number) or query::parse<int>(t.text) between "      \
  "numbers and text, query::cast<int>(t.e) of an enum"
// Two key functions that must meet in one type, detail::common_key_t (void where there is none: then Apart is what
// detail::first_part_apart says). Same: nothing, or the user's own equality and hash of keys.
#define QUERY_DETAIL_HAVE_TWO_KEYS(verb, form)                                                                                            \
  QUERY_DETAIL_HAVE_OWN_KEYS(verb, form)                                                                                                  \
  QUERY_DETAIL_HAVE_OTHER(verb)                                                                                                           \
  template <class LF, class L, class RF, class R> static constexpr bool keys_callable() {                                                 \
    constexpr bool member = std::is_member_pointer_v<LF> || std::is_member_pointer_v<RF>;                                                 \
    constexpr bool named = std::is_convertible_v<const LF&, std::string_view> || std::is_convertible_v<const RF&, std::string_view>;      \
    static_assert(!member, "query: " #verb ": the keys are functions, not pointers to members. Write [](auto t) { return t.field; }");    \
    static_assert(!named, "query: " #verb ": the keys are functions, not names of fields. Write [](auto t) { return t.field; }");         \
    constexpr bool left = gives_value<LF, L>(), right = gives_value<RF, R>();                                                             \
    if constexpr (member || named) return false;                                                                                          \
    else if constexpr (!left)                                                                                                             \
      static_assert(fails_inside<LF, L>,                                                                                                  \
                    "query: " #verb ": the left key function cannot be called with a row of this query, or gives nothing. The arguments " \
                    "are " #verb "(right, left key, right key, ...)");                                                                    \
    else if constexpr (!right)                                                                                                            \
      static_assert(fails_inside<RF, R>,                                                                                                  \
                    "query: " #verb ": the right key function cannot be called with a row of the other query, or gives nothing. The "     \
                    "arguments are " #verb "(right, left key, right key, ...)");                                                          \
    return left && right;                                                                                                                 \
  }                                                                                                                                       \
  template <class K, std::size_t Apart, class... Same> static constexpr bool common_key() {                                               \
    constexpr bool same = !std::is_void_v<K>, whole = Apart == ~std::size_t{0};                                                           \
    static_assert(same || !whole,                                                                                                         \
                  "query: " #verb ": the two key functions give different types. Compare fields of one type, or convert one key: "        \
                  "query::to_string(t.number) or query::parse<int>(t.text) between numbers and text, query::cast<int>(t.e) of an "        \
                  "enum, query::make<Row>(...) or a std::tuple on both sides of several fields");                                         \
    static_assert(same || Apart != 0, "query: " #verb ": the first parts of the two keys" QUERY_DETAIL_APART);                            \
    static_assert(same || Apart != 1, "query: " #verb ": the second parts of the two keys" QUERY_DETAIL_APART);                           \
    static_assert(same || Apart != 2, "query: " #verb ": the third parts of the two keys" QUERY_DETAIL_APART);                            \
    static_assert(same || whole || Apart < 3, "query: " #verb ": parts of the two keys behind the third" QUERY_DETAIL_APART);             \
    if constexpr (!same) return false;                                                                                                    \
    else if constexpr (sizeof...(Same) > 0) return own_keys<K, Same...>();                                                                \
    else {                                                                                                                                \
      static_assert(said_or_described<K>, "query: " #verb ": this key type has no description to compare and hash by. Use "               \
                  "numbers of up to 64 bits, strings, enums, optionals, arrays, tuples or a QUERY_RECORD as the key");                    \
      return ir::described_v<K>;                                                                                                          \
    }                                                                                                                                     \
  }
// A function of two rows.
#define QUERY_DETAIL_HAVE_PAIR(verb, rows, more)                                                                                          \
  QUERY_DETAIL_HAVE_COPIES(verb)                                                                                                          \
  template <class F, class L, class R> static constexpr bool pair() {                                                                     \
    if constexpr (gives_error<F, L, R>()) return false;                                                                                   \
    else if constexpr (can_call<F, L, R>) {                                                                                               \
      static_assert(std::is_copy_constructible_v<F>, QUERY_DETAIL_IS_COPIED(verb));                                                       \
      static_assert(gives_value<F, L, R>(), "query: " #verb ": the result function gives nothing. Return a row" QUERY_DETAIL_OR_ERROR);   \
      static_assert(!gives_pointer<F, L, R>(), QUERY_DETAIL_POINTS(verb));                                                                \
      if constexpr (gives_value<F, L, R>() && std::is_copy_constructible_v<F> && !gives_pointer<F, L, R>())                               \
        return kept<detail::result_of<F, L, R>, L, R>();                                                                                  \
      else return false;                                                                                                                  \
    } else if constexpr (fails_inside<F, L, R> && (ir::is_optional_v<L> || ir::is_optional_v<R>)) {                                       \
      static_assert(sizeof(F) == 0, "query: " #verb ": the result function does not compile for " rows ", as said above. Test an "        \
                                    "optional row before its fields: `if (!r) return ...;`");                                             \
      return false;                                                                                                                       \
    } else {                                                                                                                              \
      static_assert(fails_inside<F, L, R>, "query: " #verb ": the result function must take " rows more);                                 \
      return false;                                                                                                                       \
    }                                                                                                                                     \
  }
// Where the result function, or an equality of keys K without its hash, may stand last.
#define QUERY_DETAIL_HAVE_PAIR_OR_EQUAL(verb, rows, more)                                                                                 \
  QUERY_DETAIL_HAVE_PAIR(verb, rows, more)                                                                                                \
  template <class F, class L, class R, class K> static constexpr bool pair_of() {                                                         \
    /* a result function is never tried on keys: its body may not compile */                                                              \
    if constexpr (can_call<F, L, R> || fails_inside<F, L, R>) return pair<F, L, R>();                                                     \
    else if constexpr (compares<F, K>) return no_hash<F>();                                                                               \
    else return pair<F, L, R>();                                                                                                          \
  }
// A function of a run of rows.
#define QUERY_DETAIL_HAVE_RUN(verb)                                                                                                       \
  QUERY_DETAIL_HAVE_COPIES(verb)                                                                                                          \
  template <class F, class T> static constexpr bool run() {                                                                               \
    constexpr bool taken = invocable_then<fits<F, std::span<const T>>, const F&, std::span<const T>>;                                     \
    if constexpr (!taken)                                                                                                                 \
      static_assert(fails_inside<F, std::span<const T>>, "query: " #verb ": the function must take a run of rows, std::span<const Row>, " \
                                                      "and not be `mutable`");                                                            \
    if constexpr (gives_error<F, std::span<const T>>()) return false;                                                                     \
    else if constexpr (taken) {                                                                                                           \
      constexpr bool given = !std::is_void_v<std::invoke_result_t<const F&, std::span<const T>>>;                                         \
      constexpr bool pointer = points_into<std::remove_cvref_t<std::invoke_result_t<const F&, std::span<const T>>>, T>;                   \
      static_assert(given, "query: " #verb ": the function gives nothing. Return a row or a range of rows" QUERY_DETAIL_OR_ERROR);        \
      static_assert(std::is_copy_constructible_v<F>, QUERY_DETAIL_IS_COPIED(verb));                                                       \
      static_assert(!pointer, QUERY_DETAIL_POINTS(verb));                                                                                 \
      return given && std::is_copy_constructible_v<F> && !pointer;                                                                        \
    } else return false;                                                                                                                  \
  }
#define QUERY_DETAIL_HAVE_DESCRIBED(verb)                                                                                                 \
  template <class T> static constexpr bool described() {                                                                                  \
    static_assert(!is_group<T>, "query: " #verb ": a query::Group holds its rows and has no columns. Say what becomes of each group: "    \
                                "select([](auto g) { return std::tuple(g.key(), g.count()); }) after group_by(key)");                     \
    static_assert(said_or_described<T> || is_group<T>, "query: " #verb ": the row type, or one of its fields, has no description. Write " \
                                                       "QUERY_RECORD(Row, field, ...); after the struct");                                \
    return ir::described_v<T>;                                                                                                            \
  }
#define QUERY_DETAIL_HAVE_EQUAL(verb, more)                                                                                               \
  template <class T> static constexpr bool equal() {                                                                                      \
    static_assert(equals<T>, "query: " #verb ": rows of this type have no ==. Give the record "                                           \
                             "`bool operator==(const Row&) const = default`" more);                                                       \
    return equals<T>;                                                                                                                     \
  }
// aggregate(seed, update, combine, result)
#define QUERY_DETAIL_HAVE_SEED(verb)                                                                                                      \
  template <class S, class U, class C, class R, class T> static constexpr bool seed() {                                                   \
    constexpr bool pointer = points_into<S, T> || result_points<R, S, T>(), copied = ir::copies_v<S>;                                     \
    static_assert(!pointer, "query: " #verb ": the state or the result is a pointer to a row or to a part of it, and rows end with the "  \
                            "call that they are made for. Keep the value; a state that begins empty is a std::optional<Row>");            \
    static_assert(copied, "query: " #verb ": the state cannot be copied, as a std::unique_ptr, and every part of the rows begins with a " \
                          "copy of the seed. Give a std::shared_ptr, or the value itself");                                               \
    constexpr bool views = !pointer && copied && !std::is_same_v<S, T> && keeps_views<detail::stored_t<S>>();                             \
    static_assert(!views, "query: " #verb ": the state is a container or std::variant of views (std::string_view, std::span), which "     \
                          "would look at rows that are gone. Let it own its values: std::map<std::string, int>");                         \
    constexpr bool result_views = !pointer && copied && !views && result_keeps_views<R, S>();                                             \
    static_assert(!result_views, "query: " #verb ": the result is a container or std::variant of views (std::string_view, std::span), "   \
                                 "which would look at a state that is gone. Give what owns its values: std::set<std::string>");           \
    if constexpr (pointer || !copied || views || result_views) return false;                                                              \
    else {                                                                                                                                \
      static_assert(updates<S, U, T> || fails_on<U, S, const T&>,                                                                         \
                    "query: " #verb ": update must take (state, row) and give the state's type, which is the seed's. Write the seed in "  \
                    "that type: 0.0, std::int64_t{0}");                                                                                   \
      static_assert(combines<S, C> || fails_on<C, S, S>, "query: " #verb ": combine must take two states and give one");                  \
      static_assert(gives_value<R, S>() || fails_inside<R, S>,                                                                            \
                    "query: " #verb ": the result function must take the state and give a value");                                        \
      return updates<S, U, T> && combines<S, C> && gives_value<R, S>();                                                                   \
    }                                                                                                                                     \
  }

// A verb written with fewer than n arguments, which its other overloads do not take.
#define QUERY_DETAIL_NEEDS(verb, n, what)                                                                                                 \
  template <class... A> requires(sizeof...(A) < n) check::after_error verb(const A&...) const {                                           \
    static_assert(sizeof...(A) >= n, "query: " #verb ": " what);                                                                          \
    return {};                                                                                                                            \
  }
// A verb of one key that is given more functions than it has a place for: n, and what stands before them.
#define QUERY_DETAIL_ONE_KEY(verb, n)                                                                                                     \
  template <class First, key_function... F> requires(sizeof...(F) > n) check::after_error verb(const First&, const F&...) const {         \
    static_assert(sizeof...(F) == 0, "query: " #verb ": " QUERY_DETAIL_TAKES_ONE_KEY);                                                    \
    return {};                                                                                                                            \
  }
#define QUERY_DETAIL_TAKES_ONE_KEY "takes one key. Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }"
#define QUERY_DETAIL_OR_EQUAL ", or give an equality and a hash: (key, equal, hash)"
#define QUERY_DETAIL_NO_FRACTION ", from 0. Write a share as share * rows.size(), cast to an integer"

}  // namespace query::check
