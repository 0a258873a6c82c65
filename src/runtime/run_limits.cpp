// Limits and reports of a terminal verb's own work, after its rows are there: the second half of what is reported.
#include <chrono>
#include <limits>
#include <optional>

#include <query/detail/division_watch.hpp>
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
  state(const settings& s, const char* verb, call_site at)
      : given(s ? s : std::make_shared<const run_settings>()), verb(verb), at(at) {
    if (!given->progress.empty()) runtime::progress::next_is_part(0.5);
  }
  ~state() {
    runtime::progress::next_is_part(1);  // where no query has begun
    runtime::progress::after_query = nullptr;
  }
  const settings given;
  const char* const verb;
  const call_site at;
  const clock::time_point begun = clock::now();
  // While it has taken over.
  std::shared_ptr<runtime::session_state> session{};
  std::optional<runtime::stop_watch> watch{};
  std::unique_ptr<runtime::deadline_watch::watched> watched{};
  std::optional<stop_scope> scope{};
  std::optional<division_watch> divisions{};
  std::optional<runtime::progress> meter{};
  std::optional<runtime::progress_beat> beat{};

  void take_over() {
    run_settings left = *given;
    const std::chrono::duration<double> passed = clock::now() - begun;
    if (left.seconds > 0) left.seconds = std::max(left.seconds - passed.count(), std::numeric_limits<double>::min());
    session = runtime::session_of(given);
    watch.emplace(std::make_shared<const run_settings>(std::move(left)));
    watch->flag->name_limits(given->seconds);
    watch->flag->name_place(std::string(verb) + " (" + place_of(at) + ")");
    watch->flag->check_divisions(checks_functions(given));
    watched = session->deadlines.follow(*watch->flag);
    scope.emplace(watch->flag->state());
    divisions.emplace();
    watch->flag->check();
    meter.emplace(given);
    meter->expect(2);
    meter->vertex_done();  // the query
    if (*meter) runtime::progress::after_query = &*meter;
    beat.emplace(*meter, *watch->flag);
  }
  void finished() {
    runtime::progress::after_query = nullptr;
    beat.reset();
    watch->flag->check();
    try {
      divisions->check();
    } catch (const unplaced_error& e) {
      fail(verb, e.what(), at);
    }
    meter->finished();
  }
};
run_limits::run_limits(const settings& s, const char* verb, call_site at) {
  if ((s && (s->seconds > 0 || !s->stops.empty() || !s->progress.empty())) || checks_functions(s))
    state_ = std::make_unique<state>(s, verb, at);
}
void run_limits::take_over() {
  if (state_) state_->take_over();
}
void run_limits::finished() {
  if (state_) state_->finished();
}
run_limits::~run_limits() = default;

}  // namespace query::detail
