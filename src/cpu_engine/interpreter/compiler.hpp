// Compiles an expression tree into the interpreter's code; linear in the tree but for nodes shared by many arms.
//
// Lowering a node gives its `value` and the instructions that compute it. A node that cannot trap goes into the prelude of
// the innermost body (loop, nested computation, program) that it depends on; any other node is scheduled into every region
// that surely needs it, after what it needs itself.
//
//   std::unique_ptr<code> c = compile(root, root);
#pragma once

#include <deque>
#include <initializer_list>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <cpu_engine/interpreter/code.hpp>

namespace query::interpreter {

class compiler {
 public:
  // wraps: numbers that must fit a field wrap instead.
  compiler(const ir::node* root, const ir::node* whole, bool wraps);
  std::unique_ptr<code> finish();

 private:
  // What a subtree is, wherever it stands.
  struct facts {
    bool total = true;                   // cannot trap, is cheap: may run for lanes that do not need it
    std::vector<std::uint32_t> binders;  // ids of loops and nested computations that it depends on
  };
  struct context;
  struct node_code {
    value result;
    std::vector<instruction> steps;
    std::vector<const ir::node*> needs;  // kids that are not total and count in every lane
    bool total = true;
    context* home = nullptr;
    std::uint32_t regions = 0;           // that it was scheduled into
    bool foreign = false;                // one of them belongs to another context
    step at;                             // set by finish
  };
  // A body that runs again and again: the program, or an iterated body.
  struct context {
    context* outer = nullptr;
    std::uint32_t binder = none, nest = none;
    region_id prelude = none, root = none;
    std::unordered_map<const ir::node*, std::unique_ptr<node_code>> known;
    value element;              // the row of a nested computation
    std::vector<value> states;  // of a loop or fold
  };
  struct draft {
    context* of = nullptr;
    std::vector<node_code*> steps;
    std::unordered_set<const node_code*> has;
  };
  // Emits into a step of its own at the end of a region.
  class appended;

  // compiler.cpp: order and regions
  void analyse(const ir::node* root);
  facts facts_of(const ir::node* n) const;
  context* home_of(const ir::node* n, context* c) const;
  node_code* find(const ir::node* n, context* c) const;
  void lower(const ir::node* root, context* c);
  void lower_one(const ir::node* n, context* home);
  void schedule(const ir::node* root, context* c, region_id r);
  bool available(const node_code* n, const context* c, region_id r) const;
  void push(node_code* n, region_id r);
  region_id new_region(context* of);
  context* new_context(context* outer, std::uint32_t binder, std::uint32_t nest);
  value value_of(const ir::node* n) const { return find(n, home_)->result; }

  // values.cpp: registers, and values of record, array and optional type as trees of registers
  reg new_register(std::size_t width);
  reg constant(ir::kind k, std::uint64_t bits);
  reg text_constant(const std::string& s);
  reg emit(instruction i, std::size_t width);
  reg full(reg r);                        // a column, even if r is a constant
  value column_value(const ir::type* t, reg r) const;
  value number(ir::kind k, std::uint64_t bits);
  value zero(const ir::type* t);
  value fresh(const ir::type* t);         // registers to be assigned
  reg column(const value& v);             // of a number, string, list or opaque object
  value settle(const value& v);           // no places left
  value part(const value& v, std::size_t i) const;
  value open(const value& v);             // an optional: {has, value}
  reg address(const value& v);            // a column of pointers to it
  std::uint32_t keep(value v);            // for instructions that refer to values
  value convert(const value& v, const ir::type* to);
  reg binary(ir::op what, ir::kind k, reg a, reg b);
  reg compare_numbers(ir::op what, ir::kind k, reg a, reg b);

  // lower.cpp: operators
  value lower_node(const ir::node* n);
  value lower_literal(const ir::node* n);
  value lower_row(const ir::node* n);
  value lower_make(const ir::node* n);
  value lower_index(const ir::node* n);
  value lower_size(const ir::node* n);
  value lower_select(const ir::node* n);
  value lower_logic(const ir::node* n);
  value negated(ir::op what, const value& v);
  value arithmetic(ir::op what, const ir::type* t, const value& a, const value& b);
  value compare(ir::op what, const value& a, const value& b);
  value blend_values(reg c, const value& a, const value& b, const ir::type* t);
  region_id arm(const ir::node* n, value& result);

  // lower_call.cpp
  value lower_call(const ir::node* n);
  void find_narrowed();
  void find_given();
  std::uint32_t narrowing_of_call(const ir::node* n, std::string_view part);
  value call_text(const ir::node* n, const text_function& f);
  value call_array(const ir::node* n);
  value sum_of_terms(const ir::node* n, const value& a, const value& b);
  value call_number(const ir::node* n);

  // lower_nest.cpp: loops and nested computations
  value lower_loop(const ir::node* n);
  value lower_nested(const ir::node* n);
  value lower_access(const ir::node* n);  // at, size
  std::uint32_t collection_index(std::uint64_t slot);
  value open_source(const ir::node* n, nest& x, context* body);
  void carry(nest& x, const value& state, const value& initial, const value& next);
  void close_nest(std::uint32_t index, nest x);

  // finish.cpp
  void place_steps();
  void allocate();

  std::unique_ptr<code> code_;
  const ir::node *root_, *whole_;
  bool wraps_;
  std::unordered_map<const ir::node*, facts> facts_;
  std::unordered_map<const ir::node*, std::pair<const ir::node*, std::size_t>> narrowed_;  // calls: the record that each is of, the field
  std::unordered_map<const ir::node*, std::shared_ptr<const code>> records_;               // of narrowings: one for a record
  bool narrowed_known_ = false;
  std::deque<context> contexts_;
  std::vector<draft> drafts_;
  std::deque<std::unique_ptr<node_code>> anonymous_;
  std::vector<reg> spilled_;
  std::unordered_set<reg> states_;  // registers that a body assigns
  node_code* current_ = nullptr;  // instructions are emitted into it
  context* home_ = nullptr;       // of the node being lowered
  std::size_t pushed_ = 0;
};

class compiler::appended {
 public:
  appended(compiler& c, region_id r) : c_(c), outer_(c.current_), region_(r) {
    c.anonymous_.push_back(std::make_unique<node_code>());
    c.current_ = c.anonymous_.back().get();
    c.current_->home = c.drafts_[r].of;
  }
  ~appended() {
    c_.drafts_[region_].steps.push_back(c_.current_);
    c_.current_ = outer_;
  }
  appended(const appended&) = delete;
  appended& operator=(const appended&) = delete;

 private:
  compiler& c_;
  node_code* outer_;
  region_id region_;
};

[[noreturn]] void malformed(const ir::node* n, const char* why);

}  // namespace query::interpreter
