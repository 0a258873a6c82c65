#pragma once

#include <cstddef>
#include <cstdint>

struct Trade {
  std::int32_t symbol;
  double price;
};

// Bytes that keep_frequent works in.
struct frequent_memory {
  std::size_t table = 0, temporary = 0;
};
frequent_memory frequent_memory_for(std::size_t n);

// Keeps the trades whose symbol has at least `least` of them, in their order. *kept (in the host's memory) is their number when the
// stream has ended; none if the table was full.
void keep_frequent(const Trade* rows, std::size_t n, std::uint64_t least, void* table, void* temporary, Trade* out, std::uint64_t* kept,
                   void* stream);
