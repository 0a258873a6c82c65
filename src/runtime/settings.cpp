// The settings of a query that is composed of other queries: docs/sessions.md, "Queries inside queries".
#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include <query/detail/binding.hpp>
#include <query/detail/execute.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/plan.hpp>

namespace query::detail {

namespace {

// One call may reach a query in several ways.
const void* identity(const stop_call& c) { return c.token.get(); }
const void* identity(const progress_call& c) { return c.f.get(); }

constexpr std::size_t few = 16;  // calls of a link, which are copied

}  // namespace

// Its own calls, behind those of `before` and `beside`.
template <class Call> struct call_list<Call>::link {
  ~link() {  // in a loop: there may be many
    release(std::move(before));
    release(std::move(beside));
  }
  bool has(const Call& c) const {
    return std::any_of(own.begin(), own.end(), [&](const Call& known) { return identity(known) == identity(c); });
  }
  bool alone() const { return !before && !beside; }

  std::vector<Call> own;
  std::shared_ptr<const link> before = {}, beside = {};
};

template <class Call> void call_list<Call>::add(Call c) {
  if (last_ && last_->has(c)) return;
  auto l = std::make_shared<link>();
  if (last_ && last_->own.size() < few) {
    l->own = last_->own;
    l->before = last_->before;
    l->beside = last_->beside;
  } else {
    l->before = last_;
  }
  l->own.push_back(std::move(c));
  last_ = std::move(l);
}

template <class Call> void call_list<Call>::add(const call_list& more) {
  if (!more.last_ || last_ == more.last_) return;
  if (!last_) {
    last_ = more.last_;
  } else if (more.last_->alone()) {
    for (const Call& c : std::vector<Call>(more.last_->own)) add(c);
  } else {
    auto l = std::make_shared<link>();
    l->before = last_;
    l->beside = more.last_;
    last_ = std::move(l);
  }
}

template <class Call> std::vector<Call> call_list<Call>::all() const {
  std::vector<Call> found;
  std::unordered_set<const void*> seen;  // calls and links
  std::vector<const link*> open{last_.get()};
  while (!open.empty()) {
    const link* l = open.back();
    open.pop_back();
    if (!l || !seen.insert(l).second) continue;
    for (auto c = l->own.rbegin(); c != l->own.rend(); ++c)
      if (seen.insert(identity(*c)).second) found.push_back(*c);
    open.push_back(l->before.get());
    open.push_back(l->beside.get());
  }
  std::reverse(found.begin(), found.end());
  return found;
}

template class call_list<stop_call>;
template class call_list<progress_call>;

namespace {

void add_stops(run_settings& to, const run_settings& more) {
  to.stops.add(more.stops);
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
  both->progress.add(b->progress);
  return both;
}

settings stopped_by_both(const settings& a, const settings& b) {
  if (!b || a == b) return a;
  auto both = std::make_shared<run_settings>(a ? *a : run_settings{});
  add_stops(*both, *b);
  return both;
}

settings with_captured(settings s, const logical& n, std::size_t first) {
  for (std::size_t i = first; i < n.functions.size(); ++i)
    for (const auto& c : n.functions[i].captures) s = merged(s, c->settings, n.label, n.where);
  return s;
}

bool covers(const settings& s, const settings& part) {
  if (!part || s == part) return true;
  const run_settings own = s ? *s : run_settings{};
  if ((part->session && part->session != own.session) || (part->seconds > 0 && own.seconds <= 0)) return false;
  if (part->stops.empty()) return true;
  std::unordered_set<const void*> known;
  for (const stop_call& c : own.stops.all()) known.insert(identity(c));
  const std::vector<stop_call> asked = part->stops.all();
  return std::all_of(asked.begin(), asked.end(), [&](const stop_call& c) { return known.contains(identity(c)); });
}

}  // namespace query::detail
