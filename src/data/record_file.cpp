#include "data/record_file.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include <query/detail/failure.hpp>

#include "data/csv_cursor.hpp"
#include "data/csv_record_reader.hpp"
#include "data/format_value.hpp"
#include "data/leaf_columns.hpp"

namespace query::data {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::size_t longest_text = 1000;  // of a rejected line

// Which row of the data a line is, said behind what is wrong with it.
std::string row_text(std::size_t number, bool header) {
  return " (row " + std::to_string(number) + " of the data: " + (header ? "the header and " : "") + "blank lines do not count)";
}

// What other programs call text, or a user forgot to unpack; null if it may be text.
const char* other_format(std::string_view text) {
  using namespace std::string_view_literals;
  if (text.starts_with("\xFF\xFE"sv) || text.starts_with("\xFE\xFF"sv)) return "it is UTF-16 text: save it as UTF-8";
  if (text.starts_with("\xFD"
                       "7zXZ"sv))
    return "it is compressed (xz): unpack it first";
  if (text.starts_with("BZh"sv)) return "it is compressed (bzip2): unpack it first";
  if (text.starts_with("PK\x03\x04"sv)) return "it is a zip archive or a spreadsheet: save it as text";
  if (text.starts_with("PAR1"sv)) return "it is a Parquet file: read it by read_parquet, of query/parquet.hpp";
  return nullptr;
}

// The field that takes the name of the row's file.
const ir::field* file_field_of(const ir::type* row, const std::string& name, std::string_view verb) {
  if (name.empty()) return nullptr;
  const auto refuse = [&](const std::string& what) -> void {
    throw detail::unplaced_error(std::string(verb) + ": .file_name_in names " + what);
  };
  if (row->k != ir::kind::record) refuse("a field, and the rows are no records: " + type_name(row));
  const auto fields = row->fields();
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const ir::field& f) { return f.name == name; });
  if (found == fields.end()) refuse("a field that " + type_name(row) + " does not have: '" + name + "'");
  if (found->of->k != ir::kind::string) refuse("the field '" + name + "', which is " + type_name(found->of) + "; make it a std::string");
  return &*found;
}

// One row to another, free place.
void move_row(const ir::type* t, std::byte* to, std::byte* from) noexcept {
  if (t->trivial) {
    std::memcpy(to, from, t->size);
    return;
  }
  t->life.move(to, from, 1);
  t->life.destroy(from, 1);
}

}  // namespace

record_file::record_file(std::string path, std::string name, std::string_view verb, char quote, const ir::type* row,
                         const std::string& file_name_in, std::size_t chunk_bytes)
    : row_(row), path_(std::move(path)), name_(std::move(name)), verb_(verb), quote_(quote),
      file_field_(file_field_of(row, file_name_in, verb)), chunk_bytes_(std::max<std::size_t>(chunk_bytes, 1)), bytes_(path_, verb) {
  if (packing_of(bytes_.text()) != packing::none) {
    unpacking_ = unpack(bytes_.text(), std::string(verb_) + ": " + path_);
    ended_ = false;
  } else {
    text_ = bytes_.text();
  }
  next_block_ = counted_to_ = text_.data();
  fill(64);
  if (const char* why = other_format(text_)) fail(why);
}

// Brings this many bytes of a packed file into memory, from the next block on, or all that is left. Earlier bytes are dropped.
void record_file::fill(std::size_t bytes) {
  const auto kept = static_cast<std::size_t>(text_end() - next_block_);
  if (ended_ || kept >= bytes) return;
  if (kept >= longest_packed_record)
    fail("a record of a compressed file has at most " + std::to_string(longest_packed_record >> 20) +
         " MiB, and one has more: unpack it first");
  lines_before_ = line_of(next_block_) - 1;
  unpacked_.erase(0, unpacked_.size() - kept);
  unpacked_.resize(bytes);
  std::size_t n = kept;
  while (n < bytes && !ended_) {
    const std::size_t got = unpacking_->read(unpacked_.data() + n, bytes - n);
    ended_ = got == 0;
    n += got;
  }
  unpacked_.resize(n);
  text_ = unpacked_;
  data_ = begin_ = next_block_ = counted_to_ = text_.data();
  end_ = text_end();
}

