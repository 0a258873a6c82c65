#include "data/csv_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>

#include <query/detail/failure.hpp>

#include "data/csv_field.hpp"
#include "data/csv_record_reader.hpp"
#include "data/csv_value.hpp"

namespace query::data {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

// The target itself where `path` is a link to it, so that the link survives.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? path : std::string(real.get());
}

std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> serial{0};
  return path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(serial.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace

csv_writer::csv_writer(std::string path, csv_options options, const ir::type* row)
    : path_(std::move(path)), options_(std::move(options)), leaves_(leaf_columns(row)), row_size_(row->size) {
  check_options(options_, "write_csv");
  check_csv_row(row, leaves_, options_, "write_csv");
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail("cannot write the file", EISDIR);
  const bool in_place = exists && !S_ISREG(status.st_mode);
  if (exists && !in_place) {
    if (::access(path_.c_str(), W_OK) != 0) fail("cannot write the file", errno);
    target_ = resolved(path_);
  } else {
    target_ = path_;
  }
  const std::string opened = in_place ? target_ : temporary_name(target_);
  file_ = ::open(opened.c_str(), O_WRONLY | O_CLOEXEC | (in_place ? 0 : O_CREAT | O_EXCL), 0666);
  if (file_ < 0) fail("cannot write the file", errno);
  if (!in_place) temporary_ = opened;
  if (exists && !in_place) static_cast<void>(::fchmod(file_, status.st_mode & 07777));  // keep what was allowed before
  if (options_.header) {
    try {
      for (std::size_t i = 0; i < leaves_.size(); ++i) {
        if (i != 0) buffer_ += options_.delimiter;
        const std::string name = csv_column_of(leaves_[i], options_);
        append_field(buffer_, name, options_, name.empty());
      }
      buffer_ += '\n';
    } catch (...) {
      discard();
      throw;
    }
  }
}

csv_writer::~csv_writer() { discard(); }

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
  append_scalar(text, type, value);
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
  write_all(text);
}

void csv_writer::finish() {
  flush();
  if (::close(std::exchange(file_, -1)) != 0) fail("cannot write the file", errno);
  if (!temporary_.empty() && std::rename(temporary_.c_str(), target_.c_str()) != 0)
    fail("cannot put the file in its place", errno);
  temporary_.clear();
}

void csv_writer::flush() {
  write_all(buffer_);
  buffer_.clear();
}

void csv_writer::write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file_, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("cannot write the file", errno);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void csv_writer::discard() noexcept {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void csv_writer::fail(const char* what, int error) {
  discard();
  const std::string text = std::string("write_csv: ") + what + ": " + path_ + ": " + std::generic_category().message(error);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO) throw resource_error(text);
  throw detail::unplaced_error(text);
}

}  // namespace query::data
