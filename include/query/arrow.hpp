// Arrow at the border: reads the columns of other libraries (pyarrow, Polars...) and gives them results, by the three structs of
// the Arrow C Data Interface and C Stream Interface. Nothing of Arrow is needed: https://arrow.apache.org/docs/format/CDataInterface.html
//
//   auto trades = query::from_arrow<Trade>(&stream);                     // takes over what a producer exported
//   query::to_arrow(trades.where(p), &result);                           // result: an ArrowArrayStream for a consumer
//
// A column is found by the name of the record's field; other columns are ignored. Numbers without nulls in a single batch are read where
// they lie. All other columns are converted once, by all threads, when the first run that reads them begins. Of strings that come as codes
// of a dictionary, this is the dictionary, unless a run needs the string of each row.
//
// Not part of query/query.hpp: include it where Arrow comes in or goes out.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <query/chain.hpp>
#include <query/column_chunks.hpp>

// As the specification has them: other libraries of the program may bring the same structs.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
}
#endif  // ARROW_C_DATA_INTERFACE

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

extern "C" {
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}
#endif  // ARROW_C_STREAM_INTERFACE

namespace query {

namespace detail {

std::shared_ptr<const logical> arrow_source(ArrowArray* array, ArrowSchema* schema, const ir::type* row, call_site at);
std::shared_ptr<const logical> arrow_source(ArrowArrayStream* stream, const ir::type* row, call_site at);

template <class Row> constexpr bool is_arrow_row() {
  static_assert(record<Row> || has_meta<Row>,
                "query: from_arrow, to_arrow: the rows must be records. Write QUERY_RECORD(Row, field, ...); after the struct");
  if constexpr (record<Row>)
    static_assert(ir::described_v<Row>, "query: from_arrow, to_arrow: the record has a field whose type has no Arrow form");
  return record<Row> && ir::described_v<Row>;
}
template <class Row> auto arrow_query(std::shared_ptr<const logical> n) {
  return Query<Row, cpu::columns<Row>>{query_state(pipe{std::move(n), nullptr}, nullptr), cpu::columns<Row>{}};
}

// What to_columns() gave, without its types; its owner keeps all memory.
template <record Row> chunk_list arrow_chunks(column_chunks<Row> from) {
  chunk_list all;
  all.rows = from.size();
  for (const auto& c : from) {
    all.chunks.push_back({c.size(), {}});
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (all.chunks.back().columns.push_back(c.template get<I>().data()), ...);
    }(field_indices<Row>{});
  }
  all.owner = std::make_shared<const column_chunks<Row>>(std::move(from));
  return all;
}
void export_chunks(chunk_list from, const ir::type* row, ArrowArrayStream* out);
void export_chunks(chunk_list from, const ir::type* row, ArrowArray* array, ArrowSchema* schema);

}  // namespace detail

// The rows of a record batch: a struct array, whose children are the columns. Takes both structs over, also if it throws: their `release`
// is null then, and the query and its copies keep the data alive.
//
// Fields: numbers, bool and enums from the Arrow type of the same width and sign; std::string from utf8, large_utf8, string views and
// dictionaries of them; std::optional from a column with nulls; nested records from structs; std::vector from lists; std::array from
// fixed-size lists. Dates, times, timestamps and durations are the integers that they are kept in.
//
// Throws user_error, with the field and both types: a field without a column, a type that does not match, a null where the field is not a
// std::optional (with the number of the row). O(columns), and a pass over bitmaps of nulls.
template <class Row> auto from_arrow(ArrowArray* array, ArrowSchema* schema, detail::call_site at = detail::call_site::here()) {
  if constexpr (!detail::is_arrow_row<Row>()) return check::after_error{};
  else return detail::arrow_query<Row>(detail::arrow_source(array, schema, ir::describe<Row>(), at));
}
// The rows of all batches of a stream, which are taken now. Columns of several batches are put together when they are read first.
template <class Row> auto from_arrow(ArrowArrayStream* stream, detail::call_site at = detail::call_site::here()) {
  if constexpr (!detail::is_arrow_row<Row>()) return check::after_error{};
  else return detail::arrow_query<Row>(detail::arrow_source(stream, ir::describe<Row>(), at));
}

// Gives the chunks of a result to a consumer, one record batch each, as they are asked for. The structs must be unused; the consumer
// releases them. Numbers, std::array of numbers and columns whose strings have at most 12 characters share the result's memory, which
// lives until the last batch is released. Strings are Arrow's string views; optionals, bools, lists and nested records are converted.
template <class Row> void to_arrow(column_chunks<Row> rows, ArrowArrayStream* out) {
  if constexpr (detail::is_arrow_row<Row>()) detail::export_chunks(detail::arrow_chunks(std::move(rows)), ir::describe<Row>(), out);
}
// All rows as one record batch. Several chunks are copied into one.
template <class Row> void to_arrow(column_chunks<Row> rows, ArrowArray* array, ArrowSchema* schema) {
  if constexpr (detail::is_arrow_row<Row>())
    detail::export_chunks(detail::arrow_chunks(std::move(rows)), ir::describe<Row>(), array, schema);
}
// The rows of a query, which runs now.
template <verbs::query_like Q> void to_arrow(const Q& q, ArrowArrayStream* out) {
  if constexpr (detail::is_arrow_row<typename Q::row>()) to_arrow(q.to_columns(), out);
}
template <verbs::query_like Q> void to_arrow(const Q& q, ArrowArray* array, ArrowSchema* schema) {
  if constexpr (detail::is_arrow_row<typename Q::row>()) to_arrow(q.to_columns(), array, schema);
}
inline void to_arrow(const check::after_error&, ArrowArrayStream*) {}
inline void to_arrow(const check::after_error&, ArrowArray*, ArrowSchema*) {}

}  // namespace query
