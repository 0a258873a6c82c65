// distinct, union_with, intersect, except: one table of keys, whose slots learn the first row of each; those rows are kept in
// order (gpu_primitives/distinct.cuh).
#include <algorithm>

#include <query/errors.hpp>

#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/row_numbers.hpp"
#include "gpu_primitives/compact.cuh"
#include "gpu_primitives/hash_table.cuh"

namespace query::gpu_engine {

using detail::verb;

namespace {

enum argument : std::uint32_t { slots, bits, full, present, flags, flagged, compact_temp, kept, out, argument_count };
enum status : std::size_t { full_word = 1, flagged_word, kept_word };

// Tables start small, as keys may be few, and grow sixteenfold while rows find no place.
constexpr std::uint32_t first_bits = 20, growth_bits = 4, spare_bits = 3;

struct generated {
  kernel_source source;
  std::size_t slot_bytes = 16;
};

bool two_inputs(verb what) { return what != verb::distinct; }

// `what` may be distinct for any of the verbs: of one side's rows alone.
void generate(generated& g, const detail::logical& n, verb what, const input_layout& first, const input_layout& second, bool wide) {
  kernel_source& k = g.source;
  check_host_form(n.row);
  k.include("gpu_primitives/distinct.cuh");
  k.include("gpu_primitives/compact.cuh");
  std::vector<keyed_side> sides = {{"first_key", &n.functions[0], input_rows(k, first, 0, "i")}};
  if (two_inputs(what)) sides.push_back({"second_key", &n.functions[0], input_rows(k, second, 1, "i")});
  const keyed_rows keys = generate_keyed_rows(k, n, sides, true);
  g.slot_bytes = keys.slot_bytes(wide ? 8 : 4);
  const auto arg = [&](argument a, std::string_view type = "u64") { return k.argument(a, type); };
  const auto kernel = [&](const char* name, const std::string& bounds, const std::string& body) {
    k.add("extern \"C\" __global__ void __launch_bounds__(" + bounds + ") " + name + "(const __grid_constant__ words p) {\n" + body +
          "}\n");
  };
  const auto rows = [&](std::uint32_t input) { return k.parameter({word::role::rows, input, 0, 0}, "u64"); };
  k.add("using table = hash_table_ref<Keys, " + std::string(wide ? "u64" : "u32") + ">;\nstatic_assert(sizeof(table::slot) == " +
        std::to_string(g.slot_bytes) + ");\n__device__ __forceinline__ table the_table(const words& p) { return {(table::slot*)" +
        arg(slots) + ", (u32)" + arg(bits) + "}; }\n");
  const auto insert = [&](const char* name, const std::string& key, std::uint32_t input, const std::string& from) {
    kernel(name, "256",
           "  query::gpu::first_rows(" + rows(input) + ", " + from + ", the_table(p), " + arg(full, "u32*") + ", " + keys.object +
               ", [&](u64 i, Key& key) { return " + key + "(p, i, key); });\n");
  };
  insert("first_rows_of_keys", "first_key", 0, "0");
  const bool both = what == verb::union_with, marks = two_inputs(what) && !both;
  if (both) insert("more_rows_of_keys", "second_key", 1, rows(0));
  if (marks)
    kernel("mark_keys", "256",
           "  present_keys(" + rows(1) + ", the_table(p), " + arg(present, "u8*") + ", " + keys.object +
               ", [&](u64 i, Key& key) { return second_key(p, i, key); });\n");
  kernel("flag_first_rows", "256",
         "  flag_rows(the_table(p), " + (marks ? arg(present, "const u8*") : "(const u8*)nullptr") + ", " +
             (what == verb::except ? "false" : "true") + ", " + arg(flags, "u8*") + ", " + arg(flagged, "u64*") + ");\n");
  const std::string type = k.type_name(n.row);
  const auto row = [&](const input_layout& in, std::uint32_t input, const char* number) {
    return expressions::part_of(input_rows(k, in, input, number), 0, n.row, k);
  };
  const std::string write = both ? "    if (i < " + rows(0) + ") { out[at] = " + row(first, 0, "i") +
                                       "; return; }\n    const u64 j = i - " + rows(0) + ";\n    out[at] = " + row(second, 1, "j") + ";\n"
                                 : "    out[at] = " + row(first, 0, "i") + ";\n";
  kernel("keep_flagged", "compact_policy<u64>::threads, compact_policy<u64>::blocks",
         "  " + type + "* const out = " + arg(out, type + "*") + ";\n  compact<compact_policy<u64>, u64>(" + rows(0) +
             (both ? " + " + rows(1) : "") + ", " + arg(compact_temp, "void*") + ", " + arg(kept, "u64*") +
             ",\n    [&](u64 i, u64& row) { row = i; return " + arg(flags, "const u8*") +
             "[i] != 0; },\n    [&](u64 at, const u64& i) {\n" + write + "  });\n");
}

class keeping_firsts {
 public:
  keeping_firsts(const planner::vertex& v, verb what, vertex_run& run, const device_rows& first, const device_rows* second)
      : n_(*v.node),
        what_(what),
        limit_(v.limit),
        run_(run),
        inputs_{&first, second ? second : &first},
        rows_(first.size() + (what_ == verb::union_with ? second->size() : 0)) {
    generate(g_, n_, what_, first.layout(), inputs_[1]->layout(), wide_slot_numbers(rows_));
  }

