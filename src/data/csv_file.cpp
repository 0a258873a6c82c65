#include "data/csv_file.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

#include <query/detail/failure.hpp>

#include "data/csv_advice.hpp"
#include "data/csv_cursor.hpp"
#include "data/csv_record_reader.hpp"
#include "data/format_value.hpp"

namespace query::data {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 40;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < shown; ++i) text += (i == 0 ? "" : ", ") + printable(names[i]);
  if (names.size() > shown) text += ", ... (" + std::to_string(names.size()) + ")";
  return text;
}

// A line and a column, both from 1; columns count code points.
std::string place_in(std::string_view text, const char* at) {
  const char* begin = text.data();
  if (text.starts_with(byte_order_mark)) begin += byte_order_mark.size();
  const auto line = std::count(begin, std::max(begin, at), '\n') + 1;
  const char* line_begin = std::max(begin, at);
  while (line_begin > begin && line_begin[-1] != '\n') --line_begin;
  const std::size_t column = at < begin ? 1 : code_points({line_begin, static_cast<std::size_t>(at - line_begin)}) + 1;
  return std::to_string(line) + ":" + std::to_string(column);
}

// Without the line's end.
std::string_view line_of(const char* begin, const char* end) {
  if (begin != end && end[-1] == '\n') --end;
  if (begin != end && end[-1] == '\r') --end;
  return {begin, static_cast<std::size_t>(end - begin)};
}

// Which row of the data a line is, said behind what is wrong with it.
std::string row_text(std::size_t number, bool header) {
  return " (row " + std::to_string(number) + " of the data: " + (header ? "the header and " : "") + "blank lines do not count)";
}

// What other programs call CSV, or a user forgot to unpack; null if it may be text.
const char* other_format(std::string_view text) {
  using namespace std::string_view_literals;
  if (text.starts_with("\xFF\xFE"sv) || text.starts_with("\xFE\xFF"sv)) return "it is UTF-16 text: save it as UTF-8";
  if (text.starts_with("\x1F\x8B"sv)) return "it is compressed (gzip): unpack it first";
  if (text.starts_with("\xFD"
                       "7zXZ"sv))
    return "it is compressed (xz): unpack it first";
  if (text.starts_with("\x28\xB5\x2F\xFD"sv)) return "it is compressed (zstd): unpack it first";
  if (text.starts_with("PK\x03\x04"sv)) return "it is a zip archive or a spreadsheet: save it as CSV";
  return nullptr;
}

}  // namespace

csv_file::csv_file(std::string path, csv_options options, const ir::type* row, std::size_t chunk_bytes)
    : path_(std::move(path)), options_(std::move(options)), row_(row), chunk_bytes_(std::max<std::size_t>(chunk_bytes, 1)),
      bytes_(path_, "read_csv"), leaves_(leaf_columns(row)) {
  check_options(options_, "read_csv");
  check_csv_row(row_, leaves_, options_, "read_csv");
  if (const char* why = other_format(bytes_.text())) fail(why);
  data_ = bytes_.text().data();
  if (bytes_.text().starts_with(byte_order_mark)) data_ += byte_order_mark.size();
  const char* first = skip_blank_lines(data_);
  if (options_.header) {
    if (first == text_end()) fail("the file is empty; expected a line with the columns' names: " + list_of(wanted_columns()));
    data_ = next_record(first, text_end(), options_.quote, false);
    match_header(first, data_);
  } else {
    match_positions(first);
  }
  keep_blank_lines_ = columns_.size() == 1 && leaves_[0].optional();
  next_block_ = begin_ = data_;
  end_ = text_end();
}

void csv_file::limit_to(const file_part& part) {
  if (const file_state now = file_bytes::state_of(path_); now != part.of || now.bytes != bytes_.text().size())
    fail("it is another file than the other processes read, or it was changed while it was read; write a new file and rename it");
  end_ = record_at(part.end, part.end_is_quoted);
  next_block_ = begin_ = std::min(record_at(part.begin, part.begin_is_quoted), end_);
}

