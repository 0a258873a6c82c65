#include "data/columnar_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <query/detail/failure.hpp>

namespace query::data {
namespace {

columnar_formats& provided() {
  static columnar_formats formats;
  return formats;
}

struct marks {
  std::string_view begin, end, name;
};
constexpr marks marks_of(file_format f) {
  using namespace std::string_view_literals;
  if (f == file_format::parquet) return {"PAR1"sv, "PAR1"sv, "Parquet"sv};
  return {"ARROW1"sv, "ARROW1"sv, "Arrow IPC"sv};
}

[[noreturn]] void fail(file_format format, const std::string& path, const std::string& what) {
  throw detail::unplaced_error(std::string(reading_verb(format)) + ": " + path + ": " + what);
}

// The first and the last bytes of a file, which say what it is and whether it is whole.
void check_marks(const std::string& path, file_format format) {
  const auto refuse = [&](int error) -> void {
    throw detail::unplaced_error(std::string(reading_verb(format)) + ": cannot read the file: " + path + ": " +
                                 std::generic_category().message(error));
  };
  struct opened {
    int fd;
    ~opened() {
      if (fd >= 0) ::close(fd);
    }
  } const file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) refuse(errno);
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) refuse(errno);
  if (S_ISDIR(status.st_mode)) refuse(EISDIR);
  const marks m = marks_of(format);
  const std::string name(m.name);
  if (!S_ISREG(status.st_mode))
    fail(format, path, "it is a pipe or a device, and " + name + " files are read from their end: copy it to a file");
  if (status.st_size == 0) fail(format, path, "the file is empty: it is no " + name + " file, or writing it has failed");
  std::array<char, 8> bytes{};
  const auto at = [&](std::int64_t where, std::size_t n) {
    const ssize_t got = ::pread(file.fd, bytes.data(), n, where);
    return std::string_view(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  };
  const std::string_view begin = at(0, m.begin.size());
  if (begin == "PARE") fail(format, path, "the file is encrypted, which is not supported: decrypt it first");
  if (begin != m.begin) {
    const std::string other = begin.starts_with("PAR1") ? "; it is a Parquet file: read it by read_parquet"
                              : begin == "ARROW1"       ? "; it is an Arrow IPC file: read it by read_arrow_file"
                                                        : "";
    fail(format, path, "it is no " + name + " file: it does not begin with " + std::string(m.begin) + other);
  }
  const auto size = static_cast<std::int64_t>(status.st_size), of_end = static_cast<std::int64_t>(m.end.size());
  if (size < 2 * of_end || at(size - of_end, m.end.size()) != m.end)
    fail(format, path, "the file is cut off: it begins as a " + name + " file and does not end as one; copy or write it anew");
}

const columnar_formats& formats_for(file_format format) {
  if (!provided().open)
    throw detail::unplaced_error(std::string(reading_verb(format)) + ": this process has no library for such files: link query::arrow");
  return provided();
}

}  // namespace

void provide_columnar(const columnar_formats& formats) { provided() = formats; }

std::unique_ptr<columnar_file> open_columnar(const std::string& path, file_format format) {
  check_marks(path, format);
  try {
    return formats_for(format).open(path, format);
  } catch (const columnar_failure& e) {
    fail(format, path, "the file cannot be read: " + std::string(e.what()) +
                           (e.is_damage ? "; it is damaged: copy or write it anew" : "; write it in another form"));
  }
}

std::unique_ptr<columnar_output> create_columnar(output_file& to, ArrowSchema& schema, file_format format,
                                                 const columnar_options& options) {
  return formats_for(format).create(to, schema, format, options);
}

columnar_counts& counts_of_columnar() {
  static columnar_counts counts;
  return counts;
}

}  // namespace query::data
