// What row-wise verbs ask of their functions and rows. A part of check.hpp, which clears the macros.
//
//   static_assert(check::where::tests<F, Row>());
#pragma once

#include <query/detail/check_texts.hpp>

namespace query::check {

// Functions of the row, or of the row and its number.
struct where { QUERY_DETAIL_HAVE_NUMBERED_PREDICATE(where) };
struct select {
  QUERY_DETAIL_HAVE_CALL(select)
  QUERY_DETAIL_HAVE_COPIES(select)
  template <class F, class T> static constexpr bool maps() {
    if constexpr (takes_number<F, T>) return row<F, T, std::int64_t>();
    else return row<F, T>();
  }
  template <class F, class... Row> static constexpr bool row() {
    if constexpr (!value<F, Row...>()) return false;
    else return kept<detail::result_of<F, Row...>, Row...>();
  }
};
struct select_many {
  QUERY_DETAIL_HAVE_CALL(select_many)
  QUERY_DETAIL_HAVE_COPIES(select_many)
  template <class F, class Row> static constexpr bool all() {
    if constexpr (takes_number<F, Row>) return many<F, Row, std::int64_t>();
    else return many<F, Row>();
  }
  template <class F, class... Row> static constexpr bool many() {
    if constexpr (!given<F, Row...>()) return false;
    else {
      using R = std::remove_cvref_t<detail::given_by<F, Row...>>;
      static_assert(row_range<R>, "query: select_many: the function must give a range, such as a std::vector. "
                                  "For one row a row there is select");
      if constexpr (row_range<R>) return kept<detail::stored_t<decltype(*std::declval<R&>().begin())>, Row...>();
      else return false;
    }
  }
  // result(row, element)
  template <class F, class G, class... Row> static constexpr bool result() {
    if constexpr (!many<F, Row...>()) return false;
    else {
      using E = std::remove_cvref_t<decltype(*std::declval<std::remove_cvref_t<detail::given_by<F, Row...>>&>().begin())>;
      using R = std::tuple_element_t<0, std::tuple<Row...>>;
      static_assert(fits<G, R, E> || can_call<G, R, E>, "query: select_many: the second function must take (row, element of its range): "
                                                        "select_many(range, [](const auto& row, const auto& x) { ... })");
      if constexpr (fits<G, R, E> || can_call<G, R, E>) return value<G, R, E>();
      else return false;
    }
  }
};
struct of_type {
  template <class U, class T> static constexpr bool alternative() {
    constexpr bool ok = has_alternative<U, T>;
    static_assert(ok, "query: of_type: takes the rows that hold a U of rows that are a std::variant<..., U, ...>. All other rows have one "
                      "type; optionals without their nulls: values()");
    return ok;
  }
};
struct as_type {
  template <class U, class T> static constexpr bool converts() {
    constexpr bool ok = (std::is_arithmetic_v<U> || std::is_enum_v<U>) && (std::is_arithmetic_v<T> || std::is_enum_v<T>);
    static_assert(ok, "query: as_type: converts numbers and enums into each other. For other rows use .select(...)");
    return ok;
  }
};
struct values {
  template <class T> static constexpr bool optionals() {
    static_assert(ir::is_optional_v<T>, "query: values: these rows are never null: values() drops the empty "
                                          "ones of rows that are std::optional");
    return ir::is_optional_v<T>;
  }
};

}  // namespace query::check