// The first record that begins at the byte or behind it.
const char* csv_file::record_at(std::uint64_t byte, bool quoted) const {
  const std::string_view text = bytes_.text();
  const char* const at = text.data() + std::min<std::uint64_t>(byte, text.size());
  if (at <= data_) return data_;
  if (at == text_end() || (!quoted && at[-1] == '\n')) return at;
  return next_record(at, text_end(), options_.quote, quoted);
}

std::uint64_t csv_file::quotes_in(const std::string& path, char quote, std::uint64_t begin, std::uint64_t end, csv_parallel parallel) {
  if (quote == '\0' || begin >= end) return 0;
  const file_bytes bytes(path, "read_csv");
  const std::string_view text = bytes.text();
  end = std::min<std::uint64_t>(end, text.size());
  begin = std::min(begin, end);
  std::atomic<std::uint64_t> quotes = 0;
  parallel(static_cast<std::size_t>((end - begin + default_chunk_bytes - 1) / default_chunk_bytes), [&](std::size_t c) {
    const char* const from = text.data() + begin + c * default_chunk_bytes;
    quotes += count_bytes(from, std::min(from + default_chunk_bytes, text.data() + end), quote);
  });
  return quotes;
}

std::vector<std::string> csv_file::wanted_columns() const {
  std::vector<std::string> names;
  for (const leaf_column& leaf : leaves_) names.push_back(csv_column_of(leaf, options_));
  return names;
}

void csv_file::match_header(const char* begin, const char* end) {
  const std::vector<std::string> names = fields_of(begin, end);
  columns_.assign(names.size(), nullptr);
  for (const leaf_column& leaf : leaves_) {
    const std::string wanted = csv_column_of(leaf, options_);
    const auto found = std::find(names.begin(), names.end(), wanted);
    if (found == names.end())
      fail("no column '" + printable(wanted) + "'" + (wanted == leaf.name ? "" : " for field '" + leaf.name + "'") +
           "; the file has: " + list_of(names) + "; " + advice_for_header(line_of(begin, end), names, wanted, leaf.name, options_));
    if (std::find(found + 1, names.end(), wanted) != names.end())
      fail("the file has more than one column '" + printable(wanted) + "'; rename one of them in the file");
    const leaf_column*& place = columns_[static_cast<std::size_t>(found - names.begin())];
    if (place != nullptr)
      fail("column '" + printable(wanted) + "' is asked for by '" + place->name + "' and '" + leaf.name +
           "'; name another one in csv_options.columns");
    place = &leaf;
  }
}

void csv_file::match_positions(const char* first) {
  std::size_t width = leaves_.size();
  if (first != text_end()) {
    const char* const end = next_record(first, text_end(), options_.quote, false);
    width = fields_of(first, end).size();
    if (width < leaves_.size()) {
      fail(first, "expected " + std::to_string(leaves_.size()) + " columns, found " + std::to_string(width) + ": " +
                      list_of(wanted_columns()) + "; " + advice_for_few_columns(line_of(first, end), leaves_.size(), options_));
    }
  }
  columns_.assign(width, nullptr);
  for (std::size_t i = 0; i < leaves_.size(); ++i) columns_[i] = &leaves_[i];
}

std::vector<std::string> csv_file::fields_of(const char* begin, const char* end) const {
  const std::string_view line = line_of(begin, end);
  end = begin + line.size();
  std::vector<std::string> fields;
  std::string scratch;
  separator_cursor cursor(begin, end, options_.delimiter, options_.quote);
  for (const char* field = begin;;) {
    const char* stop = cursor.next();
    const csv_field f = read_field({field, static_cast<std::size_t>(stop - field)}, options_, scratch);
    if (const char* wrong = what_is_wrong(f.how)) fail(f.at, wrong + advice_for_quotes(f.how, *f.at, options_));
    fields.emplace_back(f.text);
    if (stop == end) return fields;
    field = stop + 1;
  }
}

const char* csv_file::skip_blank_lines(const char* p) const {
  while (p != text_end() && blank_line(p, text_end())) p = next_record(p, text_end(), '\0', false);
  return p;
}

