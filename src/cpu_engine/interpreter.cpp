// Runs a compiled program batch by batch.
#include <cpu_engine/interpreter.hpp>

#include <algorithm>
#include <cstring>
#include <new>

#include <cpu_engine/interpreter/code.hpp>
#include <cpu_engine/interpreter/text_heap.hpp>
#include <query/errors.hpp>

namespace query::interpreter {
namespace {

constexpr std::align_val_t cache_line{64};
struct free_aligned {
  void operator()(std::byte* p) const { ::operator delete(p, cache_line); }
};

}  // namespace

struct scratch::state {
  std::uint64_t serial = 0;
  std::unique_ptr<std::byte, free_aligned> memory;
  std::size_t bytes = 0;
  std::vector<std::byte*> registers;
  std::vector<slot_at> slots;
  std::vector<collection> collections;
  text_heap heap;

  void lay_out(const code& c) {
    if (serial == c.serial) return;
    if (bytes < c.bytes) {
      memory.reset();
      bytes = 0;
      memory.reset(static_cast<std::byte*>(::operator new(c.bytes, cache_line)));
      bytes = c.bytes;
    }
    if (c.bytes > 0) std::memset(memory.get(), 0, c.bytes);
    registers.clear();
    for (const register_info& r : c.registers) {
      std::byte* at = memory.get() + r.at;
      if (r.constant && r.width == sizeof(std::string_view)) std::memcpy(at, &r.text, sizeof r.text);
      else if (r.constant) std::memcpy(at, &r.bits, r.width);
      registers.push_back(at);
    }
    slots.assign(c.slots.size(), {});
    serial = c.serial;
  }

  void bind_collections(const code& c, const environment& with) {
    collections.clear();
    for (const std::uint64_t slot : c.collections) {
      const auto at = std::find_if(with.collections.begin(), with.collections.end(), [&](const collection& x) { return x.slot == slot; });
      if (at == with.collections.end()) throw internal_error("interpreter: no collection is bound to slot " + std::to_string(slot));
      collections.push_back(*at);
    }
  }

  void bind(const code& c, std::span<const binding> rows, const environment& with, std::size_t first) {
    for (std::size_t i = 0; i < c.slots.size(); ++i) {
      const row_slot& s = c.slots[i];
      if (s.from == row_slot::source::row) {
        if (s.id >= rows.size()) throw internal_error("interpreter: no binding for row " + std::to_string(s.id));
        slots[i] = {&rows[s.id], first, nullptr, 0};
      } else if (s.from == row_slot::source::bound) {
        const auto at = std::find_if(with.values.begin(), with.values.end(), [&](const bound_value& v) { return v.node == s.bound; });
        if (at == with.values.end()) throw internal_error("interpreter: an aggregate or key has no value");
        slots[i] = {nullptr, 0, static_cast<const std::byte*>(at->base) + first * at->stride, at->stride};
      }
    }
  }
};

scratch::scratch() : state_(std::make_unique<state>()) {}
scratch::~scratch() = default;
scratch::scratch(scratch&&) noexcept = default;
scratch& scratch::operator=(scratch&&) noexcept = default;

program::program(const ir::node* root) : code_(compile(root)) {}
program::~program() = default;
program::program(program&&) noexcept = default;
program& program::operator=(program&&) noexcept = default;

const ir::type* program::type() const { return code_->result.type; }

void program::run(std::span<const binding> rows, const environment& with, std::size_t n, void* out, scratch& s) const {
  const code& c = *code_;
  scratch::state& state = s.get();
  state.lay_out(c);
  state.bind_collections(c, with);
  std::byte* const results = static_cast<std::byte*>(out);
  const std::size_t size = c.result.type->size;
  std::size_t done = 0;
  try {
    while (done < n) {
      const std::size_t lanes = std::min(batch, n - done);
      state.bind(c, rows, with, done);
      state.heap.clear();
      frame f{c, state.registers.data(), state.memory.get(), state.slots.data(), state.collections.data(), state.heap};
      f.last = static_cast<std::uint32_t>(lanes);
      for (const reg r : c.forget) std::memset(state.registers[r], 0, lanes);
      run_region(f, c.prelude);
      run_region(f, c.body);
      construct_results(f, c.result, results + done * size);
      done += lanes;
    }
  } catch (...) {
    if (done > 0 && c.result.type->life.destroy) c.result.type->life.destroy(results, done);
    throw;
  }
}

void program::filter(std::span<const binding> rows, const environment& with, std::size_t n, bool* out, scratch& s) const {
  if (type()->k != ir::kind::boolean) throw internal_error("interpreter: a filter must give bool");
  run(rows, with, n, out, s);
}

}  // namespace query::interpreter
