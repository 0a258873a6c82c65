// The file that a task writes for its partition. Another attempt, of this process or of one that is thought to be lost, may still write the
// same rows: each attempt has a file of its own, and the master commits those of the attempts that count.
#pragma once

#include <string>

#include "cluster/master/tasks.hpp"

namespace query::cluster {

std::string written_name(const std::string& prefix, const task_id& t);

}  // namespace query::cluster
