#include "gpu_engine/operators/join_kernels.hpp"

#include <algorithm>

#include "gpu_engine/device_rows.hpp"
#include "gpu_engine/host_unpacking.hpp"
#include "gpu_primitives/join_tiles.cuh"
#include "ir/analysis.hpp"

namespace query::gpu_engine {

using detail::join_kind;
using ir::kind;

input_layout whole_rows(const ir::type* row) { return {row, choose_columns(row, all_fields(row), false)}; }

namespace {

// The type that a function sees as row `id`, null if it does not read it as a whole.
const ir::type* row_seen(const ir::node* n, std::uint32_t id) {
  std::vector<const ir::node*> stack = {n};
  while (!stack.empty()) {
    const ir::node* x = stack.back();
    stack.pop_back();
    if (x->what == ir::op::row && x->id == id) return x->type;
    stack.insert(stack.end(), x->kids.begin(), x->kids.end());
  }
  return nullptr;
}

constexpr std::size_t most_held = 16;              // bytes of a probe row that are read with its key: registers and shared memory hold them
constexpr std::size_t most_shared = 48 * 1024 - 1024;  // static, less what the primitives have of their own

class writer {
 public:
  writer(join_kernels& g, const join_sides& j, const input_layout& probe, const input_layout& build, bool wide)
      : g_(g), k_(g.source), j_(j), n_(*j.node), probe_(probe), build_(build), number_(wide ? "u64" : "u32") {
    g_.number_bytes = wide ? 8 : 4;
  }

  void write(join_program what) {
    check_host_form(n_.row);
    k_.include("gpu_primitives/hash_join.cuh");
    if (j_.keeps_build()) k_.include("gpu_primitives/compact.cuh");
    const std::size_t left = j_.build_left ? 1 : 0;
    const keyed_side sides[] = {{"probe_key", &n_.functions[left], input_rows(k_, probe_, 0, "i")},
                                {"build_key", &n_.functions[1 - left], input_rows(k_, build_, 1, "i")}};
    keys_ = generate_keyed_rows(k_, n_, sides, false);
    type_ = k_.type_name(n_.row);
    probe_n_ = k_.parameter({word::role::rows, 0, 0, 0}, "u64");
    build_n_ = k_.parameter({word::role::rows, 1, 0, 0}, "u64");
    const bool distinct = what == join_program::unique || what == join_program::scattered;
    if (distinct) carry();
    const std::string payload = !distinct ? "u32" : carried_ ? (carried_->of->size <= 4 ? "u32" : "u64") : number_;
    g_.payload_bytes = payload == "u64" ? 8 : 4;
    g_.key_bytes = keys_.key_bytes;
    g_.slot_bytes = keys_.slot_bytes(g_.payload_bytes);
    k_.add("using number = " + number_ + ";\nusing payload = " + payload +
           ";\nusing table = hash_table_ref<Keys, payload>;\nstatic_assert(sizeof(table::slot) == " + std::to_string(g_.slot_bytes) +
           ");\nstruct no_args {};\n__device__ __forceinline__ table the_table(const words& p) { return {(table::slot*)" + arg(join_slots) +
           ", (u32)" + arg(join_bits) + "}; }\n");
    switch (what) {
      case join_program::unique:
        hold();
        pair();
        unique();
        break;
      case join_program::scattered:
        scattered();
        break;
      case join_program::general:
        pair();
        grouping();
        counting();
        expand(arg(join_build_rows, "const number*"));
        if (j_.keeps_build()) unasked();
        break;
      case join_program::side_by_side:
        pair();
        gather_columns();
        expand("positions_in_groups{}");
        break;
      case join_program::grouped:
      case join_program::grouped_rows:
        grouping();
        if (what == join_program::grouped_rows) gathering();
        break;
      case join_program::presence:
        presence();
        break;
    }
  }

 private:
  std::string arg(join_argument a, std::string_view type = "u64") { return k_.argument(a, type); }
  void kernel(const std::string& name, const std::string& bounds, const std::string& body) {
    k_.add("extern \"C\" __global__ void __launch_bounds__(" + bounds + ") " + name + "(const __grid_constant__ words p) {\n" + body +
           "}\n");
  }
  std::string key_kind() const { return j_.keeps_probe() ? "query::gpu::join_kind::left" : "query::gpu::join_kind::inner"; }
  static const char* build_row() { return "[&](u64 i, Key& key) { return build_key(p, i, key); }"; }

