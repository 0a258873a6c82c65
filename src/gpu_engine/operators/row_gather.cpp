#include "gpu_engine/operators/row_gather.hpp"

#include <algorithm>

#include "gpu_engine/codegen/expressions.hpp"
#include "gpu_engine/device_rows.hpp"

namespace query::gpu_engine {

namespace {

// Records of numbers of one and two bytes, which no store of words may write, a field a column.
bool of_bytes(const input_layout& in, const ir::type* row) {
  const auto as_it_lies = [](const input_column& c) { return same_on_device(c.type); };
  return same_on_device(row) && device_layout(row).align < 4 && row->size > 16 && same_shape(in.row, row) && !in.nearest &&
         std::all_of(in.columns.begin(), in.columns.end(), as_it_lies);
}

}  // namespace

void add_gather(kernel_source& k, const std::string& name, const input_layout& in, const ir::type* row, const gather_texts& text) {
  const std::string type = k.type_name(row);
  k.include("gpu_primitives/row_writes.cuh");
  k.add("extern \"C\" __global__ void __launch_bounds__(256) " + name + "(const __grid_constant__ words p) {\n  " + type +
        "* const out = " + text.out + ";\n  const u64 n = " + text.n + ";\n");
  if (in.columns.size() == 1 && in.columns[0].type == row && in.columns[0].offset == 0) {
    k.add("  copy_rows<256>(n, " + k.parameter({word::role::column, 0, 0, 0}, "const " + type + "* __restrict__") +
          ", out, [&](u64 j) { return " + text.row_at + "; });\n}\n");
    return;
  }
  if (of_bytes(in, row)) {
    k.add("  gather_fields<256>(n, out, [&](u64 j) { return " + text.row_at + "; }");
    for (std::uint32_t c = 0; c < in.columns.size(); ++c) {
      const std::string field = k.type_name(in.columns[c].type);
      k.add(",\n    field_column<" + std::to_string(in.columns[c].offset) + ", " + field + ">{" +
            k.parameter({word::role::column, 0, c, 0}, "const " + field + "* __restrict__") + ", " +
            k.parameter({word::role::rows, 0, 0, 0}, "u64") + "}");
    }
    k.add(");\n}\n");
    return;
  }
  k.add("  write_rows<256>(n, out, [&](u64 j) -> " + type + " {\n    const u64 i = " + text.row_at + ";\n    return " +
        expressions::part_of(input_rows(k, in, 0, "i"), 0, row, k) + ";\n  });\n}\n");
}

}  // namespace query::gpu_engine
