// What terminal verbs ask of the library: run this pipe, in this way. Implemented by src/runtime/execute.cpp.
#pragma once

#include <memory>
#include <string>

#include <query/column_chunks.hpp>
#include <query/detail/plan.hpp>
#include <query/file_paths.hpp>
#include <query/print.hpp>
#include <query/session.hpp>

namespace query {
struct json_options;
}

namespace query::detail {

// All rows, side by side.
table materialise(const pipe& p, const settings& s);

// Batches in order, each handed over by one thread at a time; `take` returns false to stop.
// `expected`: the number of rows if it is known, told before the first batch.
void stream(const pipe& p, const settings& s, function_ref<void(std::uint64_t)> expected, function_ref<bool(const row_block&)> take);
// All rows: assigned in parallel to n value-initialised records that room(n) gives, or taken in batches like those of stream.
void assign_or_stream(const pipe& p, const settings& s, function_ref<void*(std::uint64_t)> room, function_ref<void(std::uint64_t)> expected,
                      function_ref<bool(const row_block&)> take);
// All rows as columns that the result owns.
std::shared_ptr<const chunk_list> collect_columns(const pipe& p, const settings& s);

// Rows as the reader asks for them: a window of batches is computed in parallel, then handed out.
class row_cursor {
 public:
  virtual ~row_cursor() = default;
  virtual bool next(row_block& b) = 0;
  virtual void finished() {}  // the reader has what it wanted, rows or not: the last report of progress
};
// `terminal`: the verb that reads them, for messages; null: the last one of the plan.
std::unique_ptr<row_cursor> open_cursor(const pipe& p, const settings& s, const char* terminal = nullptr, call_site where = {});

void fold(const pipe& p, const settings& s, fold_kind k, fold_state& state);

// The row of a query that has exactly one, copied or moved to `to` (raw memory).
void run_single(const pipe& p, const settings& s, void* to);

// The settings of a query whose last verb is n, with those of the queries that n's functions captured by value.
settings with_captured(settings s, const logical& n, std::size_t first = 0);

// The plan of a terminal verb, by its name. Of a verb that needs an argument (min_by, element_at...), p is the plan with that
// argument in it, its last node labelled with the verb. Throws user_error for a name that is no terminal verb.
std::string explain(const pipe& p, const settings& s, std::string_view terminal, call_site at);
std::string explain_dot(const pipe& p, const settings& s, std::string_view terminal, call_site at);
std::string explain_json(const pipe& p, const settings& s, std::string_view terminal, call_site at);
// For an argument that the verb does not take, or a verb that is none.
[[noreturn]] void explain_refused(std::string_view terminal, call_site at);

// A large block that a user's container has just taken, about to be filled by one thread: huge pages, which all threads of the
// session fetch from the system first (that costs more than the filling).
void fetch_pages(void* at, std::size_t bytes, const settings& s);

// A verb's limits, timeout and stop_on, and its reports of progress in what it does with rows after their query has run, such as sorting
// the keys of a lookup. Made before the query, which then is a part of the work; from take_over() on, loops of this thread look at the
// limits (stop.hpp) until it goes. finished() reports that all is done.
class run_limits {
 public:
  run_limits(const settings& s, const char* verb, call_site at);
  ~run_limits();
  run_limits(const run_limits&) = delete;
  run_limits& operator=(const run_limits&) = delete;
  void take_over();
  void finished();

 private:
  struct state;
  std::unique_ptr<state> state_;  // null: there are no limits, and nobody wants reports
};

// Whether traced functions are not simply called: in sessions with `checked` or `interpret`, and under verify.
bool checks_functions(const settings& s);

// Sinks and views over whole tables, out of line.
// Rows of the pipe, which knows what their columns are called.
std::string print_rows(const table& t, const pipe& p, std::uint64_t total, const print_options& options);
std::string describe_rows(const pipe& p, const settings& s);
void write_csv_file(const pipe& p, const settings& s, const std::string& path, const void* csv_options, call_site where);
void write_json_file(const pipe& p, const settings& s, const std::string& path, const json_options& options, call_site where);
void write_binary_file(const pipe& p, const settings& s, const std::string& path, call_site where);
std::shared_ptr<const logical> csv_source(const file_paths& files, const void* csv_options, const ir::type* row, call_site where);
std::shared_ptr<const logical> json_source(const file_paths& files, const json_options& options, const ir::type* row, call_site where);
std::shared_ptr<const logical> binary_source(const file_paths& files, const ir::type* row, call_site where);

}  // namespace query::detail
