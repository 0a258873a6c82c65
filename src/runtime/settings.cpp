// What a query that is put together from others is run by: docs/sessions.md, "Queries put together".
#include <algorithm>

#include <query/detail/binding.hpp>
#include <query/detail/execute.hpp>
#include <query/detail/failure.hpp>

namespace query::detail {

namespace {

bool has(const std::vector<stop_call>& all, const stop_call& c) {
  return std::any_of(all.begin(), all.end(), [&](const stop_call& known) { return known.token == c.token; });
}
bool has(const std::vector<progress_call>& all, const progress_call& c) {
  return std::any_of(all.begin(), all.end(), [&](const progress_call& known) { return known.f == c.f; });
}
template <class C> void add(std::vector<C>& all, const std::vector<C>& more) {
  for (const C& c : more)
    if (!has(all, c)) all.push_back(c);
}

void add_stops(run_settings& to, const run_settings& more) {
  add(to.stops, more.stops);
  if (more.seconds > 0 && (to.seconds <= 0 || more.seconds < to.seconds)) to.seconds = more.seconds;
}

}  // namespace

settings merged(const settings& a, const settings& b, std::string_view verb, call_site at) {
  if (!b || a == b) return a;
  if (!a) return b;
  if (a->session && b->session && a->session != b->session)
    fail(verb, "two sessions are named, and a query runs in one; name it once, behind this verb: .in(session)", at);
  auto both = std::make_shared<run_settings>(*a);
  if (!both->session) both->session = b->session;
  add_stops(*both, *b);
  both->verify = a->verify || b->verify;
  add(both->progress, b->progress);
  return both;
}

settings stopped_by_both(const settings& a, const settings& b) {
  if (!b || a == b) return a;
  auto both = std::make_shared<run_settings>(a ? *a : run_settings{});
  add_stops(*both, *b);
  return both;
}

settings with_captured(settings s, const logical& n) {
  for (const user_function& f : n.functions)
    for (const auto& c : f.captures) s = merged(s, c->settings, n.label, n.where);
  return s;
}

bool covers(const settings& s, const settings& part) {
  if (!part || s == part) return true;
  const run_settings own = s ? *s : run_settings{};
  return (!part->session || part->session == own.session) && (part->seconds <= 0 || own.seconds > 0) &&
         std::all_of(part->stops.begin(), part->stops.end(), [&](const stop_call& c) { return has(own.stops, c); });
}

}  // namespace query::detail
