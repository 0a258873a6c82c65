// Device functions of a type that owns memory on the host: how many bytes its values view, and their copy into another heap.
//
//   const heap_functions f = generate_heap_functions(k, type);
//   // u64 viewed_1(const T3& v);   void moved_2(T3& v, u8*& to);
#pragma once

#include <string>

#include "gpu_engine/codegen/kernel_source.hpp"

namespace query::gpu_engine {

// Bytes of what values view, each piece rounded up to this, and aligned to it.
inline constexpr std::size_t heap_alignment = 8;

struct heap_functions {
  std::string viewed;  // (const T& v) -> u64
  std::string moved;   // (T& v, u8*& to): what v views is copied to `to`, which moves on, and v views the copy
  std::string moved_by_block;  // the same by all threads of a block, which call it with the same arguments
};
heap_functions generate_heap_functions(kernel_source& k, const ir::type* t);

}  // namespace query::gpu_engine
