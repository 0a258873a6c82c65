#include "cpu_engine/padding.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

namespace query::cpu {

namespace {

template <std::size_t Bytes> void clear_each(std::byte* at, std::size_t n, std::size_t stride) {
  for (std::size_t i = 0; i < n; ++i, at += stride) std::memset(at, 0, Bytes);
}
void clear_gap(std::byte* at, std::size_t n, std::size_t stride, std::size_t bytes) {
  switch (bytes) {
    case 1: return clear_each<1>(at, n, stride);
    case 2: return clear_each<2>(at, n, stride);
    case 3: return clear_each<3>(at, n, stride);
    case 4: return clear_each<4>(at, n, stride);
    case 5: return clear_each<5>(at, n, stride);
    case 6: return clear_each<6>(at, n, stride);
    case 7: return clear_each<7>(at, n, stride);
    default:
      for (std::size_t i = 0; i < n; ++i, at += stride) std::memset(at, 0, bytes);
  }
}

// Of optionals without a value. Size: theirs, or 0.
template <std::size_t Size> void clear_empty(std::byte* at, std::size_t n, std::size_t stride, std::size_t flag, std::size_t size) {
  for (std::size_t i = 0; i < n; ++i, at += stride)
    if (at[flag] == std::byte{0}) std::memset(at, 0, Size ? Size : size);
}

}  // namespace

padding::padding(const ir::type& t) : type_(&t) {
  switch (t.k) {
    case ir::kind::opaque: known_ = false; break;
    case ir::kind::record: look_at_record(); break;
    case ir::kind::optional:
      if (t.trivial) look_at_optional();
      else add(0, *t.element);
      break;
    case ir::kind::array:
    case ir::kind::list: add(0, *t.element); break;
    default: break;
  }
}

void padding::add(std::size_t offset, const ir::type& t) {
  padding of(t);
  any_ |= of.any_;
  known_ &= of.known_;
  if (!type_->trivial || of.any_) parts_.push_back({offset, {std::move(of)}});
}

// Bytes that are not used by any part are gaps.
void padding::keep_used(const std::vector<bool>& used) {
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    if (i && !used[i - 1]) ++gaps_.back().bytes;
    else gaps_.push_back({i, 1});
  }
  any_ |= !gaps_.empty();
}

void padding::look_at_record() {
  for (const ir::field& f : type_->fields()) add(f.offset, *f.of);
  if (!type_->trivial) return;
  std::vector<bool> used(type_->size, false);
  for (const ir::field& f : type_->fields()) std::fill_n(used.begin() + static_cast<std::ptrdiff_t>(f.offset), f.of->size, true);
  keep_used(used);
}

// Where the value is, and the byte that says whether there is one, is the standard library's secret. Zeros are no value.
void padding::look_at_optional() {
  const std::size_t size = type_->size;
  std::vector<std::byte> memory(size + type_->align);
  void* first = memory.data();
  std::size_t room = memory.size();
  auto* const at = static_cast<std::byte*>(std::align(type_->align, size, first, room));
  std::size_t flags = 0, value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    std::fill_n(at, size, std::byte{0});
    at[i] = std::byte{1};
    const void* const found = type_->get.value(at);
    if (!found) continue;
    ++flags;
    flag_ = i;
    value = static_cast<std::size_t>(static_cast<const std::byte*>(found) - at);
  }
  if (flags != 1) {
    known_ = false;
    return;
  }
  any_ = true;
  add(value, *type_->element);
  std::vector<bool> used(size, false);
  std::fill_n(used.begin() + static_cast<std::ptrdiff_t>(value), type_->element->size, true);
  used[flag_] = true;
  keep_used(used);
}

void padding::clear_values(std::byte* at, std::size_t n, std::size_t stride) const {
  for (const gap& g : gaps_) clear_gap(at + g.offset, n, stride, g.bytes);
  for (const part& p : parts_) {
    const padding& of = p.of.front();
    const std::size_t count = type_->k == ir::kind::array ? type_->count : 1;
    for (std::size_t i = 0; i < count; ++i) of.clear_values(at + p.offset + i * of.type_->size, n, stride);
  }
  if (type_->k != ir::kind::optional) return;
  switch (type_->size) {
    case 8: return clear_empty<8>(at, n, stride, flag_, 8);
    case 16: return clear_empty<16>(at, n, stride, flag_, 16);
    default: return clear_empty<0>(at, n, stride, flag_, type_->size);
  }
}

std::byte* padding::clear_parts(std::byte* at, std::size_t n) const {
  if (type_->trivial) {
    if (any_) clear_values(at, n, type_->size);
    return at + n * type_->size;
  }
  for (std::size_t i = 0; i < n; ++i) at = clear_written(at);
  return at;
}

std::byte* padding::clear_written(std::byte* at) const {
  std::uint64_t n = 0;
  switch (type_->k) {
    case ir::kind::string: std::memcpy(&n, at, sizeof n); return at + sizeof n + n;
    case ir::kind::list:
      std::memcpy(&n, at, sizeof n);
      return parts_.front().of.front().clear_parts(at + sizeof n, n);
    case ir::kind::optional: return *at++ == std::byte{0} ? at : parts_.front().of.front().clear_parts(at, 1);
    case ir::kind::array: return parts_.front().of.front().clear_parts(at, type_->count);
    default:
      for (const part& p : parts_) at = p.of.front().clear_parts(at, 1);
      return at;
  }
}

void padding::clear(std::byte* written, std::size_t n) const { (void)clear_parts(written, n); }

}  // namespace query::cpu
