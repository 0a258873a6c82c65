// The GPUs of a session. The first is where vertices run that one device runs; the others are opened when the first vertex is
// worth sharing: a context and the staging buffers of each take a third of a second.
//
//   gpu_set gpus([](std::size_t i) { return device::find(int(i)); }, 2, limits, kernels, 0, 0);
//   for (const auto& gpu : gpus.all()) ...
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "gpu_engine/gpu_session.hpp"
#include "gpu_engine/several/share_threads.hpp"
#include "runtime/engine.hpp"

namespace query::gpu_engine {

// Thread-safe.
class gpu_set {
 public:
  // The device of each place in the set; null for one that cannot be used. The first is opened at once, and is there.
  using opener = std::function<const device*(std::size_t place)>;
  gpu_set(opener open, std::size_t count, const runtime::gpu_limits& limits, kernel_cache& kernels, std::size_t block_rows,
          std::size_t share_rows);

  const std::shared_ptr<gpu_session>& first() const { return first_; }
  std::shared_ptr<gpu_session> one();  // for what one device runs: the first that is not lost
  // How many there may be: those that are lost, or that could not be opened, are not counted.
  std::size_t size() const;
  // Opened now where they were not; at least the first, in their order.
  std::vector<std::shared_ptr<gpu_session>> all();
  std::vector<std::shared_ptr<gpu_session>> open_now() const;  // that have been opened and are not lost; maybe none
  std::string name(std::size_t n) const;  // "2 x NVIDIA H200"
  std::string loss() const;               // what became of the first, where all are lost; "": not all are
  // A share is no smaller; 0: not known, as bytes decide.
  std::size_t share_rows() const { return share_rows_; }
  share_threads& threads() { return threads_; }

  // The device is lost: it gets no more shares.
  void leave_out(const gpu_session& gpu);

  // What explain() says of a verb: which device failed in the last run, and where its share ran instead. "": none did.
  void note(const detail::logical* verb, std::string what);
  std::string note_of(const detail::logical* verb) const;

 private:
  std::shared_ptr<gpu_session> opened(std::size_t place);
  void open_others();
  bool usable(const gpu_session& gpu) const;
  std::size_t count_usable() const;

  const opener open_;
  const std::size_t count_;
  const runtime::gpu_limits limits_;
  kernel_cache& kernels_;
  const std::size_t share_rows_;
  std::shared_ptr<gpu_session> first_;

  mutable std::mutex lock_;
  bool others_opened_ = false;
  std::vector<std::shared_ptr<gpu_session>> others_;
  std::set<const gpu_session*> left_out_;
  struct noted {
    std::weak_ptr<const detail::logical> verb;
    std::string what;
  };
  std::map<const detail::logical*, noted> notes_;
  share_threads threads_;
};

// "GPU 1"
std::string number_of(const gpu_session& gpu);

}  // namespace query::gpu_engine
