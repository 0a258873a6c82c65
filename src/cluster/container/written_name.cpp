#include "cluster/container/written_name.hpp"

namespace query::cluster {

std::string written_name(const std::string& prefix, const task_id& t) {
  return prefix + std::to_string(t.partition) + "-" + std::to_string(t.attempt);
}

}  // namespace query::cluster
