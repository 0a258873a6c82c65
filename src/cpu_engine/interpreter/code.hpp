// A compiled program: instructions over registers, grouped into regions that run under a mask of lanes.
//
// A *register* is a column with one value a lane. Values of record, array and optional type are taken apart into
// registers (`value`); strings are views, lists and opaque objects are pointers. A *region* is a list of steps that run
// for some lanes: the whole program, one arm of a select, the body of a loop. A step that belongs to several regions keeps
// the set of lanes for which it is done, so that each lane is computed at most once (memoised demand under masks).
// Steps that cannot trap run unmasked, ahead, in the `prelude` of the innermost loop that they depend on: computing
// garbage for a lane that nobody reads is cheaper than a branch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <cpu_engine/interpreter.hpp>
#include <cpu_engine/interpreter/kernels.hpp>

namespace query::interpreter {

inline constexpr std::size_t batch = 1024;
inline constexpr std::uint64_t iteration_limit = std::uint64_t{1} << 24;

using reg = std::uint32_t;
using region_id = std::uint32_t;
inline constexpr std::uint32_t none = ~std::uint32_t{0};

// Memory that is known at run time: part of a row, or behind a column of pointers.
struct place {
  enum class source : std::uint8_t { row, pointer } from = source::row;
  std::uint32_t at = none;  // row slot or register
  std::uint64_t offset = 0;
};

struct value {
  enum class form : std::uint8_t { column, place, parts } f = form::column;
  const ir::type* type = nullptr;
  reg column = none;
  interpreter::place at;
  std::vector<value> parts;  // of a record or array: its fields; of an optional: has (bool), value
};

struct frame;
struct instruction {
  void (*run)(frame&, const instruction&) = nullptr;
  reg to = none, a = none, b = none, c = none;
  std::uint32_t index = none;  // row slot, region, nest, spill: what `run` says
  std::uint64_t offset = 0, extra = 0;
  const ir::type* type = nullptr;
  union {
    kernel plain;
    kernel3 three;
    checked_kernel checked;
    text_kernel text;
    array_kernel array;
  } with = {nullptr};
};

struct register_info {
  std::uint32_t width = 0;
  bool constant = false;       // one value, not a column
  std::uint64_t bits = 0;      // of a constant number
  std::string_view text;       // of a constant string
  std::size_t at = 0;          // in the scratch memory
};

// The instructions that compute one node.
struct step {
  std::uint32_t begin = 0, end = 0;
  reg done = none, need = none;  // masks, if the step belongs to several regions
};
struct region {
  std::vector<step> steps;
};

// One iterated body: a loop or a nested computation.
struct nest {
  enum class over : std::uint8_t { loop, collection, list, pointer } what = over::loop;
  region_id prelude = none, body = none;  // body of a loop: its condition
  region_id steps = none;                 // of a loop
  reg condition = none;                   // of a loop: goes on; of any, all: stops; else none
  reg active = none, stepping = none;     // masks
  reg source = none;                      // list objects or first elements
  std::uint32_t collection = none;        // index
  std::uint64_t count = 0;                // of elements behind a pointer
  const ir::type* list = nullptr;
  const ir::type* element = nullptr;
  std::uint32_t row = none;               // row slot of the element of a collection
  reg pointer = none;                     // else: the element's address
  reg position = none, sizes = none;      // i64
  struct carried {
    reg state = none, initial = none, next = none;
  };
  std::vector<carried> states;
  std::vector<reg> forget;                // done masks to clear before each iteration
  std::string verb;
};

struct code;
// A number that must fit field `field` of a record.
struct narrowing_of {
  std::string part;  // "Total.amount"
  const ir::type* to = nullptr;
  std::size_t field = 0;
  std::shared_ptr<const code> record;  // gives the record as it would be if numbers wrapped, for messages; null: it has no expression
};

// The number that field `field` of a record is made of, before it is cut to the field's type.
struct given_number {
  std::size_t field = 0;
  ir::kind k = ir::kind::i64;
  reg at = none;
};

struct row_slot {
  enum class source : std::uint8_t { row, bound, element } from = source::row;
  std::uint32_t id = 0;
  const ir::node* bound = nullptr;
};

struct code {
  std::uint64_t serial = 0;  // a program's own number, so that a scratch knows for which it is laid out
  std::vector<register_info> registers;
  std::vector<instruction> instructions;
  std::vector<region> regions;
  std::vector<nest> nests;
  std::vector<row_slot> slots;
  std::vector<std::uint64_t> collections;  // their slots, in the order of the instructions' indices
  std::vector<value> values;          // that instructions refer to
  std::vector<narrowing_of> narrowings;
  std::vector<given_number> given;    // of a record for messages: they last until its batch has ended
  std::deque<std::string> texts;
  std::vector<reg> forget;
  region_id prelude = none, body = none;
  value result;
  std::size_t bytes = 0;
};

struct slot_at {
  const binding* row = nullptr;      // of a row slot
  std::size_t first = 0;             // its row number at lane 0
  const std::byte* base = nullptr;   // of other slots
  std::size_t stride = 0;
};

// The state of a running batch.
struct frame {
  const interpreter::code& code;
  std::byte** registers;
  std::byte* memory;
  slot_at* slots;
  const collection* collections;
  text_heap& heap;
  const std::uint8_t* active = nullptr;  // null: all lanes from first to last
  std::uint32_t first = 0, last = 0;

  template <class T> T* column(reg r) const { return reinterpret_cast<T*>(registers[r]); }
  // The register at the first lane of the range; constants have one value only.
  std::byte* operand(reg r) const {
    if (r == none) return nullptr;
    const register_info& i = code.registers[r];
    return i.constant ? registers[r] : registers[r] + std::size_t{first} * i.width;
  }
  std::size_t count() const { return last - first; }
  const std::uint8_t* mask() const { return active ? active + first : nullptr; }
  bool live(std::size_t lane) const { return !active || active[lane] != 0; }
};

// Memory of a place for every lane; false if the binding has no memory that covers it.
struct lanes_at {
  const std::byte* base = nullptr;
  std::size_t stride = 0;
  const std::uint32_t* select = nullptr;
  const void* const* pointers = nullptr;
  std::uint64_t offset = 0;  // behind pointers
  bool optional = false, wraps = false;  // as in `column`
  const std::byte* otherwise = nullptr;

  explicit operator bool() const { return base || pointers; }
  bool adjacent() const { return !select && !pointers; }
  // Null where the row is missing.
  const std::byte* operator[](std::size_t lane) const {
    if (optional && select[lane] == missing_row) return otherwise;
    if (!pointers) return base + (select ? select[lane] : lane) * stride;
    return pointers[lane] ? static_cast<const std::byte*>(pointers[lane]) + offset : nullptr;
  }
};
lanes_at resolve(const frame& f, std::uint32_t slot, std::uint64_t offset, std::size_t size);

void run_region(frame& f, region_id r);
// Runs a region for the lanes of `mask` within the frame's range.
void run_region(frame& f, region_id r, const std::uint8_t* mask);

// Writes value v, lane i of the frame's range to to + i * stride, into constructed objects of the type.
void store(frame& f, const value& v, std::byte* to, std::size_t stride);
// Constructs the results of the frame's lanes in raw memory.
void construct_results(frame& f, const value& v, std::byte* to);

// whole: the expression that root is a part of, in which the records are looked for that its numbers must fit.
std::unique_ptr<code> compile(const ir::node* root, const ir::node* whole);

}  // namespace query::interpreter