  // pair_of sees the verb's left row as `a`; kernels know probe and build rows.
  void pair() {
    const bool swapped = j_.build_left;
    const row_source left = swapped ? build_row_source("a") : probe_row_source("a"),
                     right = swapped ? probe_row_source("b") : build_row_source("b");
    const std::string more = held_.empty() ? "" : ", const held_fields& h";
    generate_pair(k_, n_, n_.functions[2], left, j_.keeps_build(), right, j_.keeps_probe(), more);
    k_.add("__device__ __forceinline__ " + type_ + " joined(const words& p, u64 probe_row, u64 build_row" + more +
           ") { return pair_of(p, " + (swapped ? "build_row, probe_row" : "probe_row, build_row") + (held_.empty() ? "" : ", h") +
           "); }\n");
  }
  // A probe row as pairs see it: by its number, or what of it was read with its key.
  row_source probe_row_source(const std::string& name) {
    if (held_.empty()) return input_rows(k_, probe_, 0, name);
    row_source row;
    row.what = row_source::form::columns;
    row.type = probe_.row;
    row.text = "0";
    for (std::size_t i = 0; i < held_.size(); ++i)
      row.columns.push_back({held_[i].offset, held_[i].type, "held<" + k_.type_name(held_[i].type) + ">{h.f" + std::to_string(i) + "}"});
    return row;
  }
  // What pairs read of their probe row is read with the key, if it is little: behind the search it would be waited for once more.
  void hold() {
    if (j_.keeps_build()) return;  // a probe row may be missing
    const std::uint32_t side = j_.build_left ? 1 : 0;
    const ir::type* row = n_.functions[side].row;
    if (row != probe_.row || (row->k == kind::record && row->field_list.size() < 2)) return;
    std::vector<bool> fields(all_fields(row).size());
    ir::fields_used(k_.trace(n_, n_.functions[2]).root, side, row, fields);
    std::vector<input_column> wanted;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (!fields[i]) continue;
      const input_column c = row->k == kind::record ? input_column{row->field_list[i].offset, row->field_list[i].of} : input_column{0, row};
      if (!same_on_device(c.type)) return;
      bytes += (c.type->size + 7) / 8 * 8;
      wanted.push_back(c);
    }
    if (bytes > most_held) return;
    held_ = std::move(wanted);
    if (held_.empty()) return;
    const row_source source = input_rows(k_, probe_, 0, "i");
    std::string members, reads;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      members += "  " + k_.type_name(held_[i].type) + " f" + std::to_string(i) + ";\n";
      reads += "  h.f" + std::to_string(i) + " = " + expressions::part_of(source, held_[i].offset, held_[i].type, k_) + ";\n";
    }
    k_.add("struct held_fields {\n" + members + "};\n__device__ __forceinline__ void hold(const words& p, u64 i, held_fields& h) {\n" +
           reads + "}\n");
    held_bytes_ = bytes;
  }
  // A build row as pairs see it: by its number, or the one field that they need, which the table has in the number's place.
  row_source build_row_source(const std::string& name) {
    if (!carried_) return input_rows(k_, build_, 1, name);
    row_source row;
    row.what = row_source::form::columns;
    row.type = build_.row;
    row.text = "0";
    row.columns.push_back({carried_->offset, carried_->of, "carried<" + k_.type_name(carried_->of) + ">{" + name + "}"});
    return row;
  }
  // Where pairs read one field of up to 8 bytes of their build row, and a slot grows no wider by it, probes need not fetch the row.
  void carry() {
    if (n_.join != join_kind::inner) return;
    const std::uint32_t side = j_.build_left ? 0 : 1;
    const ir::type* row = n_.functions[side].row;
    if (row->k != kind::record || row != build_.row || row->field_list.size() < 2) return;
    std::vector<bool> fields(row->field_list.size());
    ir::fields_used(k_.trace(n_, n_.functions[2]).root, side, row, fields);
    if (std::count(fields.begin(), fields.end(), true) != 1) return;
    const ir::field& f = row->field_list[static_cast<std::size_t>(std::find(fields.begin(), fields.end(), true) - fields.begin())];
    if (f.of->size > 8 || !same_on_device(f.of)) return;
    if (keys_.slot_bytes(f.of->size <= 4 ? 4 : 8) == keys_.slot_bytes(g_.number_bytes)) carried_ = &f;
  }

