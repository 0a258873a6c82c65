#include "data/binary_writer.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace query::data {

binary_writer::binary_writer(std::string path, const ir::type* row, clear_unused clear)
    : row_size_(row->size), clear_(std::move(clear)), file_(std::move(path), "write_binary") {}

void binary_writer::write(const void* rows, std::size_t n) {
  constexpr std::size_t batch_bytes = std::size_t{1} << 20;
  const std::size_t batch = std::max<std::size_t>(batch_bytes / row_size_, 1);
  for (std::size_t done = 0; done < n; done += batch) {
    const std::size_t k = std::min(batch, n - done);
    rows_.resize(std::max(rows_.size(), k * row_size_));
    std::memcpy(rows_.data(), static_cast<const std::byte*>(rows) + done * row_size_, k * row_size_);
    clear_(rows_.data(), k);
    file_.write(std::string_view(reinterpret_cast<const char*>(rows_.data()), k * row_size_));
  }
}

}  // namespace query::data
