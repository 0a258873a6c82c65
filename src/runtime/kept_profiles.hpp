// What the last runs of a session did, until others take their place: explain() and query::profile find them by the user's query.
//
//   profiles.keep(run);                                // it has ended
//   if (auto run = profiles.last_of(*node, "")) show(*run);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "runtime/run_profile.hpp"

namespace query::runtime {

// Thread-safe.
class kept_profiles {
 public:
  static constexpr std::size_t most = 32;             // runs, of different queries or terminal verbs
  static constexpr std::size_t most_vertices = 1 << 16;  // of one that is kept: plans may have any number of verbs

  void keep(std::shared_ptr<const profiled_run> run);
  // The last run of a query: by that terminal verb, as profiled_run::terminal has it; by any; by one that adds those verbs.
  std::shared_ptr<const profiled_run> of_terminal(const detail::logical& query, std::string_view terminal) const;
  std::shared_ptr<const profiled_run> last_of(const detail::logical& query, std::string_view added) const;

 private:
  struct slot {
    std::uint64_t when = 0;
    std::shared_ptr<const profiled_run> run;
  };
  template <class Takes> std::shared_ptr<const profiled_run> newest(Takes takes) const;

  mutable std::mutex lock_;
  const detail::logical* of_[most] = {};  // of the slots, side by side: looked through at the end of each run
  slot slots_[most];
  std::uint64_t now_ = 0;
  std::size_t newest_ = 0;
};

}  // namespace query::runtime
