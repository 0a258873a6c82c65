#pragma once

#include <cstddef>
#include <cstdint>

struct Trade {
  std::int32_t symbol;
  double price;
};

// Bytes that keep_frequent works in, with a table of 2^bits slots.
struct frequent_memory {
  std::size_t table = 0, temporary = 0;
};
frequent_memory frequent_memory_for(std::size_t n, std::uint32_t bits);

// The tables to try, one after the other, each four times as large as the one before. The first has room for few symbols, as they repeat;
// what finds no place in the last never will.
struct frequent_tables {
  std::uint32_t first = 0, last = 0;  // bits
};
frequent_tables frequent_tables_for(std::size_t n);

// What the device says, in the host's memory when the stream has ended.
struct frequent_found {
  std::uint64_t kept = 0;  // trades
  std::uint64_t full = 0;  // not 0: some symbol found no place in the table, and none is kept
};

// Keeps the trades whose symbol has at least `least` of them, in their order.
void keep_frequent(const Trade* rows, std::size_t n, std::uint64_t least, std::uint32_t bits, void* table, void* temporary, Trade* out,
                   frequent_found* found, void* stream);
