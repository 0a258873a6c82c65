#include "planner/cluster_graph.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <query/errors.hpp>

#include "planner/cut_branch.hpp"
#include "planner/partitioning.hpp"
#include "planner/partitions.hpp"
#include "planner/rules/edges.hpp"

namespace query::planner {

using detail::join_kind;
using detail::verb;

std::string_view name_of(exchange way) {
  switch (way) {
    case exchange::gather: return "gather";
    case exchange::broadcast: return "broadcast";
    case exchange::hash: return "hash";
    case exchange::range: return "range";
  }
  return "";
}

// Sums of fractions depend on where they begin, so ranges of these are none.
bool is_range(const logical& source) {
  return source.what == verb::source_stream && source.count && source.step == 1 && ir::is_integer(source.row->k);
}

// Arrow data are converted as a whole, for all readers.
bool is_divided(const branch& b) {
  if (!b.source || b.source->options) return false;
  if (is_range(*b.source)) return b.source->count >= least_divided_range;
  if (!b.source->view) return false;
  return b.source->what == verb::source_rows || b.source->what == verb::source_columns;
}

namespace {

struct cannot_travel {
  const ir::type* row;
};

// Equal keys have equal hashes.
bool has_hash(const logical& n) { return !n.has_own_equality() || n.keys.hash; }

// Reads no row that it need not.
bool stops_early(const vertex& v) {
  if (v.limit != ~0ull) return true;
  return v.node && (v.node->what == verb::take || v.node->what == verb::take_while || v.node->what == verb::zip);
}
bool passes_on(const vertex& v) { return !v.node || v.node->what == verb::source_file || hands_on(v.node->what); }

class splitting {
 public:
  splitting(machine_graph& g, const cluster_options& options) : g_(g), options_(options) {
    for (const auto& v : g.vertices) {
      for (const std::vector<vertex*>* list : {&v->body, &v->test})
        for (const vertex* w : *list) {
          inside_[w] = v.get();
          list_of_[w] = list;
        }
    }
    find_asked_for();
  }

  void split() {
    std::vector<std::unique_ptr<vertex>> before = std::move(g_.vertices);
    g_.vertices.clear();
    for (auto& v : before) {
      at_ = v.get();
      place(*v);
      g_.vertices.push_back(std::move(v));
    }
    at_ = nullptr;
    place_result();
    put_in_order();
    int number = 0;
    for (auto& v : g_.vertices)
      for (branch& b : v->inputs) b.number = ++number;
    g_.result.number = ++number;
    g_.partitions = options_.partitions;
  }

 private:
  // In how many partitions the rows lie that a branch begins with.
  int lies(const vertex* v) const {
    const auto found = lies_.find(v);
    return found == lies_.end() ? 1 : found->second;
  }
  int lies(const branch& b) const { return b.table ? lies(b.table) : is_divided(b) ? options_.partitions : 1; }

  // Vertices whose reader asks for rows as far as it needs them: they, and what they ask, run where it does.
  void find_asked_for() {
    const rules::edge_index edges(g_);
    for (auto v = g_.vertices.rbegin(); v != g_.vertices.rend(); ++v) {
      if (!passes_on(**v)) continue;
      const rules::edge e = edges.only_reader(**v);
      if (e.how != rules::edge::kind::rows) continue;
      if (e.reader ? asks(*e.reader) : options_.how == reading::on_demand) asked_for_.insert(v->get());
    }
  }
  bool asks(const vertex& v) const { return stops_early(v) || asked_for_.contains(&v); }

  void place(vertex& v) {
    const std::vector<binding> captures = v.captures;
    v.partitions = partitions_of(v, captures);
    lies_[&v] = v.partitions;
    v.captures = bound(captures, v.partitions);
    if (!v.node || v.node->what != verb::do_while) return;
    for (branch* b : {&v.body_result, &v.test_result})
      if (b->table && lies(b->table) > 1) {
        auto& list = b == &v.body_result ? v.body : v.test;
        const bool same = b == &v.body_result && v.test_result.table == b->table;
        at_ = nullptr;  // it runs after the last vertex of the round
        vertex* all = moved(exchange::gather, reading_of(b->table), lies(b->table), {});
        at_ = &v;
        behind_[&list].push_back(all);
        b->table = all;
        if (same) v.test_result.table = all;
      }
  }

