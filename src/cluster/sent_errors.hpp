// Exceptions on their way to the master: the library's own and those of the standard library arrive as what they are, others as
// query::remote_error with their type and text.
//
//   catch (...) { put_exception(to); }
//   rethrow(from, "process 2 of local:4");
#pragma once

#include <string>

#include "cluster/bytes.hpp"

namespace query::cluster {

void put_exception(byte_writer& to);  // the one that is being handled
[[noreturn]] void rethrow(byte_reader& from, const std::string& where);

}  // namespace query::cluster
