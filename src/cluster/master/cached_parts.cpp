#include "cluster/master/cached_parts.hpp"

namespace query::cluster {

std::uint64_t cached_parts::number_of(const std::shared_ptr<const void>& kept_as) {
  const std::lock_guard hold(lock_);
  query& q = queries_[kept_as.get()];
  if (q.number && q.kept_as.expired()) {  // another query's, which was at this address
    gone_.push_back(q.number);
    q = {};
  }
  if (!q.number) q = {kept_as, ++last_, {}};
  return q.number;
}

std::uint64_t cached_parts::make_anew(const std::shared_ptr<const void>& kept_as) {
  const std::lock_guard hold(lock_);
  query& q = queries_[kept_as.get()];
  if (q.number) gone_.push_back(q.number);
  q = {kept_as, ++last_, {}};
  return q.number;
}

void cached_parts::keeps(std::uint64_t number, std::size_t partition, const std::shared_ptr<local_process>& by) {
  const std::lock_guard hold(lock_);
  for (auto& [at, q] : queries_)
    if (q.number == number) q.by[partition] = by;
}

bool cached_parts::are_kept(std::uint64_t number, std::size_t partition, const std::shared_ptr<local_process>& by) const {
  const std::lock_guard hold(lock_);
  for (const auto& [at, q] : queries_) {
    if (q.number != number) continue;
    const auto known = q.by.find(partition);
    return by && known != q.by.end() && known->second.lock() == by;
  }
  return false;
}

std::vector<std::uint64_t> cached_parts::gone() {
  const std::lock_guard hold(lock_);
  std::erase_if(queries_, [&](const auto& entry) {
    if (!entry.second.kept_as.expired()) return false;
    gone_.push_back(entry.second.number);
    return true;
  });
  return gone_;
}

}  // namespace query::cluster