  int partitions_of(vertex& v, const std::vector<binding>& captures) {
    if (asks(v) && (!v.node || v.node->what != verb::order_by)) return in_one(v, captures);
    if (!v.node) return at_ease(v.inputs.front(), captures);
    const logical& n = *v.node;
    switch (n.what) {
      case verb::source_file:
        if (!options_.divides_file(v)) return 1;
        v.notes.push_back("each partition reads its part of the file");
        return options_.partitions;
      case verb::group_by:
        return v.ordered || !has_hash(n) ? in_one(v, captures) : group(v, captures);
      case verb::aggregate: return aggregate(v, captures);
      case verb::distinct:
      case verb::union_with:
      case verb::intersect:
      case verb::except:
        if (v.ordered || !has_hash(n)) return in_one(v, captures);
        for (branch& b : v.inputs)
          by_hash(b, at_ease(b, captures), n, n.functions.front(), v.interpreted, captures,
                  n.what == verb::distinct ? wanted_rows::together : wanted_rows::by_hash);
        return options_.partitions;
      case verb::join:  // right and full ones: others are stages
        if (v.ordered || !joins_by_hash(n)) return in_one(v, captures);
        for (std::size_t side : {0, 1})
          by_hash(v.inputs[side], at_ease(v.inputs[side], captures), n, n.functions[side], v.interpreted, captures, wanted_rows::by_hash);
        return options_.partitions;
      case verb::group_join:
      case verb::cross_join: {
        const int parts = at_ease(v.inputs[0], captures);
        if (parts == 1) one(v.inputs[1], captures, false);
        else all_to_each(v.inputs[1], captures);
        return parts;
      }
      case verb::cached: {
        if (v.ordered || !n.checkpoint.empty()) return in_one(v, captures);
        const int parts = at_ease(v.inputs.front(), captures);
        if (parts > 1 && v.slots.empty()) v.notes.push_back("each partition keeps its rows");
        return parts;
      }
      case verb::order_by:
        return v.limit == ~0ull ? sort(v, captures) : best_of_each(v, captures);
      default: return in_one(v, captures);
    }
  }

  // ---------------------------------------------------------------- branches
  // Rows are taken where they lie, and joined there. Returns in how many partitions.
  int at_ease(branch& b, const std::vector<binding>& captures) {
    if (rules::numbers_rows(b)) {
      one(b, captures, true);
      return 1;
    }
    for (std::size_t i = 0; i < b.stages.size(); ++i) {
      stage& s = b.stages[i];
      if (s.what != stage::kind::probe) continue;
      if (!s.ordered && joins_by_hash(*s.join) && !is_small(*s.build)) {
        const bool interpreted = s.how == form::interpreted;
        const logical& join = *s.join;
        const auto &probes = join.functions[s.build_left ? 1 : 0], &builds = join.functions[s.build_left ? 0 : 1];
        if (!stay(b, i, lies(b), join, probes, wanted_rows::by_hash)) {
          branch first = cut_branch(b, i, 0, nullptr);
          const int from = lies(first);  // its own joins have been placed
          by_hash(first, from, join, probes, interpreted, captures, wanted_rows::by_hash);
          b.table = first.table;
          i = 0;
        }
        branch build = reading_of(b.stages[i].build);
        by_hash(build, lies(build), join, builds, interpreted, captures, wanted_rows::by_hash);
        b.stages[i].build = build.table;
        continue;
      }
      s.build = lies(b) == 1 ? gathered(s.build) : moved_once(exchange::broadcast, s.build);
    }
    return lies(b);
  }

