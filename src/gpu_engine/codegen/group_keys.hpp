// Keys as the hash table sees them: 4, 8 or 16 bytes with equal bits for equal keys, where a key fits; else a hash and the
// row's number.
//
// -0.0 becomes 0.0 and every NaN one NaN; an empty optional is a flag beside zero bits: nulls are a group of their own.
//
//   group_key g = generate_group_key(k, trades_symbol);   // device functions g.encode(K, Key&) and g.decode(Key, K&)
#pragma once

#include <string>

#include "gpu_engine/codegen/kernel_source.hpp"

namespace query::gpu_engine {

struct group_key {
  std::size_t bytes = 0;  // of the encoded key: 4, 8 or 16; 0: it does not fit, keys are rows
  std::string type;       // "u32", "u64", "two_words"
  std::string encode;     // the name of `Type encode(const K&)`
  std::string is_null;    // of `bool is_null(const K&)`: some part of the key is an empty optional; empty if none can be
  std::string decode;     // of `K decode(const Type&)`; empty for rows
  std::string hash;       // for rows: of `u64 hash(const K&)`
  std::string equal;      // for rows: of `bool equal(const K&, const K&)`, as keys are compared
};

// Throws not_generated for keys that have no form on the device.
group_key generate_group_key(kernel_source& k, const ir::type* key);

// The hash and the equality of keys of any width.
std::string generate_key_hash(kernel_source& k, const ir::type* key);
std::string generate_key_equality(kernel_source& k, const ir::type* key);

}  // namespace query::gpu_engine
