#include "cluster/blocks/peer_connections.hpp"

#include <chrono>
#include <exception>
#include <utility>

#include "cluster/transport/listener.hpp"

namespace query::cluster {

namespace {
constexpr std::chrono::seconds patience_to_connect{3};
constexpr std::chrono::seconds patience_to_read{5};  // a peer that is frozen is lost before that, and its block is elsewhere then
}  // namespace

std::shared_ptr<connection> peer_connections::take(const std::string& where, const std::atomic<bool>& given_up) {
  {
    const std::lock_guard hold(lock_);
    // Those of processes that have ended go with the next one that is taken.
    std::erase_if(idle_, [](const auto& c) { return !c.second->is_idle(); });
    if (auto known = idle_.extract(where)) return std::move(known.mapped());
  }
  try {
    transport::file_descriptor fd = transport::connect_to(transport::address::parse(where), token_, 0, patience_to_connect, &given_up);
    auto made = std::make_shared<connection>(fd.release());
    made->limit_silence(patience_to_read);
    return made;
  } catch (const std::exception&) {
    return nullptr;
  }
}

void peer_connections::give_back(const std::string& where, std::shared_ptr<connection> idle) {
  const std::lock_guard hold(lock_);
  idle_.try_emplace(where, std::move(idle));
}

}  // namespace query::cluster
