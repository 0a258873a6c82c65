#include "gpu_engine/out_of_core/key_places.hpp"

#include <algorithm>

#include "gpu_engine/codegen/expressions.hpp"
#include "gpu_engine/codegen/group_keys.hpp"
#include "gpu_engine/codegen/row_function.hpp"

namespace query::gpu_engine {

namespace {

enum argument : std::uint32_t { out };

kernel_source generate(const planner::branch& b, const detail::logical& n, const detail::user_function& f,
                       std::uint32_t parts, const input_layout& in) {
  kernel_source k;
  k.may_run_again();
  k.include("gpu_primitives/hash_keys.cuh");
  const row_pipeline row = generate_pipeline(k, b, in, 0);
  const ir::traced t = k.trace(n, f);
  expressions e(k, k.site(n.label, n.where));
  e.bind(0, row.row);
  const std::string key = e.converted(e.value(t.root), t.root->type, n.key), hash = generate_key_hash(k, n.key);
  k.add("__device__ __forceinline__ bool place_of(const words& p, u64 i, u32& place) {\n" + row.body + e.take() +
        // Other bits than those that place a key in a table.
        "  place = u32(mix64(" + hash + "(" + key + ") + 0x2545f4914f6cdd1dull) >> 32) % " + std::to_string(parts) +
        "u;\n  return true;\n}\n");
  k.add(
      "extern \"C\" __global__ void __launch_bounds__(256) place_rows(const __grid_constant__ words p) {\n  u32* const "
      "out = " +
      k.argument(out, "u32*") + ";\n  for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < " +
      k.parameter({word::role::rows, 0, 0, 0}, "u64") +
      "; i += gridDim.x * 256ull) {\n    u32 place;\n    out[i] = place_of(p, i, place) ? place : 0xffffffffu;\n  "
      "}\n}\n");
  return k;
}

}  // namespace

runtime::buffer key_places::of(const device_rows& block, vertex_run& run) {
  const std::uint64_t n = block.size();
  runtime::buffer places = run.context().pool.allocate(std::max<std::uint64_t>(n, 1) * 4);
  if (!n) return places;
  const kernel_source k = generate(*b_, *n_, *f_, parts_, block.layout());
  const device_buffer there = run.allocate(n * 4);
  const std::array<const device_rows*, 1> inputs = {&block};
  const auto f = run.compile(k, "place_rows");
  const auto grid = static_cast<unsigned>(std::min<std::uint64_t>((n + 255) / 256, std::uint64_t{resident_blocks(*f, 256)} * 8));
  if (k.makes_texts()) run.guess_room(n);
  do {
    run.context().cancel.check();
    run.launch(k, *f, {grid, 256, 0}, inputs, std::array<std::uint64_t, 1>{there.address()});
  } while (!run.finish_texts(k));
  run.give_up_room();  // the places are all that is read of them
  run.gpu().copies().download_plain(places.data(), there.address(), n * 4, run.on(), run.context().scheduler,
                                    run.context().cancel);
  return places;
}

}  // namespace query::gpu_engine
