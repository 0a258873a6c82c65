// Streams that verify mode has looked into: whoever reads their branch goes on with them.
//
//   sampled.keep(branch.number, stream);           // instead of one that nobody went on with
//   if (auto s = sampled.take(branch.number)) ...  // once
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

namespace query::runtime {

class sampled_streams {
 public:
  void keep(int branch, std::shared_ptr<void> stream) {
    const std::scoped_lock lock(mutex_);
    streams_[branch].swap(stream);  // the one before, if any, is destroyed outside of the lock
  }
  std::shared_ptr<void> take(int branch) {
    const std::scoped_lock lock(mutex_);
    const auto found = streams_.find(branch);
    if (found == streams_.end()) return nullptr;
    std::shared_ptr<void> s = std::move(found->second);
    streams_.erase(found);
    return s;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<int, std::shared_ptr<void>> streams_;
};

}  // namespace query::runtime
