#include "gpu_engine/out_of_core/host_partitions.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace query::gpu_engine {

void host_partitions::append(const void* rows, const std::uint32_t* places, std::size_t n) {
  // Each slice counts its rows, then writes them behind those of the slices before it: the order stays.
  constexpr std::size_t smallest_slice = 1 << 14;
  const std::size_t slices =
      std::clamp<std::size_t>(n / smallest_slice, 1, static_cast<std::size_t>(context_.scheduler.concurrency()) * 2);
  const auto border = [&](std::size_t s) { return n * s / slices; };
  std::vector<std::vector<std::size_t>> at(slices, std::vector<std::size_t>(parts_));
  context_.scheduler.for_each(
      slices,
      [&](std::size_t s) {
        for (std::size_t i = border(s); i < border(s + 1); ++i)
          if (places[i] < parts_) ++at[s][places[i]];
      },
      context_.cancel);
  chunk c;
  std::size_t total = 0;
  for (std::uint32_t p = 0; p < parts_; ++p) {
    c.starts.push_back(total);
    for (std::size_t s = 0; s < slices; ++s) {
      const std::size_t rows_of_slice = at[s][p];
      at[s][p] = total;
      total += rows_of_slice;
    }
  }
  c.starts.push_back(total);
  c.rows = context_.pool.allocate(runtime::buffer_pool::checked_bytes(std::max<std::size_t>(total, 1), row_bytes_));
  std::byte* const to = c.rows.as<std::byte>();
  context_.scheduler.for_each(
      slices,
      [&](std::size_t s) {
        for (std::size_t i = border(s); i < border(s + 1); ++i)
          if (places[i] < parts_)
            std::memcpy(to + at[s][places[i]]++ * row_bytes_, static_cast<const std::byte*>(rows) + i * row_bytes_,
                        row_bytes_);
      },
      context_.cancel);
  for (std::uint32_t p = 0; p < parts_; ++p) counts_[p] += c.starts[p + 1] - c.starts[p];
  chunks_.push_back(std::move(c));
}

std::size_t host_partitions::size(std::uint32_t first, std::uint32_t end) const {
  return std::accumulate(counts_.begin() + first, counts_.begin() + end, std::size_t{0});
}

std::uint32_t host_partitions::end_of(std::uint32_t first, std::size_t most) const {
  std::uint32_t end = first + 1;
  for (std::size_t n = counts_[first]; end < parts_ && n + counts_[end] <= most; ++end) n += counts_[end];
  return end;
}

std::vector<host_partitions::piece> host_partitions::rows_of(std::uint32_t first, std::uint32_t end) const {
  std::vector<piece> pieces;
  for (const chunk& c : chunks_)
    if (const std::size_t n = c.starts[end] - c.starts[first])
      pieces.push_back({c.rows.as<std::byte>() + c.starts[first] * row_bytes_, n});
  return pieces;
}

std::vector<host_partitions::piece> host_partitions::long_pieces_of(std::uint32_t first, std::uint32_t end,
                                                                    runtime::buffer& memory) const {
  constexpr std::size_t many = 16;
  std::vector<piece> pieces = rows_of(first, end);
  if (pieces.size() <= many) return pieces;
  const std::size_t n = size(first, end);
  memory = context_.pool.allocate(runtime::buffer_pool::checked_bytes(n, row_bytes_));
  std::byte* to = memory.as<std::byte>();
  for (const piece& p : pieces) {
    std::memcpy(to, p.rows, p.n * row_bytes_);
    to += p.n * row_bytes_;
  }
  return {{memory.data(), n}};
}

std::vector<runtime::begun_streams::rows> host_partitions::give_up() {
  std::vector<runtime::begun_streams::rows> all;
  for (chunk& c : chunks_) {
    if (!c.starts.back()) continue;
    auto memory = std::make_shared<runtime::buffer>(std::move(c.rows));
    all.push_back({memory, memory->data(), c.starts.back()});
  }
  chunks_.clear();
  counts_.assign(parts_, 0);
  return all;
}

}  // namespace query::gpu_engine