  // The rows of the branch in the first partition. `as_they_are`: what happens to them happens there too.
  void one(branch& b, const std::vector<binding>& captures, bool as_they_are) {
    const bool changed = !b.stages.empty() || !b.prefilters.empty();
    if (lies(b) > 1 && changed && !as_they_are && !rules::numbers_rows(b)) {
      const int from = at_ease(b, captures);
      if (from > 1) b = reading_of(moved(exchange::gather, std::move(b), from, captures));
      return;
    }
    if (b.table) b.table = gathered(b.table);
    for (stage& s : b.stages)
      if (s.build) s.build = gathered(s.build);
  }
  int in_one(vertex& v, const std::vector<binding>& captures) {
    for (branch& b : v.inputs) one(b, captures, asks(v));
    return 1;
  }

  void all_to_each(branch& b, const std::vector<binding>& captures) {
    if (b.table && b.stages.empty() && b.prefilters.empty()) {
      b.table = moved_once(exchange::broadcast, b.table);
      return;
    }
    const int from = at_ease(b, captures);
    b = reading_of(moved(exchange::broadcast, std::move(b), from, captures));
  }

  // Each row to the partition of its key, of a branch that runs in `from` partitions. The verb whose keys these are says what equals what.
  void by_hash(branch& b, int from, const logical& of, const detail::user_function& key, bool interpreted,
               const std::vector<binding>& captures, wanted_rows wanted) {
    if (stay(b, b.stages.size(), from, of, key, wanted)) return;
    auto n = std::make_shared<logical>();
    n->what = verb::partition;
    n->label = of.label;
    n->row = b.row;
    n->where = of.where;
    n->functions = {key};
    n->key = key.result;
    n->keys = of.keys;
    n->count = static_cast<std::uint64_t>(options_.partitions);
    n->step = static_cast<std::uint64_t>(partition_way::hash);
    g_.verbs.push_back(n);
    b = reading_of(moved(exchange::hash, std::move(b), from, captures, n.get(), interpreted));
  }

  // The first stages' rows of a branch that runs in `from` partitions: are they where the verb wants them?
  bool stay(const branch& b, std::size_t stages, int from, const logical& of, const detail::user_function& key, wanted_rows wanted) {
    if (from == 1 || of.has_own_equality() || !lie_right(b, stages, key, wanted, at_ && inside_.contains(at_))) return false;
    (at_ ? at_->notes : g_.notes).push_back(of.label + ": no exchange, rows lie by the hash of its " + std::string(key.role) + " already");
    return true;
  }
  // Each partition sends its groups, or its rows where states of groups cannot be sent.
  int group(vertex& v, const std::vector<binding>& captures) {
    branch& b = v.inputs.front();
    const int from = at_ease(b, captures);
    if (from == 1) return 1;
    const detail::user_function& key = v.node->functions.front();
    if (stay(b, b.stages.size(), from, *v.node, key, wanted_rows::together)) return options_.partitions;
    if (const std::string why = options_.why_rows_are_sent(v); !why.empty()) {
      v.notes.push_back("partitions send rows, not groups: " + why);
      by_hash(b, from, *v.node, key, v.interpreted, captures, wanted_rows::together);
    } else {
      b = reading_of(states(exchange::hash, v, from, captures));
      b.table->notes.push_back("a partition sends its groups; where more than one row in four opens one, it sends rows as groups");
    }
    return options_.partitions;
  }
  int aggregate(vertex& v, const std::vector<binding>& captures) {
    branch& b = v.inputs.front();
    if (v.ordered || lies(b) == 1) return in_one(v, captures);
    if (const std::string why = options_.why_rows_are_sent(v); !why.empty()) {
      v.notes.push_back("partitions send rows, not their aggregates: " + why);
      return in_one(v, captures);
    }
    const int from = at_ease(b, captures);
    if (from > 1) b = reading_of(states(exchange::gather, v, from, captures));
    return 1;
  }
  // Runs v over the rows of its input, in `from` partitions, and sends what v merges.
  vertex* states(exchange way, vertex& v, int from, const std::vector<binding>& captures) {
    vertex* x = moved(way, std::move(v.inputs.front()), from, captures, v.node, v.interpreted);
    x->group_function = v.group_function;
    x->notes = std::move(v.notes);
    v.notes = {"merges what each partition found"};
    return x;
  }
  // The best rows of each partition are gathered, and the best of these are the result.
  int best_of_each(vertex& v, const std::vector<binding>& captures) {
    if (at_ease(v.inputs[0], captures) == 1) return in_one(v, captures);
    auto best = std::make_unique<vertex>(v);
    best->partitions = options_.partitions;
    best->captures = bound(captures, best->partitions);
    best->notes.push_back("of each partition");
    v.inputs[0] = reading_of(gathered(add(std::move(best))));
    return 1;
  }
  // Each partition sorts a range of the order, so that partitions one after the other are in order.
  int sort(vertex& v, const std::vector<binding>& captures) {
    branch& b = v.inputs.front();
    if (lies(b) == 1) return in_one(v, captures);
    const int from = at_ease(b, captures);
    if (from == 1) return 1;
    b = reading_of(moved(exchange::range, std::move(b), from, captures, v.node, v.interpreted));
    b.table->notes.push_back("ranges are chosen by a sample of the keys; rows with equal keys stay together");
    return options_.partitions;
  }