const char* record_file::first_byte() const {
  return text_.data() + (text_.starts_with(byte_order_mark) ? byte_order_mark.size() : 0);
}

const char* record_file::first_record(const char*& end) {
  for (std::size_t bytes = std::size_t{64} << 10;; bytes *= 2) {
    fill(bytes);
    const char* const first = skip_blank_lines(first_byte());
    end = next_record(first, text_end(), quote_, false);
    if (ended_ || end != text_end()) return first;
  }
}

void record_file::records_begin_at(const char* data, bool keep_blank_lines) {
  keep_blank_lines_ = keep_blank_lines;
  next_block_ = begin_ = data_ = data;
  end_ = text_end();
}

void record_file::limit_to(const file_part& part) {
  if (const file_state now = file_bytes::state_of(path_); now != part.of || now.bytes != bytes_.text().size())
    fail("it is another file than the other processes read, or it was changed while it was read; write a new file and rename it");
  end_ = record_at(part.end, part.end_is_quoted);
  next_block_ = begin_ = std::min(record_at(part.begin, part.begin_is_quoted), end_);
}

// The first record that begins at the byte or behind it.
const char* record_file::record_at(std::uint64_t byte, bool quoted) const {
  const char* const at = text_.data() + std::min<std::uint64_t>(byte, text_.size());
  if (at <= data_) return data_;
  if (at == text_end() || (!quoted && at[-1] == '\n')) return at;
  return next_record(at, text_end(), quote_, quoted);
}

std::uint64_t record_file::quotes_in(const std::string& path, char quote, std::uint64_t begin, std::uint64_t end, csv_parallel parallel) {
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

const char* record_file::skip_blank_lines(const char* p) const {
  while (p != text_end() && blank_line(p, text_end())) p = next_record(p, text_end(), '\0', false);
  return p;
}

std::vector<std::size_t> record_file::quotes_by_chunk(csv_parallel parallel, const char* begin, const char* end) const {
  const auto size = static_cast<std::size_t>(end - begin);
  std::vector<std::size_t> quotes((size + chunk_bytes_ - 1) / chunk_bytes_, 0);
  if (quote_ != '\0')
    parallel(quotes.size(), [&](std::size_t c) {
      const char* from = begin + c * chunk_bytes_;
      quotes[c] = count_bytes(from, from + std::min(chunk_bytes_, size - c * chunk_bytes_), quote_);
    });
  return quotes;
}

void record_file::index(csv_parallel parallel) {
  const std::vector<std::size_t> quotes = quotes_by_chunk(parallel, begin_, end_);
  if (std::reduce(quotes.begin(), quotes.end()) % 2 != 0) report_open_quote(data_);
  cut(parallel, begin_, end_, quotes);
}

bool record_file::index_block(csv_parallel parallel, std::size_t bytes, rejections* rejected) {
  bytes_.expect_unchanged(path_);
  rows_before_ += rows_;
  rows_ = 0;
  chunks_.clear();
  for (std::size_t size = std::max<std::size_t>(bytes, 1);; size *= 2) {
    fill(size);
    const char* const begin = next_block_;
    const auto left = static_cast<std::size_t>(end_ - begin);
    if (left == 0) return false;
    const char* end = begin + std::min(size, left);
    const bool at_end = end == end_ && ended_;
    const std::vector<std::size_t> quotes = quotes_by_chunk(parallel, begin, end);
    std::size_t open = std::reduce(quotes.begin(), quotes.end());
    if (!at_end || open % 2 != 0) {
      const char* stop = nullptr;
      for (std::size_t c = quotes.size(); c-- > 0 && stop == nullptr;) {
        open -= quotes[c];
        const char* from = begin + c * chunk_bytes_;
        stop = last_record_end(from, std::min(end, from + chunk_bytes_), quote_, open % 2 != 0);
      }
      if (stop == nullptr && at_end) {
        if (!rejected) report_open_quote(data_);
        reject_open_quote(*rejected);
        return false;
      }
      if (stop == nullptr) continue;
      end = stop;
    }
    cut(parallel, begin, end, quotes);
    next_block_ = end;
    return true;
  }
}

// Text of whole records into chunks; `quotes` by chunk, of this text or of more.
void record_file::cut(csv_parallel parallel, const char* begin, const char* end, const std::vector<std::size_t>& quotes) {
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
                                                            : next_record(from, end, quote_, open % 2 != 0);
    chunks_[c].begin = chunks_[c - 1].end = first;
  }

  parallel(n, [&](std::size_t c) {
    chunks_[c].rows = count_records(chunks_[c].begin, chunks_[c].end, quote_, keep_blank_lines_);
  });
  rows_ = 0;
  for (chunk_place& c : chunks_) {
    c.first_row = rows_;
    rows_ += c.rows;
  }
}

