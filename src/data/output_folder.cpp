#include "data/output_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include <query/detail/failure.hpp>

#include "data/output_file.hpp"

namespace query::data {
namespace {

constexpr const char* whole = "/whole";  // within the staging folder: what takes the target's place
constexpr std::string_view part_prefix = "part-";
constexpr file_format formats[] = {file_format::csv, file_format::json_lines, file_format::binary, file_format::parquet,
                                   file_format::arrow};

// `more`: of the same folder and partition. part-00007.parquet, part-00007-1.parquet.
std::string part_name(std::size_t partition, std::size_t more, file_format format) {
  std::string number = std::to_string(partition);
  constexpr std::size_t digits = 5;
  if (number.size() < digits) number.insert(0, digits - number.size(), '0');
  if (more) number += '-' + std::to_string(more);
  return std::string(part_prefix) + number + std::string(extension_of(format));
}
bool is_part(std::string_view name) {
  if (!name.starts_with(part_prefix)) return false;
  name.remove_prefix(part_prefix.size());
  const auto skip_digits = [&] {
    const std::size_t n = std::min(name.find_first_not_of("0123456789"), name.size());
    name.remove_prefix(n);
    return n;
  };
  const std::size_t digits = skip_digits();
  if (name.starts_with('-')) {
    name.remove_prefix(1);
    if (skip_digits() == 0) return false;
  }
  return digits != 0 && std::any_of(std::begin(formats), std::end(formats), [&](file_format f) { return name == extension_of(f); });
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr)
    if (const std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
  return names;
}

// year=2026: a folder of parts whose rows have this value (partitioned_writer.hpp).
bool is_folder_of_parts(const std::string& path) {
  struct stat status {};
  return path.find('=', path.rfind('/')) != std::string::npos && ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Files that have been exchanged are the user's: whatever is not a part stays, and its folder with it.
void remove_old(const std::string& folder) noexcept {
  for (const std::string& name : names_in(folder)) {
    const std::string path = folder + "/" + name;
    if (is_part(name)) ::unlink(path.c_str());
    else if (is_folder_of_parts(path)) remove_old(path);
  }
  ::rmdir(folder.c_str());
}
// Other processes may still write there: once the folder has gone, they cannot.
void remove_staging(const std::string& staging) noexcept {
  constexpr int tries = 100;
  constexpr std::chrono::milliseconds pause{20};
  for (int i = 0; i < tries; ++i) {
    remove_old(staging + whole);
    for (const std::string& name : names_in(staging)) ::unlink((staging + "/" + name).c_str());
    if (::rmdir(staging.c_str()) == 0 || errno == ENOENT || ::access((staging + whole).c_str(), F_OK) == 0) return;
    std::this_thread::sleep_for(pause);
  }
}

// Who holds the lock of a staging folder is alive.
int locked(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}
bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}
// Is this folder of a name like ours one of ours? Then all that it holds has names that writers give (runtime/files.cpp, leader.cpp), be
// it while they write (temporary_name).
bool is_staging(const std::string& folder, std::string_view process_and_serial) {
  const std::size_t dash = process_and_serial.find('-');
  if (dash == std::string_view::npos) return false;
  if (!is_number(process_and_serial.substr(0, dash)) || !is_number(process_and_serial.substr(dash + 1))) return false;
  const std::vector<std::string> names = names_in(folder);
  return std::all_of(names.begin(), names.end(), [](std::string_view name) {
    if ("/" + std::string(name) == whole) return true;
    name = name.substr(0, name.find(".tmp-"));
    if (is_part(std::string(name))) return true;
    if (name.starts_with("alone-")) name.remove_prefix(6);
    return name.find_first_not_of("0123456789-") == std::string_view::npos;
  });
}
void remove_abandoned(const std::string& target) {
  const std::string parent = std::filesystem::path(target).parent_path().string();
  const std::string prefix = std::filesystem::path(temporary_name(target)).filename().string();
  const std::string_view begin = std::string_view(prefix).substr(0, prefix.rfind(".tmp-") + 5);
  for (const std::string& name : names_in(parent)) {
    if (!name.starts_with(begin)) continue;
    const std::string folder = parent + "/" + name;
    if (!is_staging(folder, std::string_view(name).substr(begin.size()))) continue;
    const int lock = locked(folder);
    if (lock < 0) continue;
    remove_staging(folder);
    ::close(lock);
  }
}

// The names in the folder are on the disk.
void sync_folder(const std::string& folder) noexcept {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  static_cast<void>(::fsync(fd));
  ::close(fd);
}

std::string without_slashes(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

output_folder::output_folder(std::string path, file_format format) : path_(std::move(path)), format_(format) {
  const std::string named = without_slashes(path_);
  const std::string last = std::filesystem::path(named).filename().string();
  if (last.empty() || last == "." || last == "..") refuse("the path names no folder that could be replaced: " + path_);
  std::error_code none;
  target_ = std::filesystem::canonical(named, none).string();
  if (none) target_ = std::filesystem::absolute(named).string();
  check_replaceable();
  remove_abandoned(target_);
  // Another process that takes it for abandoned before it is locked has removed it, and there will be another one.
  for (struct stat opened {}, named_now {};;) {
    staging_ = temporary_name(target_);
    if (::mkdir(staging_.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      fail("cannot write the folder", errno);
    }
    lock_ = locked(staging_);
    if (lock_ < 0 && errno != EWOULDBLOCK && errno != ENOENT) return;  // a file system without locks: nothing is removed there
    const bool known = lock_ >= 0 && ::fstat(lock_, &opened) == 0 && ::stat(staging_.c_str(), &named_now) == 0;
    if (known && opened.st_ino == named_now.st_ino) return;
    if (lock_ >= 0) ::close(std::exchange(lock_, -1));
  }
}

output_folder::~output_folder() {
  remove_staging(staging_);
  if (lock_ >= 0) ::close(lock_);
}

void output_folder::check_replaceable() const {
  struct stat status {};
  if (::stat(target_.c_str(), &status) != 0) return;
  if (!S_ISDIR(status.st_mode)) fail("cannot write the folder", ENOTDIR);
  check_parts_in("");
}
void output_folder::check_parts_in(const std::string& below) const {
  for (const std::string& name : names_in(target_ + "/" + below)) {
    if (is_part(name)) continue;
    if (!is_folder_of_parts(target_ + "/" + below + name))
      refuse("the folder holds something that is no part of an earlier result, and would be lost: " + path_ + below + name +
             "; choose a folder of another name");
    check_parts_in(below + name + "/");
  }
}

void output_folder::commit(const std::vector<std::vector<written_file>>& parts) {
  const std::string made = staging_ + whole;
  struct stat status {};
  const bool replaces = ::stat(target_.c_str(), &status) == 0;
  if (::mkdir(made.c_str(), 0777) != 0) fail("cannot write the folder", errno);
  std::set<std::string> folders;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::map<std::string, std::size_t> files_of;
    for (const written_file& part : parts[i]) {
      const std::string from = staging_ + "/" + part.name;
      struct stat file {};
      if (::stat(from.c_str(), &file) != 0 || static_cast<std::uint64_t>(file.st_size) != part.bytes)
        refuse("partition " + std::to_string(i) + " was written by a process that does not see this folder: " + path_ +
               "; all machines must see it, as on a network file system");
      // Its folders, from the outer one.
      for (std::size_t end = 0; end < part.folder.size();) {
        end = std::min(part.folder.find('/', end + 1), part.folder.size());
        const std::string folder = made + "/" + part.folder.substr(0, end);
        if (folders.insert(folder).second && ::mkdir(folder.c_str(), 0777) != 0) fail("cannot write the folder", errno);
      }
      const std::string to = made + "/" + part.folder + (part.folder.empty() ? "" : "/");
      if (std::rename(from.c_str(), (to + part_name(i, files_of[part.folder]++, format_)).c_str()) != 0)
        fail("cannot write the folder", errno);
    }
  }
  for (const std::string& folder : folders) sync_folder(folder);
  sync_folder(made);
  if (replaces) {
    check_replaceable();
    static_cast<void>(::chmod(made.c_str(), status.st_mode & 07777));  // keep what was allowed before
    if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) {
      if (errno == EINVAL || errno == ENOSYS)
        refuse("this file system cannot exchange two folders: " + path_ + "; remove the folder first, or write one of another name");
      fail("cannot put the folder in its place", errno);
    }
  } else if (std::rename(made.c_str(), target_.c_str()) != 0) {
    fail("cannot put the folder in its place", errno);
  }
  sync_folder(std::filesystem::path(target_).parent_path().string());
}

void output_folder::fail(const char* what, int error) const { fail_to_write(writing_verb(format_), what, path_, error); }
void output_folder::refuse(const std::string& what) const {
  throw detail::unplaced_error(std::string(writing_verb(format_)) + ": " + what);
}

}  // namespace query::data
