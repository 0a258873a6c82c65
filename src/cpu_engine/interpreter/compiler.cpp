// The order of a program: which nodes there are, where each runs, what must run before.
#include <cpu_engine/interpreter/compiler.hpp>

#include <algorithm>

#include <ir/analysis.hpp>
#include <query/detail/failure.hpp>

namespace query::interpreter {

using ir::node;
using ir::op;

namespace {

constexpr std::size_t schedule_limit = std::size_t{1} << 22;

// Kids that are evaluated in another body than the node itself start here.
std::size_t own_kids(const node* n) {
  if (n->what == op::aggregate) return 0;
  if (n->what == op::loop) return static_cast<std::size_t>(n->bits);
  if (n->what == op::nested) {
    if (n->text == "fold" || n->text == "at") return 2;
    return 1;
  }
  return n->kids.size();
}

bool traps(const node* n) {
  switch (n->what) {
    case op::div:
    case op::mod: return !ir::is_floating(n->type->k);
    case op::add: return n->type->k == ir::kind::string;  // takes memory
    case op::value:
    case op::index:
    case op::nested:
    case op::loop: return true;
    case op::call: return ir::narrowed_part(n) || !ir::is_quiet_call(n);
    default: return false;
  }
}

// Visits the tree below root, kids first, without recursion: unrolled loops make deep trees.
template <class Kids, class Skip, class Visit> void postorder(const node* root, Kids kids, Skip skip, Visit visit) {
  struct entry {
    const node* n;
    std::size_t next;
  };
  std::vector<entry> stack;
  if (!skip(root)) stack.push_back({root, 0});
  while (!stack.empty()) {
    entry& e = stack.back();
    const auto& list = kids(e.n);
    if (e.next < list.size()) {
      const node* k = list[e.next++];
      if (!skip(k)) stack.push_back({k, 0});
      continue;
    }
    const node* n = e.n;
    stack.pop_back();
    if (!skip(n)) visit(n);
  }
}

}  // namespace

void malformed(const node* n, const char* why) {
  throw internal_error("interpreter: " + std::string(why) + ": " + std::string(ir::name_of(n->what)) +
                       (n->text.empty() ? "" : " " + n->text));
}

compiler::compiler(const node* root, const node* whole, bool wraps)
    : code_(std::make_unique<code>()), root_(root), whole_(whole), wraps_(wraps) {
  analyse(root);
  context* top = new_context(nullptr, none, none);
  lower(root, top);
  schedule(root, top, top->root);
  code_->result = find(root, top)->result;
  code_->result.type = root->type;
  code_->prelude = top->prelude;
  code_->body = top->root;
  if (wraps_) find_given();
}

void compiler::analyse(const node* root) {
  static const std::vector<const node*> no_kids;
  postorder(
      root, [](const node* n) -> const std::vector<const node*>& { return n->what == op::aggregate ? no_kids : n->kids; },
      [&](const node* n) { return facts_.contains(n); },
      [&](const node* n) {
        facts f;
        f.total = !traps(n);
        const std::size_t own = own_kids(n);
        const bool binds = n->what == op::nested || n->what == op::loop;
        if (n->what == op::variable || ((n->what == op::row || n->what == op::field) && n->id > 1)) f.binders.push_back(n->id);
        for (std::size_t i = 0; n->what != op::aggregate && i < n->kids.size(); ++i) {
          const facts& k = facts_.at(n->kids[i]);
          f.total = f.total && k.total;
          for (const std::uint32_t b : k.binders)
            if (!(binds && i >= own && b == n->id) && std::find(f.binders.begin(), f.binders.end(), b) == f.binders.end())
              f.binders.push_back(b);
        }
        facts_.emplace(n, std::move(f));
      });
}

compiler::facts compiler::facts_of(const node* n) const { return facts_.at(n); }

compiler::context* compiler::home_of(const node* n, context* c) const {
  const facts& f = facts_.at(n);
  if (f.binders.empty()) return const_cast<context*>(&contexts_.front());
  while (c->outer && std::find(f.binders.begin(), f.binders.end(), c->binder) == f.binders.end()) c = c->outer;
  return c;
}

compiler::node_code* compiler::find(const node* n, context* c) const {
  const context* home = home_of(n, c);
  const auto at = home->known.find(n);
  if (at == home->known.end()) malformed(n, "a value is used outside the computation that defines it");
  return at->second.get();
}

void compiler::lower(const node* root, context* c) {
  // Kids of nested computations and loops that belong to the body are lowered in the body's own context.
  struct entry {
    const node* n;
    std::size_t next;
  };
  const auto known = [&](const node* n) { return home_of(n, c)->known.contains(n); };
  std::vector<entry> stack;
  if (!known(root)) stack.push_back({root, 0});
  while (!stack.empty()) {
    entry& e = stack.back();
    if (e.next < std::min(own_kids(e.n), e.n->kids.size())) {
      const node* k = e.n->kids[e.next++];
      if (!known(k)) stack.push_back({k, 0});
      continue;
    }
    const node* n = e.n;
    stack.pop_back();
    if (!known(n)) lower_one(n, home_of(n, c));
  }
}

void compiler::lower_one(const node* n, context* home) {
  auto made = std::make_unique<node_code>();
  made->total = facts_.at(n).total;
  made->home = home;
  const bool both = n->what != op::select && n->what != op::logical_and && n->what != op::logical_or;
  const std::size_t sure = both ? std::min(own_kids(n), n->kids.size()) : 1;
  for (std::size_t i = 0; i < sure; ++i)
    if (!facts_.at(n->kids[i]).total) made->needs.push_back(n->kids[i]);
  node_code* const outer = current_;
  context* const outer_home = home_;
  current_ = made.get();
  home_ = home;
  value v = lower_node(n);
  v.type = n->type;
  // Numbers and strings are loaded once, not by each of their users.
  if (v.f == value::form::place && (ir::is_arithmetic(n->type->k) || n->type->k == ir::kind::string))
    v = column_value(n->type, column(v));
  made->result = std::move(v);
  current_ = outer;
  home_ = outer_home;
  if (made->total && !made->steps.empty()) drafts_[home->prelude].steps.push_back(made.get());
  home->known.emplace(n, std::move(made));
}

bool compiler::available(const node_code* n, const context* c, region_id r) const {
  if (n->total || drafts_[r].has.contains(n)) return true;
  for (; c; c = c->outer)
    if (drafts_[c->root].has.contains(n)) return true;
  return false;
}

void compiler::push(node_code* n, region_id r) {
  if (++pushed_ > schedule_limit) throw detail::unplaced_error("the expression has too many nested conditions to be interpreted");
  draft& d = drafts_[r];
  d.steps.push_back(n);
  d.has.insert(n);
  ++n->regions;
  n->foreign = n->foreign || d.of != n->home;
}

void compiler::schedule(const node* root, context* c, region_id r) {
  postorder(
      root, [&](const node* n) -> const std::vector<const node*>& { return find(n, c)->needs; },
      [&](const node* n) { return available(find(n, c), c, r); }, [&](const node* n) { push(find(n, c), r); });
}

region_id compiler::new_region(context* of) {
  drafts_.push_back({of, {}, {}});
  return static_cast<region_id>(drafts_.size() - 1);
}

compiler::context* compiler::new_context(context* outer, std::uint32_t binder, std::uint32_t nest) {
  context& c = contexts_.emplace_back();
  c.outer = outer;
  c.binder = binder;
  c.nest = nest;
  c.prelude = new_region(&c);
  c.root = new_region(&c);
  return &c;
}

std::unique_ptr<code> compile(const node* root, const node* whole) { return compiler(root, whole, false).finish(); }

}  // namespace query::interpreter