  // Ends the call of a primitive: `row`, of these parameters and of what `first` does before, is row `at` of the output. Rows of several
  // words go by warps, where `room` bytes of shared memory suffice. `call` is its beginning.
  std::string rows_out(const std::string& call, const std::string& parameters, const std::string& first, const std::string& row,
                       std::uint32_t threads, std::size_t room) {
    const layout l = device_layout(n_.row);
    const std::string out = "  " + type_ + "* const out = " + arg(join_out, type_ + "*") + ";\n";
    if (!query::gpu::rows_go_by_warps(l.size, l.align) || l.size * threads > room)
      return out + call + "[&](u64 at, " + parameters + ") { " + first + "out[at] = " + row + "; });\n";
    return out + "  auto make = [&](u64, " + parameters + ") { " + first + "return " + row + "; };\n" + call + "whole_warp_rows<" + type_ +
           ", " + std::to_string(threads) + ", decltype(make)>{out, make});\n";
  }
  // `first`, `row`: rows_out, of probe_row, key, h, found and partner.
  void probe_kernel(const std::string& kind_name, const std::string& payload, const std::string& first, const std::string& row) {
    const std::string threads = std::to_string(probe_threads), held = held_.empty() ? "no_args" : "held_fields";
    const std::size_t key = keys_.key_bytes ? keys_.key_bytes : 16, rows = std::size_t{probe_threads} * probe_items,
                      staged = rows * (key + std::max<std::size_t>(held_bytes_, 1) + g_.payload_bytes + 4);
    kernel("probe_rows", threads + ", 2",
           rows_out("  probe_unique_pipelined<" + kind_name + ", " + threads + ", " + std::to_string(probe_items) + ", " + held + ">(" +
                        probe_n_ + ", the_table(p), ordered_append{" + arg(join_ticket, "u64*") + ", " + arg(join_states, "u64*") + ", " +
                        arg(join_total, "u64*") + "}, nullptr, " + keys_.object + ",\n    [&](u64 i, Key& key, " + held + "& h) { " +
                        (held_.empty() ? "" : "hold(p, i, h); ") +
                        "return probe_key(p, i, key) ? probe_state::keyed : probe_state::keyless; },\n    ",
                    "u64 probe_row, const Key&, const " + held + "& h, bool found, " + payload + " partner", first, row, probe_threads,
                    staged < most_shared ? most_shared - staged : 0));
  }

  void presence() {
    kernel("build_rows", "256",
           "  build_keys(" + build_n_ + ", the_table(p), " + arg(join_flag, "u32*") + ", " + keys_.object + ", " + build_row() + ");\n");
    probe_kernel(n_.join == join_kind::semi ? "query::gpu::join_kind::semi" : "query::gpu::join_kind::anti", "u32", "",
                 expressions::part_of(input_rows(k_, probe_, 0, "probe_row"), 0, n_.row, k_));
  }

  // Of build row i.
  std::string payload() {
    if (!carried_) return "i";
    return "carried<" + k_.type_name(carried_->of) + ">::bits(" +
           expressions::part_of(input_rows(k_, build_, 1, "i"), carried_->offset, carried_->of, k_) + ")";
  }
  std::string keyed_payload() {
    return "[&](u64 i, Key& key, payload& row) { row = payload(" + payload() + "); return build_key(p, i, key); }";
  }

  void unique() {
    kernel("build_rows", "256",
           "  build_unique<4>(" + arg(join_build_count) + ", the_table(p), " + arg(join_flag, "u32*") + ", " + keys_.object + ", " +
               keyed_payload() + ");\n");
    probe_kernel(key_kind(), "payload", j_.keeps_build() ? "if (found) " + arg(join_partnered, "u8*") + "[partner] = 1; " : "",
                 std::string("joined(p, probe_row, found ? u64(partner) : no_row") + (held_.empty() ? ")" : ", h)"));
    if (j_.keeps_build()) alone(arg(join_partnered, "const u8*") + "[i] == 0");
  }

