// query::dynamic_query: a query whose columns are named when the program runs, by texts that users type (query/text.hpp).
//
//   auto q = query::from(trades).as_dynamic();
//   q.where("price > 3").group_by("symbol", "sum(price * qty) as amount, count() as trades").order_by("amount desc").print();
//
// Verbs give new queries; print, table, rows, count and write_csv run them. Texts are read when a verb is called and throw
// query::text_error, which points into the text. docs/text-conditions.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <query/csv.hpp>
#include <query/detail/query_state.hpp>
#include <query/print.hpp>
#include <query/text.hpp>

namespace query {

// A value of a column. Enums and characters are integers, float is a number.
struct cell {
  enum class kind : std::uint8_t { null, boolean, integer, natural, number, text };
  kind what = kind::null;
  std::int64_t integer = 0;   // boolean: 0 or 1; integer
  std::uint64_t natural = 0;  // of unsigned types
  double number = 0;
  std::string text;

  bool is_null() const { return what == kind::null; }
};

class dynamic_query {
 public:
  // What the library makes them of: q.as_dynamic().
  explicit dynamic_query(const detail::query_state& state);

  // The rows for which the condition is true.
  dynamic_query where(const text_expression& condition, detail::call_site at = detail::call_site::here()) const;
  // "price desc, symbol nulls first". Stable.
  dynamic_query order_by(const text_expression& keys, detail::call_site at = detail::call_site::here()) const;
  // "symbol, price * qty as amount", "*": rows of these columns.
  dynamic_query select(const text_expression& columns, detail::call_site at = detail::call_site::here()) const;
  // One row for each group: the keys, "symbol, price > 3 as dear", then the aggregates, "sum(price * qty) as amount, count() as trades". In
  // no particular order. O(rows) time, O(groups) memory.
  dynamic_query group_by(const text_expression& keys, const text_expression& aggregates,
                         detail::call_site at = detail::call_site::here()) const;
  dynamic_query take(std::uint64_t n, detail::call_site at = detail::call_site::here()) const;
  dynamic_query skip(std::uint64_t n, detail::call_site at = detail::call_site::here()) const;
#define QUERY_DETAIL_OF_STRING(verb)                                                                                        \
  dynamic_query verb(std::string_view text, detail::call_site at = detail::call_site::here()) const {                       \
    return verb(text_expression{std::string(text), {}}, at);                                                                \
  }
  QUERY_DETAIL_OF_STRING(where)
  QUERY_DETAIL_OF_STRING(order_by)
  QUERY_DETAIL_OF_STRING(select)
#undef QUERY_DETAIL_OF_STRING
  dynamic_query group_by(std::string_view keys, std::string_view aggregates, detail::call_site at = detail::call_site::here()) const {
    return group_by(text_expression{std::string(keys), {}}, text_expression{std::string(aggregates), {}}, at);
  }

  std::vector<std::string> names() const;  // of the columns; of rows that are no records, `value`

  std::int64_t count() const;
  std::vector<std::vector<cell>> rows() const;  // all of them
  std::string table(const print_options& options = {}) const;
  void print(const print_options& options = {}) const;
  void write_csv(const std::string& path, const csv_options& options = {}, detail::call_site at = detail::call_site::here()) const;
  std::string explain() const;

 private:
  detail::query_state state_;
};

}  // namespace query
