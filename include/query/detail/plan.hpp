// The logical plan: one node a verb, with its user functions, and the native loops that the user's compiler made of them.
//
// Queries build it, the planner (src/planner) rewrites it and splits it into a machine graph, engines run that. Three forms
// of every row-wise piece travel in it: the fused native `segment`, a native batch call per `user_function`, and the traced
// expression, which an interpreter or another device can run.
//
//   from(trades).where(p).select(f).sum()
//     node sum <- pipe{ node select, segment "where, select" of trades } <- node where <- node source
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <query/detail/call_site.hpp>
#include <query/detail/closure.hpp>
#include <query/detail/function_ref.hpp>
#include <query/detail/grown_list.hpp>
#include <query/detail/known_keys.hpp>
#include <query/detail/node.hpp>
#include <query/detail/type.hpp>

namespace query {

enum class engine : std::uint8_t { cpu, gpu };

}  // namespace query

namespace query::detail {

struct capture;               // include/query/broadcast.hpp
struct held_device_function;  // include/query/accelerated.hpp
class gpu_apply_port;         // include/query/gpu_apply.hpp

class batch_sink;

// ---------------------------------------------------------------- user functions
// Native calls over a batch. `select` picks rows by number; null means rows 0..n-1. `out` is raw memory unless said otherwise.
struct native_calls {
  void (*map)(const void* f, const void* rows, const std::uint32_t* select, std::size_t n, void* out) = nullptr;
  void (*filter)(const void* f, const void* rows, std::size_t n, bool* out) = nullptr;
  // Rows of two inputs, by address; a null address is the missing side of an outer join.
  void (*map_pairs)(const void* f, const void* const* left, const void* const* right, std::size_t n, void* out) = nullptr;
  // select_many: the elements that f gives for each row.
  void (*expand)(const void* f, const void* rows, std::size_t n, batch_sink& to) = nullptr;
};

struct user_function {
  std::string_view role;                          // "predicate", "projection", "key", "left key", ...
  std::shared_ptr<const void> f;
  const closure_form* form = nullptr;             // of f; null: nobody knows
  ir::traced (*retrace)(const void* f) = nullptr; // anew at every execution: captures may have changed
  native_calls native;
  const ir::type* row = nullptr;                  // of its (first) parameter
  const ir::type* result = nullptr;
  std::vector<std::shared_ptr<const capture>> captures;  // collections captured by value
  // query::accelerated: its counterpart for the GPU, and the call of that with the rows of this place.
  std::shared_ptr<const held_device_function> device;
  ir::traced (*on_device)(const held_device_function& d) = nullptr;
  bool held = false;  // retrace gives an expression that exists already, or a copy of it: nothing to remember

  ir::traced trace() const;
};

// ---------------------------------------------------------------- rows on their way
// Rows of one type side by side, or the columns of a columnar source.
struct row_block {
  void* rows = nullptr;                    // const unless `owned`
  std::size_t n = 0;
  std::uint64_t first = 0;                 // number of the first row in its stream, where that is known
  bool owned = false;                      // the receiver may move from the rows
  const void* const* columns = nullptr;    // instead of rows: a base address for each top-level field
};

class batch_sink {
 public:
  virtual void push(const row_block& b) = 0;

 protected:
  ~batch_sink() = default;
};

enum class fold_kind : std::uint8_t { count, sum, min, max, average };

// The state of count, sum, min, max or average (its sum) over arithmetic rows; sums are 64 bits wide.
struct fold_state {
  std::uint64_t count = 0;    // rows
  std::uint64_t numbers = 0;  // rows that are not NaN (min and max pass over NaNs)
  alignas(8) unsigned char value[8] = {};
};

struct logical;
class segment;

// Lets go of a part of a plan that a node held. Destructors of nodes hand over what they hold, so that a plan of any length ends in a
// loop instead of a destructor within a destructor for each verb.
void release(std::shared_ptr<const void> part) noexcept;

// A stream of rows in the plan: what it computes, and the native loop over its row-wise verbs, if there is one.
struct pipe {
  std::shared_ptr<const logical> node;
  std::shared_ptr<const segment> native;  // null: node is a source or a breaker
};

// What the user's compiler made of consecutive row-wise verbs: loops over a chain of functions, whose type they alone know.
struct segment_form {
  closure_form chain;
  // Pushes batches of at most 1024 rows, in order. `speculate`: every function may run on rows that a filter rejects.
  void (*run)(const void* chain, const row_block& rows, bool speculate, batch_sink& to) = nullptr;
  // Adds to `state`; false if there is no loop of that kind: the rows are no numbers, or no terminal verb was seen that folds them so.
  bool (*fold)(const void* chain, fold_kind k, const row_block& rows, bool speculate, fold_state& state) = nullptr;
  bool reads_columns = false;
  bool needs_position = false;  // a function takes the row's number
  bool keeps_position = true;   // one row out for each row in
  bool can_speculate = false;   // has a branch-free loop
};

// Those verbs as one step of the plan: rows of `origin` in, rows of `out` out.
class segment {
 public:
  segment(pipe from, const ir::type* in_type, const ir::type* out_type, const segment_form& of, std::shared_ptr<const void> functions)
      : origin(std::move(from)), in(in_type), out(out_type), form(of), chain(std::move(functions)) {}
  ~segment();
  segment(const segment&) = delete;
  segment& operator=(const segment&) = delete;

