// The build side of a join with its rows grouped by key: what joins with repeated keys and group_join begin with.
//
//   const grouped_build grouped(kernels, run, inputs, arguments, node, side, false);  // join_program::general, grouped or grouped_rows
//
// A table maps keys to numbers of groups; arguments[join_group_of_probe] is then the group of each probe row or no_id,
// arguments[join_offsets] where groups begin, and arguments[join_build_rows] the build rows' numbers, by group and in their order
// within a group; rows without a key come last. The memory lives as long as the object. Of a build side that stays while a loop
// runs, all but the groups of probe rows is made once (kept_build.hpp).
#pragma once

#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_engine/operators/kept_build.hpp"
#include "gpu_engine/vertex_run.hpp"

namespace query::gpu_engine {

using join_arguments = std::array<std::uint64_t, join_argument_count>;

class grouped_build {
 public:
  static constexpr std::size_t flag_word = 1, ids_word = 4;  // of the status block, which is zero

  // inputs: probe and build side. `asked`: a byte for each group that a probe row looks for, arguments[join_asked].
  grouped_build(const join_kernels& g, vertex_run& run, std::span<const device_rows* const> inputs, join_arguments& args,
                const detail::logical& join, const build_side& side, bool asked);

 private:
  std::shared_ptr<build_table> make_table(std::uint64_t build_n);
  void start_table(build_table& made, std::uint32_t bits);
  void find_groups(build_table& made, std::uint64_t build_n, std::uint64_t probe_n, const std::string& label);
  void map_rows(std::uint64_t build_n);
  void look_up(std::uint64_t probe_n);
  void sort_rows(build_table& made, std::uint64_t groups, std::uint64_t build_n);
  void launch(const char* entry, std::uint64_t items);

  const join_kernels& g_;
  vertex_run& run_;
  std::span<const device_rows* const> inputs_;
  join_arguments& args_;
  std::shared_ptr<const build_table> table_;
  device_buffer probe_ids_, asked_;
};

}  // namespace query::gpu_engine