  bool joins_by_hash(const logical& n) const {
    const ir::type* key = n.functions[0].result;
    if (key != n.functions[1].result) return false;
    // Functions of the user's never see the null of a key.
    return has_hash(n) && !(n.has_own_equality() && key->k == ir::kind::optional);
  }
  bool is_small(const vertex& v) const {
    if (v.node || v.inputs.size() != 1) return false;
    const branch& b = v.inputs.front();
    if (!b.source || !b.source->view || b.source->what == verb::placeholder) return false;
    if (std::any_of(b.stages.begin(), b.stages.end(), [](const stage& s) {
          return s.what == stage::kind::probe || std::any_of(s.nodes.begin(), s.nodes.end(), [](const logical* n) {
                   return n->what == verb::select_many;
                 });
        }))
      return false;
    detail::row_block rows;
    b.source->view(b.source->source.get(), rows);
    return rows.n * v.row()->size <= options_.most_broadcast;
  }

  // ---------------------------------------------------------------- exchanges
  static branch reading_of(vertex* v) {
    branch b;
    b.table = v;
    b.row = v->row();
    return b;
  }
  vertex* gathered(vertex* v) { return lies(v) == 1 ? v : moved_once(exchange::gather, v); }
  vertex* moved_once(exchange way, vertex* v) {
    const auto key = std::tuple(static_cast<const vertex*>(v), way, at_ ? list_of_[at_] : nullptr);
    vertex*& made = moved_[key];
    if (!made) made = moved(way, reading_of(v), lies(v), {});
    return made;
  }
  // `from`: in how many partitions the branch runs.
  vertex* moved(exchange way, branch b, int from, const std::vector<binding>& captures, const logical* of = nullptr,
                bool interpreted = false) {
    const bool rows = !of || of->what == verb::partition || of->what == verb::order_by;  // else states
    if (rows && !options_.can_travel(*b.row)) throw cannot_travel{b.row};
    if (b.table && b.table->moves == exchange::broadcast) throw internal_error("query: copies of rows would be sent once more");
    auto x = std::make_unique<vertex>();
    x->node = of;
    x->moves = way;
    x->interpreted = interpreted;
    x->partitions = from;
    slot_set used;
    for (const prefilter& f : b.prefilters) used.merge(captured_by(f));
    for (const stage& s : b.stages) {
      if (s.join) used.merge(captured_by(*s.join));
      for (const logical* n : s.nodes) used.merge(captured_by(*n));
    }
    if (of) used.merge(captured_by(*of));
    std::vector<binding> own = captures;
    const bool calls_more = of && (of->has_own_order() || of->has_own_equality());  // whose captures nobody tells apart
    std::erase_if(own, [&](const binding& c) { return !calls_more && !used.contains(c.slot); });
    x->captures = bound(own, x->partitions);
    x->inputs.push_back(std::move(b));
    lies_[x.get()] = way == exchange::gather ? 1 : options_.partitions;
    return add(std::move(x));
  }
  // Runs before the vertex that is being placed, or before the outermost loop around it if nothing in it depends on a loop's rows.
  vertex* add(std::unique_ptr<vertex> x) {
    x->slots = slots_of(x->inputs.front(), x->captures);
    vertex* made = x.get();
    if (!lies_.contains(made)) lies_[made] = made->partitions;
    const vertex* before = at_;
    // Functions of keys may change from round to round.
    const bool by_fixed_key = made->node && made->node->what == verb::partition && !made->node->has_own_equality() &&
                              is_fixed(made->node->functions.front());
    if (made->slots.empty() && (!made->moves || !made->node || by_fixed_key))
      for (auto loop = inside_.find(before); loop != inside_.end() && loop->second; loop = inside_.find(before)) before = loop->second;
    if (at_) before_[before].push_back(made);
    g_.vertices.push_back(std::move(x));
    return made;
  }
  std::vector<binding> bound(std::vector<binding> captures, int partitions) {
    for (binding& c : captures) c.table = partitions == 1 ? gathered(c.table) : moved_once(exchange::broadcast, c.table);
    return captures;
  }

