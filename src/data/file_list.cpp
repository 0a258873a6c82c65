#include "data/file_list.hpp"

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include <query/detail/failure.hpp>

#include "data/file_bytes.hpp"
#include "data/packed_bytes.hpp"

namespace query::data {
namespace {

[[noreturn]] void fail(file_format format, const std::string& what) {
  throw detail::unplaced_error(std::string(reading_verb(format)) + ": " + what);
}
[[noreturn]] void refuse(file_format format, const std::string& path, int error) {
  fail(format, "cannot read the folder: " + path + ": " + std::generic_category().message(error));
}

bool exists(const std::string& path, struct stat& status) { return ::stat(path.c_str(), &status) == 0; }

// Other programs put notes of theirs beside their files: _SUCCESS, .part-00000.crc.
std::vector<std::string> names_in_folder(const std::string& folder, file_format format) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  if (!open) refuse(format, folder, errno);
  std::vector<std::string> names;
  for (errno = 0; const dirent* entry = ::readdir(open.get()); errno = 0) {
    const std::string name = entry->d_name;
    if (name.front() == '.' || name.front() == '_') continue;
    names.push_back(folder + (folder.ends_with('/') ? "" : "/") + name);
  }
  if (errno != 0) refuse(format, folder, errno);
  std::sort(names.begin(), names.end());
  return names;
}
// Of columnar files too those of its folders, which other programs name after values: year=2026/month=7/part-0.parquet.
void add_files_below(const std::string& folder, file_format format, int depth, std::vector<std::string>& all) {
  constexpr int deepest = 32;
  if (depth > deepest) fail(format, "the folders are more than " + std::to_string(deepest) + " deep, a link may lead back: " + folder);
  for (const std::string& path : names_in_folder(folder, format)) {
    struct stat status {};
    if (!exists(path, status) || !S_ISDIR(status.st_mode)) all.push_back(path);
    else if (is_columnar(format)) add_files_below(path, format, depth + 1, all);
    else
      fail(format, "there is a folder in the folder: " + path + "; a pattern says which files are meant: \"" + folder +
                       (folder.ends_with('/') ? "" : "/") + "*/*\"");
  }
}
std::vector<std::string> files_of_folder(const std::string& folder, file_format format) {
  std::vector<std::string> all;
  add_files_below(folder, format, 0, all);
  return all;
}

std::vector<std::string> files_of_pattern(const std::string& pattern, file_format format) {
  glob_t found{};
  errno = 0;
  int failed = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_ERR, nullptr, &found);
  if (failed == GLOB_ABORTED && (errno == ENOENT || errno == ENOTDIR)) failed = GLOB_NOMATCH;
  const std::unique_ptr<glob_t, void (*)(glob_t*)> frees(&found, &::globfree);
  if (failed == GLOB_NOMATCH) fail(format, "no file matches the pattern: " + pattern);
  if (failed == GLOB_NOSPACE) throw std::bad_alloc();
  if (failed != 0) refuse(format, pattern, errno);
  std::vector<std::string> names(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

file_list::file_list(const file_source& source) {
  if (source.paths.empty()) fail(source.format, "there are no files: the list of paths is empty");
  const bool text = is_text(source.format);
  for (const std::string& given : source.paths) {
    const std::string folder = source.folder.empty() || given.starts_with('/') ? "" : source.folder + "/", path = folder + given;
    struct stat status {};
    const bool there = exists(path, status);
    std::vector<std::string> some;
    if (there && S_ISDIR(status.st_mode)) some = files_of_folder(path, source.format);
    else if (!there && path.find_first_of("*?[") != std::string::npos) {
      for (std::string& found : files_of_pattern(path, source.format))
        if (is_columnar(source.format) && exists(found, status) && S_ISDIR(status.st_mode)) add_files_below(found, source.format, 0, some);
        else some.push_back(std::move(found));
    }
    else some.push_back(path);
    for (std::string& file : some) {
      const std::uint64_t begin = all_.empty() ? 0 : all_.back().begin + all_.back().state.bytes;
      file_state state = file_bytes::state_of(file);
      state.whole = text && state.there && (source.options.on_error == bad_lines::collect || is_packed_file(file));
      std::string name = file.substr(folder.size());
      all_.push_back({std::move(file), std::move(name), state, begin});
    }
  }
}

file_state file_list::state() const {
  if (all_.size() == 1) return all_.front().state;
  file_state all{!all_.empty(), false, 0, 0};
  auto hash = static_cast<std::uint64_t>(all_.size());
  const auto add = [&](std::uint64_t x) { hash = (hash ^ x) * 0x9E3779B97F4A7C15u ^ (hash >> 29); };
  for (const listed_file& f : all_) {
    all.there &= f.state.there;
    all.whole |= f.state.whole;
    all.bytes += f.state.bytes;
    add(std::hash<std::string_view>{}(std::string_view(f.path).substr(f.path.rfind('/') + 1)));
    add(f.state.bytes);
    add(static_cast<std::uint64_t>(f.state.changed_at));
  }
  all.changed_at = static_cast<std::int64_t>(hash);
  return all;
}

file_state state_of(const file_source& source) {
  try {
    return file_list(source).state();
  } catch (const detail::unplaced_error&) {
    return {};
  }
}

}  // namespace query::data
