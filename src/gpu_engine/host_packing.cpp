#include "gpu_engine/host_packing.hpp"

#include <cstring>
#include <string>

#include "gpu_engine/codegen/heap_functions.hpp"

namespace query::gpu_engine {

namespace {

using ir::kind;

constexpr std::size_t chunk_rows = 1 << 14;

std::size_t rounded(std::size_t n) { return (n + heap_alignment - 1) / heap_alignment * heap_alignment; }

// Bytes that a value needs in the heap.
std::size_t heap_bytes(const ir::type* t, const std::byte* v) {
  if (same_on_device(t)) return 0;
  switch (t->k) {
    case kind::string:
      return rounded(reinterpret_cast<const std::string*>(v)->size());
    case kind::record: {
      std::size_t n = 0;
      for (const ir::field& f : t->field_list) n += heap_bytes(f.of, v + f.offset);
      return n;
    }
    case kind::array: {
      std::size_t n = 0;
      for (std::size_t i = 0; i < t->count; ++i) n += heap_bytes(t->element, v + i * t->element->size);
      return n;
    }
    case kind::optional: {
      const void* inner = t->get.value(v);
      return inner ? heap_bytes(t->element, static_cast<const std::byte*>(inner)) : 0;
    }
    case kind::list: {
      const std::size_t count = t->get.size(v);
      const auto* e = static_cast<const std::byte*>(t->get.data(v));
      std::size_t n = rounded(count * device_layout(t->element).size);
      for (std::size_t i = 0; i < count; ++i) n += heap_bytes(t->element, e + i * t->element->size);
      return n;
    }
    default:
      return 0;
  }
}

// The next free place of a heap, here and on the device.
struct heap_end {
  std::byte* here;
  device_address there;
  std::pair<std::byte*, device_address> take(std::size_t bytes) {
    const std::pair<std::byte*, device_address> at{here, there};
    here += rounded(bytes);
    there += rounded(bytes);
    return at;
  }
};

void write_view(std::byte* to, device_address at, std::uint64_t n) {
  std::memcpy(to, &at, 8);
  std::memcpy(to + 8, &n, 8);
}

void pack(const ir::type* t, const std::byte* v, std::byte* to, heap_end& heap) {
  if (same_on_device(t)) {
    std::memcpy(to, v, t->size);
    return;
  }
  switch (t->k) {
    case kind::string: {
      const auto& text = *reinterpret_cast<const std::string*>(v);
      const auto [here, there] = heap.take(text.size());
      std::memcpy(here, text.data(), text.size());
      write_view(to, there, text.size());
      return;
    }
    case kind::record:
      for (std::size_t i = 0; i < t->field_list.size(); ++i)
        pack(t->field_list[i].of, v + t->field_list[i].offset, to + device_offset(t, i), heap);
      return;
    case kind::array: {
      const std::size_t size = device_layout(t->element).size;
      for (std::size_t i = 0; i < t->count; ++i) pack(t->element, v + i * t->element->size, to + i * size, heap);
      return;
    }
    case kind::optional: {
      const std::size_t size = device_layout(t->element).size;
      const void* inner = t->get.value(v);
      if (inner)
        pack(t->element, static_cast<const std::byte*>(inner), to, heap);
      else
        std::memset(to, 0, size);
      to[size] = static_cast<std::byte>(inner != nullptr);
      return;
    }
    case kind::list: {
      const std::size_t count = t->get.size(v), size = device_layout(t->element).size;
      const auto* e = static_cast<const std::byte*>(t->get.data(v));
      const auto [here, there] = heap.take(count * size);
      for (std::size_t i = 0; i < count; ++i) pack(t->element, e + i * t->element->size, here + i * size, heap);
      write_view(to, there, count);
      return;
    }
    default:
      return;
  }
}

}  // namespace

std::shared_ptr<const device_buffer> upload_owning_values(gpu_session& gpu, const ir::type* t, const std::byte* values, std::size_t stride,
                                                 std::size_t n, device_address to, const stream& s, runtime::run_context& context) {
  const std::size_t size = device_layout(t).size, chunks = (n + chunk_rows - 1) / chunk_rows;
  std::vector<std::size_t> begins(chunks + 1);
  const auto each_row = [&](std::size_t c, auto f) {
    for (std::size_t i = c * chunk_rows; i < std::min(n, (c + 1) * chunk_rows); ++i) f(i);
  };
  context.scheduler.for_each(
      chunks, [&](std::size_t c) { each_row(c, [&](std::size_t i) { begins[c + 1] += heap_bytes(t, values + i * stride); }); },
      context.cancel);
  for (std::size_t c = 0; c < chunks; ++c) begins[c + 1] += begins[c];

  const std::size_t bytes = std::max<std::size_t>(begins.back(), heap_alignment);
  auto heap = std::make_shared<device_buffer>(gpu.memory().allocate(bytes, s));
  const runtime::buffer views = context.pool.allocate(runtime::buffer_pool::checked_bytes(n, size)),
                        characters = context.pool.allocate(bytes);
  std::memset(characters.data(), 0, std::min(bytes, heap_alignment));
  context.scheduler.for_each(
      chunks,
      [&](std::size_t c) {
        heap_end end{characters.as<std::byte>() + begins[c], heap->address() + begins[c]};
        each_row(c, [&](std::size_t i) {
          std::byte* at = views.as<std::byte>() + i * size;
          std::memset(at, 0, size);
          pack(t, values + i * stride, at, end);
        });
      },
      context.cancel);
  gpu.copies().upload_plain(heap->address(), characters.data(), bytes, s, context.scheduler, context.cancel);
  gpu.copies().upload_plain(to, views.data(), n * size, s, context.scheduler, context.cancel);
  return heap;
}

}  // namespace query::gpu_engine
