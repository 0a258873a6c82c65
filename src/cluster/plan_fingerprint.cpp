// What a query is, as two runs of a program can compare it: verbs and expressions by their structure, functions that do not trace by their
// place in the program and the bytes of what they have captured, sources by their rows, files by name, size and time.
#include <algorithm>
#include <bit>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include <query/detail/asof_options.hpp>
#include <query/broadcast.hpp>
#include <query/detail/failure.hpp>

#include "cluster/closure_image.hpp"
#include "cluster/program.hpp"
#include "cluster/sent_plan.hpp"
#include "data/file_list.hpp"
#include "data/file_source.hpp"
#include "ir/visit.hpp"
#include "planner/cluster_graph.hpp"
#include "runtime/checkpoint.hpp"
#include "runtime/checksum.hpp"
#include "runtime/local_engine.hpp"

namespace query::cluster {

namespace {

using detail::logical;
using detail::verb;

// Do its bytes tell all of a value, and nothing else?
bool is_packed(const ir::type& t) {
  if (ir::is_arithmetic(t.k)) return true;
  if (t.k == ir::kind::array) return is_packed(*t.element);
  if (t.k != ir::kind::record) return false;
  std::size_t bytes = 0;
  for (const ir::field& f : t.fields()) {
    if (!is_packed(*f.of)) return false;
    bytes += f.of->size;
  }
  return bytes == t.size;
}

class hash {
 public:
  void put(std::uint64_t x) {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;
    h_ = std::rotl((h_ ^ x) * odd, 29);
  }
  void put(std::string_view text) {
    put(text.size());
    put(runtime::checksum(text.data(), text.size()));
  }
  std::uint64_t value() const { return h_; }

 private:
  std::uint64_t h_ = 1;
};

class fingerprinting {
 public:
  explicit fingerprinting(runtime::run_context& context) : context_(context) {}

  runtime::fingerprint of(const logical& last) {
    const std::vector<program::module_name> modules = here_.names();
    if (modules.empty() || modules.front().build_id.empty())
      throw detail::unplaced_error("the program has no build id, by which it would be known again: link it with -Wl,--build-id");
    for (const program::module_name& m : modules)
      if (const std::string& path = m.path; !path.starts_with("/lib/") && !path.starts_with("/usr/lib/")) code_.put(m.build_id);
    number_of(&last);
    while (next_ < verbs_.size()) {
      context_.cancel.check();
      const logical& n = *verbs_[next_++];
      try {
        look_at(n);
      } catch (const cannot_travel& e) {
        throw detail::unplaced_error(n.label + " (" + detail::place_of(n.where) + ") cannot be compared with that of another run: " +
                                     e.why);
      }
    }
    return {code_.value(), query_.value(), rows_.value()};
  }

 private:
  // Verbs, loop variables and captured collections are known by when they were met.
  std::uint64_t number_of(const logical* n) {
    const auto [known, first] = numbers_.emplace(n, verbs_.size());
    if (first) verbs_.push_back(n);
    return known->second;
  }
  std::uint64_t number_of_slot(std::uint64_t slot) { return slots_.emplace(slot, slots_.size()).first->second; }

  void look_at(const logical& n) {
    query_.put(static_cast<std::uint64_t>(n.what));
    query_.put(n.label);
    const bool ordered = n.ordered && n.checkpoint.empty();
    for (const std::uint64_t x : {n.count, n.step, n.seed, std::uint64_t{n.all}, std::uint64_t{ordered}, std::uint64_t{n.fast_math},
                                  n.most_rounds, static_cast<std::uint64_t>(n.join)})
      query_.put(x);
    if (const asof_options* known = detail::asof_of(n)) {
      asof_options asof = *known;
      query_.put(std::uint64_t{asof.exact} << 2 | static_cast<std::uint64_t>(asof.direction));
      asof.tolerance.each_part([&](auto x) {
        if constexpr (std::is_floating_point_v<decltype(x)>) query_.put(std::bit_cast<std::uint64_t>(x));
        else query_.put(std::uint64_t{x});
      });
    }
    for (const std::uint64_t slot : {n.slot, n.previous_slot, n.next_slot}) query_.put(slot ? number_of_slot(slot) + 1 : 0);
    for (const detail::order_key& k : n.order) query_.put(std::uint64_t{k.descending} * 2 + std::uint64_t{k.nulls_first});
    type(n.row);
    type(n.key);
    for (const detail::pipe& p : n.inputs) query_.put(number_of(p.node.get()));
    for (const detail::user_function& f : n.functions) function(f);
    source(n);
  }
  void type(const ir::type* t) {
    query_.put(std::uint64_t{t != nullptr});
    if (!t) return;
    query_.put(static_cast<std::uint64_t>(t->k));
    query_.put(t->name);
    query_.put(t->size);
    query_.put(t->field_list.size());
  }