  void run(const row_block& rows, bool speculate, batch_sink& to) const { form.run(chain.get(), rows, speculate, to); }
  bool fold(fold_kind k, const row_block& rows, bool speculate, fold_state& state) const {
    return form.fold(chain.get(), k, rows, speculate, state);
  }
  bool reads_columns() const { return form.reads_columns; }
  bool needs_position() const { return form.needs_position; }
  bool keeps_position() const { return form.keeps_position; }
  bool can_speculate() const { return form.can_speculate; }

  pipe origin;
  const ir::type* in;
  const ir::type* out;
  const segment_form& form;
  std::shared_ptr<const void> chain;
};
// Of a copy of the chain.
std::shared_ptr<const segment> make_segment(const pipe& origin, const ir::type* in, const ir::type* out, const segment_form& form,
                                            const void* chain);

// ---------------------------------------------------------------- what breakers need from the user's types
// Aggregates of groups: a state a group, updated by batches. `self` is made anew at each execution by `record`.
// Values of one field of many rows: value i is number select[i], or i.
struct field_column {
  const void* base = nullptr;
  std::size_t stride = 0;
  const std::uint32_t* select = nullptr;
  template <class U> const U& at(std::size_t i) const {
    return *reinterpret_cast<const U*>(static_cast<const std::byte*>(base) + (select ? select[i] : i) * stride);
  }
};
struct aggregate_calls {
  std::size_t state_size = 0, state_align = 1;
  bool state_owns = false;  // it may have memory of its own: strings, lists, sets
  std::shared_ptr<const void> (*record)(const void* f) = nullptr;
  void (*init)(const void* self, void* states, std::size_t n) = nullptr;
  void (*destroy)(void* states, std::size_t n) = nullptr;
  void (*relocate)(void* to, void* from, std::size_t n) = nullptr;  // into raw memory; `from` is dead afterwards
  // Row select[i] (or i) goes to states[groups[i]]; null groups: all go to states[0].
  void (*update)(const void* self, void* states, const std::uint32_t* groups, const void* rows, const std::uint32_t* select,
                 std::size_t n) = nullptr;
  // The same of rows whose top-level fields lie in columns; null: the function takes records.
  void (*update_fields)(const void* self, void* states, const std::uint32_t* groups, const field_column* fields, std::size_t n) = nullptr;
  // For integer keys: key and update in one loop, until a row's key is not known; returns that row's number, or n. `missed`
  // gets the unknown key, so that it is computed once.
  std::size_t (*update_known)(const void* self, const void* key, const known_keys& known, void* states, const void* rows, std::size_t n,
                              void* missed) = nullptr;
  void (*merge)(const void* self, void* into, const std::uint32_t* groups, void* from, std::size_t n) = nullptr;
  void (*finish)(const void* self, const void* keys, void* states, std::size_t n, void* out) = nullptr;
};

// Keyed verbs with the user's own idea of equality, or keys without a description.
struct key_calls {
  std::shared_ptr<const void> context;
  bool (*equal)(const void* context, const void* a, const void* b) = nullptr;
  std::uint64_t (*hash)(const void* context, const void* key) = nullptr;
};
// The user's own order of keys.
struct order_calls {
  std::shared_ptr<const void> context;
  bool (*less)(const void* context, const void* a, const void* b) = nullptr;
};

// A source of rows that the library does not know the length of.
class row_stream {
 public:
  virtual ~row_stream() = default;
  virtual std::size_t next(void* raw, std::size_t most) = 0;  // constructs up to `most` rows; 0 at the end
};

// `count` runs of `length` rows each, the first of which is number 0, `step` and so on: what apply, chunk and window call functions of.
struct row_runs {
  std::size_t length = 0, step = 0, count = 1;
};
// A function of runs of rows, called through its row types: what it gives for each goes to the sink, in order. Many runs share a call,
// as a call has a batch of its own.
using rows_function = void (*)(const void* f, const void* rows, const row_runs& runs, batch_sink& to);

// ---------------------------------------------------------------- nodes
enum class verb : std::uint8_t {
  source_rows, source_columns, source_stream, source_file, placeholder,
  where, select, select_many,                                   // row-wise
  group_by, aggregate, join, group_join, cross_join, order_by, reverse, distinct,
  union_with, intersect, except, concat, zip, take, skip, take_while, skip_while, take_last, skip_last,
  chunk, window, index, default_if_empty, sample, do_while, partition, apply, cached, position,
};
std::string_view name_of(verb v);
constexpr bool row_wise(verb v) { return v >= verb::where && v <= verb::select_many; }

enum class join_kind : std::uint8_t { inner, left, right, full, semi, anti };
std::string_view name_of(join_kind k);

struct order_key {
  bool descending = false;
  bool nulls_first = false;
  order_calls custom = {};  // never asked about nulls
  std::string_view verb = {};  // then_by, whose place is its own; empty: the node's
  call_site where = {};
};

// One verb of a query. Immutable once built; shared by all queries that grew from it.
struct logical : std::enable_shared_from_this<logical> {
  logical() = default;
  logical(const logical&) = default;
  logical& operator=(const logical&) = delete;
  ~logical();

