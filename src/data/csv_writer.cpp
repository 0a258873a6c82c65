#include "data/csv_writer.hpp"

#include <utility>

#include "data/csv_field.hpp"
#include "data/csv_record_reader.hpp"
#include "data/csv_value.hpp"
#include "ir/time_text.hpp"

namespace query::data {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

}  // namespace

csv_writer::csv_writer(std::string path, csv_options options, const ir::type* row)
    : options_(std::move(options)), leaves_(leaf_columns(row)), row_size_(row->size),
      file_(checked(std::move(path), options_, leaves_, row), "write_csv") {
  if (!options_.header) return;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    if (i != 0) buffer_ += options_.delimiter;
    const std::string name = csv_column_of(leaves_[i], options_);
    append_field(buffer_, name, options_, name.empty());
  }
  buffer_ += '\n';
}

std::string csv_writer::checked(std::string path, const csv_options& options, const std::vector<leaf_column>& leaves, const ir::type* row) {
  check_options(options, "write_csv");
  check_csv_row(row, leaves, options, "write_csv");
  return path;
}

void csv_writer::append_rows(std::string& text, const void* rows, std::size_t n) const {
  const auto* row = static_cast<const std::byte*>(rows);
  for (std::size_t r = 0; r < n; ++r, row += row_size_) {
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      if (i != 0) text += options_.delimiter;
      append_value(text, leaves_[i], row);
    }
    text += '\n';
  }
}

void csv_writer::append_value(std::string& text, const leaf_column& leaf, const void* row) const {
  const void* value = leaf.value(row);
  if (value == nullptr) {
    text += options_.null_text;
    return;
  }
  const ir::type* type = leaf.value_type();
  if (is_letter(type)) {
    append_field(text, {static_cast<const char*>(value), 1}, options_, false);
    return;
  }
  if (type->k == ir::kind::string) {
    const auto& s = *static_cast<const std::string*>(value);
    // An empty string in quotes is no null, and its line not blank.
    append_field(text, s, options_, s.empty() && (leaf.may_be_null() || leaves_.size() == 1));
    return;
  }
  const std::size_t before = text.size();
  append_scalar(text, type, value, options_.time_format);
  if (!options_.time_format.empty() && ir::is_time_text(type)) {  // which may hold anything
    const std::string formatted = text.substr(before);
    text.resize(before);
    append_field(text, formatted, options_, formatted == options_.null_text);
    return;
  }
  if (options_.null_text.empty() || std::string_view(text).substr(before) != options_.null_text) return;
  text.resize(before);
  append_field(text, options_.null_text, options_, true);
}

void csv_writer::write(const void* rows, std::size_t n) {
  constexpr std::size_t batch = 1024;
  const auto* row = static_cast<const std::byte*>(rows);
  for (std::size_t done = 0; done < n; done += batch) {
    append_rows(buffer_, row + done * row_size_, n - done < batch ? n - done : batch);
    if (buffer_.size() >= buffer_bytes) flush();
  }
}

void csv_writer::write_text(std::string_view text) {
  flush();
  file_.write(text);
}

void csv_writer::finish(bool surely) {
  flush();
  file_.finish(surely);
}

void csv_writer::flush() {
  file_.write(buffer_);
  buffer_.clear();
}

}  // namespace query::data
