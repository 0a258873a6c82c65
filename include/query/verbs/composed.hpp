// Verbs that are made of other verbs: slice, shuffle, to_set; and try_count, which runs nothing.
//
//   rows.slice(2, 5); rows.slice(-3); rows.shuffle(42); rows.to_set().contains(row);
#pragma once

#include <limits>

#include <query/detail/known_count.hpp>
#include <query/lookup.hpp>
#include <query/verbs/ordering.hpp>
#include <query/verbs/sequence.hpp>
#include <query/verbs/sets.hpp>

namespace query::verbs {

// A permutation of the 64-bit integers that leaves no pattern of the number: splitmix64's (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014). No two numbers meet, so a sort by it has no ties.
template <class I> auto scattered(const I& i) {
  auto z = (i ^ (i >> 30)) * std::uint64_t{0xbf58476d1ce4e5b9};
  auto y = (z ^ (z >> 27)) * std::uint64_t{0x94d049bb133111eb};
  return y ^ (y >> 31);
}

template <class Derived, class T> class composed {
 public:
  // The rows from number `from` to the one before number `to`, counted from 0; negative numbers count from the end, -1 is the last row.
  // Without `to`: all from there on. What lies outside is left out: no error. O(n); rows that are counted from the end need all rows.
  template <class From, class To> auto slice(From from, To to, call_site at = call_site::here()) const {
    if constexpr (!check::slice::whole<From>() || !check::slice::whole<To>()) return check::after_error{};
    else return cut(place(from), place(to), at);
  }
  template <class From> auto slice(From from, call_site at = call_site::here()) const {
    if constexpr (!check::slice::whole<From>()) return check::after_error{};
    else return rest(place(from), at);
  }
  QUERY_DETAIL_NEEDS(slice, 1, "the numbers of rows are missing: slice(2, 5), or slice(-3) for the last three")

  // All rows in an order that only the seed and the number of rows decide. Needs all rows; a sort by 64-bit keys.
  auto shuffle(std::uint64_t seed = 1, call_site at = call_site::here()) const {
    const auto rows = numbered(self(), at, "shuffle");
    auto node = new_node<indexed<T>>(detail::verb::order_by, "shuffle", at, rows);
    name_part(*node, "order_by");
    const std::uint64_t first = scattered(seed + std::uint64_t{0x9e3779b97f4a7c15});
    const auto key = [first](const auto& r) { return scattered(query::cast<std::uint64_t>(r.index) + first); };
    if constexpr (ir::described_v<T>) add_order<indexed<T>>(*node, key, {});
    else add_order<indexed<T>>(*node, [key](const indexed<T>& r) { return key(r); }, {});
    return without_numbers(finish<indexed<T>>(std::move(node), rows), at, "shuffle");
  }

  // The different rows as a query::row_set<T>: sorted, with contains(row). Rows are compared as distinct() and order() compare them.
  auto to_set(call_site at = call_site::here()) const {
    if constexpr (!check::to_set::key<whole_row, T>()) return check::after_error{};
    else return row_set<T>(self().distinct(at, "to_set").order(nulls::last, at, "to_set").to_vector());
  }

  // How many rows there are, where that is known without running the query: of containers, columns, range and repeat, behind verbs that
  // keep all rows or a given number of them. Calls no function of the query's. O(verbs).
  std::optional<std::int64_t> try_count() const { return detail::known_count(self().to_pipe()); }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
  template <class N> static std::int64_t place(N n) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    if constexpr (std::is_unsigned_v<N>)
      if (static_cast<std::uint64_t>(n) > static_cast<std::uint64_t>(most)) return most;
    return static_cast<std::int64_t>(n);
  }
  static std::uint64_t from_end(std::int64_t place) { return std::uint64_t{0} - static_cast<std::uint64_t>(place); }
  Query<T, cpu::rows<T>> rest(std::int64_t from, call_site at) const {
    if (from < 0) return self().take_last(from_end(from), at, "slice");
    return self().skip(from, at, "slice");
  }
  Query<T, cpu::rows<T>> cut(std::int64_t from, std::int64_t to, call_site at) const {
    if (from >= 0 && to >= 0) return self().skip(from, at, "slice").take(to > from ? to - from : 0, at, "slice");
    if (from >= 0) return self().skip_last(from_end(to), at, "slice").skip(from, at, "slice");
    if (to < 0) return self().take_last(from_end(from), at, "slice").skip_last(from_end(to), at, "slice");
    // The last rows are numbered, and those from `to` on are dropped.
    const auto last = numbered(self(), at, "slice").take_last(from_end(from), at, "slice");
    const auto before = [&] {
      if constexpr (ir::described_v<T>) return last.where([to](const auto& r) { return r.index < to; }, at, "slice");
      else return last.where([to](const indexed<T>& r) { return r.index < to; }, at, "slice");
    }();
    return without_numbers(before, at, "slice");
  }
};

}  // namespace query::verbs
