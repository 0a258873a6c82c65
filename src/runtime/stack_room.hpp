// Whether this thread's stack has room for one more of things that call each other: streams that read streams, loops within loops.
//
//   if (!stack_room()) detail::fail(...);
#pragma once

namespace query::runtime {

bool stack_room();

}  // namespace query::runtime
