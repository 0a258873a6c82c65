// Two inputs of keys for the tests of hashed primitives, made of 64-bit numbers: rows have equal keys exactly if they have equal numbers.
//
//   bitwise_inputs<Key>   keys of 4, 8 or 16 bytes
//   text_inputs           strings, by row_keys: hash and row
//
//   const text_inputs in(build, probe);
//   kernel<<<...>>>(build.size(), table, in.keys(), numbered_rows{in.first(), ids.data(), dropped});
#pragma once

#include <string>
#include <vector>

#include "gpu_primitives/hash_keys.cuh"
#include "hashing_fixture.cuh"

namespace hashing_test {

using query::gpu::bitwise_keys;
using query::gpu::row_key;
using query::gpu::row_keys;

struct wide_key {
  u64 low, high;
};

// Neighbouring numbers have one low word; all ones are all ones.
template <class Key> Key key_of_number(u64 number) {
  if constexpr (sizeof(Key) <= 8) return static_cast<Key>(number);
  else return {static_cast<u64>(static_cast<long long>(number) >> 1), number % 2 ? ~u64(0) : u64(0)};
}

template <class Key> class bitwise_inputs {
 public:
  using keys_type = bitwise_keys<Key>;
  struct column {
    using key_type = Key;
    const Key* at;
    __device__ Key operator()(u64 i) const { return at[i]; }
  };

  bitwise_inputs(const std::vector<u64>& first, const std::vector<u64>& second) : first_(as_keys(first)), second_(as_keys(second)) {}
  keys_type keys() const { return {}; }
  column first() const { return {first_.data()}; }
  column second() const { return {second_.data()}; }

 private:
  static std::vector<Key> as_keys(const std::vector<u64>& numbers) {
    std::vector<Key> keys;
    for (const u64 n : numbers) keys.push_back(key_of_number<Key>(n));
    return keys;
  }
  device_array<Key> first_, second_;
};

struct texts {
  const u32* offsets;
  const char* bytes;
  __device__ bool operator()(u64 a, u64 b) const {
    const u32 size = offsets[a + 1] - offsets[a];
    if (offsets[b + 1] - offsets[b] != size) return false;
    for (u32 i = 0; i < size; ++i) {
      if (bytes[offsets[a] + i] != bytes[offsets[b] + i]) return false;
    }
    return true;
  }
};

class text_inputs {
 public:
  using keys_type = row_keys<texts>;
  struct column {
    using key_type = row_key;
    texts text;
    u64 from;  // row 0 among the rows of both inputs
    u64 hashes;
    __device__ row_key operator()(u64 i) const {
      u64 hash = 1469598103934665603ull;
      for (u32 at = text.offsets[from + i]; at < text.offsets[from + i + 1]; ++at)
        hash = (hash ^ static_cast<u8>(text.bytes[at])) * 1099511628211ull;
      return {hash % hashes, from + i};
    }
  };

  // Of few rows several texts have one hash.
  text_inputs(const std::vector<u64>& first, const std::vector<u64>& second)
      : rows_(first.size()), hashes_(first.size() + second.size() < 400 ? 16 : ~u64(0)), offsets_(0), bytes_(0) {
    std::vector<u32> offsets{0};
    std::vector<char> bytes;
    for (const auto* numbers : {&first, &second}) {
      for (const u64 n : *numbers) {
        const std::string text = n == 0 ? std::string() : "text " + std::to_string(n);
        bytes.insert(bytes.end(), text.begin(), text.end());
        offsets.push_back(static_cast<u32>(bytes.size()));
      }
    }
    offsets_ = device_array<u32>(offsets);
    bytes_ = device_array<char>(bytes);
  }
  keys_type keys() const { return {all()}; }
  column first() const { return {all(), 0, hashes_}; }
  column second() const { return {all(), rows_, hashes_}; }

 private:
  texts all() const { return {offsets_.data(), bytes_.data()}; }
  u64 rows_, hashes_;
  device_array<u32> offsets_;
  device_array<char> bytes_;
};

}  // namespace hashing_test
