#include "planner/plan_shape.hpp"

#include <bit>
#include <unordered_map>

#include "ir/device_function.hpp"
#include "ir/visit.hpp"

namespace query::planner {

namespace {

class shape {
 public:
  explicit shape(const machine_graph& g) {
    for (const auto& v : g.vertices) numbers_.emplace(v.get(), numbers_.size() + 1);
    for (const auto& v : g.vertices) add(*v);
    add(g.result);
    for (const binding& c : g.captures) add(c.table);
  }
  std::uint64_t value() const { return hash_; }

 private:
  static std::uint64_t mix(std::uint64_t h, std::uint64_t x) { return std::rotl((h ^ x) * 0x9E3779B97F4A7C15ull, 29); }
  static std::uint64_t address(const void* p) { return std::bit_cast<std::uintptr_t>(p); }
  void add(std::uint64_t x) { hash_ = mix(hash_, x); }
  void add(const vertex* v) { add(v ? numbers_[v] : 0); }

  void add(const vertex& v) {
    add(v.node ? static_cast<std::uint64_t>(v.node->what) + 1 : 0);
    add(std::uint64_t{v.accelerated} | std::uint64_t{v.ordered} << 1 | std::uint64_t{v.kept_if_it_fits} << 2);
    add(v.limit);
    if (v.node) add(*v.node);
    for (const branch& b : v.inputs) add(b);
    for (const binding& c : v.captures) add(c.table);
  }
  void add(const branch& b) {
    add(b.table);
    if (b.source) add(*b.source);
    add(address(b.row));
    for (const prefilter& f : b.prefilters) add(f.expression);
    for (const stage& s : b.stages) {
      add(static_cast<std::uint64_t>(s.what) + 1);
      for (const logical* n : s.nodes) add(*n);
      if (s.join) add(*s.join);
      add(s.build);
    }
  }
  void add(const logical& n) {
    add(static_cast<std::uint64_t>(n.what));
    add(n.ordered_to ? static_cast<std::uint64_t>(*n.ordered_to) + 1 : 0);
    add(std::uint64_t{n.accelerated} | std::uint64_t{n.gpu_required} << 1 | std::uint64_t{n.fast_math} << 2);
    add(address(n.row));
    for (const detail::user_function& f : n.functions) add(f.trace());
  }
  // Literals and strings are parameters of kernels, and so is which collection is read; what divides and how far bits are shifted is text.
  void add(const ir::traced& t) {
    if (!t) return add(1);
    std::unordered_map<const ir::node*, std::uint64_t> known;
    ir::each_node(t.root, [&](const ir::node* n) {
      std::uint64_t h = mix(static_cast<std::uint64_t>(n->what), address(n->type));
      if (n->what != ir::op::literal) {
        h = mix(h, n->id);
        if (n->what == ir::op::collection) h = mix(h, collections_.emplace(n->bits, collections_.size()).first->second);
        else if (n->what == ir::op::call && n->bits) h = mix(h, ir::device_function_of(n)->content);
        else h = mix(h, n->bits);
        for (const char c : n->text) h = mix(h, static_cast<unsigned char>(c));
      }
      for (const ir::node* k : n->kids) h = mix(mix(h, known[k]), in_text(*n) && k->what == ir::op::literal ? k->bits : 0);
      known[n] = h;
    });
    add(known[t.root]);
  }

  static bool in_text(const ir::node& n) {
    const bool divides = n.what == ir::op::div || n.what == ir::op::mod || n.what == ir::op::shl || n.what == ir::op::shr;
    return divides && !ir::is_floating(n.type->k);
  }

  std::unordered_map<const vertex*, std::uint64_t> numbers_;
  std::unordered_map<std::uint64_t, std::uint64_t> collections_;  // by their slots, as they are met
  std::uint64_t hash_ = 0;
};

}  // namespace

std::uint64_t plan_shape(const machine_graph& g) { return shape(g).value(); }

}  // namespace query::planner
