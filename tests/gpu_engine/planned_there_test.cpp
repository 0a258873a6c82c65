// What the tests take for a plan on the GPU: texts as explain() prints them.
#include "planned_there.hpp"

namespace {

const std::string vertex = "  v1 group_by                        gpu: NVIDIA H200\n";
const std::string fold = "  sum: gpu: NVIDIA H200: 3.2 ms here, 21 ms on the CPU\n";
const std::string refused = "  v2 order_by                        cpu: not on gpu: its rows come from a stream\n";

TEST(planned_there, is_a_vertex_or_a_fold_of_the_gpu) {
  EXPECT_TRUE(planned_there(vertex));
  EXPECT_TRUE(planned_there(fold));
  EXPECT_TRUE(planned_there("  v2 from      cpu: not on gpu: not accelerated\n" + vertex)) << "a build side as it is";
}
TEST(planned_there, is_nothing_that_names_the_gpu_as_a_reason) {
  EXPECT_FALSE(planned_there(refused));
  EXPECT_FALSE(planned_there(vertex + refused));
  EXPECT_FALSE(planned_there("  rows: cpu: not on gpu: its rows come from a stream\n"));
  EXPECT_FALSE(planned_there("  v2 from      cpu: not on gpu: not accelerated\n"));
  EXPECT_FALSE(planned_there("    the last run went to the cpu: gpu: memory: no room\n"));
  EXPECT_FALSE(planned_there("  v1 group_by                        cpu: no NVIDIA driver\n"));
}
TEST(planned_there, is_asked_of_one_vertex) {
  EXPECT_TRUE(planned_there(vertex + refused, "group_by"));
  EXPECT_FALSE(planned_there(vertex + refused, "order_by"));
}

}  // namespace
