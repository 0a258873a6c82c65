// Runs a compiled program batch by batch.
#include <cpu_engine/interpreter.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <cpu_engine/interpreter/by_kind.hpp>
#include <cpu_engine/interpreter/code.hpp>
#include <cpu_engine/interpreter/text_heap.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/narrowing.hpp>
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
    serial = 0;  // of nothing, if memory runs out below
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

program::program(const ir::node* root, const ir::node* whole) : code_(compile(root, whole)) {}
program::~program() = default;
program::program(program&&) noexcept = default;
program& program::operator=(program&&) noexcept = default;

const ir::type* program::type() const { return code_->result.type; }

namespace {

// Results of up to `batch` rows from row `first` on.
void run_batch(const code& c, scratch::state& state, std::span<const binding> rows, const environment& with, std::size_t first,
               std::size_t lanes, std::byte* out) {
  state.bind(c, rows, with, first);
  const struct freed {
    text_heap& heap;
    ~freed() { heap.clear(); }
  } at_the_end{state.heap};
  frame f{c, state.registers.data(), state.memory.get(), state.slots.data(), state.collections.data(), state.heap};
  f.last = static_cast<std::uint32_t>(lanes);
  for (const reg r : c.forget) std::memset(state.registers[r], 0, lanes);
  run_region(f, c.prelude);
  run_region(f, c.body);
  construct_results(f, c.result, out);
}

struct whole_number {
  std::uint64_t bits = 0;
  bool negative = false;
  bool operator==(const whole_number&) const = default;
};
whole_number whole_at(ir::kind k, const void* at) {
  return by_kind<whole_number>(k, [&]<class T>(T x) -> whole_number {
    if constexpr (std::is_integral_v<T>) {
      std::memcpy(&x, at, sizeof x);
      return {static_cast<std::uint64_t>(x), std::cmp_less(x, 0)};
    } else return {};
  });
}

// The record that row `row` would have become. Numbers that do not fit it lie after it, and are fields of its type in their place.
class described_record {
 public:
  described_record(const code& c, std::span<const binding> rows, const environment& with, std::size_t row)
      : type_(*c.result.type), at_(static_cast<std::byte*>(::operator new(beside(c.given.size()), cache_line))) {
    scratch s;
    scratch::state& state = s.get();
    state.lay_out(c);
    state.bind_collections(c, with);
    run_batch(c, state, rows, with, row, 1, at_.get());
    for (const given_number& g : c.given) show(g, whole_at(g.k, state.registers[g.at]));
  }
  ~described_record() {
    if (type_.life.destroy) type_.life.destroy(at_.get(), 1);
  }
  described_record(const described_record&) = delete;
  described_record& operator=(const described_record&) = delete;
  const ir::type* type() const { return &type_; }
  const void* get() const { return at_.get(); }

 private:
  static constexpr std::size_t word = sizeof(std::uint64_t);

  // Where number i lies, of those after the record.
  std::size_t beside(std::size_t i) const { return (type_.size + word - 1) / word * word + i * word; }
  void show(const given_number& g, whole_number given) {
    ir::field& f = type_.field_list[g.field];
    const ir::type* t = f.of;
    const void* value = at_.get() + f.offset;
    if (t->k == ir::kind::optional) {
      value = t->get.value(value);
      t = t->element;
    }
    if (!value || whole_at(t->k, value) == given) return;
    f.of = given.negative ? ir::describe<std::int64_t>() : ir::describe<std::uint64_t>();
    f.offset = beside(shown_++);
    std::memcpy(at_.get() + f.offset, &given.bits, word);
  }

  ir::type type_;
  std::unique_ptr<std::byte, free_aligned> at_;
  std::size_t shown_ = 0;
};

// As compiled code says it, with the row if it can be computed: another field of it may fail, too.
[[noreturn]] void fail(const narrowing_of& x, const std::string& number, std::span<const binding> rows, const environment& with,
                       std::size_t row) {
  std::optional<described_record> record;
  try {
    if (x.record) record.emplace(*x.record, rows, with, row);
  } catch (const std::exception&) {
  }
  if (record) detail::does_not_fit(record->type(), record->get(), x.field, number, x.to);
  throw detail::unplaced_error(detail::does_not_fit_text(number, x.part, x.to));
}

}  // namespace

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
      run_batch(c, state, rows, with, done, lanes, results + done * size);
      done += lanes;
    }
  } catch (...) {
    if (done > 0 && c.result.type->life.destroy) c.result.type->life.destroy(results, done);
    try {
      throw;
    } catch (const misfit& m) {
      fail(c.narrowings[m.narrowing], m.number, rows, with, done + m.lane);
    }
  }
}

void program::filter(std::span<const binding> rows, const environment& with, std::size_t n, bool* out, scratch& s) const {
  if (type()->k != ir::kind::boolean) throw internal_error("interpreter: a filter must give bool");
  run(rows, with, n, out, s);
}

}  // namespace query::interpreter
