#include "gpu_engine/disk_cache.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "gpu_engine/temporary_folder.hpp"

namespace query::gpu_engine {
namespace fs = std::filesystem;
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* at = reinterpret_cast<const std::byte*>(text.data());
  return {at, at + text.size()};
}

std::vector<fs::path> files_of(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

void set_age(const fs::path& file, std::chrono::minutes age) { fs::last_write_time(file, fs::file_time_type::clock::now() - age); }

TEST(disk_cache, gives_back_what_was_stored) {
  const temporary_folder folder;
  const disk_cache cache(folder.path() + "/made/when/needed");
  EXPECT_FALSE(cache.find("key"));
  EXPECT_TRUE(cache.store("key", bytes_of("value")));
  EXPECT_TRUE(cache.store("empty", {}));
  EXPECT_EQ(cache.find("key"), bytes_of("value"));
  EXPECT_EQ(cache.find("empty"), std::vector<std::byte>{});
  EXPECT_FALSE(cache.find("kez"));
  EXPECT_EQ(disk_cache(cache.folder()).find("key"), bytes_of("value"));  // as another process would
}

TEST(disk_cache, ignores_a_damaged_file_and_writes_it_again) {
  const temporary_folder folder;
  const disk_cache cache(folder.path());
  const std::string value(1000, 'v');
  ASSERT_TRUE(cache.store("key", bytes_of(value)));
  const fs::path file = files_of(folder.path()).at(0);
  const auto size = fs::file_size(file);
  for (std::uintmax_t at = 0; at < size; at += 13) {
    std::fstream f(file, std::ios::binary | std::ios::in | std::ios::out);
    f.seekg(static_cast<std::streamoff>(at));
    const int old = f.get();
    f.seekp(static_cast<std::streamoff>(at));
    f.put(static_cast<char>(old ^ 1));
    f.close();
    EXPECT_FALSE(cache.find("key")) << "byte " << at;
    ASSERT_TRUE(cache.store("key", bytes_of(value)));
    EXPECT_EQ(cache.find("key"), bytes_of(value));
  }
  for (const std::uintmax_t length : {std::uintmax_t{0}, std::uintmax_t{5}, size / 2, size - 1}) {
    fs::resize_file(file, length);
    EXPECT_FALSE(cache.find("key")) << length << " bytes";
    ASSERT_TRUE(cache.store("key", bytes_of(value)));
  }
}

TEST(disk_cache, a_file_under_another_keys_name_is_a_miss) {
  const temporary_folder folder;
  const disk_cache cache(folder.path());
  ASSERT_TRUE(cache.store("one", bytes_of("1")));
  const fs::path one = files_of(folder.path()).at(0);
  const std::string other = folder.path() + "/" + hash_text("two").hex() + ".cubin";
  fs::rename(one, other);  // as if the two hashed to the same
  EXPECT_FALSE(cache.find("two"));
}

TEST(disk_cache, removes_what_was_not_used_for_longest) {
  const temporary_folder folder;
  const disk_cache unlimited(folder.path());
  const std::vector<std::byte> value(1000);
  for (int i = 0; i < 5; ++i) {
    const std::string key = "key" + std::to_string(i);
    unlimited.store(key, value);
    set_age(folder.path() + "/" + hash_text(key).hex() + ".cubin", std::chrono::minutes(50 - i));
  }
  EXPECT_TRUE(unlimited.find("key0"));  // the oldest is now the one used last
  const std::size_t each = fs::file_size(files_of(folder.path()).at(0));
  const disk_cache limited(folder.path(), 3 * each + 10);
  limited.store("new1", value);
  EXPECT_EQ(files_of(folder.path()).size(), 3u);
  EXPECT_TRUE(limited.find("new1"));
  EXPECT_TRUE(limited.find("key0"));
  EXPECT_TRUE(limited.find("key4"));
  EXPECT_FALSE(limited.find("key1"));
}

TEST(disk_cache, removes_what_a_dead_process_left_half_written) {
  const temporary_folder folder;
  const disk_cache cache(folder.path());
  const fs::path old = folder.path() + "/0.cubin.1.1.tmp", young = folder.path() + "/0.cubin.1.2.tmp";
  std::ofstream(old) << "half";
  std::ofstream(young) << "half";
  set_age(old, std::chrono::minutes(61));
  cache.store("key", bytes_of("value"));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
}

TEST(disk_cache, a_folder_that_cannot_be_written_holds_nothing) {
  const temporary_folder folder;
  const std::string file = folder.path() + "/file";
  std::ofstream(file) << "not a folder";
  const disk_cache cache(file + "/below");
  EXPECT_FALSE(cache.store("key", bytes_of("value")));
  EXPECT_FALSE(cache.find("key"));
  EXPECT_FALSE(disk_cache("").store("key", bytes_of("value")));
  EXPECT_FALSE(disk_cache("").find("key"));
}

TEST(disk_cache, processes_write_the_same_and_others_at_once) {
  const temporary_folder folder;
  constexpr int processes = 4, rounds = 60;
  const auto value = [](int i) { return bytes_of(std::string(static_cast<std::size_t>(2000 + i * 37), static_cast<char>('a' + i % 26))); };
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const disk_cache cache(folder.path(), 20'000);  // so that files are removed meanwhile, too
      bool right = true;
      for (int i = 0; i < rounds; ++i) {
        const int key = (i * 7 + p) % 12;
        if (!cache.store("key" + std::to_string(key), value(key))) right = false;
        const auto found = cache.find("key" + std::to_string((key + 5) % 12));
        if (found && *found != value((key + 5) % 12)) right = false;
      }
      ::_exit(right ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  std::uintmax_t total = 0;
  for (const fs::path& file : files_of(folder.path())) {
    EXPECT_EQ(file.extension(), ".cubin");
    total += fs::file_size(file);
  }
  EXPECT_LE(total, 20'000u);
}

TEST(disk_cache, the_folder_follows_the_environment) {
  const auto with = [](const char* cache, const char* xdg, const char* home) {
    const auto set = [](const char* name, const char* value) { value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name); };
    const auto was = [](const char* name) {
      const char* value = std::getenv(name);
      return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
    };
    const auto a = was("QUERY_KERNEL_CACHE"), b = was("XDG_CACHE_HOME"), c = was("HOME");
    set("QUERY_KERNEL_CACHE", cache);
    set("XDG_CACHE_HOME", xdg);
    set("HOME", home);
    const std::string folder = disk_cache::default_folder();
    set("QUERY_KERNEL_CACHE", a ? a->c_str() : nullptr);
    set("XDG_CACHE_HOME", b ? b->c_str() : nullptr);
    set("HOME", c ? c->c_str() : nullptr);
    return folder;
  };
  EXPECT_EQ(with("/here", "/xdg", "/home/me"), "/here");
  EXPECT_EQ(with("off", "/xdg", "/home/me"), "");
  EXPECT_EQ(with(nullptr, "/xdg", "/home/me"), "/xdg/query/kernels");
  EXPECT_EQ(with(nullptr, nullptr, "/home/me"), "/home/me/.cache/query/kernels");
  EXPECT_EQ(with(nullptr, nullptr, nullptr), "");
}

// Reference values of MurmurHash3_x64_128 with seed 0, as the published implementation gives them.
TEST(disk_cache, hashes_as_murmur3_does) {
  EXPECT_EQ(hash_text("").hex(), "00000000000000000000000000000000");
  EXPECT_EQ(hash_text("The quick brown fox jumps over the lazy dog").hex(), "e34bbc7bbc071b6c7a433ca9c49a9347");
  EXPECT_NE(hash_text(std::string("a\0", 2)), hash_text("a"));
}

}  // namespace
}  // namespace query::gpu_engine
