// Files of compiled code, one an entry, shared by all processes of a user.
//
// Under the kernel cache. A file is written under a temporary name and renamed, so readers see whole files only; it
// carries its full key and a checksum, so that a damaged file or a collision of hashes is a miss. Nothing here throws for
// what the disk does: a folder that cannot be written is a cache that holds nothing.
//
//   disk_cache files(disk_cache::default_folder());
//   if (auto found = files.find(key)) load(*found); else files.store(key, compile());
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace query::gpu_engine {

// 128 bits of a text, equal on all machines of one byte order: MurmurHash3_x64_128 (Austin Appleby, public domain).
struct hash128 {
  std::uint64_t high = 0, low = 0;
  bool operator==(const hash128&) const = default;
  std::string hex() const;  // 32 digits
};
hash128 hash_text(std::string_view text);

// Thread-safe, and safe beside other processes.
class disk_cache {
 public:
  static constexpr std::size_t default_limit = std::size_t{256} << 20;

  // $QUERY_KERNEL_CACHE ("off" gives ""), else $XDG_CACHE_HOME/query/kernels, else $HOME/.cache/query/kernels, else "".
  static std::string default_folder();

  // Keeps entries in `folder` (made when first written; "" keeps none), at most `limit_bytes` of them.
  explicit disk_cache(std::string folder, std::size_t limit_bytes = default_limit);

  // What was stored under the key, or nothing. Counts as a use of the entry.
  std::optional<std::vector<std::byte>> find(std::string_view key) const;
  // Is there a file for the key of this hash? It may be damaged, or of another key of one hash.
  bool has(const hash128& key) const;
  // Stores, and removes the entries not used for longest while there are more than the limit's bytes. False if it could not.
  bool store(std::string_view key, std::span<const std::byte> value) const;

  const std::string& folder() const { return folder_; }

 private:
  std::string path_of(std::string_view key) const;
  void make_room() const;

  std::string folder_;
  std::size_t limit_;
};

}  // namespace query::gpu_engine
