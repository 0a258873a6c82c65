#include "gpu_engine/several/gpu_set.hpp"

#include <algorithm>
#include <iterator>

#include <query/detail/plan.hpp>
#include <query/errors.hpp>

#include "gpu_engine/device_lost.hpp"
#include "gpu_engine/several/peer_copy.hpp"

namespace query::gpu_engine {

std::string number_of(const gpu_session& gpu) { return "GPU " + std::to_string(gpu.on().ordinal()); }

gpu_set::gpu_set(opener open, std::size_t count, const runtime::gpu_limits& limits, kernel_cache& kernels, std::size_t block_rows,
                 std::size_t share_rows)
    : open_(std::move(open)), count_(count), limits_(limits), kernels_(kernels), share_rows_(share_rows ? share_rows : block_rows) {
  const device* d = open_(0);
  if (!d) throw internal_error("gpu: a set of devices without the first");
  // A device that the list names several times gives each a part of its memory.
  const auto& named = limits_.devices;
  const auto times = std::max<std::size_t>(
      named.empty() ? 1 : static_cast<std::size_t>(std::count(named.begin(), named.end(), d->ordinal())), 1);
  const std::size_t memory = limits.memory || times == 1 ? limits.memory : d->free_memory() / 10 * 9 / times;
  first_ = std::make_shared<gpu_session>(*d, memory, kernels_, block_rows);
}

std::shared_ptr<gpu_session> gpu_set::opened(std::size_t place) {
  try {
    const device* d = open_(place);
    if (!d || !loss_of(*d).empty()) return nullptr;
    std::size_t memory = limits_.memory;
    const bool same = d->ordinal() == first_->on().ordinal();
    if (!memory && same) memory = first_->memory().budget();
    if (!memory && !limits_.devices.empty()) {
      const auto times = std::count(limits_.devices.begin(), limits_.devices.end(), d->ordinal());
      for (const auto& other : others_)
        if (other->on().ordinal() == d->ordinal()) memory = other->memory().budget();
      if (!memory && times > 1) memory = d->free_memory() / 10 * 9 / static_cast<std::size_t>(times);
    }
    return std::make_shared<gpu_session>(*d, memory, kernels_, first_->block_rows());
  } catch (const resource_error&) {
    return nullptr;
  }
}

bool gpu_set::usable(const gpu_session& gpu) const { return !left_out_.contains(&gpu) && loss_of(gpu.on()).empty(); }

std::size_t gpu_set::count_usable() const {
  const std::size_t others = others_opened_ ? static_cast<std::size_t>(std::count_if(others_.begin(), others_.end(),
                                                                                     [&](const auto& gpu) { return usable(*gpu); }))
                                            : count_ - 1;
  return others + (usable(*first_) ? 1 : 0);
}

std::size_t gpu_set::size() const {
  const std::lock_guard hold(lock_);
  return count_usable();
}

void gpu_set::open_others() {
  if (others_opened_) return;
  others_opened_ = true;
  for (std::size_t i = 1; i < count_; ++i)
    if (auto gpu = opened(i)) others_.push_back(std::move(gpu));
  std::vector<const device*> devices = {&first_->on()};
  for (const auto& gpu : others_) devices.push_back(&gpu->on());
  allow_peers(devices);
}

std::vector<std::shared_ptr<gpu_session>> gpu_set::all() {
  const std::lock_guard hold(lock_);
  open_others();
  std::vector<std::shared_ptr<gpu_session>> gpus;
  if (usable(*first_)) gpus.push_back(first_);
  std::copy_if(others_.begin(), others_.end(), std::back_inserter(gpus), [&](const auto& gpu) { return usable(*gpu); });
  if (gpus.empty()) gpus.push_back(first_);
  return gpus;
}

std::vector<std::shared_ptr<gpu_session>> gpu_set::open_now() const {
  const std::lock_guard hold(lock_);
  std::vector<std::shared_ptr<gpu_session>> gpus;
  if (usable(*first_)) gpus.push_back(first_);
  std::copy_if(others_.begin(), others_.end(), std::back_inserter(gpus), [&](const auto& gpu) { return usable(*gpu); });
  return gpus;
}

std::shared_ptr<gpu_session> gpu_set::one() {
  const std::lock_guard hold(lock_);
  if (count_ < 2 || usable(*first_)) return first_;
  open_others();
  const auto other = std::find_if(others_.begin(), others_.end(), [&](const auto& gpu) { return usable(*gpu); });
  return other == others_.end() ? first_ : *other;
}

std::string gpu_set::loss() const {
  const std::string why = loss_of(first_->on());
  if (why.empty()) return why;
  const std::lock_guard hold(lock_);
  return count_usable() ? std::string() : why;
}

std::string gpu_set::name(std::size_t n) const {
  return n < 2 ? first_->on().name() : std::to_string(n) + " x " + first_->on().name();
}

void gpu_set::leave_out(const gpu_session& gpu) {
  const std::lock_guard hold(lock_);
  left_out_.insert(&gpu);
}

void gpu_set::note(const detail::logical* verb, std::string what) {
  if (!verb) return;
  const std::lock_guard hold(lock_);
  std::erase_if(notes_, [](const auto& n) { return n.second.verb.expired(); });
  if (what.empty()) notes_.erase(verb);
  else notes_[verb] = {verb->weak_from_this(), std::move(what)};
}

std::string gpu_set::note_of(const detail::logical* verb) const {
  const std::lock_guard hold(lock_);
  const auto it = notes_.find(verb);
  return it == notes_.end() || it->second.verb.expired() ? std::string() : it->second.what;
}

}  // namespace query::gpu_engine
