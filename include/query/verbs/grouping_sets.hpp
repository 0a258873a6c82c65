// Groups by several sets of keys at once: rollup, cube and grouping_sets, for group_by, count_by and aggregate_by.
//
//   sales.group_by(query::rollup(year, month)).select([](auto g) { return std::pair(g.key(), g.sum(amount)); })
//
// gives the groups of each year and month, then those of each year, then one of all rows. Each set is a group_by of its own over the
// same rows, and concat puts their results side by side: every aggregate of every level is, to the last bit, what group_by by that set
// gives. Like SQL's GROUP BY ROLLUP, CUBE and GROUPING SETS.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <query/detail/key_sets.hpp>
#include <query/function.hpp>
#include <query/group.hpp>
#include <query/verbs/breaker.hpp>

namespace query {

namespace detail {

// The keys of a set, as a function of the row: those that the set leaves out have the value that their type begins with, the same for all
// rows. Groups are made of them, as numbers are found faster than std::optionals of numbers; functions of groups see the latter.
template <class... F> struct key_of_set {
  std::tuple<F...> keys;
  std::uint32_t in_set;

  template <class R> requires(is_callable<const F&, const R&> && ...)
  auto operator()(const R& row) const { return parts(row, std::index_sequence_for<F...>{}); }

 private:
  // Text that lies in the row is not copied.
  template <class X> using part_t = std::conditional_t<std::is_lvalue_reference_v<X> && std::is_same_v<std::remove_cvref_t<X>, std::string>,
                                                       std::string_view, std::remove_cvref_t<X>>;
  template <class R, std::size_t... I> auto parts(const R& row, std::index_sequence<I...>) const {
    return std::tuple(part<I>(row)...);
  }
  template <std::size_t I, class R> auto part(const R& row) const {
    const auto& key = std::get<I>(keys);
    using X = part_t<decltype(key(row))>;
    using V = std::conditional_t<std::is_default_constructible_v<X>, X, stored_t<X>>;
    if ((in_set >> I & 1u) != 0) return V(as_stored<V>(key(row)));
    if constexpr (std::is_default_constructible_v<V>) return V();
    else ir::give_up("a list is a key that is left out");
  }
};
template <class... F>
using key_of_set_t = std::conditional_t<(wrapper<F>::opaque || ...), opaque_function<key_of_set<F...>>, key_of_set<F...>>;

}  // namespace detail

// Keys and the sets of them to group by: what rollup, cube and grouping_sets make.
template <class... F> class key_sets {
  static_assert(sizeof...(F) > 0, "query: rollup, cube, grouping_sets: the keys are missing: rollup([](auto t) { return t.year; }, ...)");
  static_assert(sizeof...(F) <= 16, "query: rollup, cube, grouping_sets: at most 16 keys");

 public:
  key_sets(detail::key_numbers sets, F... keys) : sets_(std::move(sets)), keys_(std::move(keys)...) {}
  // Bit i of a set: key i is in it.
  std::vector<std::uint32_t> sets(const char* verb, detail::call_site at) const {
    return detail::sets_of_bits(sets_, sizeof...(F), verb, at);
  }
  // The function of the row that gives the key of a set.
  detail::key_of_set_t<F...> key_of(std::uint32_t set) const {
    return detail::key_of_set_t<F...>(detail::key_of_set<F...>{keys_, set});
  }

 private:
  detail::key_numbers sets_;
  std::tuple<F...> keys_;
};

// By all keys, then by all but the last, and so on to no key, whose group is all rows: subtotals of a hierarchy.
template <class... F> key_sets<F...> rollup(F... keys) { return {detail::rollup_sets(sizeof...(F)), std::move(keys)...}; }

// By every set of the keys: all of them first, no key last; sets with the first key come before those without. 2^n sets of n keys.
template <class... F> key_sets<F...> cube(F... keys) {
  static_assert(sizeof...(F) <= 12, "query: cube: at most 12 keys, which are 4096 sets; name the sets that you need by grouping_sets");
  return {detail::cube_sets(sizeof...(F)), std::move(keys)...};
}

// By the sets that are named by the numbers of their keys, from 0, in that order: grouping_sets({{0, 1}, {1}, {}}, year, shop).
template <class... F> key_sets<F...> grouping_sets(std::initializer_list<std::initializer_list<int>> sets, F... keys) {
  return {detail::key_numbers(sets.begin(), sets.end()), std::move(keys)...};
}

namespace agg {

// The key of a group of a set as the function of the group sees it. G: recorder, traced_group.
struct part_of_set {
  bool there;
  template <class Part> std::optional<Part> operator()(const Part& p) const { return there ? std::optional<Part>(p) : std::nullopt; }
};
template <class G, class... Part> struct group_of_set : G {
  std::uint32_t in_set;
  auto key() const { return parts(G::key(), std::index_sequence_for<Part...>{}); }

 private:
  template <class K, std::size_t... I> auto parts(const K& key, std::index_sequence<I...>) const {
    return std::tuple(part<Part>(std::get<I>(key), (in_set >> I & 1u) != 0)...);
  }
  template <class Plain, class X> static auto part(const X& x, bool there) {
    if constexpr (detail::deferred<X>) {
      return make_apply(part_of_set{there}, x);
    } else {
      const ir::type* t = ir::describe<std::optional<Plain>>();
      auto& a = ir::current_arena();
      return detail::make_twin<std::optional<Plain>>(there ? a.put(ir::op::some, t, {detail::to_node(x)}) : a.put(ir::op::null, t));
    }
  }
};
// A function of groups for those of a set.
template <class F, class... Part> struct function_of_set {
  F f;
  std::uint32_t in_set;
  template <class G> requires detail::is_callable<const F&, const group_of_set<G, Part...>&>
  auto operator()(const G& g) const { return f(group_of_set<G, Part...>{g, in_set}); }
};
// The same of groups with their rows.
template <class F, class T, class... Part> struct rows_of_set {
  using group = Group<std::tuple<std::optional<Part>...>, T>;
  F f;
  std::uint32_t in_set;
  auto operator()(Group<std::tuple<Part...>, T> g) const {
    using R = detail::stored_t<std::invoke_result_t<const F&, group>>;
    auto key = parts(g.key(), std::index_sequence_for<Part...>{});
    return R(detail::as_stored<R>(f(group(std::move(key), std::move(g).rows()))));  // what refers to the group is stored while it lives
  }

 private:
  template <std::size_t... I> auto parts(const std::tuple<Part...>& key, std::index_sequence<I...>) const {
    return std::tuple(part_of_set{(in_set >> I & 1u) != 0}(std::get<I>(key))...);
  }
};
struct itself_as_group {
  template <class G> G operator()(G g) const { return g; }
};

}  // namespace agg

namespace verbs {

// rows.group_by(rollup(...)): choose what becomes of each group, as of those of one key. Level: the Grouped of a set of rows of T, by
// keys of Part.
//
// g.key() is a std::tuple of a std::optional for each key, empty where the set leaves the key out. A null of the rows has a value there:
// of a key that gives a std::optional<V>, the part is a std::optional<std::optional<V>>.
// Results come set by set, in the order of the sets; those of a set in any order, or with as_ordered(), before or after select, in that
// of the groups' first rows. No rows give no groups, not even one of all rows, whose smallest value would be none: SQL gives one.
// O(rows) for each set.
template <class Level, class T, class... Part> class GroupedSets {
 public:
  struct level {
    Level groups;
    std::uint32_t in_set;
  };
  GroupedSets(std::vector<level> levels, call_site at, const char* label) : levels_(std::move(levels)), at_(at), label_(label) {}

  template <class F> auto select(F f, call_site at = call_site::here()) const {
    if constexpr (!detail::names_its_types<F>) {
      return each([&](const level& l) { return l.groups.select(agg::function_of_set<F, Part...>{f, l.in_set}, at); });
    } else {
      using group = Group<std::tuple<std::optional<Part>...>, T>;
      using check_here = check::groups;
      if constexpr (!check_here::takes_rows<F, group>()) return check::after_error{};
      else if constexpr (!check_here::kept<detail::stored_t<std::invoke_result_t<const F&, group>>, group>()) return check::after_error{};
      else return each([&](const level& l) { return l.groups.select(agg::rows_of_set<F, T, Part...>{f, l.in_set}, at); });
    }
  }
  template <class... A> auto aggregate(A... a) const {
    return select([of = std::tuple<A...>(std::move(a)...)](const auto& g) {
      return std::apply([&](const A&... x) { return std::tuple(g.key(), x(g)...); }, of);
    }, at_);
  }
  auto count(call_site at = call_site::here()) const {
    return select([](const auto& g) { return std::tuple(g.key(), g.count()); }, at);
  }
  auto keys(call_site at = call_site::here()) const {
    return select([](const auto& g) { return g.key(); }, at);
  }
  auto groups(call_site at = call_site::here()) const {
    return each([&](const level& l) { return l.groups.select(agg::rows_of_set<agg::itself_as_group, T, Part...>{{}, l.in_set}, at); });
  }
  template <class F> auto elements(F f, call_site at = call_site::here()) const {
    if constexpr (!check::elements::value<F, T>()) {
      return check::after_error{};
    } else {
      using whole = agg::rows_of_set<agg::itself_as_group, detail::result_of<F, T>, Part...>;
      return each([&](const level& l) { return l.groups.elements(f, at).select(whole{{}, l.in_set}, at).as_query(); });
    }
  }

  // ---- words about how and where: of the grouping by each set.
  GroupedSets as_accelerated() const { return with([](const Level& g) { return g.as_accelerated(); }); }
  GroupedSets require_gpu() const { return with([](const Level& g) { return g.require_gpu(); }); }
  GroupedSets fast_math() const { return with([](const Level& g) { return g.fast_math(); }); }
  GroupedSets on(engine e) const { return with([&](const Level& g) { return g.on(e); }); }
  GroupedSets as_ordered() const { return with([](const Level& g) { return g.as_ordered(); }); }
  GroupedSets named(const std::string& name) const { return with([&](const Level& g) { return g.named(name); }); }

 private:
  template <class Change> GroupedSets with(const Change& change) const {
    std::vector<level> changed;
    for (const level& l : levels_) changed.push_back({change(l.groups), l.in_set});
    return GroupedSets(std::move(changed), at_, label_);
  }
  template <class Make> auto each(const Make& make) const {
    auto all = make(levels_.front());
    if constexpr (!std::is_same_v<decltype(all), check::after_error>) {
      using Out = typename decltype(all)::row;
      for (std::size_t i = 1; i < levels_.size(); ++i) {
        const auto next = make(levels_[i]);
        auto n = new_node<Out>(detail::verb::concat, label_, at_, all, next);
        name_part(*n, "concat");
        all = finish<Out>(std::move(n), all, next);
      }
    }
    return all;
  }
  std::vector<level> levels_;  // never none
  call_site at_;
  const char* label_;
};

}  // namespace verbs
}  // namespace query
