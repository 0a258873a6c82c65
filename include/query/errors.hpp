// What the library throws. Static text first, values last: "group_by: key type is not hashable: Foo".
// An exception thrown by a user's function reaches the caller unchanged.
#pragma once

#include <stdexcept>
#include <string>

namespace query {

struct error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The program asked for something that cannot be: names the verb, the call site and the fix.
struct user_error : error {
  using error::error;
};
// Memory, disk or a device ran out: names what was asked and what was there.
struct resource_error : error {
  using error::error;
};
// A machine of the cluster or the way to it was lost.
struct cluster_error : error {
  using error::error;
};
// An exception of a user's function in another process, of a type that cannot be sent: names its type, its text and the process. The
// library's own and those of <stdexcept> arrive as themselves, as do std::bad_alloc and std::bad_optional_access.
struct remote_error : cluster_error {
  using cluster_error::cluster_error;
};
// A defect of this library; please report it.
struct internal_error : error {
  using error::error;
};
// The query was stopped: by its stop token, its deadline or a reader that went away.
struct cancelled : error {
  using error::error;
};

}  // namespace query
