// take, skip, take_last, skip_last, take_while, skip_while, default_if_empty: rows [from, from + n) of an input. What lies on
// the device stays where it is.
#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <query/errors.hpp>

#include "gpu_engine/codegen/expressions.hpp"
#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/operators/input_part.hpp"
#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_primitives/types.cuh"

namespace query::gpu_engine {

using detail::verb;

namespace {

constexpr std::uint64_t first_tested = 1 << 20;  // rows of a host's source, before more are brought over

bool tests(const detail::logical& n) { return n.what == verb::take_while || n.what == verb::skip_while; }

// find_first_failing: of the first n rows, the greatest n - i of those that fail the test; 0: none does. Rows behind the first of them are
// tested too, which the user must not notice.
kernel_source generate_test(const detail::logical& n, const input_layout& in) {
  kernel_source k;
  k.include("gpu_primitives/atomics.cuh");
  const ir::traced t = k.trace(n, n.functions.front());
  expressions e(k, k.site(n.label, n.where));
  e.bind(0, input_rows(k, in, 0, "i"));
  const std::string passes = e.value(t.root), found = k.argument(0, "u64*"), rows = k.argument(1, "u64");
  k.add("__device__ __forceinline__ bool passes(const words& p, u64 i) {\n" + e.take() + "  return " + passes +
        ";\n}\n" +
        "extern \"C\" __global__ void __launch_bounds__(256) find_first_failing(const __grid_constant__ words p) {\n  const u64 n = " +
        rows + ";\n  for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < n; i += gridDim.x * 256ull) {\n    if (passes(p, i)) continue;\n" +
        "    atomic_max(" + found + ", n - i);\n    return;\n  }\n}\n");
  return k;
}

// The test of the first of some rows.
class test_of_rows {
 public:
  test_of_rows(const detail::logical& n, const device_rows& rows, vertex_run& run)
      : run_(run), inputs_{&rows}, k_(generate_test(n, rows.layout())), kernel_(run.compile(k_, "find_first_failing")) {}

  // How many pass before the first that does not. An error counts if the CPU, which goes row by row, would have met it: if no row before
  // stopped it.
  std::uint64_t passing() {
    const std::uint64_t n = inputs_[0]->size();
    std::uint64_t error = test(n);
    const std::uint64_t passed = n - run_.read(1);
    if (!error) return passed;
    // What a row that failed gave is no answer, but those before the first that was rejected have passed or failed.
    std::uint64_t some = std::min(passed + 1, n), none = 0;
    if (!(error = test(some))) return passed;
    // Of several rows, the first that failed says with what.
    while (some - none > 1) {
      run_.context().cancel.check();
      const std::uint64_t middle = none + (some - none) / 2;
      if (const std::uint64_t found = test(middle)) error = found, some = middle;
      else none = middle;
    }
    throw_row_error(error, k_.sites());
    return 0;
  }

 private:
  // The error that one of the first n rows failed with; 0: none did.
  std::uint64_t test(std::uint64_t n) {
    const std::array<std::uint64_t, 2> args = {run_.status_word(1), n};
    const auto blocks = std::min<std::uint64_t>(gpu::divide_up(n, 256), std::uint64_t{resident_blocks(*kernel_, 256)} * 4);
    run_.reset_status();
    run_.launch(k_, *kernel_, {static_cast<unsigned>(blocks), 256, 0}, inputs_, args);
    return run_.finish_or_error();
  }

  vertex_run& run_;
  std::array<const device_rows*, 1> inputs_;
  kernel_source k_;
  std::shared_ptr<const kernel> kernel_;
};

std::uint64_t first_failing(const detail::logical& n, const device_rows& rows, vertex_run& run) {
  return rows.size() ? test_of_rows(n, rows, run).passing() : 0;
}

std::uint64_t less(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

shared_rows sliced(const planner::vertex& v, vertex_run& run) {
  const detail::logical& n = *v.node;
  input_part in(v.inputs.front(), run);
  switch (n.what) {
    case verb::take:
      return in.first(std::min(n.count, v.limit));
    case verb::skip:
      return in.range(n.count, v.limit);
    case verb::take_last:
    case verb::skip_last: {
      // The last rows alone, where their number is known before they are computed.
      const bool last = n.what == verb::take_last;
      const auto part = [&](std::uint64_t all) {
        const std::uint64_t rest = less(all, n.count);
        return last ? std::pair(rest, std::min(n.count, v.limit)) : std::pair(std::uint64_t{0}, std::min(rest, v.limit));
      };
      if (const auto size = in.size()) return in.range(part(*size).first, part(*size).second);
      if (last) return slice_of(in.last(n.count), 0, v.limit, run);
      const shared_rows rows = in.all();
      const auto [from, count] = part(rows->size());
      return slice_of(rows, from, count, run);
    }
    case verb::take_while: {
      std::uint64_t passing = 0;
      const auto rows = in.until(first_tested, [&](const device_rows& r) {
        passing = first_failing(n, r, run);
        return passing < r.size() || r.size() >= v.limit;
      });
      return slice_of(rows, 0, std::min(passing, v.limit), run);
    }
    case verb::skip_while: {
      const shared_rows rows = in.all();
      return slice_of(rows, first_failing(n, *rows, run), v.limit, run);
    }
    default: {  // default_if_empty
      const shared_rows rows = in.first(v.limit);
      return rows->size() ? rows : input_part(v.inputs.back(), run).first(v.limit);
    }
  }
}

// Rows are computed many at a time: the first that fails may lie behind those that are wanted. The CPU goes row by row.
shared_rows sliced_or_left(const planner::vertex& v, vertex_run& run) {
  const bool stops_early = v.node->what == verb::take || v.node->what == verb::take_last || v.limit != ~0ull ||
                           (v.node->what == verb::take_while && !bare(v.inputs.front()));
  const auto leave = [](const std::exception& e) {
    throw resource_error("gpu: a row failed that may not be wanted: " + std::string(e.what()));
  };
  try {
    return sliced(v, run);
  } catch (const user_error& e) {
    if (stops_early) leave(e);
    throw;
  } catch (const std::out_of_range& e) {
    if (stops_early) leave(e);
    throw;
  }
}

}  // namespace

void plan_slice(const planner::vertex& v) {
  check_not_handed_on(v);
  for (const planner::branch& b : v.inputs) {
    plan_input(b);
    check_host_form(b.row);
    (void)whole_rows(b.row);
    (void)device_layout(b.row);
  }
  if (tests(*v.node)) (void)generate_test(*v.node, planned_input(v.inputs.front()));
}

result_rows run_slice(const planner::vertex& v, vertex_run& run) {
  const auto rows = sliced_or_left(v, run);
  run.on().synchronize(run.context().cancel);  // uploads and copies
  return std::const_pointer_cast<device_rows>(rows);
}

}  // namespace query::gpu_engine
