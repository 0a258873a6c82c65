#include "runtime/kept_profiles.hpp"

#include <utility>

namespace query::runtime {

void kept_profiles::keep(std::shared_ptr<const profiled_run> run) {
  if (!run->query() || run->result() > static_cast<int>(most_vertices)) return;
  const std::lock_guard hold(lock_);  // what is replaced goes with `run`, after the lock
  const auto is_same = [&](std::size_t i) { return of_[i] == run->query() && slots_[i].run->terminal() == run->terminal(); };
  // Queries that are written, run once and gone need one slot.
  bool known = of_[newest_] && (is_same(newest_) || slots_[newest_].run->forgotten());
  std::size_t place = known ? newest_ : 0;
  for (std::size_t i = 0; i < most && !known; ++i)
    if (is_same(i)) {
      place = i;
      known = true;
    }
  for (std::size_t i = 1; i < most && !known; ++i)
    if (slots_[i].when < slots_[place].when) place = i;
  newest_ = place;
  of_[place] = run->query();
  slots_[place].when = ++now_;
  slots_[place].run.swap(run);
}

template <class Takes> std::shared_ptr<const profiled_run> kept_profiles::newest(Takes takes) const {
  const std::lock_guard hold(lock_);
  const slot* found = nullptr;
  for (const slot& s : slots_)
    if (s.run && takes(*s.run) && (!found || s.when > found->when)) found = &s;
  return found ? found->run : nullptr;
}

std::shared_ptr<const profiled_run> kept_profiles::of_terminal(const detail::logical& query, std::string_view terminal) const {
  return newest([&](const profiled_run& r) { return r.is_of(query) && r.terminal() == terminal; });
}

std::shared_ptr<const profiled_run> kept_profiles::last_of(const detail::logical& query, std::string_view added) const {
  return newest([&](const profiled_run& r) { return r.is_of(query) && (added.empty() || r.terminal().ends_with(added)); });
}

}  // namespace query::runtime
