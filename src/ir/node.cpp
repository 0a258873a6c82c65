#include <query/detail/node.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include <query/detail/tracer.hpp>

#include "ir/device_function.hpp"

namespace query::ir {

namespace {

std::uint64_t mix(std::uint64_t h, std::uint64_t v) { return (h ^ v) * 0x9E3779B97F4A7C15ull ^ (h >> 29); }

// Types are named by kind and name, never by address: the same tree has the same shape in another process.
std::uint64_t shape_of(const node& n) {
  std::uint64_t h = mix(static_cast<std::uint64_t>(n.what) + 1, n.id);
  h = mix(h, n.type ? static_cast<std::uint64_t>(n.type->k) : 99);
  h = mix(h, n.type ? std::hash<std::string_view>{}(n.type->name) : 0);
  h = mix(h, n.bits);
  h = mix(h, std::hash<std::string>{}(n.text));
  for (const node* k : n.kids) h = mix(h, k->shape);
  return h;
}

struct by_identity {
  std::size_t operator()(const node* n) const {
    std::uint64_t h = mix(static_cast<std::uint64_t>(n->what) * 31 + n->id, n->bits);
    h = mix(h, reinterpret_cast<std::uintptr_t>(n->type));
    for (const node* k : n->kids) h = mix(h, reinterpret_cast<std::uintptr_t>(k));
    return static_cast<std::size_t>(mix(h, std::hash<std::string>{}(n->text)));
  }
};
struct equal_nodes {
  bool operator()(const node* a, const node* b) const { return *a == *b; }
};

// Chooses which of its kids count: who runs it enters them one within the other.
bool chooses(const node& n) {
  return n.what == op::select || n.what == op::logical_and || n.what == op::logical_or || n.what == op::nested || n.what == op::loop;
}
constexpr std::uint32_t most_choices = 1000;

bool is_literal(const node* n, bool value) {
  return n->what == op::literal && n->type->k == kind::boolean && ((n->bits & 1) != 0) == value;
}

}  // namespace

struct arena::impl {
  std::mutex lock;  // any thread may add nodes: planners and engines do so to a trace, and threads of several devices have one trace
  std::deque<node> nodes;
  std::unordered_set<const node*, by_identity, equal_nodes> known;
  std::size_t max_nodes = limits().nodes;
  std::unordered_map<const node*, std::uint32_t> choices;  // within each other, of nodes that have some
  // That nodes call: one that a lambda makes inside ends with the lambda, before its second trace and before kernels are generated.
  std::vector<std::shared_ptr<const detail::held_device_function>> called;
};

arena::arena() : impl_(std::make_unique<impl>()) {}
arena::~arena() = default;

const node* arena::find(const node& n) const {
  const std::lock_guard hold(impl_->lock);
  const auto it = impl_->known.find(&n);
  return it == impl_->known.end() ? nullptr : *it;
}

std::size_t arena::size() const {
  const std::lock_guard hold(impl_->lock);
  return impl_->nodes.size();
}

const node* arena::put(node n) {
  const std::lock_guard hold(impl_->lock);
  if (auto it = impl_->known.find(&n); it != impl_->known.end()) return *it;
  if (impl_->nodes.size() >= impl_->max_nodes)
    give_up("the expression has more than " + std::to_string(impl_->max_nodes) + " nodes (a long or endless loop?)");
  std::uint32_t choices = 0;
  for (const node* k : n.kids)
    if (const auto it = impl_->choices.find(k); it != impl_->choices.end()) choices = std::max(choices, it->second);
  choices += chooses(n);
  if (choices > most_choices)
    give_up("the expression has more than " + std::to_string(most_choices) + " conditions within each other (a long or endless loop?)");
  n.shape = shape_of(n);
  if (auto function = living_device_function(n)) impl_->called.push_back(std::move(function));
  const node* stored = &impl_->nodes.emplace_back(std::move(n));
  impl_->known.insert(stored);
  if (choices) impl_->choices.emplace(stored, choices);
  return stored;
}

const node* arena::put(op what, const type* t, std::initializer_list<const node*> kids, std::uint64_t bits, std::uint32_t id,
                       std::string text) {
  return put(node{what, id, t, bits, kids, std::move(text), 0});
}

const node* make_not(arena& a, const node* x) {
  if (x->what == op::logical_not) return x->kids[0];
  return a.put(op::logical_not, x->type, {x});
}

const node* make_select(arena& a, const node* c, const node* x, const node* y) {
  if (x == y || is_literal(c, true)) return x;
  if (is_literal(c, false)) return y;
  if (c->what == op::logical_not) return make_select(a, c->kids[0], y, x);
  if (is_literal(x, true) && is_literal(y, false)) return c;
  if (is_literal(x, false) && is_literal(y, true)) return make_not(a, c);
  if (is_literal(x, true)) return a.put(op::logical_or, x->type, {c, y});
  if (is_literal(y, false)) return a.put(op::logical_and, x->type, {c, x});
  return a.put(op::select, x->type, {c, x, y});
}

const node* make_cast(arena& a, const node* x, const type* to) {
  if (x->type == to) return x;
  // int, long and long long of one width are one value in two names.
  if (x->what == op::literal && x->type->k == to->k && x->type->is_enum == to->is_enum && x->type->counts == to->counts &&
      is_arithmetic(to->k))
    return a.put(op::literal, to, {}, x->bits);
  return a.put(op::cast, to, {x});
}

}  // namespace query::ir