std::vector<std::size_t> csv_file::quotes_by_chunk(csv_parallel parallel, const char* begin, const char* end) const {
  const auto size = static_cast<std::size_t>(end - begin);
  std::vector<std::size_t> quotes((size + chunk_bytes_ - 1) / chunk_bytes_, 0);
  if (options_.quote != '\0')
    parallel(quotes.size(), [&](std::size_t c) {
      const char* from = begin + c * chunk_bytes_;
      quotes[c] = count_bytes(from, from + std::min(chunk_bytes_, size - c * chunk_bytes_), options_.quote);
    });
  return quotes;
}

void csv_file::index(csv_parallel parallel) {
  const std::vector<std::size_t> quotes = quotes_by_chunk(parallel, begin_, end_);
  if (std::reduce(quotes.begin(), quotes.end()) % 2 != 0) report_open_quote();
  cut(parallel, begin_, end_, quotes);
}

bool csv_file::index_block(csv_parallel parallel, std::size_t bytes) {
  bytes_.expect_unchanged(path_);
  rows_before_ += rows_;
  rows_ = 0;
  chunks_.clear();
  const char* const begin = next_block_;
  const auto left = static_cast<std::size_t>(end_ - begin);
  for (std::size_t size = std::max<std::size_t>(bytes, 1); left != 0; size *= 2) {
    const char* end = begin + std::min(size, left);
    const std::vector<std::size_t> quotes = quotes_by_chunk(parallel, begin, end);
    std::size_t open = std::reduce(quotes.begin(), quotes.end());
    if (end != end_ || open % 2 != 0) {
      const char* stop = nullptr;
      for (std::size_t c = quotes.size(); c-- > 0 && stop == nullptr;) {
        open -= quotes[c];
        const char* from = begin + c * chunk_bytes_;
        stop = last_record_end(from, std::min(end, from + chunk_bytes_), options_.quote, open % 2 != 0);
      }
      if (stop == nullptr && end == end_) report_open_quote();
      if (stop == nullptr) continue;
      end = stop;
    }
    cut(parallel, begin, end, quotes);
    next_block_ = end;
    return true;
  }
  return false;
}

// Text of whole records into chunks; `quotes` by chunk, of this text or of more.
void csv_file::cut(csv_parallel parallel, const char* begin, const char* end, const std::vector<std::size_t>& quotes) {
  const auto size = static_cast<std::size_t>(end - begin);
  const std::size_t n = (size + chunk_bytes_ - 1) / chunk_bytes_;
  chunks_.assign(n, {begin, end});
  std::size_t open = 0;
  for (std::size_t c = 1; c < n; ++c) {
    open += quotes[c - 1];
    const char *from = begin + c * chunk_bytes_, *before = chunks_[c - 1].begin;
    // A record longer than a chunk: this chunk and maybe more are empty.
    const char* first = before > from                       ? before
                        : open % 2 == 0 && from[-1] == '\n' ? from
                                                            : next_record(from, end, options_.quote, open % 2 != 0);
    chunks_[c].begin = chunks_[c - 1].end = first;
  }

  parallel(n, [&](std::size_t c) {
    chunks_[c].rows = count_records(chunks_[c].begin, chunks_[c].end, options_.quote, keep_blank_lines_);
  });
  rows_ = 0;
  for (chunk_place& c : chunks_) {
    c.first_row = rows_;
    rows_ += c.rows;
  }
}

// The number of quotes is odd: goes through the file field by field to find the one to blame.
void csv_file::report_open_quote() const {
  const char quote = options_.quote;
  const char *p = data_, *end = text_end();
  for (bool field_starts = true; p != end; ++p) {
    if (*p == quote && !field_starts) fail(p, what_is_wrong(quoting::stray_quote));
    if (*p == quote) {
      const char* opened = p;
      do {
        p = std::find(p + 1, end, quote);
        if (p == end) fail(opened, what_is_wrong(quoting::never_closed));
      } while (p + 1 != end && p[1] == quote && ++p != end);
      field_starts = false;
      // Behind the closing quote there may be a separator, a line end or, with trim, blanks; else the next quote is stray.
    } else {
      field_starts = *p == options_.delimiter || *p == '\n' || (field_starts && options_.trim && (*p == ' ' || *p == '\t'));
    }
  }
  fail("the number of quotes is odd");
}

