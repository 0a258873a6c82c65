// Evaluates an expression tree over batches of rows without compiling anything: the form of a function that runs where
// neither its native code nor a GPU is at hand (another program, a rewritten plan, a sample that checks a trace).
//
// The tree is compiled once into a program over registers, each a column of up to 1024 values; `run` then walks the
// instructions batch by batch. A program is immutable and may run on many threads, each with a scratch of its own.
//
//   query::interpreter::program p(root);                              // root: f64, over row 0
//   query::interpreter::binding row{trades.data(), sizeof(Trade), {}};
//   p.run({&row, 1}, {}, trades.size(), out, scratch);                // out: raw memory for doubles
//
// Semantics, where C++ leaves them open: integers wrap; INT_MIN % -1 is 0; integer division by zero and INT_MIN / -1 throw
// user_error; shifts use the low bits of the count; float to integer saturates and NaN gives 0; an index outside an array
// or list, and the value of a null optional, throw user_error. What select, && and || do not choose is never trapped on.
// Optionals compare as C++ does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <query/detail/node.hpp>

namespace query::cpu {
class dictionary;
}

namespace query::interpreter {

struct code;

// One field (or several adjacent ones) of a row, kept as a column: value i lies at base + i * stride. Columns of one batch may be
// selections of different tables: after a join, each side's columns have the row numbers of that side.
struct column {
  const void* base = nullptr;
  std::size_t stride = 0;
  std::size_t offset = 0;  // of the field in the row's type
  std::size_t size = 0;    // bytes of the row's type that the column covers
  const std::uint32_t* select = nullptr;  // if not null: value i is number select[i]
  bool transient = false;  // the values are overwritten by the next batch
  // Rows of an outer join that may be missing: select is set, and has missing_row then. The value is *otherwise, or zeros without one.
  bool optional = false;
  bool wraps = false;  // the values are those of optionals, which are empty in missing rows
  const void* otherwise = nullptr;
  const cpu::dictionary* coded = nullptr;  // if not null: its entries lie at base, and select has codes (cpu_engine/dictionary.hpp)

  bool as_stored() const { return !optional && !wraps; }  // else its values must be gathered
  bool side_by_side(std::size_t bytes) const { return as_stored() && !select && stride == bytes; }
};
inline constexpr std::uint32_t missing_row = ~std::uint32_t{0};

// Where the rows of one row number are: objects at base + i * stride, columns, or objects at pointers[i].
struct binding {
  const void* base = nullptr;
  std::size_t stride = 0;
  std::span<const column> columns;               // if not empty, instead of base and stride
  const std::uint32_t* select = nullptr;         // if not null: row i is number select[i] of the objects
  const void* const* pointers = nullptr;         // if not null, instead of all others; a null row reads as zeros
};

// A captured collection (broadcast), by the number of its slot.
struct collection {
  std::uint64_t slot = 0;
  const void* data = nullptr;
  std::size_t size = 0;
};

// Values of a `key` or `aggregate` node, computed elsewhere: value i lies at base + i * stride.
struct bound_value {
  const ir::node* node = nullptr;
  const void* base = nullptr;
  std::size_t stride = 0;
};

struct environment {
  std::span<const collection> collections;
  std::span<const bound_value> values;
};

// Working memory of one thread; grows to what the program needs and is kept between runs.
class scratch {
 public:
  scratch();
  ~scratch();
  scratch(scratch&&) noexcept;
  scratch& operator=(scratch&&) noexcept;

  struct state;
  state& get() { return *state_; }

 private:
  std::unique_ptr<state> state_;
};

class program {
 public:
  // Compiles the tree; does not keep it. Throws user_error for functions that it does not know, internal_error for
  // malformed trees. Linear in the size of the tree.
  explicit program(const ir::node* root) : program(root, root) {}
  // The same of a part of the expression `whole`, which messages describe.
  program(const ir::node* root, const ir::node* whole);
  ~program();
  program(program&&) noexcept;
  program& operator=(program&&) noexcept;

  const ir::type* type() const;  // of the result

  // Evaluates rows 0...n-1 and constructs the results in raw memory at `out`. If it throws, nothing is left constructed.
  void run(std::span<const binding> rows, const environment& with, std::size_t n, void* out, scratch& s) const;

  // The same for a predicate.
  void filter(std::span<const binding> rows, const environment& with, std::size_t n, bool* out, scratch& s) const;

 private:
  std::unique_ptr<const code> code_;
};

}  // namespace query::interpreter
