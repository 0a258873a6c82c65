// Sorts, joins and distinct rows whose row numbers have 64 bits, which beyond 2^30 rows they need (gpu_engine/row_numbers.hpp): here
// few rows have them. tests/gpu_engine/many_rows_test.cpp has so many rows, where a GPU has memory for them. Other engines are left
// out: they have one width.
#include <algorithm>
#include <string_view>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "gpu_engine/row_numbers.hpp"

namespace conformance {
namespace {

struct entry {
  std::int64_t key;
  double value;
  std::int32_t id;
  std::string name;
};
QUERY_RECORD(entry, key, value, id, name);
struct short_entry {
  std::int64_t key;
  double value;
  std::int32_t id;
};
QUERY_RECORD(short_entry, key, value, id);

std::vector<entry> entries(std::int32_t n, std::int32_t keys) {
  std::vector<entry> rows;
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int64_t key = std::int64_t{i} * 7919 % keys - 3;
    rows.push_back({key, static_cast<double>(key % 13) / 4, i, "a name of " + std::to_string(key % 31)});
  }
  return rows;
}
std::vector<short_entry> short_entries(std::int32_t n, std::int32_t keys) {
  std::vector<short_entry> rows;
  for (const entry& e : entries(n, keys)) rows.push_back({e.key, e.value, e.id});
  return rows;
}

class wide_numbers {
 public:
  wide_numbers() { query::gpu_engine::most_narrow_rows = 10; }
  ~wide_numbers() { query::gpu_engine::most_narrow_rows = ~std::uint64_t{0}; }
};
bool concerns(const engine_config& e) { return std::string_view(e.column) == "gpu"; }
const auto key_of = [](auto r) { return r.key; };
const auto id_of = [](auto r) { return r.id; };

CONFORMS(wide_row_numbers, of_sorts, "order_by", "then_by", "then_by_descending", "order", "top") {
  if (!concerns(e)) return;
  const wide_numbers here;
  for (const std::int32_t n : {11, 5000, 70001}) {
    SCOPED_TRACE(n);
    const auto rows = entries(n, 300);
    auto wanted = rows;
    std::stable_sort(wanted.begin(), wanted.end(), [](const entry& a, const entry& b) { return a.key < b.key; });
    EXPECT_ROWS(source(e, rows).order_by(key_of).select(id_of).to_vector(), selected(wanted, id_of));
    EXPECT_ROWS(source(e, rows).top(20, key_of).select(id_of).to_vector(), [&] {
      auto w = rows;
      std::stable_sort(w.begin(), w.end(), [](const entry& a, const entry& b) { return a.key > b.key; });
      w.resize(std::min<std::size_t>(w.size(), 20));
      return selected(w, id_of);
    }());
    EXPECT_ROWS(source(e, rows).order_by([](auto r) { return r.name; }).then_by_descending([](auto r) { return r.value; }).to_vector(),
                [&] {
                  auto w = rows;
                  std::stable_sort(w.begin(), w.end(), [](const entry& a, const entry& b) {
                    return a.name != b.name ? a.name < b.name : a.value > b.value;
                  });
                  return w;
                }());
    auto keys = selected(rows, key_of);
    std::sort(keys.begin(), keys.end());
    EXPECT_ROWS(source(e, selected(rows, key_of)).order().to_vector(), keys);
  }
}

CONFORMS(wide_row_numbers, of_build_sides, "join", "left_join", "full_join", "semi_join", "anti_join") {
  if (!concerns(e)) return;
  const wide_numbers here;
  for (const std::int32_t keys : {7, 900, 100'000}) {  // several rows of a key, or one
    SCOPED_TRACE(keys);
    const auto left = short_entries(3000, 1000), right = short_entries(keys == 7 ? 40 : 5000, keys);
    const auto pairs = matches(left, right, key_of, key_of);
    std::vector<std::tuple<std::int32_t, std::int32_t, double>> inner, outer;
    std::vector<std::pair<std::int32_t, double>> one_field;
    std::vector<std::int32_t> with, without;
    for (std::size_t i = 0; i < left.size(); ++i) {
      for (const short_entry& r : pairs[i]) {
        inner.emplace_back(left[i].id, r.id, r.value);
        outer.emplace_back(left[i].id, r.id, r.value);
        one_field.emplace_back(left[i].id, r.value);
      }
      if (pairs[i].empty()) outer.emplace_back(left[i].id, -1, 0.5);
      (pairs[i].empty() ? without : with).push_back(left[i].id);
    }
    const auto a = source(e, left), b = source(e, right);
    EXPECT_ROWS(a.join(b, key_of, key_of, [](auto x, auto y) { return std::make_tuple(x.id, y.id, y.value); }).as_ordered().to_vector(),
                inner);
    const auto of_one_field = a.join(b, key_of, key_of, [](auto x, auto y) { return std::make_pair(x.id, y.value); });
    EXPECT_ROWS(of_one_field.as_ordered().to_vector(), one_field);
    EXPECT_ROWS(a.left_join(b, key_of, key_of, [](auto x, auto y) {
      return std::make_tuple(x.id, query::iff(y.has_value(), y->id, -1), query::iff(y.has_value(), y->value, 0.5));
    }).as_ordered().to_vector(), outer);
    EXPECT_ROWS(a.semi_join(b, key_of, key_of).select(id_of).as_ordered().to_vector(), with);
    EXPECT_ROWS(a.anti_join(b, key_of, key_of).select(id_of).as_ordered().to_vector(), without);
    const auto all = a.full_join(b, key_of, key_of, [](auto x, auto y) {
      return std::make_pair(query::iff(x.has_value(), x->id, -1), query::iff(y.has_value(), y->id, -1));
    });
    std::vector<std::pair<std::int32_t, std::int32_t>> full;
    for (const auto& [x, y, value] : outer) full.emplace_back(x, y);
    const auto back = matches(right, left, key_of, key_of);
    for (std::size_t i = 0; i < right.size(); ++i)
      if (back[i].empty()) full.emplace_back(-1, right[i].id);
    EXPECT_SAME_ROWS(all.to_vector(), full);
  }
}

CONFORMS(wide_row_numbers, of_large_build_sides, "join") {
  if (!concerns(e)) return;
  const wide_numbers here;
  const std::int32_t n = 1'100'000;
  const auto right = short_entries(n, n);  // each key once
  const auto left = short_entries(20'000, 2 * n);
  std::vector<std::tuple<std::int32_t, std::int32_t, double>> wanted;
  std::vector<std::int32_t> at(static_cast<std::size_t>(n));
  for (const short_entry& r : right) at[static_cast<std::size_t>(r.key + 3)] = r.id;
  for (const short_entry& l : left)
    if (l.key + 3 < n) {
      const short_entry& r = right[static_cast<std::size_t>(at[static_cast<std::size_t>(l.key + 3)])];
      wanted.emplace_back(l.id, r.id, r.value);
    }
  EXPECT_ROWS(source(e, left)
                  .join(source(e, right), key_of, key_of, [](auto x, auto y) { return std::make_tuple(x.id, y.id, y.value); })
                  .as_ordered()
                  .to_vector(),
              wanted);
}

CONFORMS(wide_row_numbers, of_lists_of_matches, "group_join") {
  if (!concerns(e)) return;
  const wide_numbers here;
  const auto left = short_entries(500, 300), right = short_entries(4000, 250);
  // The order of the matches counts.
  const auto next = [](auto s, auto r) { return s * 3 % 1'000'003 + r.id; };
  std::vector<std::pair<std::int32_t, std::int64_t>> wanted;
  const auto pairs = matches(left, right, key_of, key_of);
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::int64_t state = 1;
    for (const short_entry& r : pairs[i]) state = next(state, r);
    wanted.emplace_back(left[i].id, state);
  }
  EXPECT_ROWS(source(e, left)
                  .group_join(source(e, right), key_of, key_of,
                              [next](auto x, auto own) { return std::make_pair(x.id, query::fold(own, std::int64_t{1}, next)); })
                  .as_ordered()
                  .to_vector(),
              wanted);
}

CONFORMS(wide_row_numbers, of_distinct_rows, "distinct", "distinct_by", "union_with", "intersect", "except") {
  if (!concerns(e)) return;
  const wide_numbers here;
  const auto left = entries(6000, 400), right = entries(3000, 100);
  const auto a = source(e, left), b = source(e, right);
  const auto keys = selected(left, key_of), others = selected(right, key_of);
  const auto there = [&others](std::int64_t k) { return std::find(others.begin(), others.end(), k) != others.end(); };
  const auto itself = [](std::int64_t k) { return k; };
  EXPECT_ROWS(a.select(key_of).distinct().as_ordered().to_vector(), first_of_each(keys, itself));
  const auto name_of = [](auto r) { return r.name; };
  EXPECT_ROWS(a.distinct_by(name_of).as_ordered().to_vector(), first_of_each(left, name_of));
  auto both = keys;
  both.insert(both.end(), others.begin(), others.end());
  EXPECT_ROWS(a.select(key_of).union_with(b.select(key_of)).as_ordered().to_vector(), first_of_each(both, itself));
  EXPECT_ROWS(a.select(key_of).intersect(b.select(key_of)).as_ordered().to_vector(), first_of_each(kept(keys, there), itself));
  EXPECT_ROWS(a.select(key_of).except(b.select(key_of)).as_ordered().to_vector(),
              first_of_each(kept(keys, [&](std::int64_t k) { return !there(k); }), itself));
}

}  // namespace
}  // namespace conformance
