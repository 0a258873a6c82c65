#include "gpu_engine/disk_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace query::gpu_engine {
namespace fs = std::filesystem;
namespace {

// What a file starts with; then come the key and the value. `magic` changes with this layout.
struct file_header {
  std::array<char, 8> magic;
  std::uint64_t key_bytes, value_bytes;
  hash128 checksum;  // of the value
};
constexpr std::array<char, 8> magic = {'q', 'r', 'y', 'c', 'u', 'b', '0', '1'};
constexpr const char* suffix = ".cubin";
constexpr const char* temporary = ".tmp";
constexpr auto abandoned_after = std::chrono::hours(1);  // a temporary file that old was left by a process that died

std::uint64_t mix(std::uint64_t k) {
  k ^= k >> 33;
  k *= 0xff51afd7ed558ccdULL;
  k ^= k >> 33;
  k *= 0xc4ceb9fe1a85ec53ULL;
  return k ^ k >> 33;
}

std::string_view text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return std::nullopt;
  const std::streamoff size = file.tellg();
  if (size < 0) return std::nullopt;
  std::string content(static_cast<std::size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(content.data(), size)) return std::nullopt;
  return content;
}

// A name that no other process or thread of this machine uses now.
std::string temporary_name(const std::string& path) {
  static std::atomic<std::uint64_t> next{0};
  return path + "." + std::to_string(::getpid()) + "." + std::to_string(next.fetch_add(1)) + temporary;
}

}  // namespace

std::string hash128::hex() const {
  std::string digits(32, '0');
  const auto write = [&](std::uint64_t x, std::size_t end) {
    for (; x; x >>= 4) digits[--end] = "0123456789abcdef"[x & 15];
  };
  write(high, 16);
  write(low, 32);
  return digits;
}

hash128 hash_text(std::string_view text) {
  constexpr std::uint64_t c1 = 0x87c37b91114253d5ULL, c2 = 0x4cf5ad432745937fULL;
  const auto scramble1 = [](std::uint64_t k) { return std::rotl(k * c1, 31) * c2; };
  const auto scramble2 = [](std::uint64_t k) { return std::rotl(k * c2, 33) * c1; };
  std::uint64_t h1 = 0, h2 = 0;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= 16; at += 16, left -= 16) {
    std::array<std::uint64_t, 2> k{};
    std::memcpy(k.data(), at, 16);
    h1 = (std::rotl(h1 ^ scramble1(k[0]), 27) + h2) * 5 + 0x52dce729;
    h2 = (std::rotl(h2 ^ scramble2(k[1]), 31) + h1) * 5 + 0x38495ab5;
  }
  if (left > 0) {
    std::array<std::uint64_t, 2> k{};
    std::memcpy(k.data(), at, left);
    h2 ^= scramble2(k[1]);
    h1 ^= scramble1(k[0]);
  }
  h1 ^= text.size();
  h2 ^= text.size();
  h1 += h2;
  h2 += h1;
  h1 = mix(h1);
  h2 = mix(h2);
  h1 += h2;
  h2 += h1;
  return {h1, h2};
}

std::string disk_cache::default_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  if (const std::string named = variable("QUERY_KERNEL_CACHE"); !named.empty()) return named == "off" ? "" : named;
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/query/kernels";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/query/kernels";
  return {};
}

disk_cache::disk_cache(std::string folder, std::size_t limit_bytes) : folder_(std::move(folder)), limit_(limit_bytes) {}

std::string disk_cache::path_of(std::string_view key) const { return folder_ + "/" + hash_text(key).hex() + suffix; }

std::optional<std::vector<std::byte>> disk_cache::find(std::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  const std::string path = path_of(key);
  const std::optional<std::string> content = read_file(path);
  file_header header;
  if (!content || content->size() < sizeof header) return std::nullopt;
  std::memcpy(&header, content->data(), sizeof header);
  const std::size_t rest = content->size() - sizeof header;
  if (header.magic != magic || header.key_bytes != key.size() || rest < key.size() || header.value_bytes != rest - key.size())
    return std::nullopt;
  const std::string_view body = std::string_view(*content).substr(sizeof header);
  const std::string_view value = body.substr(key.size());
  if (body.substr(0, key.size()) != key || hash_text(value) != header.checksum) return std::nullopt;
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used now; if that fails, it is only removed sooner
  const auto* bytes = reinterpret_cast<const std::byte*>(value.data());
  return std::vector<std::byte>(bytes, bytes + value.size());
}

bool disk_cache::has(const hash128& key) const {
  std::error_code failed;
  return !folder_.empty() && fs::exists(folder_ + "/" + key.hex() + suffix, failed);
}

bool disk_cache::store(std::string_view key, std::span<const std::byte> value) const {
  if (folder_.empty()) return false;
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed) return false;
  const std::string path = path_of(key), written = temporary_name(path);
  const file_header header{magic, key.size(), value.size(), hash_text(text_of(value))};
  std::ofstream file(written, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(&header), sizeof header);
  file.write(key.data(), static_cast<std::streamsize>(key.size()));
  file.write(reinterpret_cast<const char*>(value.data()), static_cast<std::streamsize>(value.size()));
  file.close();
  if (file) fs::rename(written, path, failed);
  if (!file || failed) {
    fs::remove(written, failed);
    return false;
  }
  make_room();
  return true;
}

void disk_cache::make_room() const {
  struct entry {
    fs::file_time_type used;
    std::uintmax_t bytes;
    fs::path path;
  };
  std::vector<entry> entries;
  std::uintmax_t total = 0;
  std::error_code failed;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator at(folder_, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code gone;  // another process may remove files meanwhile
    const fs::file_time_type used = at->last_write_time(gone);
    const std::uintmax_t bytes = gone ? 0 : at->file_size(gone);
    if (gone) continue;
    if (at->path().extension() == temporary && now - used > abandoned_after) fs::remove(at->path(), gone);
    if (at->path().extension() != suffix) continue;
    entries.push_back({used, bytes, at->path()});
    total += bytes;
  }
  if (total <= limit_) return;
  std::sort(entries.begin(), entries.end(), [](const entry& a, const entry& b) { return a.used < b.used; });
  for (const entry& e : entries) {
    if (total <= limit_) break;
    fs::remove(e.path, failed);
    total -= e.bytes;
  }
}

}  // namespace query::gpu_engine
