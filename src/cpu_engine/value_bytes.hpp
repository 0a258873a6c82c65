// Values that own memory as bytes, and made of these again: how strings, lists and what holds them go to pages of a partition_store. And
// how much memory they own.
//
//   if (has_bytes(type)) end = write_bytes(type, value, to);          // bytes_of(type, value) bytes
//   type.life.construct(at, 1); from = read_bytes(type, at, from);    // the same value
#pragma once

#include <cstddef>

#include <query/detail/type.hpp>

namespace query::cpu {

// Is the type described down to what its values own, and can they be made without the user's code?
bool has_bytes(const ir::type& t);

std::size_t bytes_of(const ir::type& t, const void* value);
// Returns where the next value's bytes begin, at any address.
std::byte* write_bytes(const ir::type& t, const void* value, std::byte* to);
// `value` is one that was value-initialised.
const std::byte* read_bytes(const ir::type& t, void* value, const std::byte* from);
// Where the bytes of a value end, at `end` at most; null: what is there, of a page that another process sent, is no such value.
const std::byte* end_of_bytes(const ir::type& t, const std::byte* from, const std::byte* end);

// Do values own heap memory that the library can see?
bool owns_heap(const ir::type& t);
// Bytes of the heap that n values own, `stride` bytes apart, with what the allocator adds; of opaque values none.
std::size_t heap_bytes(const ir::type& t, const void* first, std::size_t n, std::size_t stride);
inline std::size_t heap_bytes(const ir::type& t, const void* first, std::size_t n) { return heap_bytes(t, first, n, t.size); }

}  // namespace query::cpu
