// One field of a CSV record: trims, takes quotes off, finds misplaced ones; and the other way round, puts quotes on.
//
//   read_field("\"a \"\"b\"\"\"", options, scratch).text   // a "b"
#pragma once

#include <string>
#include <string_view>

#include <query/csv.hpp>

namespace query::data {

enum class quoting : unsigned char { none, quoted, stray_quote, text_after_quote, never_closed };

struct csv_field {
  std::string_view text;
  quoting how = quoting::none;
  const char* at = nullptr;  // the first character that is wrong, in the last three cases
};

// `raw` is what stands between two separators. The text lies in `raw` or, if quotes inside had to be undone, in `scratch`.
csv_field read_field(std::string_view raw, const csv_options& options, std::string& scratch);

std::string_view trim_blanks(std::string_view text);

// Appends text as a field, in quotes if `always` or if it would not read back as itself without.
// Throws user_error if it needs quotes and options.quote is off.
void append_field(std::string& out, std::string_view text, const csv_options& options, bool always);

// Throws user_error ("read_csv: ...") if the options contradict each other or the values they have to separate.
void check_options(const csv_options& options, std::string_view verb);

}  // namespace query::data
