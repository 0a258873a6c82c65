// A source file in memory, under the name by which others include it: "gpu_primitives/reduce.cuh".
#pragma once

#include <string_view>

namespace query::gpu_engine {

struct named_source {
  std::string_view name, text;
};

}  // namespace query::gpu_engine
