// The engine that a session gets: on the devices that it names, which are opened when they are first wanted, with the kernels of the
// process.
#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "gpu_engine/costs/calibration.hpp"
#include "gpu_engine/costs/gpu_costs.hpp"
#include "gpu_engine/device_lost.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "runtime/gpu_placement.hpp"

namespace query::gpu_engine {

namespace {

kernel_cache& process_kernels() {
  static kernel_cache kernels({.headers = embedded_sources(), .options = {separate_products}, .folder = {}, .compile = {}});
  return kernels;
}

// The devices that a session asks for, by ordinal and how often the ordinal was named before; the first of them can be opened. Several are
// used where they are named.
std::vector<std::pair<int, int>> wanted_devices(const std::vector<int>& named) {
  std::vector<std::pair<int, int>> wanted;
  for (std::size_t i = 0; i < named.size(); ++i)
    wanted.emplace_back(named[i], static_cast<int>(std::count(named.begin(), named.begin() + static_cast<std::ptrdiff_t>(i), named[i])));
  if (named.empty())
    for (int i = 0; i < device::count(); ++i) wanted.emplace_back(i, 0);
  const auto usable = std::find_if(wanted.begin(), wanted.end(), [](const auto& w) {
    const device* d = device::find(w.first, w.second);
    return d && loss_of(*d).empty();
  });
  wanted.erase(wanted.begin(), usable);
  if (named.empty() && wanted.size() > 1) wanted.resize(1);
  return wanted;
}

}  // namespace

}  // namespace query::gpu_engine

namespace query::runtime {

std::shared_ptr<engine> make_gpu_engine(const gpu_limits& limits, without_gpu& reason) {
  using namespace gpu_engine;
  const auto wanted = wanted_devices(limits.devices);
  if (wanted.empty()) {
    const int first = limits.devices.empty() ? 0 : limits.devices.front();
    reason = {device::why_not(first), device::find(first) != nullptr};  // one that was opened has been lost since
    return nullptr;
  }
  if (!compiler::find()) {
    reason.why = compiler::why_not();
    return nullptr;
  }
  auto made = make_engine([wanted](std::size_t i) { return device::find(wanted[i].first, wanted[i].second); }, wanted.size(), limits,
                          process_kernels());
  costs_of(*made).kernels().keep_in(disk_cache(disk_cache::default_folder()), session_of(*made).on().name(), process_kernels());
  return made;
}

void weigh_against_cpu(engine& gpu, local_engine& cpu, scheduler& threads) {
  using namespace gpu_engine;
  struct measured {
    std::once_flag once;
    std::optional<rates> of_both;
  };
  const auto found = [&session = session_of(gpu), &threads, m = std::make_shared<measured>()]() -> const rates* {
    std::call_once(m->once, [&] { m->of_both = calibrated(session, threads, disk_cache(disk_cache::default_folder())); });
    return m->of_both ? &*m->of_both : nullptr;
  };
  costs_of(gpu).by_measuring(found);
  cpu.expects(found);
}

}  // namespace query::runtime
