// Keys of the rows of one or two inputs, as hash tables take them: joins and set verbs. A key of up to 16 bytes is itself in
// the table; of a wider one, or a string, the table keeps a hash and the number of a row that has it.
//
//   const keyed_side sides[] = {{"probe_key", &n.functions[0], probe}, {"build_key", &n.functions[1], build}};
//   const keyed_rows keys = generate_keyed_rows(k, n, sides, false);
//   // using Keys, Key; __device__ bool probe_key(const words& p, u64 i, Key& key)
#pragma once

#include <span>
#include <string>

#include "gpu_engine/codegen/expressions.hpp"

namespace query::gpu_engine {

struct keyed_side {
  std::string name;                  // of its function
  const detail::user_function* key;  // of the rows
  row_source row;                    // row number `i`
};

struct keyed_rows {
  std::size_t key_bytes = 0;  // 4, 8 or 16; 0: a hash and a row's number
  std::string object;         // text of a `Keys` in a kernel
  std::string decode;         // the name of `K decode(const Key&)`; empty where the table keeps a row's number

  // Of a table's slot with a payload of 4 or 8 bytes.
  std::size_t slot_bytes(std::size_t payload) const {
    return key_bytes == 4 && payload == 4 ? 8 : key_bytes == 4 || key_bytes == 8 ? 16 : 32;
  }
};

// Adds `Keys`, `Key` and a function a side, false for keys that match nothing: with a null in them, unless `nulls_match`.
// Throws not_generated for keys without a form on the device.
keyed_rows generate_keyed_rows(kernel_source& k, const detail::logical& n, std::span<const keyed_side> sides, bool nulls_match);

}  // namespace query::gpu_engine
