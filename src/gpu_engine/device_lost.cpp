#include "gpu_engine/device_lost.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace query::gpu_engine {

namespace {

// Never destroyed: sessions of other static objects may end after it would.
struct losses {
  std::atomic<bool> any{false};
  std::mutex lock;
  std::map<std::pair<const driver*, context_handle>, std::string> of;
};
losses& all() {
  static losses& l = *std::make_unique<losses>().release();
  return l;
}

thread_local context_handle here = nullptr;

}  // namespace

std::string loss_of(const device& d) {
  losses& l = all();
  if (!l.any) return {};
  const std::lock_guard hold(l.lock);
  const auto it = l.of.find({&d.calls(), d.context()});
  return it == l.of.end() ? std::string() : it->second;
}

void forget_loss(const device& d) { forget_loss(d.calls(), d.context()); }

void forget_loss(const driver& d, context_handle context) {
  losses& l = all();
  if (!l.any) return;
  const std::lock_guard hold(l.lock);
  l.of.erase({&d, context});
}

void note_loss(const driver& d, const std::string& what) {
  if (!here) return;  // before there was a context
  losses& l = all();
  const std::lock_guard hold(l.lock);
  l.of.try_emplace({&d, here}, what);
  l.any = true;
}

context_handle working_in(context_handle context) { return std::exchange(here, context); }

}  // namespace query::gpu_engine
