#include "planner/cluster_graph.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <query/detail/asof_options.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/together.hpp>
#include <query/errors.hpp>

#include "planner/cut_branch.hpp"
#include "planner/divided_concat.hpp"
#include "planner/divided_partitions.hpp"
#include "planner/known_sizes.hpp"
#include "planner/loop_partitions.hpp"
#include "planner/partitioning.hpp"
#include "planner/partitions.hpp"
#include "planner/rules/edges.hpp"
#include "planner/stages.hpp"

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

bool is_repeat(const logical& source) {
  return source.what == verb::source_stream && source.count && source.step == 0 && source.row->trivial && source.row->k != ir::kind::opaque;
}

bool is_divided(const branch& b) {
  if (!b.source) return false;
  if (is_made_in_parts(*b.source)) return b.source->count >= least_divided_range;
  if (!b.source->view) return false;
  return b.source->what == verb::source_rows || b.source->what == verb::source_columns;
}

namespace {

struct cannot_travel {
  const ir::type* row;
};
struct place_anew {};  // the variable of a loop lies elsewhere

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
  splitting(machine_graph& g, const cluster_options& options, loop_partitions& loops)
      : g_(g), options_(options), loops_(loops), divided_(g, options), any_order_(concats_in_any_order(g)) {
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
    keep_what_is_relied_on();
    put_in_order();
    note_undivided();
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
  int lies(const branch& b) const {
    return b.table ? lies(b.table) : is_divided(b) || loops_.divided_variable(b) ? options_.partitions : 1;
  }

  // Sources that stay whole, though they may be large.
  void note_undivided() {
    std::unordered_set<const logical*> noted;
    const auto note = [&](const branch& b) {
      if (!b.source || b.table || b.source->what != verb::source_stream || is_divided(b) || !noted.insert(b.source).second) return;
      if (b.source->count && b.source->count < least_divided_range) return;
      const char* const why = !b.source->count                   ? "each row follows from the one before"
                              : b.source->step                   ? "fractions depend on where they begin"
                                                                 : "its value may hold addresses";
      g_.notes.push_back(b.source->label + " (" + detail::place_of(b.source->where) +
                         "): all rows are made in the first partition: " + why);
    };
    for (const auto& v : g_.vertices)
      for (const branch& b : v->inputs) note(b);
    note(g_.result);
  }
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
    const bool loop = v.node && v.node->what == verb::do_while;
    if (loop && loops_.of(v).divided) {
      place_divided_loop(v, captures);
    } else {
      v.partitions = partitions_of(v, captures);
      lies_[&v] = v.partitions;
      v.captures = bound(captures, v.partitions);
      if (loop) v.notes.push_back("between rounds its rows are in one partition: " + loops_.of(v).why);
    }
    if (!loop) return;
    for (branch* b : {&v.body_result, &v.test_result})
      if (b->table && lies(b->table) > 1 && !(b == &v.body_result && v.variable_partitions > 1)) {
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

  // Its variable stays where the rounds make it; the first partition gets it behind the last one.
  void place_divided_loop(vertex& v, const std::vector<binding>& captures) {
    if (lies(v.body_result.table) == 1) in_one_partition(*v.node, "a round gives them there");
    if (!loops_.of(v).placed && loops_.choose_key(v, g_)) throw place_anew();
    const logical* const by = loops_.of(v).by.get();
    branch& start = v.inputs.front();
    const int from = at_ease(start, captures);
    if (by) by_hash(start, from, *by, by->functions.front(), false, captures, wanted_rows::by_hash);
    else if (from == 1) in_one_partition(*v.node, "they begin there");
    v.captures = bound(captures, options_.partitions);
    v.variable_partitions = options_.partitions;
    lies_[&v] = 1;
    v.notes.push_back("between rounds its rows stay in their partitions" + (by ? ", by the hash of the key of " + by->label : ""));
  }
  [[noreturn]] void in_one_partition(const logical& loop, const char* why) {
    loops_.keep_in_one(loop, why);
    throw place_anew();
  }

  int partitions_of(vertex& v, const std::vector<binding>& captures) {
    if (v.node && v.node->what == verb::take && is_table_in_parts(v.inputs.front())) return first_of_each(v, captures);
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
        v.notes.push_back("rows of one key go to one partition, however many they are: it finds those that have no match");
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
      case verb::concat: return concat(v, captures);
      case verb::partition: return partition(v, captures);
      case verb::apply: return n.all || !divided_.why_in_one(v).empty() ? in_one(v, captures) : at_ease(v.inputs.front(), captures);
      default: return in_one(v, captures);
    }
  }

  // ---------------------------------------------------------------- branches
  // Rows are taken where they lie, and joined there. Returns in how many partitions.
  int at_ease(branch& b, const std::vector<binding>& captures) {
    if (rules::numbers_rows(b)) {
      if (lies(b) > 1) (at_ ? at_->notes : g_.notes).push_back("in one partition: a function takes the numbers of rows");
      one(b, captures, true);
      return 1;
    }
    for (std::size_t i = 0; i < b.stages.size(); ++i) {
      stage& s = b.stages[i];
      if (s.what != stage::kind::probe) continue;
      if (!s.ordered && joins_by_hash(*s.join) && !is_small(*s.build, options_.most_broadcast)) {
        const bool interpreted = s.how == form::interpreted;
        const logical& join = *s.join;
        const auto &probes = join.functions[s.build_left ? 1 : 0], &builds = join.functions[s.build_left ? 0 : 1];
        // Its hash table's rows come first: how many there are may decide how those that probe them are sent.
        branch build = reading_of(s.build);
        by_hash(build, lies(build), join, builds, interpreted, captures, wanted_rows::by_hash);
        if (!stay(b, i, lies(b), join, probes, wanted_rows::by_hash)) {
          const vertex* const as_it_lies = b.stages[i].build;
          branch first = cut_branch(b, i, 0, nullptr);
          const int from = lies(first);  // its own joins have been placed
          by_hash(first, from, join, probes, interpreted, captures, wanted_rows::by_hash);
          b.table = first.table;
          i = 0;
          if (build.table != as_it_lies) may_be_revised(*build.table, *b.table, join);
          else b.table->notes.push_back("rows of one key go to one partition, however many they are: what they look up lies there");
        }
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
    if (const logical* loop = loops_.divided_variable(b)) in_one_partition(*loop, wanted_in_one);
    if (b.table) b.table = gathered(b.table);
    for (stage& s : b.stages)
      if (s.build) s.build = gathered(s.build);
  }
  int in_one(vertex& v, const std::vector<binding>& captures) {
    const bool gathers = std::any_of(v.inputs.begin(), v.inputs.end(), [&](const branch& b) { return lies(b) > 1; });
    const bool told = v.node && v.node->what != verb::do_while && !detail::are_together(*v.node);
    if (gathers && told) v.notes.push_back("in one partition: " + why_in_one(v));
    for (branch& b : v.inputs) one(b, captures, asks(v));
    return 1;
  }
  std::string why_in_one(const vertex& v) const {
    if (const std::string& why = divided_.why_in_one(v); !why.empty()) return why;
    if (asks(v)) return "it reads rows only as far as they are wanted";
    if (!v.node->checkpoint.empty()) return "the first process writes its checkpoint";
    if (v.node->has_own_equality()) return "it compares keys by functions of the user's own";
    return v.ordered ? "as_ordered() was said" : "it wants all rows in their order";
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
  // to_partitions: of the verb, where it makes some; each row goes to where its own lies.
  void by_hash(branch& b, int from, const logical& of, const detail::user_function& key, bool interpreted,
               const std::vector<binding>& captures, wanted_rows wanted, std::size_t to_partitions = 0) {
    if (!to_partitions && stay(b, b.stages.size(), from, of, key, wanted)) return;
    auto n = std::make_shared<logical>();
    n->what = verb::partition;
    n->label = of.label;
    n->row = b.row;
    n->where = of.where;
    n->functions = {key};
    n->key = key.result;
    n->keys = of.keys;
    n->count = static_cast<std::uint64_t>(options_.partitions);
    n->seed = to_partitions;
    n->step = static_cast<std::uint64_t>(partition_way::hash);
    g_.verbs.push_back(n);
    b = reading_of(moved(exchange::hash, std::move(b), from, captures, n.get(), interpreted));
  }

  // The first stages' rows of a branch that runs in `from` partitions: are they where the verb wants them?
  bool stay(const branch& b, std::size_t stages, int from, const logical& of, const detail::user_function& key, wanted_rows wanted) {
    if (from == 1 || of.has_own_equality() || !lie_right(b, stages, key, wanted, at_ && inside_.contains(at_), loops_.keys()))
      return false;
    if (b.table) relied_on_.push_back(b.table);
    (at_ ? at_->notes : g_.notes).push_back(of.label + ": no exchange, rows lie by the hash of its " + std::string(key.role) + " already");
    return true;
  }
  // Not in loops, where one of them may stay for all rounds. `probing` was made last: build comes next to it, as the rows of both are
  // counted before any are sent.
  void may_be_revised(vertex& build, vertex& probing, const logical& join) {
    if (at_ && inside_.contains(at_)) return;
    build.probing = &probing;
    build.sent_for = &join;
    const auto move_to_probing = [](auto& list, const auto& is_build) {
      const auto at = std::find_if(list.begin(), list.end(), is_build);
      std::rotate(at, at + 1, list.end() - 1);
    };
    move_to_probing(g_.vertices, [&](const auto& v) { return v.get() == &build; });
    if (at_) move_to_probing(before_[at_], [&](const vertex* v) { return v == &build; });
  }
  // Not where rows have to lie by the hash of their key for somebody: for a verb of this query, for the next round, or for a query
  // to come that finds them cached.
  void keep_what_is_relied_on() {
    for (const auto& v : g_.vertices)
      if (v->variable_partitions > 1 || (v->node && v->node->what == verb::cached)) relied_on_.push_back(v.get());
    std::unordered_set<const vertex*> all(relied_on_.begin(), relied_on_.end());
    while (!relied_on_.empty()) {
      const vertex& v = *relied_on_.back();
      relied_on_.pop_back();
      each_table_of(v, [&](const vertex& table) {
        if (all.insert(&table).second) relied_on_.push_back(&table);
      });
    }
    for (const auto& v : g_.vertices) {
      if (!v->probing) continue;
      vertex& probing = *v->probing;
      if (all.contains(v.get()) || all.contains(&probing)) {
        probing.notes.push_back("rows of one key go to one partition, however many they are: a later verb wants them there");
        v->probing = nullptr;
        v->sent_for = nullptr;
        continue;
      }
      // Rows of one partition had better be shared by all.
      if (probing.partitions > 1)
        v->notes.push_back("if these rows prove to be small, each partition gets all of them, and those that probe them stay");
      probing.notes.push_back("if a key proves to be heavy, its rows are spread, and each partition gets those that they look up");
    }
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
      b.table->sent_for = v.node;
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
      v.notes.push_back("in one partition: partitions send rows, not their aggregates: " + why);
      one(b, captures, asks(v));
      return 1;
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
  static bool is_table(const branch& b) { return b.table && b.stages.empty() && b.prefilters.empty(); }
  // Of rows that are there: no function is called for rows that nobody wants.
  bool is_table_in_parts(const branch& b) const { return is_table(b) && lies(b) > 1 && options_.can_travel(*b.row); }
  // The first rows of each partition are gathered, and the first of these are the result.
  int first_of_each(vertex& v, const std::vector<binding>& captures) {
    auto first = std::make_unique<vertex>(v);
    first->partitions = options_.partitions;
    first->captures = bound(captures, first->partitions);
    first->notes.push_back("of each partition");
    v.inputs[0] = reading_of(gathered(add(std::move(first))));
    return 1;
  }
  int concat(vertex& v, const std::vector<binding>& captures) {
    const bool all_in_parts = std::all_of(v.inputs.begin(), v.inputs.end(), [&](const branch& b) { return lies(b) > 1; });
    if (!all_in_parts || !any_order_.contains(&v)) return in_one(v, captures);
    for (branch& b : v.inputs) (void)at_ease(b, captures);
    v.notes.push_back("its rows stay where they are: what reads them gives the same in any order");
    return options_.partitions;
  }
  // Rows of windows have to be together, others to be where their partition lies.
  int partition(vertex& v, const std::vector<binding>& captures) {
    branch& b = v.inputs.front();
    if (!divided_.why_in_one(v).empty() || lies(b) == 1) return in_one(v, captures);
    const logical& n = *v.node;
    if (is_of_windows(n)) {
      const logical*& numbers = stage_of_numbers(v)->nodes.back();
      g_.verbs.push_back(std::make_shared<logical>(numbered_apart(*numbers)));
      numbers = g_.verbs.back().get();
      by_hash(b, lies(b), n, n.functions.front(), v.interpreted, captures, wanted_rows::together);
      return options_.partitions;
    }
    const int from = at_ease(b, captures);
    if (from == 1) return 1;
    if (n.functions.empty()) b = reading_of(moved(exchange::range, std::move(b), from, captures, &n));
    else by_hash(b, from, n, n.functions.front(), v.interpreted, captures, wanted_rows::by_hash, planner::partitions_of(n, 0));
    v.notes.push_back("each partition of the cluster has some of its partitions");
    return options_.partitions;
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
    if (detail::asof_of(n)) return false;  // rows that match have different keys
    const ir::type* key = n.functions[0].result;
    if (key != n.functions[1].result) return false;
    // Functions of the user's never see the null of a key.
    return has_hash(n) && !(n.has_own_equality() && key->k == ir::kind::optional);
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
    if (const logical* loop = rows && (way == exchange::gather || way == exchange::broadcast) ? loops_.begins_with_variable(b) : nullptr)
      in_one_partition(*loop, way == exchange::gather ? wanted_in_one : "all partitions look into all of them");
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
    const bool by_fixed_key = made->node && made->node->what == verb::partition && !made->node->functions.empty() &&
                              !made->node->has_own_equality() && is_fixed(made->node->functions.front());
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
    if (options_.how == reading::folded || options_.how == reading::written) {
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

  static constexpr const char* wanted_in_one = "a verb wants all of them in order, or in one partition";

  machine_graph& g_;
  const cluster_options& options_;
  loop_partitions& loops_;
  const divided_partitions divided_;
  const std::unordered_set<const vertex*> any_order_;         // concatenations
  vertex* at_ = nullptr;                                // being placed; null: the result, or the end of a round
  std::unordered_map<const vertex*, int> lies_;               // in how many partitions a table is
  std::unordered_map<const vertex*, const vertex*> inside_;   // the loop around
  std::unordered_map<const vertex*, const void*> list_of_;    // which of its lists
  std::unordered_map<const vertex*, std::vector<vertex*>> before_;
  std::unordered_map<const void*, std::vector<vertex*>> behind_;
  std::unordered_set<const vertex*> asked_for_;
  std::vector<const vertex*> relied_on_;                      // tables whose rows have to lie as the plan says
  std::map<std::tuple<const vertex*, exchange, const void*>, vertex*> moved_;
};

}  // namespace

std::string split_over_partitions(machine_graph& g, const cluster_options& options) {
  if (options.partitions <= 1) return {};
  loop_partitions loops(g, options);
  for (;;) {
    graph_copy split = copy_of(g);
    try {
      splitting(*split.graph, options, loops).split();
      g = std::move(*split.graph);
      return {};
    } catch (const place_anew&) {
    } catch (const cannot_travel& x) {
      std::string why = "rows of " + std::string(x.row->name) + " cannot be sent to others";
      g.notes.push_back("in one partition: " + why);
      return why;
    }
  }
}

}  // namespace query::planner
