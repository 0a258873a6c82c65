#include <query/detail/counted_heap.hpp>

#include <algorithm>
#include <memory>

#include "runtime/buffer_pool.hpp"
#include "runtime/cancellation.hpp"

namespace query::detail {

void counted_heap::change(std::size_t bytes) {
  auto* charged = static_cast<runtime::charge*>(charge_);
  if (charged && bytes < bytes_) {
    charged->shrink(charged->bytes() - std::min(charged->bytes(), bytes));
  } else if (const runtime::buffer_pool* const memory = runtime::cancel_flag::here().memory()) {
    std::unique_ptr<runtime::charge> made;
    if (!charged) charged = (made = std::make_unique<runtime::charge>()).get();
    if (bytes > charged->bytes()) charged->grow(*memory, bytes - charged->bytes());
    if (made) charge_ = made.release();
  }
  bytes_ = bytes;
}

void counted_heap::give_back() noexcept {
  std::unique_ptr<runtime::charge>(static_cast<runtime::charge*>(charge_)).reset();
  charge_ = nullptr;
}

}  // namespace query::detail
