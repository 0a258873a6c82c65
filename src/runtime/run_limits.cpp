// Limits and reports of a terminal verb's own work, after its rows are there: the second half of what is reported.
#include <chrono>
#include <limits>
#include <optional>

#include <query/detail/failure.hpp>
#include <query/detail/stop.hpp>
#include <query/verbs/terminals.hpp>

#include "runtime/deadline_watch.hpp"
#include "runtime/planned_query.hpp"
#include "runtime/progress.hpp"
#include "runtime/session_state.hpp"
#include "runtime/stop_watch.hpp"

namespace query::detail {

struct run_limits::state {
  using clock = std::chrono::steady_clock;
  state(const settings& s, std::string where) : given(s), place(std::move(where)) {
    if (!given->progress.empty()) runtime::progress::next_is_part(0.5);
  }
  ~state() { runtime::progress::next_is_part(1); }  // where no query has begun
  const settings given;
  const std::string place;
  const clock::time_point begun = clock::now();
  // While it has taken over.
  std::shared_ptr<runtime::session_state> session{};
  std::optional<runtime::stop_watch> watch{};
  std::unique_ptr<runtime::deadline_watch::watched> watched{};
  std::optional<stop_scope> scope{};
  std::optional<runtime::progress> meter{};
  std::optional<runtime::progress_beat> beat{};

  void take_over() {
    run_settings left = *given;
    const std::chrono::duration<double> passed = clock::now() - begun;
    if (left.seconds > 0) left.seconds = std::max(left.seconds - passed.count(), std::numeric_limits<double>::min());
    session = runtime::session_of(given);
    watch.emplace(std::make_shared<const run_settings>(std::move(left)));
    watch->flag->name_limits(given->seconds);
    watch->flag->name_place(place);
    watched = session->deadlines.follow(*watch->flag);
    scope.emplace(watch->flag->state());
    watch->flag->check();
    meter.emplace(given);
    meter->expect(2);
    meter->vertex_done();  // the query
    beat.emplace(*meter, *watch->flag);
  }
  void finished() {
    beat.reset();
    watch->flag->check();
    meter->finished();
  }
};
run_limits::run_limits(const settings& s, const char* verb, call_site at) {
  if (s && (s->seconds > 0 || !s->stops.empty() || !s->progress.empty()))
    state_ = std::make_unique<state>(s, std::string(verb) + " (" + place_of(at) + ")");
}
void run_limits::take_over() {
  if (state_) state_->take_over();
}
void run_limits::finished() {
  if (state_) state_->finished();
}
run_limits::~run_limits() = default;

}  // namespace query::detail