// An open quote turns the rest of the file into one record.
void record_file::reject_open_quote(rejections& to) {
  const std::string_view text(next_block_, static_cast<std::size_t>(end_ - next_block_));
  std::vector<rejected_line> lines;
  if (to.room() != 0) lines.push_back({path_, line_of(text.data()), "", std::string(text.substr(0, longest_text)),
                                        what_is_wrong(quoting::never_closed)});
  to.add(1, std::move(lines));
  next_block_ = end_;
}

// The chunk's rows in front of the first wrong record; or, with `rejects`, all that are right.
void record_file::parse(std::size_t chunk, std::span<const bool> wanted, void* rows, std::size_t room, bool rejects,
                        chunk_rows& done) const {
  const chunk_place& place = chunks_[chunk];
  const std::unique_ptr<record_parser> reader = parser(place.begin, place.end, wanted);
  const bool names_file = file_field_ != nullptr &&
                          (wanted.empty() || wanted[static_cast<std::size_t>(file_field_ - row_->fields().data())]);

  constexpr std::size_t batch = 64;  // rows constructed at once: they are in the core's cache when they are filled
  auto* const first = static_cast<std::byte*>(rows);
  std::size_t constructed = 0;
  try {
    for (std::size_t record = 0; record < place.rows; ++record) {
      if (done.n == constructed) {
        const std::size_t n = std::min(batch, place.rows - record);
        row_->life.construct(first + done.n * row_->size, n);
        constructed += n;
      }
      std::byte* const row = first + done.n * row_->size;
      if (reader->read(row)) {
        if (names_file) *reinterpret_cast<std::string*>(row + file_field_->offset) = name_;
        ++done.n;
        continue;
      }
      const record_error& error = reader->error();
      const auto what = [&] {  // of a part of a file, rows before it may have to be counted
        return error.what + (error.row_matters ? row_text(rows_before_part() + rows_before_ + place.first_row + record + 1,
                                                          names_first_line_) : "");
      };
      if (!rejects) fail(error.at, what());
      ++done.rejected;
      const bool kept = done.lines.size() < room;
      std::string column = error.column, reason = kept ? what() : std::string();  // before the reader goes on
      const std::string_view text = reader->reject();
      if (kept)
        done.lines.push_back({text.data(), {path_, 0, std::move(column), std::string(text.substr(0, longest_text)), std::move(reason)}});
      row_->life.destroy(row, constructed - done.n);  // half filled, and those behind it
      constructed = done.n;
    }
    row_->life.destroy(first + done.n * row_->size, constructed - done.n);
  } catch (...) {
    row_->life.destroy(first + done.n * row_->size, constructed - done.n);
    done.wrong = std::current_exception();
  }
}

// Counts the rows before the part that this reader has, for error messages. It reads the file from its beginning.
std::size_t record_file::rows_before_part() const { return count_records(data_, begin_, quote_, keep_blank_lines_); }

void record_file::read(csv_parallel parallel, std::span<const bool> wanted, void* rows) {
  std::exception_ptr wrong;
  const std::size_t n = read_until_wrong(parallel, wanted, rows, wrong);
  if (!wrong) return;
  row_->life.destroy(rows, n);
  std::rethrow_exception(wrong);
}

