// Columns of the user's, which may have moved since the last run of a query.
#include <mutex>

#include <query/sources.hpp>

namespace query::detail {

void see_columns(const void** noted, const void* const* now, std::size_t n) {
  static std::mutex lock;
  const std::lock_guard hold(lock);
  for (std::size_t i = 0; i < n; ++i)
    if (noted[i] != now[i]) noted[i] = now[i];  // others may be reading it
}

}  // namespace query::detail