  void function(const detail::user_function& f) {
    query_.put(f.role);
    detail::capture_recorder recorder;
    const ir::traced trace = f.trace();
    for (const auto& c : f.captures) captured(*c);
    for (const auto& c : recorder.found()) captured(*c);
    if (trace.root) return expression(trace.root);
    if (!f.f) return;
    if (!f.form) throw cannot_travel{"its function was made by the library"};
    address(reinterpret_cast<std::uintptr_t>(f.form));
    const closure_image image = image_of(f.f.get(), *f.form, f.captures, here_, memory_);
    query_.put(std::string_view(reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size()));
    for (const auto& a : image.addresses) query_.put(a.place.offset);
  }
  void address(std::uintptr_t at) {
    const auto found = here_.find(at);
    if (!found) throw cannot_travel{"its function is in no module with a build id"};
    code_.put(here_.names().at(found->place.module).build_id);
    query_.put(found->place.offset);
  }
  void expression(const ir::node* root) {
    std::unordered_map<const ir::node*, std::uint64_t> known;
    ir::each_node(root, [&](const ir::node* n) {
      known.emplace(n, known.size());
      query_.put(static_cast<std::uint64_t>(n->what));
      query_.put(std::uint64_t{n->id});
      query_.put(n->what == ir::op::collection ? number_of_slot(n->bits) : n->bits);
      query_.put(n->text);
      type(n->type);
      for (const ir::node* k : n->kids) query_.put(known.at(k));
    });
  }
  void captured(const detail::capture& c) {
    const bool first = !slots_.contains(c.slot);
    query_.put(number_of_slot(c.slot));
    if (!first) return;
    if (c.plan) {
      query_.put(number_of(static_cast<const detail::pipe*>(c.plan.get())->node.get()));
    } else if (c.owner) {
      detail::table t;
      t.rows = c.data;
      t.n = c.size;
      t.type = c.element;
      table(t);
    }
  }

  void source(const logical& n) {
    switch (n.what) {
      case verb::source_rows:
      case verb::source_columns: {
        if (n.options || !n.view) throw cannot_travel{"its rows are Arrow data, which are not compared"};
        detail::row_block whole;
        n.view(n.source.get(), whole);
        for (const detail::table& t : parts_of(n, 0, whole.n)) table(t);
        break;
      }
      case verb::source_stream:
        if (!planner::is_range(n)) throw cannot_travel{"its rows come from a function, which are not compared"};
        rows_.put(std::string_view(static_cast<const char*>(n.source.get()), n.row->size));  // the first; bytes behind it are any
        break;
      case verb::source_file: {
        const auto& file = *static_cast<const data::file_source*>(n.options.get());
        for (const char c : {file.options.delimiter, file.options.quote}) query_.put(static_cast<std::uint64_t>(c));
        for (const bool b : {file.options.header, file.options.trim}) query_.put(std::uint64_t{b});
        query_.put(static_cast<std::uint64_t>(file.options.on_error) << 1 | static_cast<std::uint64_t>(file.unknown));
        query_.put(file.options.file_name_in);
        query_.put(file.options.null_text);
        query_.put(file.options.time_format);
        for (const csv_column& c : file.options.columns) {
          query_.put(c.field);
          query_.put(c.column);
        }
        query_.put(static_cast<std::uint64_t>(file.format));
        for (const std::string& path : file.paths)
          rows_.put((file.folder.empty() ? std::filesystem::absolute(path) : std::filesystem::path(file.folder) / path).string());
        const data::file_state state = data::state_of(file);
        rows_.put(state.bytes);
        rows_.put(static_cast<std::uint64_t>(state.changed_at));
        break;
      }
      default: break;
    }
  }
  void table(const detail::table& t) {
    rows_.put(t.n);
    const bool packed = is_packed(*t.type);
    constexpr std::size_t at_once = std::size_t{4} << 20;
    const std::size_t step = std::max<std::size_t>(at_once / t.type->size, 1);
    for (std::size_t i = 0; i < t.n; i += step) {
      context_.cancel.check();
      detail::table some = t;
      some.rows = static_cast<const std::byte*>(t.rows) + i * t.type->size;
      some.n = std::min(step, t.n - i);
      if (packed) {
        rows_.put(std::string_view(static_cast<const char*>(some.rows), some.n * t.type->size));
        continue;
      }
      for (const runtime::row_page& p : context_.local->pages_of(some, context_))
        rows_.put(std::string_view(p.bytes.as<const char>(), p.bytes.size()));
    }
  }

  runtime::run_context& context_;
  const program here_;
  const mapped_memory memory_;
  hash code_, query_, rows_;
  std::unordered_map<const logical*, std::uint64_t> numbers_;
  std::unordered_map<std::uint64_t, std::uint64_t> slots_;
  std::vector<const logical*> verbs_;
  std::size_t next_ = 0;
};

}  // namespace

}  // namespace query::cluster

namespace query::runtime {

fingerprint fingerprint_of(const detail::logical& n, run_context& context) { return query::cluster::fingerprinting(context).of(n); }

}  // namespace query::runtime