  verb what = verb::source_rows;
  std::string label;                       // the verb as the user wrote it: "group_by", "take(10)", "top"
  std::string part;                        // what it is there, if that is another: "order_by_descending" of "top"
  std::vector<pipe> inputs;
  const ir::type* row = nullptr;           // what it gives
  grown_list<user_function> functions;
  call_site where;
  std::string name;                        // .named("...")
  bool accelerated = false;                // .as_accelerated() at or below this node
  bool gpu_required = false;
  bool fast_math = false;                  // .fast_math() at or below this node
  bool ordered = false;                    // .as_ordered()
  std::optional<engine> ordered_to;        // .on(engine): this verb, and no other
  bool states_own_memory = false;          // group_by: what its states destroy is memory alone, on whatever thread (discard.hpp)

  // Verb by verb; the rest keep their defaults.
  std::shared_ptr<const void> source;      // owner of a source's rows or of a captured container
  void (*view)(const void* source, row_block& out) = nullptr;                       // source_rows, source_columns
  std::unique_ptr<row_stream> (*open)(const void* source) = nullptr;                // source_stream
  std::shared_ptr<const void> options;     // source_file: what src/data needs to open it; asof_join: its asof_options
  const ir::type* key = nullptr;           // group_by, join, distinct, sets, partition: the key's type
  aggregate_calls aggregate;               // group_by, aggregate, group_join
  key_calls keys;                          // keyed verbs: custom equality and hash
  grown_list<order_key> order;             // order_by: one a function
  join_kind join = join_kind::inner;
  std::uint64_t count = 0;                 // take, skip, chunk, window, sample, partition; source_stream: its rows, if known: range, repeat
  std::uint64_t step = 1;                  // window; source_stream with a count: row i is the value that begins `source`, plus i times this
  std::uint64_t seed = 0;                  // sample; partition without a count: the most that there may be, of rows that fit a cache
  bool all = false;                        // apply: the whole input at once; chunk, window: the runs themselves, as lists
  rows_function rows_call = nullptr;       // apply, chunk, window: calls functions[0] over runs of rows
  std::shared_ptr<const void> gpu_form;    // apply: the user's function for the GPU, and how to call it
  void (*gpu_call)(const void* g, gpu_apply_port& port) = nullptr;
  std::string checkpoint;                  // do_while, cached: name of files that outlive the program
  std::shared_ptr<const void> kept_as;     // cached: what sessions know its rows by; copies of the node, with more words, share it
  std::shared_ptr<const void> made_by;     // do_while, fork: their functions; the plans that these gave may refer to what they captured
  std::uint64_t slot = 0;                  // placeholder: which loop variable
  std::uint64_t previous_slot = 0, next_slot = 0;  // do_while: placeholders of its condition
  std::uint64_t most_rounds = 0;           // do_while; 0: as the condition says
  // do_while: functions[0]
  bool (*loop_test)(const void* f, const void* previous, std::size_t n, const void* next, std::size_t m) = nullptr;

  // Does the verb compare keys by functions of the user's? They run in the user's process only, and know keys better than any rule.
  bool has_own_equality() const { return keys.equal != nullptr; }
  bool has_own_order() const {
    for (const order_key& k : order)
      if (k.custom.less) return true;
    return false;
  }
};

// ---------------------------------------------------------------- running
// Rows side by side, kept alive by `owner`.
struct table {
  std::shared_ptr<void> owner;
  const void* rows = nullptr;
  std::size_t n = 0;
  const ir::type* type = nullptr;
};

}  // namespace query::detail
