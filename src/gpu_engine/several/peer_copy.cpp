#include "gpu_engine/several/peer_copy.hpp"

#include <algorithm>

namespace query::gpu_engine {

void allow_peers(const std::vector<const device*>& devices) {
  for (const device* owner : devices) {
    const driver& calls = owner->calls();
    if (!owner->has_memory_pools() || !calls.cuDeviceCanAccessPeer || !calls.cuMemPoolSetAccess) continue;
    const scoped_context here(*owner);
    memory_pool_handle pool = nullptr;
    if (calls.cuDeviceGetDefaultMemPool(&pool, owner->handle()) != cuda_result::success) continue;
    for (const device* peer : devices) {
      int can = 0;
      if (peer->handle() == owner->handle()) continue;
      if (calls.cuDeviceCanAccessPeer(&can, peer->handle(), owner->handle()) != cuda_result::success || !can) continue;
      memory_pool_access access;
      access.device = peer->handle();
      calls.cuMemPoolSetAccess(pool, &access, 1);  // refused: copies are staged
    }
  }
}

void peer_copy(const device& to, device_address at, const device& from, device_address what, std::size_t bytes, const stream& s) {
  if (!bytes) return;
  const scoped_context here(to);
  if (&to == &from) {
    QUERY_CUDA(to.calls(), cuMemcpyDtoDAsync, at, what, bytes, s.handle());
    return;
  }
  if (!to.calls().cuMemcpyPeerAsync) throw resource_error("gpu: the driver does not copy between devices");
  QUERY_CUDA(to.calls(), cuMemcpyPeerAsync, at, to.context(), what, from.context(), bytes, s.handle());
}

std::shared_ptr<device_rows> brought_together(const std::vector<std::shared_ptr<device_rows>>& parts,
                                              const std::shared_ptr<gpu_session>& to, runtime::run_context& context) {
  if (parts.empty()) return nullptr;
  const device_rows* like = parts.front().get();
  std::uint64_t n = 0;
  for (const auto& p : parts) {
    if (like->size() == 0) like = p.get();
    n += p->size();
  }
  const input_layout& in = like->layout();
  if (!same_on_device(in.row) || in.nearest) return nullptr;
  for (const auto& p : parts)
    if (p->size() && (p->layout().nearest || !same_columns(p->layout(), in))) return nullptr;
  const auto own_part = std::find_if(parts.begin(), parts.end(), [&](const auto& p) { return p->on(to->on()); });
  const auto first = static_cast<std::size_t>(own_part == parts.end() ? 0 : own_part - parts.begin());
  auto all = std::make_shared<device_rows>(to, in.row, n);
  const stream_lease s = to->lease();
  std::vector<device_buffer> columns;
  for (std::size_t c = 0; c < in.columns.size(); ++c) {
    const std::size_t size = device_layout(in.columns[c].type).size;
    device_buffer& own = columns.emplace_back(to->memory().allocate(std::max<std::uint64_t>(n, 1) * size, *s));
    std::vector<device_address> at;
    for (std::uint64_t before = 0; const auto& p : parts) {
      at.push_back(own.address() + before * size);
      before += p->size();
    }
    // Devices that bring rows at once begin with their own, and then take those of different devices.
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const std::size_t i = (first + k) % parts.size();
      if (parts[i]->size()) peer_copy(to->on(), at[i], parts[i]->gpu()->on(), parts[i]->column(c), parts[i]->size() * size, *s);
    }
  }
  s->synchronize(context.cancel);
  for (std::size_t c = 0; c < in.columns.size(); ++c) all->add(in.columns[c], std::move(columns[c]));
  return all;
}

}  // namespace query::gpu_engine
