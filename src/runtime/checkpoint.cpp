#include "runtime/checkpoint.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>

#include <query/detail/failure.hpp>
#include <query/errors.hpp>

#include "ir/type_registry.hpp"
#include "runtime/checksum.hpp"
#include "runtime/engine_failure.hpp"
#include "runtime/local_engine.hpp"

namespace query::runtime {

namespace {

constexpr std::string_view ending = ".rows";
constexpr std::uint64_t format = 1;

struct file_head {
  std::array<char, 16> what{'q', 'u', 'e', 'r', 'y', ' ', 'c', 'h', 'e', 'c', 'k', 'p', 'o', 'i', 'n', 't'};
  std::uint64_t version = format;
  fingerprint of;
  std::uint64_t round = 0, rows = 0, pages = 0, sum = 0;  // sum: of all before it
  std::uint64_t own_sum() const { return checksum(reinterpret_cast<const char*>(this), sizeof *this - sizeof sum); }
};
struct page_head {
  std::uint64_t rows = 0, bytes = 0, sum = 0;
};

class open_file {
 public:
  open_file(const char* path, int flags, mode_t mode = 0) : fd_(::open(path, flags | O_CLOEXEC, mode)) {}
  ~open_file() {
    if (fd_ >= 0) ::close(fd_);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  bool write(const void* data, std::size_t n) {
    for (const auto* at = static_cast<const char*>(data); n;) {
      const ssize_t done = ::write(fd_, at, n);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return false;
      at += done;
      n -= static_cast<std::size_t>(done);
    }
    return true;
  }
  bool read(void* data, std::size_t n) {
    for (auto* at = static_cast<char*>(data); n;) {
      const ssize_t done = ::read(fd_, at, n);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return false;
      at += done;
      n -= static_cast<std::size_t>(done);
    }
    return true;
  }

 private:
  int fd_;
};

std::string number_name(std::uint64_t round) {
  std::string digits = std::to_string(round);
  return std::string(10 - std::min<std::size_t>(digits.size(), 10), '0') + digits + std::string(ending);
}

bool head_of(const std::filesystem::path& file, std::uint64_t& round, fingerprint& of) {
  open_file in(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  file_head head;
  if (!in || !in.read(&head, sizeof head) || head.what != file_head().what || head.version != format || head.sum != head.own_sum())
    return false;
  round = head.round;
  of = head.of;
  return true;
}

// File systems without files that have no name, as NFS, get one that no reader looks at.
std::string unnamed_in(const std::filesystem::path& folder, std::uint64_t round) {
  return (folder / (".part-" + std::to_string(::getpid()) + "-" + std::to_string(round))).string();
}

}  // namespace

checkpoint::checkpoint(const detail::logical& n, const session_state& session, run_context& context) : node_(&n), context_(&context) {
  const std::string& all = session.options.checkpoint_folder;
  if (all.empty()) fail("the session has no folder for it: set session_options::checkpoint_folder, or QUERY_CHECKPOINTS");
  folder_ = std::filesystem::path(all) / n.checkpoint;
  if (!ir::is_described(*n.row))
    fail("rows of " + std::string(n.row->name) + " cannot be written: describe the type by QUERY_RECORD, down to its fields");
  std::error_code trouble;
  std::filesystem::create_directories(all, trouble);
  if (!trouble && ::mkdir(folder_.c_str(), S_IRWXU) != 0 && errno != EEXIST) trouble.assign(errno, std::generic_category());
  if (trouble || ::access(folder_.c_str(), R_OK | W_OK | X_OK) != 0)
    fail("the folder " + folder_.string() + " cannot be made or written to: " + (trouble ? trouble.message() : std::strerror(errno)));
  try {
    mine_ = fingerprint_of(n, context);
  } catch (const detail::unplaced_error& e) {
    fail(e.what());
  }
}

checkpoint::~checkpoint() {
  if (writing_.valid()) writing_.wait();
}

void checkpoint::fail(const std::string& what) const {
  detail::fail("checkpoint", "\"" + node_->checkpoint + "\": " + what, node_->where);
}

std::vector<std::pair<std::uint64_t, std::filesystem::path>> checkpoint::files() const {
  std::vector<std::pair<std::uint64_t, std::filesystem::path>> all;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, gone)) {
    const std::string name = entry.path().filename().string();
    std::uint64_t round = 0;
    const auto [end, trouble] = std::from_chars(name.data(), name.data() + name.size(), round);
    if (trouble == std::errc() && std::string_view(end, name.data() + name.size()) == ending) all.emplace_back(round, entry.path());
  }
  std::sort(all.rbegin(), all.rend());
  return all;
}

// Of another fingerprint, the head alone is read.
checkpoint::found checkpoint::read(const std::filesystem::path& file, std::uint64_t& round, fingerprint& of, row_pages& pages) const {
  open_file in(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  if (!in && errno == ENOENT) return found::gone;
  struct stat known {};
  if (!in || ::fstat(in.fd(), &known) != 0) fail(file.string() + " cannot be read: " + std::strerror(errno));
  if (!S_ISREG(known.st_mode) || known.st_uid != ::geteuid()) fail(file.string() + " is no file of yours; remove it");
  file_head head;
  if (!in.read(&head, sizeof head) || head.what != file_head().what || head.sum != head.own_sum()) return found::damaged;
  if (head.version != format) fail(file.string() + " is of another version of the library; remove it, or take another name");
  of = head.of;
  round = head.round;
  if (of != mine_) return found::well;
  auto left = static_cast<std::uint64_t>(known.st_size) - sizeof head;
  std::uint64_t rows = 0;
  for (std::uint64_t p = 0; p < head.pages; ++p) {
    context_->cancel.check();
    page_head of_page;
    if (left < sizeof of_page || !in.read(&of_page, sizeof of_page)) return found::damaged;
    left -= sizeof of_page;
    if (of_page.bytes > left) return found::damaged;
    left -= of_page.bytes;
    row_page page;
    page.rows = of_page.rows;
    page.bytes = context_->pool.allocate(of_page.bytes);
    if (!in.read(page.bytes.data(), of_page.bytes) || checksum(page.bytes.as<const char>(), of_page.bytes) != of_page.sum)
      return found::damaged;
    rows += page.rows;
    pages.push_back(std::move(page));
  }
  return rows == head.rows && !left ? found::well : found::damaged;
}

std::optional<checkpoint::kept> checkpoint::newest(const ir::type* row) {
  for (const auto& [number, file] : files()) {
    std::uint64_t round = 0;
    fingerprint of;
    row_pages pages;
    const found is = read(file, round, of, pages);
    if (is == found::gone) continue;
    if (is == found::damaged || round != number) {
      trouble_ = "the file of round " + std::to_string(number) + " is damaged";
      ::rename(file.c_str(), (file.string() + ".damaged").c_str());  // its round will be kept again
      continue;
    }
    if (of != mine_) {
      const char* const whose = of.program != mine_.program ? "another program, or of this one as it was built before"
                                : of.query != mine_.query   ? "another query, or of this one with other captured values"
                                                            : "this query over other rows";
      fail("the files in " + folder_.string() + " are of " + whose + "; remove that folder, or take another name");
    }
    std::vector<const row_page*> in_order;
    for (const row_page& p : pages) in_order.push_back(&p);
    begun_behind_ = round;
    return kept{round, context_->local->rows_of(row, in_order, *context_)};
  }
  return std::nullopt;
}

bool checkpoint::is_worth_it() {
  constexpr int times = 20;
  if (writing_.valid()) {
    if (writing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
    wait();
  }
  return clock::now() - last_ >= times * cost_;
}

void checkpoint::keep(std::uint64_t round, vertex_rows& rows) {
  wait();
  const auto begin = clock::now();
  try {
    const detail::table& here = context_->fetched(rows);
    row_pages pages = here.n ? context_->local->pages_of(here, *context_) : row_pages{};
    writing_ = std::async(std::launch::async, [this, round, n = here.n, pages = std::move(pages)] { return write(round, n, pages); });
  } catch (const rows_lost&) {
    throw;
  } catch (const resource_error& e) {
    trouble_ = "round " + std::to_string(round) + " could not be kept: " + e.what();
  }
  last_ = clock::now();
  cost_ = last_ - begin;
}

void checkpoint::wait() {
  if (!writing_.valid()) return;
  const outcome o = writing_.get();
  cost_ += o.took;
  last_ = clock::now();
  if (o.taken) fail("another program keeps rounds in " + folder_.string() + " at the same time; take another name");
  if (!o.trouble.empty()) trouble_ = o.trouble;
  else ++rounds_kept_;
}

checkpoint::outcome checkpoint::write(std::uint64_t round, std::uint64_t rows, const row_pages& pages) const {
  const auto begin = clock::now();
  outcome o;
  const auto failed = [&](const char* what) {
    o.took = clock::now() - begin;
    o.trouble = "round " + std::to_string(round) + " could not be kept: " + what + ": " + std::strerror(errno);
    return o;
  };
  const open_file folder(folder_.c_str(), O_RDONLY | O_DIRECTORY);
  if (!folder) return failed("its folder is gone");
  const std::string part = unnamed_in(folder_, round);
  open_file out(folder_.c_str(), O_TMPFILE | O_RDWR, S_IRUSR | S_IWUSR);
  const bool has_name = !out;
  std::optional<open_file> named;
  if (has_name) named.emplace(part.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR, S_IRUSR | S_IWUSR);
  open_file& to = has_name ? *named : out;
  const struct without_a_part {
    const char* path;
    ~without_a_part() {
      if (path) ::unlink(path);
    }
  } gone_at_the_end{has_name ? part.c_str() : nullptr};
  file_head head;
  head.of = mine_;
  head.round = round;
  head.rows = rows;
  head.pages = pages.size();
  head.sum = head.own_sum();
  bool well = to && to.write(&head, sizeof head);
  for (const row_page& p : pages) {
    if (context_->cancel.stopped()) return failed("the query was cancelled");
    const page_head of_page{p.rows, p.bytes.size(), checksum(p.bytes.as<const char>(), p.bytes.size())};
    well = well && to.write(&of_page, sizeof of_page) && to.write(p.bytes.data(), p.bytes.size());
  }
  if (!well || ::fsync(to.fd()) != 0) return failed("its rows cannot be written");
  const std::string from = has_name ? part : "/proc/self/fd/" + std::to_string(to.fd());
  if (::linkat(AT_FDCWD, from.c_str(), folder.fd(), number_name(round).c_str(), AT_SYMLINK_FOLLOW) != 0) {
    const int why = errno;
    // The same rows may be there: of a program beside this one.
    std::uint64_t same_round = 0;
    fingerprint of;
    const bool exists = why == EEXIST;
    if (exists && head_of(folder_ / number_name(round), same_round, of) && of == mine_ && same_round == round) return o;
    o.taken = exists;
    errno = why;
    return failed("its file gets no name");
  }
  if (::fsync(folder.fd()) != 0) return failed("its name cannot be written");
  std::size_t newest = 0;
  for (const auto& [number, file] : files())
    if (number <= round && ++newest > 2) ::unlink(file.c_str());
  o.took = clock::now() - begin;
  return o;
}

std::string checkpoint::told() const {
  std::string text;
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : ", ") + more; };
  if (begun_behind_) add("begun behind round " + std::to_string(begun_behind_));
  if (rounds_kept_) add(std::to_string(rounds_kept_) + (rounds_kept_ == 1 ? " round kept" : " rounds kept"));
  if (!trouble_.empty()) add(trouble_);
  return text;
}

}  // namespace query::runtime
