#include "data/csv_cursor.hpp"

namespace query::data {

std::size_t count_records(const char* begin, const char* end, char quote, bool with_blank_lines) {
  quote_tracker quotes(quote);
  std::size_t lines = 0, blank = 0;
  // Of the byte before the block: does a line start behind it, and is it a '\r' at the start of a line?
  std::uint64_t line_starts = 1, bare_return = 0;
  for (const char* p = begin; p < end; p += text_block::size) {
    std::uint64_t valid;
    const text_block block = load_block(p, end, valid);
    const std::uint64_t line_ends = block.equal('\n') & valid & ~quotes.inside(block, valid);
    lines += static_cast<std::size_t>(std::popcount(line_ends));
    if (with_blank_lines) continue;
    const std::uint64_t starts = line_ends << 1 | line_starts;
    const std::uint64_t returns = block.equal('\r') & valid & starts;
    blank += static_cast<std::size_t>(std::popcount(line_ends & (starts | returns << 1 | bare_return)));
    line_starts = line_ends >> 63;
    bare_return = returns >> 63;
  }
  // A last line without an end. (Where a line ends the text, no quote is open, so that this line end is no quoted one.)
  const char* last = end;
  while (last > begin && last[-1] != '\n') --last;
  if (last != end && (last + 1 != end || *last != '\r')) return lines - blank + 1;
  return lines - blank;
}

std::size_t count_bytes(const char* begin, const char* end, char wanted) {
  std::size_t n = 0;
  for (const char* p = begin; p < end; p += text_block::size) {
    std::uint64_t valid;
    const text_block block = load_block(p, end, valid);
    if (const std::uint64_t found = block.equal(wanted) & valid; found != 0) n += static_cast<std::size_t>(std::popcount(found));
  }
  return n;
}

const char* next_record(const char* from, const char* end, char quote, bool quoted) {
  const bool quotes_on = quote != '\0';
  for (const char* p = from; p != end; ++p) {
    if (*p == quote && quotes_on) quoted = !quoted;
    else if (*p == '\n' && !quoted) return p + 1;
  }
  return end;
}

const char* last_record_end(const char* begin, const char* end, char quote, bool quoted) {
  const bool quotes_on = quote != '\0';
  const char* found = nullptr;
  for (const char* p = begin; p != end; ++p) {
    if (*p == quote && quotes_on) quoted = !quoted;
    else if (*p == '\n' && !quoted) found = p + 1;
  }
  return found;
}

}  // namespace query::data
