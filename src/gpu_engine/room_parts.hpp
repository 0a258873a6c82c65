// Which parts of a piece of memory are free: the first that is large enough is given, and neighbours that come back are one part again.
#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <optional>

#include "gpu_engine/driver.hpp"

namespace query::gpu_engine {

class room_parts {
 public:
  room_parts(device_address at, std::size_t bytes) { free_.emplace(at, bytes); }

  std::optional<device_address> take(std::size_t bytes) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < bytes) continue;
      const device_address at = it->first;
      const std::size_t rest = it->second - bytes;
      free_.erase(it);
      if (rest) free_.emplace(at + bytes, rest);
      ++given_;
      return at;
    }
    return std::nullopt;
  }
  void put_back(device_address at, std::size_t bytes) {
    --given_;
    auto next = free_.lower_bound(at);
    if (next != free_.end() && next->first == at + bytes) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin())
      if (const auto before = std::prev(next); before->first + before->second == at) {
        before->second += bytes;
        return;
      }
    free_.emplace(at, bytes);
  }
  std::size_t given() const { return given_; }

 private:
  std::map<device_address, std::size_t> free_;
  std::size_t given_ = 0;
};

}  // namespace query::gpu_engine