  // Build rows by the part of the table that they go to, then into it.
  void scattered() {
    if (keys_.key_bytes != 4 && keys_.key_bytes != 8) throw internal_error("gpu: join: keys of several words are not scattered");
    k_.include("gpu_primitives/group_partition.cuh");
    k_.add("__device__ __forceinline__ partition_places the_places(const words& p) {\n  return {(u32)" + arg(join_place_bits) +
           ", join_partition_shift((u32)" + arg(join_place_bits) + "), 1ull << 20, " + arg(join_part_counts, "u64*") + ", " +
           arg(join_part_starts, "u64*") + ", " + arg(join_part_cursors, "u64*") + ", " + arg(join_part_items, "u64*") + "};\n}\n");
    const std::string shared = "  extern __shared__ __align__(16) unsigned char shared[];\n",
                      keys = arg(join_scattered_keys, "Key*"), payloads = arg(join_scattered_payloads, "payload*");
    kernel("count_rows", "512, 2",
           shared + "  count_partitions<8, payload>(" + build_n_ + ", the_places(p), " + keys_.object + ", " + keyed_payload() +
               ", shared);\n");
    kernel("plan_rows", "1024", "  plan_partitions(the_places(p));\n");
    kernel("scatter_rows", std::to_string(scatter_threads) + ", 1",
           shared + "  scatter_partitions<" + std::to_string(scatter_items) + ">(" + build_n_ + ", the_places(p), " + keys + ", " +
               payloads + ", " + keys_.object + ", " + keyed_payload() + ", shared);\n");
    // Rows without a key were left out.
    kernel("build_scattered", "256",
           "  const Key* const keys = " + keys + ";\n  const payload* const payloads = " + payloads + ";\n  build_unique<" +
               std::to_string(scattered_build_items) + ">(" + arg(join_part_starts, "const u64*") + "[1ull << " + arg(join_place_bits) +
               "], the_table(p), " + arg(join_flag, "u32*") + ", " + keys_.object +
               ", [&](u64 i, Key& key, payload& row) { key = __ldcs(keys + i); row = __ldcs(payloads + i); return true; });\n");
  }

  // Build rows without a partner, behind the others.
  void alone(const std::string& test) {
    kernel("add_unmatched", "compact_policy<u64>::threads, compact_policy<u64>::blocks",
           "  " + type_ + "* const out = " + arg(join_out, type_ + "*") + " + *" + arg(join_total, "const u64*") +
               ";\n  compact<compact_policy<u64>, u64>(" + build_n_ + ", " + arg(join_compact_temp, "void*") + ", " +
               arg(join_kept, "u64*") + ",\n    [&](u64 i, u64& row) { row = i; return " + test +
               "; },\n    [&](u64 at, const u64& row) { out[at] = joined(p, no_row, row); });\n");
  }

  // Both sides by the groups of the build side's keys (grouped_build.hpp).
  void grouping() {
    k_.include("gpu_primitives/join_tiles.cuh");
    k_.include("gpu_primitives/radix_sort.cuh");
    const std::string ids =
        "table_of_ids<Keys>{the_table(p), " + arg(join_id_count, "u64*") + ", 0xfffffff0ull, " + arg(join_flag, "u32*") + "}";
    const std::string asked = j_.keeps_build() ? arg(join_asked, "u8*") : "(u8*)nullptr";
    const std::string first = arg(join_first_row);
    kernel("map_build", "256",
           "  map_keys(" + arg(join_build_count) + ", " + ids + ", " + arg(join_group_of_build, "u32*") + " + " + first + ", " +
               keys_.object + ", [&](u64 i, Key& key) { return build_key(p, " + first + " + i, key); }, [](u32, u64) {});\n");
    kernel("find_offsets", "256",
           "  offsets_of_sorted(" + build_n_ + ", " + arg(join_sort_keys_1, "const u32*") + ", " + arg(join_offsets, "u64*") + ");\n");
    kernel("lookup_probe", "partner_threads",
           "  find_partners(" + probe_n_ + ", " + ids + ", " + arg(join_group_of_probe, "u32*") + ", " + asked + ", " + keys_.object +
               ", [&](u64 i, Key& key) { return probe_key(p, i, key); });\n");
    sort();
  }

