// Rows with lists and with records inside: filtered, projected, flattened, sorted, grouped, joined.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

struct place {
  std::int32_t street;
  std::optional<std::int16_t> number;
};
QUERY_RECORD(place, street, number);
struct basket {
  std::int32_t id;
  std::vector<std::int32_t> items;
  place at;
  std::vector<std::string> words;
};
QUERY_RECORD(basket, id, items, at, words);

std::vector<basket> baskets(std::size_t n) {
  std::mt19937_64 g(seed() + n);
  const auto below = [&g](int k) { return static_cast<std::int32_t>(g() % static_cast<std::uint64_t>(k)); };
  std::vector<basket> v;
  for (std::size_t i = 0; i < n; ++i) {
    basket b{static_cast<std::int32_t>(i), {}, {below(4), std::nullopt}, {}};
    if (below(3)) b.at.number = static_cast<std::int16_t>(below(3) - 1);
    for (int k = below(4); k > 0; --k) b.items.push_back(below(3) - 1);
    for (int k = below(3); k > 0; --k) b.words.push_back(std::string(static_cast<std::size_t>(below(2) * 20), 'w'));
    v.push_back(std::move(b));
  }
  return v;
}
std::int64_t total(const basket& b) {
  std::int64_t s = 0;
  for (const auto i : b.items) s += i;
  return s;
}
constexpr std::size_t sizes[] = {0, 1, 1025, 3000};

CONFORMS(nested_fields, row_wise, "where", "select", "select_many") {
  for (const std::size_t n : sizes) {
    SCOPED_TRACE(n);
    const std::vector<basket> rows = baskets(n);
    std::vector<std::int32_t> items;
    std::vector<std::string> words;
    for (const basket& b : rows) {
      items.insert(items.end(), b.items.begin(), b.items.end());
      words.insert(words.end(), b.words.begin(), b.words.end());
    }
    EXPECT_ROWS(source(e, rows).to_vector(), rows);
    EXPECT_ROWS(source(e, rows).where([](auto b) { return query::sum(b.items) > 0; }).to_vector(),
                kept(rows, [](const basket& b) { return total(b) > 0; }));
    EXPECT_ROWS(source(e, rows).where([](auto b) { return b.at.street == 2 && b.at.number.has_value(); }).to_vector(),
                kept(rows, [](const basket& b) { return b.at.street == 2 && b.at.number; }));
    EXPECT_ROWS(source(e, rows).select([](auto b) { return b.at; }).to_vector(), selected(rows, [](const basket& b) { return b.at; }));
    EXPECT_ROWS(source(e, rows).select([](auto b) { return b.items; }).to_vector(),
                selected(rows, [](const basket& b) { return b.items; }));
    EXPECT_ROWS(source(e, rows).select_many([](const basket& b) { return b.items; }).to_vector(), items);
    EXPECT_ROWS(source(e, rows).select_many([](const basket& b) { return b.words; }).to_vector(), words);
    EXPECT_ROWS(source(e, rows).select_many([](auto b) { return b.items; }).to_vector(), items);
    EXPECT_ROWS(source(e, rows).select_many([](auto b) { return b.words; }).to_vector(), words);
  }
}

CONFORMS(nested_fields, breakers, "order_by", "group_by", "distinct", "join", "reverse") {
  for (const std::size_t n : sizes) {
    SCOPED_TRACE(n);
    const std::vector<basket> rows = baskets(n);
    std::vector<basket> sorted = rows;
    std::stable_sort(sorted.begin(), sorted.end(), [](const basket& a, const basket& b) { return a.at.street > b.at.street; });
    EXPECT_ROWS(source(e, rows).order_by_descending([](auto b) { return b.at.street; }).to_vector(), sorted);
    EXPECT_ROWS(source(e, rows).reverse().to_vector(), std::vector<basket>(rows.rbegin(), rows.rend()));
    std::vector<std::pair<place, std::int64_t>> places;
    for (const auto& [k, same] : grouped(rows, [](const basket& b) { return b.at; })) places.emplace_back(k, same.size());
    const auto got = source(e, rows).count_by([](auto b) { return b.at; }).as_ordered().to_vector();
    EXPECT_ROWS(selected(got, [](const auto& r) { return std::pair<place, std::int64_t>(std::get<0>(r), std::get<1>(r)); }), places);
    EXPECT_ROWS(source(e, rows).distinct_by([](auto b) { return b.items; }).as_ordered().to_vector(),
                first_of_each(rows, [](const basket& b) { return b.items; }));
    EXPECT_ROWS(source(e, rows).concat(source(e, rows)).distinct().as_ordered().to_vector(), rows);
    std::vector<std::pair<basket, basket>> pairs;
    for (const basket& b : rows) pairs.emplace_back(b, b);
    EXPECT_ROWS(source(e, rows)
                    .join(
                        source(e, rows), [](auto b) { return b.id; }, [](auto b) { return b.id; })
                    .as_ordered()
                    .to_vector(),
                pairs);
  }
}

}  // namespace
}  // namespace conformance
