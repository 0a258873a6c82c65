// What unpivot, pivot and to_pivot give (verbs/reshaping.hpp): a field of a row as a row, rows as the cells of a table.
//
//   rows.unpivot(city, query::field("jan", jan), query::field("feb", feb))   // rows: unpivoted{id, name, value}
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <query/lookup.hpp>

namespace query {

// A field of unpivot: its name, a value of any type, and the function of the row that gives its value.
template <class N, class F> struct unpivoted_field {
  N name;
  F value;
  detail::call_site where;
};
template <class N, class F>
unpivoted_field<detail::stored_t<N>, F> field(const N& name, F value, detail::call_site at = detail::call_site::here()) {
  return {detail::stored_t<N>(name), std::move(value), at};
}

// A field of a row: what the row is known by, the name of the field, its value.
template <class Id, class N, class V> struct unpivoted {
  Id id{};
  N name{};
  V value{};
};

// A row of a pivoted table: for each of its columns the value, empty where no row has this key and that column.
template <class K, class V, std::size_t N> struct pivoted {
  K key{};
  std::array<std::optional<V>, N> values{};
};

namespace detail {

// Offsets of members, as a compiler lays out an aggregate of them: offsetof wants a standard layout, which they need not have.
template <class... F> constexpr std::array<std::size_t, sizeof...(F)> offsets_of_members() {
  std::array<std::size_t, sizeof...(F)> offsets{};
  std::size_t end = 0, i = 0;
  ((offsets[i] = (end + alignof(F) - 1) / alignof(F) * alignof(F), end = offsets[i++] + sizeof(F)), ...);
  return offsets;
}

}  // namespace detail

// Records, as QUERY_RECORD would make them, where their parts are described.
template <class Id, class N, class V> struct unpivoted_meta {
  using row = unpivoted<Id, N, V>;
  using types = std::tuple<Id, N, V>;
  static constexpr std::size_t size = 3;
  static constexpr std::string_view name = "unpivoted";
  static constexpr std::string_view names[] = {"id", "name", "value"};
  static constexpr std::array<std::size_t, 3> offsets = detail::offsets_of_members<Id, N, V>();
  template <template <class> class Part> struct shape {
    using query_form = detail::row_form<Part>;
    using query_row_type = unpivoted<Id, N, V>;
    typename Part<Id>::type id;
    typename Part<N>::type name;
    typename Part<V>::type value;
  };
  template <class Row> static constexpr auto fields(Row& r) { return std::tie(r.id, r.name, r.value); }
  template <bool Fits> static constexpr void made_of_all() {
    static_assert(Fits, "query::make<query::unpivoted>(...): give one value for each field, in this order: id, name, value");
  }
  template <std::size_t Field, class Value> static constexpr void made_of() {
    static_assert(Value::fits || Field != 0, "query::make<query::unpivoted>(...): the id does not have its type");
    static_assert(Value::fits || Field != 1, "query::make<query::unpivoted>(...): the name does not have its type");
    static_assert(Value::fits || Field != 2, "query::make<query::unpivoted>(...): the value does not have its type");
  }
};
template <class Id, class N, class V> requires(ir::described_v<Id> && ir::described_v<N> && ir::described_v<V>)
constexpr unpivoted_meta<Id, N, V> query_meta(tag<unpivoted<Id, N, V>>) { return {}; }

template <class K, class V, std::size_t N> struct pivoted_meta {
  using row = pivoted<K, V, N>;
  using cells = std::array<std::optional<V>, N>;
  using types = std::tuple<K, cells>;
  static constexpr std::size_t size = 2;
  static constexpr std::string_view name = "pivoted";
  static constexpr std::string_view names[] = {"key", "values"};
  static constexpr std::array<std::size_t, 2> offsets = detail::offsets_of_members<K, cells>();
  template <template <class> class Part> struct shape {
    using query_form = detail::row_form<Part>;
    using query_row_type = pivoted<K, V, N>;
    typename Part<K>::type key;
    typename Part<cells>::type values;
  };
  template <class Row> static constexpr auto fields(Row& r) { return std::tie(r.key, r.values); }
  template <bool Fits> static constexpr void made_of_all() {
    static_assert(Fits, "query::make<query::pivoted>(...): give one value for each field, in this order: key, values");
  }
  template <std::size_t Field, class Value> static constexpr void made_of() {
    static_assert(Value::fits || Field != 0, "query::make<query::pivoted>(...): the key does not have its type");
    static_assert(Value::fits || Field != 1, "query::make<query::pivoted>(...): the values do not have their type");
  }
};
template <class K, class V, std::size_t N> requires(ir::described_v<K> && ir::described_v<V>)
constexpr pivoted_meta<K, V, N> query_meta(tag<pivoted<K, V, N>>) { return {}; }

// What to_pivot gives: a table whose columns are the values that rows have there, known only when the query has run. Columns are sorted,
// NaNs and nulls last; rows come in the order in which their keys first appear. It holds a value for each row and column.
template <class K, class C, class V> class pivot_table {
 public:
  struct line {
    K key{};
    std::vector<std::optional<V>> values;  // one for each of columns()
  };

  // Of each row and column that belong together, once: std::pair<std::pair<K, C>, V>, or with a std::optional<V>.
  template <class Cell> explicit pivot_table(std::vector<Cell> cells) {
    const auto by_column = detail::sorted_positions(cells.size(), [&](std::size_t a, std::size_t b) {
      return detail::key_less<C>(cells[a].first.second, cells[b].first.second);
    });
    std::vector<std::size_t> column(cells.size());
    for (const std::size_t i : by_column) {
      if (columns_.empty() || detail::key_less<C>(columns_.back(), cells[i].first.second)) columns_.push_back(cells[i].first.second);
      column[i] = columns_.size() - 1;
    }
    // Runs of equal keys: the first cell of each stands for its row.
    const auto by_key = detail::sorted_positions(cells.size(), [&](std::size_t a, std::size_t b) {
      return detail::key_less<K>(cells[a].first.first, cells[b].first.first);
    });
    std::vector<std::size_t> first_of(cells.size());
    for (std::size_t i = 0; i < by_key.size(); ++i) {
      const bool same = i > 0 && !detail::key_less<K>(cells[by_key[i - 1]].first.first, cells[by_key[i]].first.first);
      first_of[by_key[i]] = same ? first_of[by_key[i - 1]] : by_key[i];
    }
    std::vector<std::size_t> line_of(cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (first_of[i] == i) {
        line_of[i] = lines_.size();
        lines_.push_back({cells[i].first.first, std::vector<std::optional<V>>(columns_.size())});
      }
      lines_[line_of[first_of[i]]].values[column[i]] = std::move(cells[i].second);
    }
  }
  // By reference; of a table that ends with the statement, by value.
  const std::vector<C>& columns() const& { return columns_; }
  std::vector<C> columns() && { return std::move(columns_); }
  const std::vector<line>& rows() const& { return lines_; }
  std::vector<line> rows() && { return std::move(lines_); }
  std::size_t size() const { return lines_.size(); }
  bool empty() const { return lines_.empty(); }
  auto begin() const { return lines_.begin(); }
  auto end() const { return lines_.end(); }

 private:
  std::vector<C> columns_;
  std::vector<line> lines_;
};

}  // namespace query