  void place_result() {
    branch& b = g_.result;
    const std::vector<binding> captures = g_.captures;
    if (options_.how == reading::folded) {
      g_.result_partitions = at_ease(b, captures);
    } else {
      one(b, captures, options_.how == reading::on_demand);
    }
    g_.captures = bound(captures, g_.result_partitions);
  }

  // The lists of what runs, with the exchanges in front of those that they were made for.
  void put_in_order() {
    const auto with_exchanges = [&](auto& list, std::vector<vertex*>* of_loop) {
      std::remove_reference_t<decltype(list)> all;
      for (auto* v : list) {
        for (vertex* x : before_[v]) all.push_back(x);
        all.push_back(v);
      }
      if (of_loop)
        for (vertex* x : behind_[of_loop]) all.push_back(x);
      list = std::move(all);
    };
    for (auto& v : g_.vertices) {
      with_exchanges(v->body, &v->body);
      with_exchanges(v->test, &v->test);
    }
    with_exchanges(g_.top, nullptr);
    for (vertex* x : at_end_of_top()) g_.top.push_back(x);
  }
  // Those of the result, in their order.
  std::vector<vertex*> at_end_of_top() const {
    std::unordered_map<const vertex*, bool> placed;
    for (const auto& [at, list] : before_)
      for (const vertex* x : list) placed[x] = true;
    for (const auto& [at, list] : behind_)
      for (const vertex* x : list) placed[x] = true;
    std::vector<vertex*> rest;
    for (const auto& v : g_.vertices)
      if (v->moves && !placed[v.get()]) rest.push_back(v.get());
    return rest;
  }

  machine_graph& g_;
  const cluster_options& options_;
  vertex* at_ = nullptr;                                // being placed; null: the result, or the end of a round
  std::unordered_map<const vertex*, int> lies_;               // in how many partitions a table is
  std::unordered_map<const vertex*, const vertex*> inside_;   // the loop around
  std::unordered_map<const vertex*, const void*> list_of_;    // which of its lists
  std::unordered_map<const vertex*, std::vector<vertex*>> before_;
  std::unordered_map<const void*, std::vector<vertex*>> behind_;
  std::unordered_set<const vertex*> asked_for_;
  std::map<std::tuple<const vertex*, exchange, const void*>, vertex*> moved_;
};

}  // namespace

void split_over_partitions(machine_graph& g, const cluster_options& options) {
  if (options.partitions <= 1) return;
  graph_copy split = copy_of(g);
  try {
    splitting(*split.graph, options).split();
    g = std::move(*split.graph);
  } catch (const cannot_travel& x) {
    g.notes.push_back("in one partition: rows of " + std::string(x.row->name) + " cannot be sent to others");
  }
}

}  // namespace query::planner