  std::string matches() {
    return "match_source{" + probe_n_ + ", " + arg(join_group_of_probe, "const u32*") + ", nullptr, " + arg(join_offsets, "const u64*") +
           "}";
  }
  // Where the output of each block of probe rows begins, and how much there is.
  void counting() {
    k_.include("gpu_primitives/scan.cuh");
    kernel("count_output", "partner_threads",
           "  count_partners<" + key_kind() + ">(" + matches() + ", " + arg(join_sums, "u64*") + ");\n");
    kernel("scan_output", "scan_policy<u64>::threads, scan_policy<u64>::blocks",
           "  u64* const starts = " + arg(join_starts, "u64*") + ";\n  exclusive_scan<scan_policy<u64>, u64>(" + arg(join_blocks) + ", " +
               arg(join_scan_temp, "void*") + ", u64(0), [&](u64 i) { return " + arg(join_sums, "const u64*") +
               "[i]; }, [](u64 a, u64 b) { return a + b; }, [&](u64 i, u64 before) { starts[i] = before; }, [&](u64 all) { starts[" +
               arg(join_blocks) + "] = all; *" + arg(join_total, "u64*") + " = all; });\n");
  }
  // Output rows, by tiles of equal work.
  void expand(const std::string& build_rows) {
    k_.include("gpu_primitives/join_tiles.cuh");
    kernel("expand_output", "partner_threads",
           rows_out("  expand_partners<" + key_kind() + ">(" + matches() + ", " + arg(join_starts, "const u64*") + ", " + build_rows +
                        ",\n    ",
                    "u64 probe_row, u64 build_row", "", "joined(p, probe_row, build_row)", query::gpu::partner_threads,
                    most_shared - query::gpu::partner_shared_bytes));
  }
  void unasked() {
    const std::string groups_of_build = arg(join_group_of_build, "const u32*"), asked = arg(join_asked, "const u8*");
    // Groups have other numbers in another table: what lasts from block to block is a mark a row.
    kernel("mark_partnered", "256",
           "  for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < " + build_n_ + "; i += gridDim.x * 256ull) {\n    const u32 group = " +
               groups_of_build + "[i];\n    if (group != no_id && " + asked + "[group]) " + arg(join_partnered, "u8*") + "[i] = 1;\n  }\n");
    alone(groups_of_build + "[i] == no_id || " + asked + "[" + groups_of_build + "[i]] == 0");
  }

  // The columns of the build side that pairs read, one after the other, each by group.
  void gather_columns() {
    const std::uint32_t side = j_.build_left ? 0 : 1;
    const ir::type* row = n_.functions[side].row;
    std::vector<bool> fields(all_fields(row).size(), j_.keeps_probe());
    ir::fields_used(k_.trace(n_, n_.functions[2]).root, side, row, fields);
    for (const input_column& c : build_.columns) g_.copied.push_back(reads(row, fields, c));
    std::string body = "  u8* to = " + arg(join_copied_columns, "u8*") + ";\n";
    body += "  const number* const rows = " + arg(join_build_rows, "const number*") + ";\n";
    for (std::uint32_t c = 0; c < build_.columns.size(); ++c) {
      if (!g_.copied[c]) continue;
      const std::string type = k_.type_name(build_.columns[c].type);
      body += "  {\n    const " + type + "* const from = " + k_.parameter({word::role::column, 1, c, 0}, "const " + type + "*") +
              ";\n    for (u64 at = blockIdx.x * 256ull + threadIdx.x; at < " + build_n_ + "; at += gridDim.x * 256ull) ((" + type +
              "*)to)[at] = from[rows[at]];\n    to += (" + build_n_ + " * sizeof(" + type + ") + 255) / 256 * 256;\n  }\n";
    }
    kernel("gather_columns", "256", body);
  }

