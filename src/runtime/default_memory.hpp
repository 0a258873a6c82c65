// The memory of sessions that set no limit: three quarters of the machine's.
#pragma once

#include <cstddef>

namespace query::runtime {

std::size_t default_memory_limit();  // bytes; 0: nobody knows

}  // namespace query::runtime
