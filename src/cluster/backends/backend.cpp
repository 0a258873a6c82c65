#include "cluster/backends/backend.hpp"

#include <algorithm>
#include <charconv>

#include <query/detail/failure.hpp>

namespace query::cluster::backends {

std::unique_ptr<backend> make_backend(const session_options& options) {
  constexpr std::string_view local = "local:", ray = "ray:";
  constexpr int most = 1024;
  const std::string_view name = options.cluster;
  if (name.starts_with(ray)) {
    const std::string_view address = name.substr(ray.size());
    const std::size_t colon = address.rfind(':');
    if (colon != address.npos && colon > 0 && colon + 1 < address.size() &&
        std::ranges::all_of(address.substr(colon + 1), [](char c) { return c >= '0' && c <= '9'; }))
      return ray_cluster(address, options);
  }
  int n = 0;
  const char *const begin = name.data() + std::min(local.size(), name.size()), *const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(begin, end, n);
  if (!name.starts_with(local) || error != std::errc() || at != end || n < 1 || n > most)
    throw detail::unplaced_error("Session: cluster: expected local: and a number of processes from 1 to " + std::to_string(most) +
                                 ", such as local:4, or ray:HOST:PORT: found '" + options.cluster + "'");
  return local_processes(n - 1);
}

}  // namespace query::cluster::backends
