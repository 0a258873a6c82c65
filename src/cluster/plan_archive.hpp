// Writes and reads the fields of a plan with the same lines of code, so that the two cannot differ.
//
//   plan_archive<true> to(graph, here);    to.graph();      // bytes
//   plan_archive<false> from(bytes, here, plan); from.graph();
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <query/detail/asof_options.hpp>

#include "cluster/bytes.hpp"
#include "cluster/sent_plan.hpp"
#include "data/file_source.hpp"
#include "ir/serialise.hpp"
#include "ir/visit.hpp"
#include "planner/cluster_graph.hpp"
#include "planner/expression_function.hpp"
#include "planner/interpretation.hpp"

namespace query::cluster {

template <bool Writes> class plan_archive {
 public:
  plan_archive(const planner::machine_graph& g, const program& here, const planner::function_set& by_expression) requires Writes
      : here_(&here), by_expression_(&by_expression) {
    for (const auto& v : g.vertices) vertex_numbers_.emplace(v.get(), vertex_numbers_.size());
  }
  plan_archive(std::span<const std::byte> bytes, const program& here, received_plan& plan, kept_of_plans& kept) requires(!Writes)
      : here_(&here), from_(bytes), plan_(&plan), kept_(&kept) {}

  // ---------------------------------------------------------------- plain values
  template <class T> requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void value(T& x) {
    if constexpr (Writes) to_.put(x);
    else if constexpr (std::is_same_v<T, bool>) x = from_.get<std::uint8_t>() != 0;
    else x = from_.get<T>();
  }
  template <class... T> void values(T&... x) { (value(x), ...); }
  void text(std::string& s) {
    if constexpr (Writes) to_.put_text(s);
    else s = from_.get_text();
  }
  void text(std::string_view& s) {
    if constexpr (Writes) to_.put_text(s);
    else s = plan_->texts.emplace_back(from_.get_text());
  }
  void place(detail::call_site& c) {
    std::string_view file = c.file;
    text(file);
    c.file = file.data();
    value(c.line);
  }
  // Writes or reads the number of elements, and returns pointers to them. Replaces list() for members of structured bindings, which lambdas
  // cannot capture.
  template <class T> std::vector<T*> counted(std::vector<T>& all) {
    std::uint64_t n = all.size();
    value(n);
    if constexpr (!Writes) {
      if (n > from_.left()) throw cluster_error("cluster: a plan has more entries than bytes");
      all.resize(n);
    }
    std::vector<T*> each;
    for (T& x : all) each.push_back(&x);
    return each;
  }
  template <class T, class F> void list(std::vector<T>& all, const F& each) {
    for (T* x : counted(all)) each(*x);
  }
  template <class T, class F> void list(detail::grown_list<T>& all, const F& each) {
    std::vector<T> own(all.begin(), all.end());
    list(own, each);
    all.clear();
    for (T& x : own) all.push_back(std::move(x));
  }
  void list(std::vector<bool>& all) {
    std::vector<std::uint8_t> bytes(all.begin(), all.end());
    list(bytes, [&](std::uint8_t& b) { value(b); });
    all.assign(bytes.begin(), bytes.end());
  }
  void list(std::vector<std::uint64_t>& all) {
    list(all, [&](std::uint64_t& x) { value(x); });
  }
  // Whether something is present. When a plan is written, `there` says so; when it is read, the bytes do.
  bool present(bool there) {
    value(there);
    return there;
  }

  // ---------------------------------------------------------------- the program
  void address(std::uintptr_t& at, program::part in) {
    code_place p;
    if (!present(at != 0)) return at = 0, void();
    if constexpr (Writes) {
      const auto found = here_->find(at);
      if (!found || found->in != in) throw cannot_travel{"it calls what is in no module with a build id (-Wl,--build-id)"};
      p = found->place;
    }
    values(p.module, p.offset);
    if constexpr (!Writes) at = reinterpret_cast<std::uintptr_t>(here_->address_of(p, in));
  }
  template <class R, class... A> void code(R (*&f)(A...)) {
    auto at = reinterpret_cast<std::uintptr_t>(f);
    address(at, program::part::code);
    f = reinterpret_cast<R (*)(A...)>(at);
  }
  void type(const ir::type*& t) {
    if (!present(t != nullptr)) return t = nullptr, void();
    std::uint64_t number = types_.size();
    if constexpr (Writes) {
      const auto [known, first] = type_numbers_.emplace(t, number);
      number = known->second;
      if (first) types_.push_back(t);
      value(number);
      if (first) own_type(t);
    } else {
      value(number);
      if (number == types_.size()) {
        const ir::type* own = nullptr;
        own_type(own);
        types_.push_back(own);
      }
      if (number >= types_.size()) throw cluster_error("cluster: a type is not there");
      t = types_[number];
    }
  }
  void expression(ir::traced& t) {
    if (!present(t.root != nullptr)) return;
    std::vector<const ir::type*> types;
    if constexpr (Writes) types = types_in(t.root);
    list(types, [&](const ir::type*& x) { type(x); });
    if constexpr (Writes) {
      const auto bytes = ir::serialise_nodes(t.root, types);
      to_.put(std::uint64_t{bytes.size()});
      to_.put_raw(bytes.data(), bytes.size());
    } else {
      t.owner = std::make_shared<ir::arena>();
      t.root = ir::deserialise_nodes(from_.get_raw(from_.get_count(1)), *t.owner, types);
    }
  }

  // ---------------------------------------------------------------- functions
  void capture(std::shared_ptr<const detail::capture>& c) {
    std::uint64_t slot = c ? c->slot : 0;
    value(slot);
    if constexpr (Writes) {
      if (!known_captures_.emplace(slot, c).second) return;
    } else if (const auto known = known_captures_.find(slot); known != known_captures_.end()) {
      c = known->second;
      return;
    }
    const ir::type* element = c ? c->element : nullptr;
    type(element);
    const bool rows = present(c && c->owner);
    if constexpr (Writes) {
      if (rows) captured.push_back(c);
    } else {
      auto made = std::make_shared<detail::capture>();
      made->slot = slot;
      made->element = element;
      if (rows) plan_->captured.push_back(made);
      known_captures_.emplace(slot, made);
      c = made;
    }
  }
  detail::user_function expression_function(const detail::user_function& f) requires(!Writes) {
    ir::traced own;
    expression(own);
    if (!own.root || !f.result || !f.row || !ir::same_layout(*own.root->type, *f.result))
      throw cluster_error("cluster: an expression is damaged");
    return planner::function_of(f.role, std::move(own), f.row, f.result);
  }
  void image(closure_image& i) {
    std::uint64_t n = i.bytes.size();
    value(n);
    if constexpr (Writes) {
      to_.put_raw(i.bytes.data(), n);
    } else {
      const auto bytes = from_.get_raw(n);
      i.bytes.assign(bytes.begin(), bytes.end());
    }
    list(i.captures, [&](closure_image::cut_capture& c) { values(c.offset, c.capture); });
    list(i.addresses, [&](closure_image::cut_address& a) { values(a.offset, a.in, a.place.module, a.place.offset); });
  }
  void function(detail::user_function& f) {
    const bool alone = Writes && is_alone(f);
    if (alone) f.captures = planner::captures_of(f);  // including those by reference
    text(f.role);
    type(f.row);
    type(f.result);
    list(f.captures, [&](auto& c) { capture(c); });
    ir::traced own;  // of a function without code
    if constexpr (Writes)
      if (const ir::traced* e = planner::expression_of(f)) own = *e;
    if (present(own.root != nullptr)) {
      if constexpr (Writes) expression(own);
      else f = expression_function(f);
      return;
    }
    code(f.native.map);
    code(f.native.filter);
    code(f.native.map_pairs);
    code(f.native.expand);
    if (present(alone)) return expression_alone(f);
    code(f.retrace);
    if (!present(f.f != nullptr)) return;
    if constexpr (Writes) {
      try {
        closure(f);
      } catch (const cannot_travel& e) {
        leave(f, verb_, e.why);
      }
    } else {
      closure(f);
    }
  }
  void closure(detail::user_function& f) {
    auto form = reinterpret_cast<std::uintptr_t>(f.form);
    if (Writes && !form) throw cannot_travel{"its function was made by the library"};
    address(form, program::part::constant);
    f.form = reinterpret_cast<const detail::closure_form*>(form);
    closure_image bytes;
    if constexpr (Writes) bytes = image_of(f.f.get(), *f.form, f.captures, *here_, memory_);
    image(bytes);
    if constexpr (!Writes) {
      if (bytes.bytes.size() != f.form->size) throw cluster_error("cluster: a closure has another size in this process");
      f.f = object_of(bytes, *f.form, f.captures, *here_);
    }
  }
  // Whether the closure cannot travel, and its expression runs instead.
  bool is_alone(const detail::user_function& f) const { return by_expression_ && by_expression_->contains(f.f.get()); }
  void expression_alone(detail::user_function& f) {
    ir::traced own;
    if constexpr (Writes) own = f.trace();
    expression(own);
    if constexpr (Writes) return;
    if (!own.root) throw cluster_error("cluster: an expression is damaged");
    f = planner::without_code(std::move(f), std::move(own));
  }
  // Notes a function that cannot travel. Writing goes on, so that all such functions are found at once.
  void leave(const detail::user_function& f, const detail::logical* verb, const std::string& why) {
    left.push_back({{why}, verb, f.f.get()});
  }
  std::vector<verb_stays> left;

  // ---------------------------------------------------------------- verbs
  void verb(const detail::logical*& n) {
    if (!present(n != nullptr)) return n = nullptr, void();
    std::uint64_t number = 0;
    if constexpr (Writes) {
      const auto [known, first] = verb_numbers_.emplace(n, verb_numbers_.size());
      value(number = known->second);
      if (!first) return;
      try {
        const detail::logical* const outer = std::exchange(verb_, n);
        auto copy = std::make_shared<detail::logical>(*n);
        fields(*copy);
        verb_ = outer;
      } catch (const cannot_travel& e) {
        throw verb_stays{{e.why}, n};
      }
    } else {
      value(number);
      if (number > plan_->verbs.size()) throw cluster_error("cluster: a verb is not there");
      if (number == plan_->verbs.size()) {
        plan_->verbs.push_back(std::make_shared<detail::logical>());
        fields(*plan_->verbs.back());
      }
      n = plan_->verbs[number].get();
    }
  }

 private:
  static std::vector<const ir::type*> types_in(const ir::node* root);

  void own_type(const ir::type*& t) {
    using describe = const ir::type* (*)();
    describe own = t ? t->own : nullptr;
    if (Writes && !own && t->k == ir::kind::record) throw cannot_travel{"its rows have columns that were chosen when the program ran"};
    code(own);
    if (own) {
      if constexpr (!Writes) t = own();
      return;
    }
    if constexpr (Writes) {
      const auto bytes = ir::serialise(t);
      to_.put(std::uint64_t{bytes.size()});
      to_.put_raw(bytes.data(), bytes.size());
    } else {
      t = ir::deserialise_type(from_.get_raw(from_.get_count(1)), kept_->types);
    }
  }

  void fields(detail::logical& n) {
    value(n.what);
    text(n.label);
    text(n.part);
    list(n.inputs, [&](detail::pipe& p) { input(p); });
    type(n.row);
    std::size_t number = 0;
    list(n.functions, [&](detail::user_function& f) {
      function(f);
      std::uint64_t shape = 0;
      if constexpr (Writes)
        if (const ir::traced t = f.trace(); t.root) shape = t.root->shape;
      value(shape);
      if constexpr (!Writes)
        if (!f.held) plan_->functions.push_back({plan_->verbs.size() - 1, number, shape});
      ++number;
    });
    if (Writes && !n.functions.empty() && is_alone(n.functions.back())) n.aggregate = {};
    place(n.where);
    text(n.name);
    values(n.ordered, n.states_own_memory);
    type(n.key);
    detail::aggregate_calls& a = n.aggregate;
    values(a.state_size, a.state_align, a.state_owns);
    code(a.record);
    code(a.init);
    code(a.destroy);
    code(a.relocate);
    code(a.update);
    code(a.update_known);
    code(a.update_fields);
    code(a.merge);
    code(a.finish);
    if (Writes && (n.keys.equal || n.has_own_order())) throw cannot_travel{"it compares keys by functions of the user's own"};
    list(n.order, [&](detail::order_key& k) {
      values(k.descending, k.nulls_first);
      text(k.verb);
      place(k.where);
    });
    value(n.join);
    if (const asof_options* known = detail::asof_of(n); present(known != nullptr)) {
      asof_options asof = known ? *known : asof_options();
      values(asof.direction, asof.exact);
      asof.tolerance.each_part([&](auto& x) { value(x); });
      n.options = std::make_shared<const asof_options>(asof);
    }
    values(n.count, n.step, n.seed, n.all);
    code(n.rows_call);
    if (n.what == detail::verb::source_file) file(n);
    if (n.what == detail::verb::source_stream) generated(n);
    if (n.what == detail::verb::group_join) {  // the type of the lists of matches
      const auto* lists = static_cast<const ir::type*>(n.source.get());
      type(lists);
      n.source = std::shared_ptr<const void>(std::shared_ptr<const void>(), lists);
    }
    values(n.slot, n.previous_slot, n.next_slot, n.most_rounds);
    code(n.loop_test);
  }
  void generated(detail::logical& n) {
    if (Writes && !planner::is_made_in_parts(n)) throw cannot_travel{"its rows come from a function"};
    code(n.open);
    if (planner::is_repeat(n)) return repeated(n);
    auto bytes = std::make_shared<std::array<std::uint64_t, planner::range_bytes / sizeof(std::uint64_t)>>();
    if constexpr (Writes) std::memcpy(bytes->data(), n.source.get(), planner::range_bytes);
    for (std::uint64_t& word : *bytes) value(word);
    if constexpr (!Writes) n.source = bytes;
  }
  void repeated(detail::logical& n) {
    const std::size_t count = planner::repeat_count_offset(n.row->size);
    const std::align_val_t align{std::max(n.row->align, alignof(std::uint64_t))};
    const auto* from = static_cast<const std::byte*>(n.source.get());
    std::shared_ptr<std::byte> made;
    if constexpr (!Writes) {
      made = {static_cast<std::byte*>(::operator new(count + sizeof(std::uint64_t), align)),
              [align](std::byte* p) { ::operator delete(p, align); }};
      from = made.get();
    }
    for (std::size_t i = 0; i < n.row->size; ++i) {
      std::byte b = Writes ? from[i] : std::byte{};
      value(b);
      if constexpr (!Writes) made.get()[i] = b;
    }
    if constexpr (!Writes) {
      std::memcpy(made.get() + count, &n.count, sizeof n.count);
      n.source = made;
    }
  }
  // Sends the folder of relative paths, because other processes may have another working directory.
  void file(detail::logical& n) {
    data::file_source f;
    if constexpr (Writes) {
      f = *static_cast<const data::file_source*>(n.options.get());
      if (f.folder.empty()) f.folder = std::filesystem::current_path().string();
    }
    csv_options& o = f.options;
    list(f.paths, [&](std::string& path) { text(path); });
    value(f.format);
    values(o.delimiter, o.header, o.quote, o.trim);
    value(o.on_error);
    value(f.unknown);
    text(f.folder);
    text(o.file_name_in);
    text(o.null_text);
    text(o.time_format);
    list(o.columns, [&](csv_column& c) {
      text(c.field);
      text(c.column);
    });
    list(f.wanted_rows, [&](std::vector<data::row_test>& all) {
      list(all, [&](data::row_test& t) {
        text(t.field);
        values(t.how, t.value.what, t.value.bits);
        text(t.value.text);
      });
    });
    if constexpr (!Writes) n.options = std::make_shared<const data::file_source>(std::move(f));
  }
  // Other processes know only the row type of a verb's inputs.
  void input(detail::pipe& p) {
    const ir::type* row = Writes ? (p.native ? p.native->out : p.node->row) : nullptr;
    type(row);
    if constexpr (!Writes) {
      auto stub = std::make_shared<detail::logical>();
      stub->row = row;
      p.node = stub;
    }
  }

 public:
  // ---------------------------------------------------------------- vertices
  void vertex(planner::vertex*& v) {
    if (!present(v != nullptr)) return v = nullptr, void();
    std::uint64_t number = 0;
    if constexpr (Writes) number = vertex_numbers_.at(v);
    value(number);
    if constexpr (!Writes) {
      if (number >= plan_->graph->vertices.size()) throw cluster_error("cluster: a vertex is not there");
      v = plan_->graph->vertices[number].get();
    }
  }
  void bindings(std::vector<planner::binding>& all) {
    list(all, [&](planner::binding& b) {
      value(b.slot);
      vertex(b.table);
    });
  }
  void branch(planner::branch& b, bool divided) {
    auto& [source, table, prefilters, stages, wanted, row, number, part_of, by_field] = b;
    verb(source);
    if (source && divided && std::find(sources.begin(), sources.end(), source) == sources.end()) {
      sources.push_back(source);
      if constexpr (!Writes) plan_->sources.emplace_back(const_cast<detail::logical&>(*source));  // one of plan_->verbs
    }
    vertex(table);
    for (planner::prefilter* f : counted(prefilters)) prefilter(*f);
    for (planner::stage* x : counted(stages)) stage(*x);
    list(wanted);
    type(row);
    value(number);
    value(by_field);
  }
  std::vector<const detail::logical*> sources;
  std::vector<std::shared_ptr<const detail::capture>> captured;

  // divided: whether each partition has a part of the rows of a branch that begins with a source.
  template <class Divided> void graph(planner::machine_graph& g, const Divided& divided) {
    std::uint64_t n = g.vertices.size();
    value(n);
    if constexpr (!Writes) {
      if (n > from_.left()) throw cluster_error("cluster: a plan has more vertices than bytes");
      for (std::uint64_t i = 0; i < n; ++i) g.vertices.push_back(std::make_unique<planner::vertex>());
    }
    for (auto& v : g.vertices) {
      values(v->partitions, v->variable_partitions);
      std::uint8_t way = v->moves ? static_cast<std::uint8_t>(*v->moves) + 1 : 0;
      value(way);
      if (way) v->moves = static_cast<planner::exchange>(way - 1);
      if (v->partitions == 1) {
        if constexpr (Writes) {
          const ir::type* row = v->row();
          type(row);
        } else {
          auto stub = std::make_shared<detail::logical>();
          type(stub->row);
          g.verbs.push_back(stub);
          v->node = stub.get();
        }
        if (v->variable_partitions > 1) loop(*v, divided);
        continue;
      }
      if constexpr (Writes) {
        planner::vertex copy(*v);
        fields(copy, divided);
      } else {
        fields(*v, divided);
      }
    }
    values(g.partitions, g.result_partitions);
    text(g.terminal);
    if (g.result_partitions == 1) return;
    if constexpr (Writes) {
      planner::branch copy = g.result;
      own_branch(copy, divided);
      std::vector<planner::binding> captures = g.captures;
      bindings(captures);
    } else {
      own_branch(g.result, divided);
      bindings(g.captures);
    }
  }

  byte_writer to_;

 private:
  // The structured bindings name every member of a vertex, a branch and a stage, so a new member does not compile before it is decided
  // whether it is sent. Not sent are notes for explain(), engines other than the CPU, loops, and forms, which complete() chooses again.
  template <class Divided> void fields(planner::vertex& v, const Divided& divided) {
    auto& [node, inputs, captures, engine, why, expected, shares, limit, slots, accelerated, ordered, interpreted, streamed, may_stream,
           over_columns, in_place, kept_if_it_fits, partitions, variable_partitions, moves, probing, sent_for, cut_off, group_function,
           gives_columns, wanted, notes, body, test, body_result, test_result, kept_for_rounds, number, ran, observed, folds] = v;
    verb(node);
    for (planner::branch* b : counted(inputs)) own_branch(*b, divided);
    bindings(captures);
    values(limit, accelerated, ordered, interpreted, streamed, may_stream, kept_if_it_fits, cut_off);
    list(slots);
    list(wanted);
    value(number);
    if (present(group_function != nullptr))
      if constexpr (!Writes) {
        if (!v.node || v.node->functions.empty()) throw cluster_error("cluster: groups have no function");
        plan_->groups_by_expressions.push_back(&v);
      }
    if (Writes && (engine != "cpu" || !body.empty())) throw cannot_travel{"it runs on another engine, or is a loop, in several partitions"};
  }
  // The part of a loop that partitions run if they hold the loop's variable.
  template <class Divided> void loop(planner::vertex& v, const Divided& divided) {
    auto known = std::make_shared<detail::logical>();
    known->row = v.node->row;
    known->what = detail::verb::do_while;
    if constexpr (Writes) {
      known->slot = v.node->slot;
      known->previous_slot = v.node->previous_slot;
      known->next_slot = v.node->next_slot;
    }
    values(known->slot, known->previous_slot, known->next_slot);
    planner::vertex all;
    planner::vertex& to = Writes ? all : v;
    if constexpr (Writes) {
      all.inputs = v.inputs;
      all.captures = v.captures;
      all.body_result = v.body_result;
    }
    for (planner::branch* b : counted(to.inputs)) own_branch(*b, divided);
    bindings(to.captures);
    vertex(to.body_result.table);
    type(to.body_result.row);
    if constexpr (!Writes) {
      plan_->graph->verbs.push_back(known);
      v.node = known.get();
    }
  }
  template <class Divided> void own_branch(planner::branch& b, const Divided& divided) {
    bool own_part = Writes && divided(b);
    value(own_part);
    branch(b, own_part);
  }
  void prefilter(planner::prefilter& f) {
    verb(f.from);
    const bool compiled = present(f.function != nullptr);
    if (compiled) {
      if (Writes && (!f.from || f.from->functions.empty() || f.function != &f.from->functions.front()))
        throw cannot_travel{"its test is no function of its verb"};
      if (!f.from || f.from->functions.empty()) throw cluster_error("cluster: a test has no function");
      f.function = &f.from->functions.front();
    }
    expression(f.expression);
    value(f.interpreted);
  }
  void stage(planner::stage& s) {
    auto& [what, native, nodes, how, speculate, fold, join, build, build_left, any_order, ordered, checks, native_because, in, out] = s;
    value(what);
    for (const detail::logical** n : counted(nodes)) verb(*n);
    values(how, speculate, build_left, any_order, ordered, checks);
    verb(join);
    vertex(build);
    for (std::string* why : counted(native_because)) text(*why);
    type(in);
    type(out);
    try {
      segment(s);
    } catch (const cannot_travel& e) {
      throw verb_stays{{e.why}, s.nodes.empty() ? nullptr : s.nodes.back()};
    }
  }
  void segment(planner::stage& s);

  const program* here_;
  const planner::function_set* by_expression_ = nullptr;
  const detail::logical* verb_ = nullptr;  // being written
  byte_reader from_{{}};
  received_plan* plan_ = nullptr;
  kept_of_plans* kept_ = nullptr;
  mapped_memory memory_;
  std::unordered_map<const planner::vertex*, std::uint64_t> vertex_numbers_;
  std::unordered_map<const detail::logical*, std::uint64_t> verb_numbers_;
  std::unordered_map<const ir::type*, std::uint64_t> type_numbers_;
  std::vector<const ir::type*> types_;
  std::unordered_map<std::uint64_t, std::shared_ptr<const detail::capture>> known_captures_;
};

// ---------------------------------------------------------------- compiled loops
template <bool Writes> void plan_archive<Writes>::segment(planner::stage& s) {
  // If one of the functions travels as an expression alone, the compiled loop over all of them cannot be used.
  bool apart = false;
  for (const detail::logical* n : s.nodes)
    for (const detail::user_function& f : n->functions) apart = apart || (Writes && is_alone(f));
  if (apart && s.how != planner::form::interpreted) throw internal_error("cluster: a loop would call a function that is not there");
  if (!present(s.native != nullptr && !apart)) return;
  capture_list captures;
  for (const detail::logical* n : s.nodes) {
    if (!n) throw cluster_error("cluster: a loop has no verb");
    for (const detail::user_function& f : n->functions) captures.insert(captures.end(), f.captures.begin(), f.captures.end());
  }
  const detail::user_function* const only = s.nodes.size() == 1 && s.nodes[0]->functions.size() == 1 ? &s.nodes[0]->functions[0] : nullptr;
  const bool by_expression = Writes && only && planner::expression_of(*only) && s.native->chain == only->f;
  if (present(by_expression)) {
    if constexpr (Writes) return;
    if (!only || !planner::expression_of(*only)) throw cluster_error("cluster: a loop is damaged");
    s.native = planner::segment_of({}, *only);
    return;
  }
  const ir::type *in = nullptr, *out = nullptr;
  std::uintptr_t form = 0;
  closure_image bytes;
  if constexpr (Writes) {
    in = s.native->in, out = s.native->out;
    form = reinterpret_cast<std::uintptr_t>(&s.native->form);
    try {
      bytes = image_of(s.native->chain.get(), s.native->form.chain, captures, *here_, memory_);
    } catch (const cannot_travel& e) {
      if (!left.empty()) return;  // one of its functions is already noted
      for (const detail::logical* n : s.nodes)
        for (const detail::user_function& f : n->functions) leave(f, n, e.why);
    }
  }
  type(in);
  type(out);
  address(form, program::part::constant);
  image(bytes);
  if constexpr (!Writes) {
    if (!form) throw cluster_error("cluster: a loop is damaged");
    const auto& loops = *reinterpret_cast<const detail::segment_form*>(form);
    if (bytes.bytes.size() != loops.chain.size) throw cluster_error("cluster: a loop is damaged");
    s.native = std::make_shared<const detail::segment>(detail::pipe{}, in, out, loops, object_of(bytes, loops.chain, captures, *here_));
  }
}

}  // namespace query::cluster