std::size_t record_file::read_until_wrong(csv_parallel parallel, std::span<const bool> wanted, void* rows, std::exception_ptr& wrong,
                                          rejections* rejected) {
  auto* const first = static_cast<std::byte*>(rows);
  std::vector<chunk_rows> done(chunks());
  const std::size_t room = rejected ? rejected->room() : 0;
  const auto destroy_from = [&](std::size_t c) {
    for (; c < chunks(); ++c) row_->life.destroy(first + first_row(c) * row_->size, done[c].n);
  };
  // The first error in the file is wanted: chunks before a wrong one have to be looked at, those behind it do not.
  std::atomic<std::size_t> first_wrong = chunks();
  try {
    parallel(chunks(), [&](std::size_t c) {
      if (c > first_wrong.load(std::memory_order_relaxed)) return;
      parse(c, wanted, first + first_row(c) * row_->size, room, rejected != nullptr, done[c]);
      if (!done[c].wrong) return;
      std::size_t known = first_wrong.load(std::memory_order_relaxed);
      while (c < known && !first_wrong.compare_exchange_weak(known, c, std::memory_order_relaxed)) {
      }
    });
  } catch (...) {
    destroy_from(0);
    throw;
  }
  if (first_wrong != chunks()) {
    destroy_from(first_wrong + 1);
    done.resize(first_wrong + 1);
    wrong = done[first_wrong].wrong;
  }
  if (rejected) {
    close_gaps(rows, done);
    reject(*rejected, done);
  }
  return std::accumulate(done.begin(), done.end(), std::size_t{0}, [](std::size_t n, const chunk_rows& c) { return n + c.n; });
}

// Rows of chunks with fewer rows than records move up to those before them.
void record_file::close_gaps(void* rows, std::span<const chunk_rows> done) const {
  auto* const first = static_cast<std::byte*>(rows);
  std::size_t n = 0;
  for (std::size_t c = 0; c < done.size(); n += done[c++].n)
    if (n != first_row(c))
      for (std::size_t i = 0; i < done[c].n; ++i) move_row(row_, first + (n + i) * row_->size, first + (first_row(c) + i) * row_->size);
}

void record_file::reject(rejections& to, std::vector<chunk_rows>& done) {
  for (chunk_rows& c : done) {
    if (c.rejected == 0) continue;
    const std::size_t room = to.room();
    std::vector<rejected_line> lines;
    for (chunk_rows::line& l : c.lines) {
      if (lines.size() == room) break;  // for others nobody counts lines
      l.text.line = line_of(l.begin);
      lines.push_back(std::move(l.text));
    }
    to.add(c.rejected, std::move(lines));
  }
}

// A line and a column, both from 1; columns count code points.
std::string record_file::place_of(const char* at) const {
  const char* begin = text_.data();
  if (lines_before_ == 0 && text_.starts_with(byte_order_mark)) begin += byte_order_mark.size();
  const auto line = lines_before_ + static_cast<std::uint64_t>(std::count(begin, std::max(begin, at), '\n')) + 1;
  const char* line_begin = std::max(begin, at);
  while (line_begin > begin && line_begin[-1] != '\n') --line_begin;
  const std::size_t column = at < begin ? 1 : code_points({line_begin, static_cast<std::size_t>(at - line_begin)}) + 1;
  return std::to_string(line) + ":" + std::to_string(column);
}

// The number of the line; fast where one call is about lines behind those of the call before.
std::uint64_t record_file::line_of(const char* at) {
  if (at < counted_to_) {
    counted_to_ = text_.data();
    counted_lines_ = lines_before_;
  }
  counted_lines_ += count_bytes(counted_to_, at, '\n');
  counted_to_ = at;
  return counted_lines_ + 1;
}

void record_file::report_open_quote(const char*) const { fail("the number of quotes is odd"); }

void record_file::fail(const char* at, const std::string& what) const {
  throw detail::unplaced_error(std::string(verb_) + ": " + path_ + ":" + place_of(at) + ": " + what);
}

void record_file::fail(const std::string& what) const { throw detail::unplaced_error(std::string(verb_) + ": " + path_ + ": " + what); }

}  // namespace query::data
