#include "gpu_engine/host_unpacking.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <query/detail/discard.hpp>
#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "gpu_engine/repack.hpp"
#include "runtime/engine_failure.hpp"
#include "runtime/leftover_rows.hpp"

namespace query::gpu_engine {

namespace {

using ir::kind;

constexpr std::size_t chunk_rows = 1 << 14;
constexpr std::size_t fewest_rows = 1 << 10;  // that are repacked at once where the device's memory is short

// A copy of a heap: addresses on the device become addresses here.
struct heap_copy {
  const std::byte* here = nullptr;
  device_address there = 0;
  std::uint64_t bytes = 0;

  std::pair<const std::byte*, std::size_t> view(const std::byte* v, std::size_t size) const {
    device_address at = 0;
    std::uint64_t count = 0;
    std::memcpy(&at, v, 8);
    std::memcpy(&count, v + 8, 8);
    if (count == 0) return {nullptr, 0};
    if (at < there || at - there > bytes || count > (bytes - (at - there)) / size)
      throw internal_error("gpu: a string or list lies outside its heap");
    return {here + (at - there), static_cast<std::size_t>(count)};
  }
};

void unpack(const ir::type* t, const std::byte* from, std::byte* to, const heap_copy& heap) {
  if (same_on_device(t)) {
    std::memcpy(to, from, t->size);
    return;
  }
  switch (t->k) {
    case kind::string: {
      const auto [at, n] = heap.view(from, 1);
      reinterpret_cast<std::string*>(to)->assign(reinterpret_cast<const char*>(at), n);
      return;
    }
    case kind::record:
      for (std::size_t i = 0; i < t->field_list.size(); ++i)
        unpack(t->field_list[i].of, from + device_offset(t, i), to + t->field_list[i].offset, heap);
      return;
    case kind::array: {
      const std::size_t size = device_layout(t->element).size;
      for (std::size_t i = 0; i < t->count; ++i) unpack(t->element, from + i * size, to + i * t->element->size, heap);
      return;
    }
    case kind::optional:
      if (from[device_layout(t->element).size] == std::byte{0})
        t->get.reset(to);
      else
        unpack(t->element, from, static_cast<std::byte*>(t->get.emplace(to)), heap);
      return;
    case kind::list: {
      const std::size_t size = device_layout(t->element).size;
      const auto [at, n] = heap.view(from, size);
      auto* elements = static_cast<std::byte*>(t->get.resize(to, n));
      if (n && same_on_device(t->element))
        std::memcpy(elements, at, n * size);
      else
        for (std::size_t i = 0; i < n; ++i) unpack(t->element, at + i * size, elements + i * t->element->size, heap);
      return;
    }
    default:
      return;
  }
}

// Rows of a run-time type, made and destroyed chunk by chunk.
struct chunked_rows {
  const ir::type* type = nullptr;
  std::size_t n = 0;
  std::vector<char> made;  // by chunk
  runtime::buffer memory;

  std::byte* at(std::size_t i) const { return memory.as<std::byte>() + i * type->size; }
  std::size_t rows_of(std::size_t chunk) const { return std::min(n - chunk * chunk_rows, chunk_rows); }
  ~chunked_rows() {
    for (std::size_t c = 0; c < made.size(); ++c)
      if (made[c]) type->life.destroy(at(c * chunk_rows), rows_of(c));
  }
};

// Nobody waits for millions of strings to go once the query should stop.
void leave(chunked_rows* rows) noexcept {
  std::unique_ptr<chunked_rows> all(rows);
  const bool stopped = std::uncaught_exceptions() > 0 || detail::stop_here->stopped_now.load(std::memory_order_relaxed);
  if (!stopped || !runtime::slow_to_destroy(*all->type, all->n)) return;
  try {
    detail::discard(std::move(all));
  } catch (const std::bad_alloc&) {  // then they are destroyed here
  }
}

[[noreturn]] void no_host_form(const ir::type* t, const char* why) {
  throw not_generated("the result's rows (" + std::string(t->name) + ") would be made on the host, and " + why);
}

void check_part(const ir::type* t) {
  if (same_on_device(t)) return;
  switch (t->k) {
    case kind::string:
      return;
    case kind::record:
      for (const ir::field& f : t->field_list) check_part(f.of);
      return;
    case kind::array:
      return check_part(t->element);
    case kind::optional:
      if (!t->get.emplace) no_host_form(t, "its values have no default");
      return check_part(t->element);
    case kind::list:
      if (!t->get.resize) no_host_form(t, "its elements have no default");
      return check_part(t->element);
    default:
      no_host_form(t, "its fields are not described");
  }
}

}  // namespace

void check_host_form(const ir::type* t) {
  if (same_on_device(t)) return;
  check_part(t);
  if (!t->life.construct || !t->life.destroy) no_host_form(t, "it has no default");
}

living_rows make_rows(const ir::type* t, std::size_t n, runtime::run_context& context) {
  std::shared_ptr<chunked_rows> all(new chunked_rows, leave);
  all->type = t;
  all->n = n;
  all->memory = context.pool.allocate(runtime::buffer_pool::checked_bytes(n ? n : 1, t->size));
  all->made.assign((n + chunk_rows - 1) / chunk_rows, 0);
  context.scheduler.for_each(
      all->made.size(),
      [&](std::size_t c) {
        t->life.construct(all->at(c * chunk_rows), all->rows_of(c));
        all->made[c] = 1;
      },
      context.cancel);
  void* const rows = all->memory.data();
  return {std::move(all), rows};
}

void download_owning_values(gpu_session& gpu, const ir::type* t, device_address values, std::size_t n, std::byte* to, std::size_t stride,
                            const stream& s, runtime::run_context& context) {
  const std::size_t size = device_layout(t).size;
  for (std::size_t first = 0, step = n; first < n;) {
    context.cancel.check();
    const std::size_t rows = std::min(step, n - first);
    repacked packed;
    try {
      packed = repack(gpu, t, values + first * size, rows, s, context);
    } catch (const out_of_memory& e) {
      // The host has room for them; only this engine cannot bring them.
      if (rows <= fewest_rows) throw runtime::engine_failure(e.what());
      step = rows / 2;  // in pieces, then
      continue;
    }
    const runtime::buffer views = context.pool.allocate(runtime::buffer_pool::checked_bytes(rows, size)),
                          characters = context.pool.allocate(std::max<std::uint64_t>(packed.heap_bytes, 1));
    if (packed.heap_bytes)
      gpu.copies().download_plain(characters.data(), packed.heap.address(), packed.heap_bytes, s, context.scheduler, context.cancel);
    gpu.copies().download_plain(views.data(), packed.values.address(), rows * size, s, context.scheduler, context.cancel);
    const heap_copy heap{characters.as<std::byte>(), packed.heap.address(), packed.heap_bytes};
    context.scheduler.for_each(
        (rows + chunk_rows - 1) / chunk_rows,
        [&](std::size_t c) {
          for (std::size_t i = c * chunk_rows; i < std::min(rows, (c + 1) * chunk_rows); ++i)
            unpack(t, views.as<std::byte>() + i * size, to + (first + i) * stride, heap);
        },
        context.cancel);
    first += rows;
  }
}

}  // namespace query::gpu_engine
