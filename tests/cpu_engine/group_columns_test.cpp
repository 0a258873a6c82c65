// A group_by over columns gives columns: keys of every type, read in every way, are those of the same group_by over records.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

#include "temp_folder.hpp"

namespace query::tests {

enum class Colour : std::int16_t { red = -1, green, blue };
struct Place { std::string city; std::int32_t zip; auto operator<=>(const Place&) const = default; };
QUERY_RECORD(Place, city, zip);
struct Sold {
  std::string item;
  std::optional<std::string> buyer;
  std::optional<std::int32_t> age;
  Colour colour;
  Place place;
  std::array<std::int32_t, 3> code;
  float weight;
  std::int64_t number;
  double price;
};
QUERY_RECORD(Sold, item, buyer, age, colour, place, code, weight, number, price);

struct ByItem { std::string item; double price; std::int64_t n; auto operator<=>(const ByItem&) const = default; };
QUERY_RECORD(ByItem, item, price, n);
struct ByBuyer {
  std::optional<std::string> buyer;
  std::optional<std::int32_t> age;
  double price;
  auto operator<=>(const ByBuyer&) const = default;
};
QUERY_RECORD(ByBuyer, buyer, age, price);
struct ByPlace { Place place; Colour colour; std::int64_t n; auto operator<=>(const ByPlace&) const = default; };
QUERY_RECORD(ByPlace, place, colour, n);
struct ByMany {
  std::array<std::int32_t, 3> code;
  float weight;
  std::string item, city;
  std::optional<std::int32_t> age;
  std::optional<std::int32_t> oldest;
  double twice;
  auto operator<=>(const ByMany&) const = default;
};
QUERY_RECORD(ByMany, code, weight, item, city, age, oldest, twice);
struct ByZip { std::int32_t zip; Colour colour; double middle, heavy, dearest; auto operator<=>(const ByZip&) const = default; };
QUERY_RECORD(ByZip, zip, colour, middle, heavy, dearest);
struct Known { std::string item; std::int32_t rank; };
QUERY_RECORD(Known, item, rank);
struct Ranked { std::string item; std::int32_t rank; double price; auto operator<=>(const Ranked&) const = default; };
QUERY_RECORD(Ranked, item, rank, price);
struct Totals { double price; std::int64_t n; };
QUERY_RECORD(Totals, price, n);
struct Joined { std::string item, known; double price; };
QUERY_RECORD(Joined, item, known, price);
struct Letter { std::string first; double price; std::int64_t n; auto operator<=>(const Letter&) const = default; };
QUERY_RECORD(Letter, first, price, n);
struct TwoNames { std::string first, second; };
QUERY_RECORD(TwoNames, first, second);
struct ByTwoNames { std::string first, second; std::int64_t n; auto operator<=>(const ByTwoNames&) const = default; };
QUERY_RECORD(ByTwoNames, first, second, n);

namespace {

std::vector<Sold> make_rows(std::size_t n, std::uint64_t groups) {
  std::vector<Sold> all;
  std::uint64_t x = 7;
  for (std::size_t i = 0; i < n; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t g = (x >> 33) % groups;
    Sold s{};
    s.item = g % 3 ? "item " + std::to_string(g) : "an item whose name is long, with number " + std::to_string(g);
    if (g % 5) s.buyer = g % 2 ? "b" + std::to_string(g) : "a buyer whose name is long " + std::to_string(g);
    if (g % 7) s.age = static_cast<std::int32_t>(g % 90);
    s.colour = static_cast<Colour>(static_cast<int>(g % 3) - 1);
    s.place = {"city " + std::to_string(g % 1'000'003), static_cast<std::int32_t>(g)};
    s.code = {static_cast<std::int32_t>(g), -1, static_cast<std::int32_t>(g % 11)};
    s.weight = static_cast<float>(g) / 8;
    s.number = static_cast<std::int64_t>(i);
    s.price = static_cast<double>(x >> 52);  // whole numbers: sums do not depend on the order
    all.push_back(std::move(s));
  }
  return all;
}
// Few groups; many, in several tables; about as many as rows, so that the rows are put apart.
struct given {
  std::vector<Sold> rows;
  query::columns_of<Sold> columns;
  given(std::size_t n, std::uint64_t groups) : rows(make_rows(n, groups)), columns(query::from(rows).to_vectors()) {}
};
const given& few() { static const given g(3'000, 40); return g; }
const given& many() { static const given g(200'000, 30'000); return g; }
// Many, with few rows each: rows are put apart, too.
const given& many_rows() { static const given g(560'000, 45'000); return g; }
const given& as_many() { static const given g(560'000, 1'500'000); return g; }

const auto price = [](auto s) { return s.price; };
const auto by_item = [](auto q) {
  return q.group_by([](auto s) { return s.item; }).select([](auto g) { return query::make<ByItem>(g.key(), g.sum(price), g.count()); });
};
const auto by_buyer = [](auto q) {
  return q.group_by([](auto s) { return std::tuple(s.buyer, s.age); }).select([](auto g) {
    return query::make<ByBuyer>(std::get<0>(g.key()), std::get<1>(g.key()), g.max(price));
  });
};
const auto by_place = [](auto q) {
  return q.group_by([](auto s) { return std::tuple(s.place, s.colour); }).select([](auto g) {
    return query::make<ByPlace>(std::get<0>(g.key()), std::get<1>(g.key()), g.count());
  });
};
const auto by_many = [](auto q) {
  return q.group_by([](auto s) { return std::tuple(s.code, s.weight, s.item, s.place.city, s.age); }).select([](auto g) {
    const auto k = g.key();
    const auto oldest = g.max([](auto s) { return s.age; });
    return query::make<ByMany>(std::get<0>(k), std::get<1>(k), std::get<2>(k), std::get<3>(k), std::get<4>(k), oldest, g.sum(price) * 2);
  });
};
// A key that is computed and owns memory, beside one that is not.
const auto by_first_letters = [](auto q) {
  return q.group_by([](auto s) { return std::tuple(s.item.substr(0, 14), s.colour); }).select([](auto g) {
    return query::make<Letter>(std::get<0>(g.key()), g.sum(price), g.count());
  });
};

template <class T> std::vector<T> sorted(std::vector<T> v) {
  std::sort(v.begin(), v.end());
  return v;
}
// Records of rows that nobody can see into.
template <class Group> auto wanted_of(const given& from, Group group) {
  const auto rows = query::from(from.rows).select(query::opaque([](const Sold& s) { return s; }));
  return sorted(group(rows).to_vector());
}
enum class reads { once, in_every_way };
template <class Group> void expect_the_same(const given& from, Group group, reads how = reads::in_every_way) {
  const auto wanted = wanted_of(from, group);
  auto first = wanted;  // in the order of one thread
  for (const int threads : {1, 2, 7}) {
    SCOPED_TRACE(threads);
    const query::Session session({.threads = threads});
    const auto of_columns = group(query::from(query::columns(from.columns)).in(session));
    const auto got = of_columns.to_vector();
    if (threads == 1) first = got;
    EXPECT_TRUE(sorted(got) == wanted);
    EXPECT_TRUE(got == first);
    if (how == reads::once || threads == 2) continue;
    EXPECT_TRUE(query::from(query::columns(of_columns.to_vectors())).to_vector() == got);
    EXPECT_TRUE(group(query::from(from.rows).in(session)).to_vector().size() == wanted.size());
    EXPECT_EQ(of_columns.count(), static_cast<std::int64_t>(wanted.size()));
    std::size_t seen = 0;
    for (const auto& row : of_columns) seen += row == got[seen];
    EXPECT_EQ(seen, got.size());
  }
}

TEST(group_columns, keys_of_every_type_few_groups) {
  expect_the_same(few(), by_item);
  expect_the_same(few(), by_buyer);
  expect_the_same(few(), by_place);
  expect_the_same(few(), by_many);
  expect_the_same(few(), by_first_letters);
}
TEST(group_columns, keys_of_every_type_many_groups) {
  expect_the_same(many(), by_item);
  expect_the_same(many(), by_buyer);
  expect_the_same(many(), by_place);
  expect_the_same(many(), by_many);
  expect_the_same(many(), by_first_letters);
}
TEST(group_columns, many_groups_of_many_rows) {
  expect_the_same(many_rows(), by_item, reads::once);
  expect_the_same(many_rows(), by_place, reads::once);
  expect_the_same(many_rows(), by_many, reads::once);
}
// States that keep values are put apart with far fewer groups.
TEST(group_columns, values_of_many_rows) {
  expect_the_same(many_rows(), [](auto q) {
    return q.group_by([](auto s) { return std::tuple(s.place.zip % 3'000, s.colour); }).select([](auto g) {
      return query::make<ByZip>(std::get<0>(g.key()), std::get<1>(g.key()), g.median(price),
                                g.quantile([](auto s) { return s.weight; }, 0.9), g.max(price));
    });
  }, reads::once);
}
TEST(group_columns, about_as_many_groups_as_rows) {
  expect_the_same(as_many(), by_many, reads::once);
  expect_the_same(as_many(), by_buyer, reads::once);
}

TEST(group_columns, no_rows) {
  const given none(0, 1);
  const auto q = by_many(query::from(query::columns(none.columns)));
  EXPECT_TRUE(q.to_vector().empty());
  EXPECT_EQ(q.to_columns().size(), 0u);
  EXPECT_EQ(q.count(), 0);
}

TEST(group_columns, chunks_of_columns) {
  for (const given* from : {&few(), &many()}) {
    const auto q = by_item(query::from(query::columns(from->columns)));
    std::vector<ByItem> got;
    for (const auto& chunk : q.to_columns())
      for (std::size_t i = 0; i < chunk.size(); ++i)
        got.push_back({std::string(std::string_view(chunk.template get<0>()[i])), chunk.template get<1>()[i], chunk.template get<2>()[i]});
    EXPECT_TRUE(got == q.to_vector());
    // Plain numbers, as columns too.
    const auto numbers = query::from(query::columns(from->columns)).group_by([](auto s) { return s.colour; }).select([](auto g) {
      return query::make<Totals>(g.sum(price), g.count());
    });
    double total = 0;
    for (const auto& chunk : numbers.to_columns())
      for (const double p : chunk.template get<0>()) total += p;
    EXPECT_EQ(total, query::from(from->rows).sum(price));
  }
}

// Strings of rows that were put apart are gathered by windows of these rows.
TEST(group_columns, chunks_of_strings_of_as_many_groups) {
  constexpr std::size_t n = 560'000;
  query::columns_of<TwoNames> rows;
  auto& [first, second] = rows.fields;
  const std::string firsts[] = {"", std::string("a\0b", 3), "seven c", "twelve chars", "thirteen char", "so long that it lies elsewhere"};
  std::vector<ByTwoNames> wanted;
  for (std::size_t i = 0; i < n; ++i) {
    first.push_back(firsts[i % 6]);
    second.push_back((i % 5 ? "of 15: " : "of more than 15: ") + std::to_string(10'000'000 + i));
    wanted.push_back({first.back(), second.back(), 1});
  }
  std::sort(wanted.begin(), wanted.end());
  std::vector<ByTwoNames> before;
  for (const int threads : {1, 2, 7, 16}) {
    const auto q = query::from(query::columns(rows))
                       .in(query::Session({.threads = threads}))
                       .group_by([](auto r) { return std::tuple(r.first, r.second); })
                       .select([](auto g) { return query::make<ByTwoNames>(std::get<0>(g.key()), std::get<1>(g.key()), g.count()); });
    std::vector<ByTwoNames> got;
    for (const auto& chunk : q.to_columns())
      for (std::size_t i = 0; i < chunk.size(); ++i)
        got.push_back({chunk.template get<0>()[i].str(), chunk.template get<1>()[i].str(), chunk.template get<2>()[i]});
    if (threads == 1) {
      before = got;
      std::sort(got.begin(), got.end());
      EXPECT_TRUE(got == wanted);
    } else {
      EXPECT_TRUE(got == before) << threads << " threads";
    }
  }
}

// Verbs behind the groups read the columns as they would read records.
TEST(group_columns, verbs_behind) {
  std::vector<Known> known;
  for (std::int32_t i = 0; i < 30'000; i += 7) known.push_back({"item " + std::to_string(i), i % 100});
  for (const given* from : {&few(), &many()}) {
    const auto records = query::from(wanted_of(*from, by_item));
    const auto q = by_item(query::from(query::columns(from->columns)));
    const auto check = [&](auto verbs) { EXPECT_TRUE(sorted(verbs(q).to_vector()) == sorted(verbs(records).to_vector())); };
    check([](auto r) { return r.where([](auto g) { return g.n > 6 && g.item.size() > 6; }); });
    check([](auto r) { return r.where(query::opaque([](const ByItem& g) { return g.n > 6; })); });
    check([](auto r) { return r.select([](auto g) { return query::make<Letter>(g.item, g.price / 2, g.n + 1); }); });
    check([](auto r) { return r.select(query::opaque([](const ByItem& g) { return g.item + "!"; })); });
    check([](auto r) { return r.order_by([](auto g) { return g.item; }).take(10); });
    check([&](auto r) {
      const auto item = [](auto g) { return g.item; };
      return r.join(query::from(known), item, item, [](auto g, auto k) { return query::make<Ranked>(g.item, k.rank, g.price); });
    });
    check([&](auto r) {
      const auto item = [](auto g) { return g.item; };
      return query::from(known).join(r, item, item, [](auto k, auto g) { return query::make<Ranked>(g.item, k.rank, g.price); });
    });
    check([](auto r) {
      return r.group_by([](auto g) { return std::tuple(g.item.substr(0, 6), g.n); }).select([](auto g) {
        return query::make<Letter>(std::get<0>(g.key()), g.sum(price), g.count());
      });
    });
    check([](auto r) {
      return r.group_by([](auto g) { return std::tuple(g.item, g.n); }).select([](auto g) {
        return query::make<Letter>(std::get<0>(g.key()), g.sum(price), std::get<1>(g.key()));
      });
    });
    check([](auto r) { return r.cached().where([](auto g) { return g.n > 5; }); });
    check([](auto r) { return r.select([](auto g) { return g.item; }).distinct(); });
    EXPECT_EQ(q.sum(price), records.sum(price));
    EXPECT_EQ(q.where([](auto g) { return g.n > 6; }).to_columns().size(), q.where([](auto g) { return g.n > 6; }).to_vector().size());
    const auto ordered = q.as_ordered().to_vector();
    EXPECT_TRUE(sorted(ordered) == records.to_vector());
    EXPECT_EQ(ordered.front().item, from->rows.front().item);
  }
}

// Keys of a joined side, which lie in two tables, and groups of groups, whose columns lie in pieces.
TEST(group_columns, keys_behind_a_join) {
  std::vector<Known> known;
  for (std::int32_t i = 0; i < 30'000; ++i) known.push_back({"item " + std::to_string(i), i});
  const auto joined = [&](auto q) {
    const auto item = [](auto g) { return g.item; };
    const auto both = [](auto s, auto k) {
      if (!k) return query::make<Joined>(s.item, "nothing", s.price);
      return query::make<Joined>(s.item, k->item, s.price);
    };
    return q.left_join(query::from(known), item, item, both)
        .group_by([](auto r) { return std::tuple(r.known, r.item); })
        .select([](auto g) { return query::make<Letter>(std::get<0>(g.key()) + std::get<1>(g.key()), g.sum(price), g.count()); });
  };
  for (const given* from : {&few(), &many()})
    EXPECT_TRUE(sorted(joined(query::from(query::columns(from->columns))).to_vector()) == wanted_of(*from, joined));
}

TEST(group_columns, rows_in_files) {
  const temp_folder folder("group_columns_test");
  const given& from = as_many();
  const auto wanted = wanted_of(from, by_item);
  for (const int threads : {1, 4}) {
    const query::Session session({.threads = threads, .memory_limit = 48u << 20, .temp_folder = folder.name()});
    const auto q = by_item(query::from(query::columns(from.columns)).in(session));
    std::vector<ByItem> got;
    for (const ByItem& g : q) got.push_back(g);
    EXPECT_TRUE(sorted(std::move(got)) == wanted);
  }
}

}  // namespace
}  // namespace query::tests
