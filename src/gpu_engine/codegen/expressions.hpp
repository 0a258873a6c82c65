// Expression trees as CUDA statements: every node becomes a local constant of a device function.
//
// What surely counts is computed in order; what a select, && or || may not choose and could fail goes into the arm of an
// `if`. Nodes that cannot fail and have several users are computed where the innermost loop that they depend on begins, so
// that shared subtrees never multiply. Between traces (src/ir) and kernels (codegen/kernels).
//
//   expressions e(k, k.site("where", n.where));
//   e.bind(0, row_source::of_value("r", trade));
//   const std::string passes = e.value(trace.root);         // "v7"
//   std::string code = e.take();                            // "const double v3 = ...;\n..."
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <query/detail/node.hpp>

#include "gpu_engine/codegen/kernel_source.hpp"

namespace query::gpu_engine {

// One column of an input: values of a part of the row, `index` rows apart.
struct column_source {
  std::size_t offset = 0;  // in the host's row
  const ir::type* type = nullptr;
  std::string pointer;  // text of the typed base address
};

// Where the fields of a row are read.
struct row_source {
  enum class form : std::uint8_t { value, columns } what = form::value;
  const ir::type* type = nullptr;
  std::string text;  // value: an lvalue of the row; columns: the row's number
  std::vector<column_source> columns;
  std::size_t align = 0;  // value: it lies in device memory at multiples of so many bytes; 0: it may be a local variable

  static row_source of_value(std::string text, const ir::type* t, std::size_t align = 0) {
    return {form::value, t, std::move(text), {}, align};
  }
};

// Loops over arrays of more elements go round, eight elements at a time: unrolled as a whole, they take long to compile, and their
// elements more registers than a thread has.
inline constexpr std::size_t most_unrolled = 64;
inline constexpr std::size_t elements_a_round = 8;

// Can it fail for some row: by a division, an index, a null, a length?
bool any_may_fail(const ir::node* root);

class expressions {
 public:
  expressions(kernel_source& k, std::uint32_t site, int indent = 1);
  ~expressions();

  void bind(std::uint32_t row, row_source r);      // rows 0 and 1, before value()
  void bind(const ir::node* n, std::string text);  // a key or an aggregate, computed elsewhere
  std::string value(const ir::node* n);            // the text of its value
  std::string converted(const std::string& text, const ir::type* from, const ir::type* to);
  std::string take();  // the statements so far
  bool loops() const { return loops_; }  // they have loops whose length is known when they run

  static std::string part_of(const row_source& r, std::size_t offset, const ir::type* t, kernel_source& k);
  // The same for an array in device memory that is worth wide loads; "" if it is not.
  static std::string wide_part_of(const row_source& r, std::size_t offset, const ir::type* t, kernel_source& k);
  // Whether who uses a part reads of it what it needs, rather than a copy of all.
  static bool read_in_place(const row_source& r, std::size_t offset, const ir::type* t);

 private:
  struct facts;
  struct scope;

  void analyse(const ir::node* root);
  bool total(const ir::node* n) const;
  std::size_t home(const ir::node* n) const;  // of the innermost loop that it depends on
  std::size_t scope_for(const ir::node* n) const;
  const std::string* known(const ir::node* n) const;
  void compute(const ir::node* n);           // n and what it surely needs
  std::string statement(const ir::node* n);  // in the scope on top
  std::string define(const ir::type* t, const std::string& text);
  std::string define_text(const ir::type* t, const std::string& function, const std::string& arguments);  // a new one
  std::string declare(const ir::type* t);
  void line(const std::string& s);
  void open(std::uint32_t binder = 0);
  std::string close();  // the statements of the scope
  void block(const std::string& head, const std::string& inner);
  void unroll(std::size_t elements);  // before the head of a loop over an array, nests.cpp

  std::string literal(const ir::node* n);
  std::string constant_or_value(const ir::node* n);  // integer literals inline: array bounds, shifts, divisors
  std::string arithmetic(const ir::node* n);
  std::string comparison(const ir::node* n);
  std::string select(const ir::node* n);
  std::string logic(const ir::node* n);
  std::string make(const ir::node* n);
  std::string index(const ir::node* n);
  std::string call(const ir::node* n);  // calls.cpp
  std::string call_device_function(const ir::node* n);
  std::string call_text(const ir::node* n);
  std::string call_array(const ir::node* n);
  std::string loop(const ir::node* n);  // nests.cpp
  std::string nested(const ir::node* n);
  std::string access(const ir::node* n);
  std::string less(const ir::type* t, const std::string& a, const std::string& b);

  kernel_source& k_;
  std::uint32_t site_;
  std::unordered_map<const ir::node*, facts> facts_;
  std::unordered_map<const ir::node*, std::string> bound_;
  std::unordered_map<std::uint32_t, row_source> rows_;
  std::unordered_map<std::uint32_t, std::vector<std::string>> variables_;
  std::vector<std::unique_ptr<scope>> scopes_;
  std::size_t statements_ = 0;
  bool loops_ = false;
  int indent_;
};

}  // namespace query::gpu_engine