// The chunk's rows in front of the first wrong record; returns how many.
std::size_t csv_file::parse(std::size_t chunk, std::span<const bool> wanted, void* rows, std::exception_ptr& wrong) const {
  std::vector<const leaf_column*> columns = columns_;
  for (const leaf_column*& leaf : columns)
    if (leaf != nullptr && !wanted.empty() && !wanted[leaf->top_field]) leaf = nullptr;
  const chunk_place& place = chunks_[chunk];
  record_reader reader(place.begin, place.end, columns, options_, keep_blank_lines_);

  constexpr std::size_t batch = 64;  // rows constructed at once: they are in the core's cache when they are filled
  auto* const first = static_cast<std::byte*>(rows);
  std::size_t constructed = 0, done = 0;
  try {
    while (done < place.rows) {
      const std::size_t n = std::min(batch, place.rows - done);
      row_->life.construct(first + done * row_->size, n);
      for (constructed += n; done < constructed; ++done) {
        if (reader.read(first + done * row_->size)) continue;
        const auto& error = reader.error();
        const std::size_t number = rows_before_part() + rows_before_ + place.first_row + done + 1;
        fail(error.at, error.what + (error.row_matters ? row_text(number, options_.header) : ""));
      }
    }
  } catch (...) {
    row_->life.destroy(first + done * row_->size, constructed - done);
    wrong = std::current_exception();
  }
  return done;
}

// Of a file of which a part is read: for what is wrong in it.
std::size_t csv_file::rows_before_part() const { return count_records(data_, begin_, options_.quote, keep_blank_lines_); }

void csv_file::read(csv_parallel parallel, std::span<const bool> wanted, void* rows) const {
  std::exception_ptr wrong;
  const std::size_t n = read_until_wrong(parallel, wanted, rows, wrong);
  if (!wrong) return;
  row_->life.destroy(rows, n);
  std::rethrow_exception(wrong);
}

std::size_t csv_file::read_until_wrong(csv_parallel parallel, std::span<const bool> wanted, void* rows,
                                       std::exception_ptr& wrong) const {
  auto* const first = static_cast<std::byte*>(rows);
  std::vector<std::exception_ptr> errors(chunks());
  std::vector<std::size_t> parsed(chunks(), 0);
  const auto destroy_from = [&](std::size_t c) {
    for (; c < chunks(); ++c) row_->life.destroy(first + first_row(c) * row_->size, parsed[c]);
  };
  // The first error in the file is wanted: chunks before a wrong one have to be looked at, those behind it do not.
  std::atomic<std::size_t> first_wrong = chunks();
  try {
    parallel(chunks(), [&](std::size_t c) {
      if (c > first_wrong.load(std::memory_order_relaxed)) return;
      parsed[c] = parse(c, wanted, first + first_row(c) * row_->size, errors[c]);
      if (!errors[c]) return;
      std::size_t known = first_wrong.load(std::memory_order_relaxed);
      while (c < known && !first_wrong.compare_exchange_weak(known, c, std::memory_order_relaxed)) {
      }
    });
  } catch (...) {
    destroy_from(0);
    throw;
  }
  if (first_wrong == chunks()) return rows_;
  destroy_from(first_wrong + 1);
  wrong = errors[first_wrong];
  return first_row(first_wrong) + parsed[first_wrong];
}

void csv_file::fail(const char* at, const std::string& what) const {
  throw detail::unplaced_error("read_csv: " + path_ + ":" + place_in(bytes_.text(), at) + ": " + what);
}

void csv_file::fail(const std::string& what) const { throw detail::unplaced_error("read_csv: " + path_ + ": " + what); }

}  // namespace query::data