  result_rows go() {
    run_.reset_status();
    args_[full] = run_.status_word(full_word);
    args_[flagged] = run_.status_word(flagged_word);
    args_[kept] = run_.status_word(kept_word);
    const device_buffer flag_memory = run_.zeroed(std::max<std::uint64_t>(rows_, 1));
    args_[flags] = flag_memory.address();
    if (rows_) {
      fill_table();
      keep();
    }
    const std::uint64_t count = rows_ ? run_.read(kept_word) : 0;
    auto result = run_.result(n_.row, std::move(out_), std::min(count, limit_));
    run_.reset_status();
    return result;
  }

 private:
  void fill_table() {
    const std::uint32_t most = gpu::table_bits(rows_);
    for (std::uint32_t now = std::min(most, first_bits);; now = now < most ? std::min(now + growth_bits, most) : now + 1) {
      if (now > most + spare_bits) throw resource_error("query: " + n_.label + ": the GPU's table of keys is full");
      run_.context().cancel.check();
      const std::uint64_t bytes = gpu::table_slots(now) * g_.slot_bytes;
      table_.reset();
      table_ = run_.allocate(bytes);
      run_.fill(table_.address(), 0xff, bytes);
      run_.fill(args_[full], 0, 8);
      args_[slots] = table_.address();
      args_[bits] = now;
      insert("first_rows_of_keys", inputs_[0]->size());
      if (what_ == verb::union_with) insert("more_rows_of_keys", inputs_[1]->size());
      run_.finish(g_.source);
      if (!(run_.read(full_word) & 0xffffffffu)) return;
    }
  }
  void insert(const char* entry, std::uint64_t n) {
    if (n) launch(entry, run_.blocks(n));
  }
  void keep() {
    const std::uint64_t table_slots = gpu::table_slots(static_cast<std::uint32_t>(args_[bits]));
    device_buffer marks;
    if (what_ == verb::intersect || what_ == verb::except) {
      marks = run_.zeroed(table_slots);
      args_[present] = marks.address();
      insert("mark_keys", inputs_[1]->size());
    }
    launch("flag_first_rows", run_.blocks(table_slots));
    run_.finish(g_.source);
    out_ = run_.allocate(std::max<std::uint64_t>(run_.read(flagged_word), 1) * device_layout(n_.row).size);
    table_.reset();
    args_[out] = out_.address();
    using policy = gpu::compact_policy<std::uint64_t>;
    const device_buffer temporary = run_.zeroed(gpu::compact_temp_bytes<policy>(rows_));
    args_[compact_temp] = temporary.address();
    const auto f = run_.compile(g_.source, "keep_flagged");
    run_.launch(g_.source, *f,
                {static_cast<unsigned>(gpu::compact_blocks<policy>(rows_, resident_blocks(*f, policy::threads))), policy::threads, 0},
                inputs_, args_);
    run_.finish(g_.source);
  }
  void launch(const char* entry, unsigned grid) { run_.launch(g_.source, *run_.compile(g_.source, entry), {grid, 256, 0}, inputs_, args_); }

  const detail::logical& n_;
  verb what_;
  std::uint64_t limit_;
  vertex_run& run_;
  std::array<const device_rows*, 2> inputs_;
  std::uint64_t rows_;
  generated g_;
  std::array<std::uint64_t, argument_count> args_{};
  device_buffer table_, out_;
};

}  // namespace

void plan_sets(const planner::vertex& v) {
  for (const planner::branch& b : v.inputs) plan_input(b);
  generated g;
  generate(g, *v.node, v.node->what, planned_input(v.inputs.front()), planned_input(v.inputs.back()), false);
}

result_rows run_sets(const planner::vertex& v, vertex_run& run) {
  const auto first = run_input(v.inputs[0], all_fields(v.inputs[0].row), run);
  const auto second = two_inputs(v.node->what) ? run_input(v.inputs[1], all_fields(v.inputs[1].row), run) : nullptr;
  return run_set_of(v, v.node->what, *first, second.get(), run);
}

result_rows run_set_of(const planner::vertex& v, verb what, const device_rows& first, const device_rows* second, vertex_run& run) {
  return keeping_firsts(v, what, run, first, second).go();
}

}  // namespace query::gpu_engine