  // Does one of these top-level fields lie in the column?
  static bool reads(const ir::type* row, const std::vector<bool>& fields, const input_column& c) {
    if (row->k != kind::record) return fields.front();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const ir::field& f = row->field_list[i];
      if (fields[i] && f.offset < c.offset + c.type->size && c.offset < f.offset + f.of->size) return true;
    }
    return false;
  }

  // The build rows side by side, by group.
  void gathering() {
    const std::string type = k_.type_name(build_.row);
    k_.add("__device__ __forceinline__ " + type + " build_row_at(const words& p, u64 i) {\n  return " +
           expressions::part_of(input_rows(k_, build_, 1, "i"), 0, build_.row, k_) + ";\n}\n");
    kernel("gather_build", "256",
           "  " + type + "* const out = " + arg(join_out, type + "*") + ";\n  for (u64 at = blockIdx.x * 256ull + threadIdx.x; at < " +
               build_n_ + "; at += gridDim.x * 256ull) out[at] = build_row_at(p, " + arg(join_build_rows, "const number*") + "[at]);\n");
  }

  // Build rows by their group, in their order within a group: LINQ's order of the result costs nothing more. Rows without a
  // key have the greatest id and come last.
  void sort() {
    const std::string key = "[&](u64 i) -> u32 { return " + arg(join_group_of_build, "const u32*") + "[i]; }",
                      temp = arg(join_sort_temp, "void*");
    k_.add("using sort_policy = radix_policy<u32, number>;\n");
    kernel("count_groups_of_rows", "sort_policy::histogram_threads",
           "  radix_histogram<sort_policy, 32>(" + build_n_ + ", " + temp + ", " + key + ");\n");
    kernel("sort_rows", "sort_policy::threads, sort_policy::blocks",
           "  extern __shared__ __align__(16) u8 shared[];\n  const radix_buffers<u32, number> between{{" + arg(join_sort_keys_0, "u32*") +
               ", " + arg(join_sort_keys_1, "u32*") + "}, {" + arg(join_sort_rows, "number*") + ", " + arg(join_build_rows, "number*") +
               "}};\n  radix_sweep<sort_policy, 32, u32, number, number>((u32)" + arg(join_sort_pass) + ", " + build_n_ + ", " + temp +
               ", between, shared, " + key + ", [](u64 i) { return number(i); }, [&](u64 at, u32 group) { " +
               arg(join_sort_keys_1, "u32*") + "[at] = group; }, [&](u64 at, number row) { " +
               arg(join_build_rows, "number*") + "[at] = row; });\n");
  }

  join_kernels& g_;
  kernel_source& k_;
  const join_sides& j_;
  const detail::logical& n_;
  const input_layout &probe_, &build_;
  keyed_rows keys_;
  const ir::field* carried_ = nullptr;
  std::vector<input_column> held_;  // of probe rows
  std::size_t held_bytes_ = 0;
  std::string number_, type_, probe_n_, build_n_;
};

}  // namespace

void generate_pair(kernel_source& k, const detail::logical& n, const detail::user_function& result, const row_source& left,
                   bool left_optional, const row_source& right, bool right_optional, const std::string& more) {
  const ir::traced t = k.trace(n, result);
  expressions e(k, k.site(n.label, n.where));
  std::string before;
  // A side that may be missing is an optional row, made once.
  const auto bind = [&](std::uint32_t id, const row_source& row, bool optional) {
    if (!optional) {
      e.bind(id, row);
      return;
    }
    const ir::type* seen = row_seen(t.root, id);
    if (!seen) return;
    if (seen->k != kind::optional) throw not_generated("the missing side of an outer join, other than as an optional row");
    const std::string name = id ? "right" : "left";
    before += "  " + k.type_name(seen) + " " + name + "{};\n  " + name + ".has = " + row.text + " != no_row;\n  if (" + name + ".has) " +
              name + ".v = " + expressions::part_of(row, 0, seen->element, k) + ";\n";
    e.bind(id, row_source::of_value(name, seen));
  };
  bind(0, left, left_optional);
  bind(1, right, right_optional);
  const std::string v = e.converted(e.value(t.root), t.root->type, n.row);
  k.add("__device__ __forceinline__ " + k.type_name(n.row) + " pair_of(const words& p, u64 a, u64 b" + more + ") {\n" + before + e.take() +
        "  return " + v + ";\n}\n");
}

std::vector<bool> fields_joined(const join_sides& j, bool build_side) {
  const detail::logical& n = *j.node;
  const std::uint32_t side = build_side == j.build_left ? 0 : 1;  // of the verb's inputs
  const ir::type* row = n.functions[side].row;
  // Tested rows are handed on; a row that may be missing is made as a whole.
  if (build_side ? j.keeps_probe() : j.tests() || j.keeps_build()) return all_fields(row);
  std::vector<bool> fields(all_fields(row).size());
  kernel_source k;  // traces need one
  ir::fields_used(k.trace(n, n.functions[side]).root, 0, row, fields);
  if (!j.tests()) ir::fields_used(k.trace(n, n.functions[2]).root, side, row, fields);
  return fields;
}

join_kernels generate_join_kernels(const join_sides& j, const input_layout& probe, const input_layout& build, join_program what,
                                   bool wide) {
  join_kernels g;
  writer(g, j, probe, build, wide).write(what);
  return g;
}

}  // namespace query::gpu_engine
