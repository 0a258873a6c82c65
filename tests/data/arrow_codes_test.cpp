// Strings that come as codes of dictionaries: queries read the codes, and give what they give over strings.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <query/arrow.hpp>
#include <query/query.hpp>

#include "data/arrow_fixture.hpp"
#include "data/arrow_table.hpp"
#include "runtime/session_state.hpp"

namespace arrow_codes_test {

using namespace arrow_fixture;

struct Sale {
  std::string item;
  std::string place;
  std::int64_t n;
};
QUERY_RECORD(Sale, item, place, n);
struct MaybeSale {
  std::optional<std::string> item;
  std::int64_t n;
};
QUERY_RECORD(MaybeSale, item, n);
struct Label {
  std::string item, text;
};
QUERY_RECORD(Label, item, text);
struct Total {
  std::string item;
  std::int64_t sum;
  bool operator==(const Total&) const = default;
};
QUERY_RECORD(Total, item, sum);
struct PairTotal {
  std::string item, place;
  std::int64_t sum;
  bool operator==(const PairTotal&) const = default;
};
QUERY_RECORD(PairTotal, item, place, sum);
struct MaybeTotal {
  std::optional<std::string> item;
  std::int64_t sum;
  bool operator==(const MaybeTotal&) const = default;
};
QUERY_RECORD(MaybeTotal, item, sum);
struct Labelled {
  std::string text;
  std::int64_t n;
  bool operator==(const Labelled&) const = default;
};
QUERY_RECORD(Labelled, text, n);

const auto item = [](auto s) { return s.item; };
const auto n_of = [](auto s) { return s.n; };

std::string name_of(std::int64_t i) { return (i % 3 ? "item " : "an item with a longer name, number ") + std::to_string(i); }

std::vector<std::string> names(std::int64_t n) {
  std::vector<std::string> all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back(name_of(i));
  return all;
}

// The same rows twice: with dictionaries, and as plain strings.
struct sales {
  std::vector<std::int32_t> items, places;
  std::vector<std::int64_t> n;
  std::int64_t entries;

  sales(std::int64_t rows, std::int64_t of) : entries(of) {
    std::uint64_t x = 88172645463325252u;
    for (std::int64_t i = 0; i < rows; ++i) {
      x ^= x << 13, x ^= x >> 7, x ^= x << 17;
      items.push_back(static_cast<std::int32_t>(x % static_cast<std::uint64_t>(of)));
      places.push_back(static_cast<std::int32_t>(x / 1'000'000 % 10));
      n.push_back(static_cast<std::int64_t>(x / 77 % 1000));
    }
  }
  std::int64_t rows() const { return static_cast<std::int64_t>(n.size()); }
  column batch(column item_column) const {
    std::vector<std::int8_t> place(places.begin(), places.end());
    return structure(rows(), {std::move(item_column).named("item"),
                              dictionary("c", place, texts<std::int32_t>(names(10))).named("place"), numbers("l", n).named("n")});
  }
  auto coded() const { return query_of<Sale>(batch(dictionary("i", items, texts<std::int32_t>(names(entries))))); }
  auto plain() const {
    std::vector<std::string> i, p;
    for (const std::int32_t x : items) i.push_back(name_of(x));
    for (const std::int32_t x : places) p.push_back(name_of(x));
    return query_of<Sale>(structure(rows(), {texts<std::int32_t>(i).named("item"), texts<std::int32_t>(p).named("place"),
                                             numbers("l", n).named("n")}));
  }
};

template <class Q> auto totals(const Q& q) {
  return q.group_by(item).select([](auto g) { return query::make<Total>(g.key(), g.sum(n_of)); });
}
template <class Q> auto pair_totals(const Q& q) {
  return q.group_by([](auto s) { return std::tuple(s.item, s.place); }).select([](auto g) {
    return query::make<PairTotal>(std::get<0>(g.key()), std::get<1>(g.key()), g.sum(n_of));
  });
}
// Has nobody asked for the strings of the column?
template <class Q> bool keeps_codes(const Q& q, std::size_t field) {
  const auto& source = *q.to_pipe().node;
  const query::data::arrow_table* const table = query::data::arrow_table::of(source);
  query::detail::row_block rows;
  table->view(rows);
  return table->codes_of(field) && table->row_at(field, rows.columns[field]) == 0 && !table->has_values(field);
}

class arrow_codes : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(alive, 0) << "structs were not released"; }
};

TEST_F(arrow_codes, group_as_strings_do) {
  for (const auto& [rows, entries] : {std::pair(50, 7), std::pair(300'000, 90), std::pair(900'000, 3000), std::pair(700'000, 100'000)}) {
    const sales s(rows, entries);
    const auto coded = s.coded(), plain = s.plain();
    EXPECT_EQ(totals(coded).to_vector(), totals(plain).to_vector()) << entries;
    EXPECT_EQ(pair_totals(coded).to_vector(), pair_totals(plain).to_vector()) << entries;
    EXPECT_TRUE(keeps_codes(coded, 0)) << entries;
    EXPECT_TRUE(keeps_codes(coded, 1)) << entries;
    const auto some = [](const auto& q) { return totals(q.where([](auto x) { return x.n > 500 && x.item != "item 4"; })).to_vector(); };
    EXPECT_EQ(some(coded), some(plain)) << entries;
  }
}

TEST_F(arrow_codes, filters_test_each_entry) {
  const sales s(200'000, 500);
  const auto coded = s.coded(), plain = s.plain();
  const std::string wanted = name_of(33);
  const auto count = [&](const auto& q) { return q.where([&](auto x) { return x.item == wanted; }).count(); };
  EXPECT_EQ(count(coded), count(plain));
  const auto prefix = [](const auto& q) { return q.where([](auto x) { return x.item.starts_with("item 4"); }).sum(n_of); };
  EXPECT_EQ(prefix(coded), prefix(plain));
  const auto others = [](const auto& q) {
    return q.where([](auto x) { return x.item.size() > 8; }).where([](auto x) { return x.n < 10; }).select(n_of).to_vector();
  };
  EXPECT_EQ(others(coded), others(plain));
  const auto none = [](const auto& q) { return q.where([](auto x) { return x.item == "nothing"; }).count(); };
  EXPECT_EQ(none(coded), 0);
  EXPECT_TRUE(keeps_codes(coded, 0));
  const auto both = [](const auto& q) { return q.where([](auto x) { return x.item < x.place; }).sum(n_of); };
  EXPECT_EQ(both(coded), both(plain));
}

TEST_F(arrow_codes, tests_of_entries_that_no_row_names_do_not_run) {
  const auto q = query_of<Sale>(structure(
      3, {dictionary<std::int32_t>("i", {0, 2, 0}, texts<std::int32_t>({"12", "", "7"})).named("item"),
          dictionary<std::int8_t>("c", {0, 0, 0}, texts<std::int32_t>({"x"})).named("place"),
          numbers<std::int64_t>("l", {1, 2, 3}).named("n")}));
  EXPECT_EQ(q.where([](auto x) { return x.item.substr(1) == "2"; }).sum(n_of), 4);  // which would fail for ""
}

TEST_F(arrow_codes, batches_have_dictionaries_of_their_own) {
  std::vector<column> batches;
  std::map<std::string, std::int64_t> sums;
  for (std::int32_t b = 0; b < 5; ++b) {
    const std::int32_t rows = 3000 * b + 1;
    // Entries come in another order, some twice, and two batches have equal dictionaries.
    std::vector<std::string> entries;
    for (std::int32_t i = 0; i < 20; ++i) entries.push_back(name_of((i * (b == 3 ? 2 : b)) % 15));
    std::vector<std::int16_t> codes;
    std::vector<std::int64_t> n;
    for (std::int32_t r = 0; r < rows; ++r) {
      codes.push_back(static_cast<std::int16_t>(r * 7 % 20));
      n.push_back(r);
      sums[entries[static_cast<std::size_t>(codes.back())]] += r;
    }
    batches.push_back(structure(rows, {dictionary("s", codes, texts<std::int64_t>(entries)).named("item"),
                                       dictionary("s", codes, texts<std::int64_t>(entries)).named("place"), numbers("l", n).named("n")}));
  }
  auto stream = stream_of(std::move(batches));
  const auto q = query::from_arrow<Sale>(&stream);
  const auto got = totals(q).order_by(item).to_vector();
  ASSERT_EQ(got.size(), sums.size());
  for (const Total& t : got) EXPECT_EQ(t.sum, sums[t.item]) << t.item;
  EXPECT_EQ(q.where([](auto x) { return x.item == "item 4"; }).sum(n_of), sums["item 4"]);
  EXPECT_EQ(pair_totals(q).count(), static_cast<std::int64_t>(sums.size()));
  EXPECT_TRUE(keeps_codes(q, 0));
  EXPECT_EQ(q.select(item).distinct().count(), static_cast<std::int64_t>(sums.size()));
}

TEST_F(arrow_codes, slices_begin_anywhere) {
  const auto whole = [] { return texts<std::int32_t>({"no", "a", "b", "c", "no"}); };
  const auto check = [](column c) {
    const auto q = query_of<Sale>(
        structure(4, {std::move(c).named("item"), dictionary<std::int8_t>("c", {0, 0, 0, 0, 0}, texts<std::int32_t>({"x"})).named("place"),
                      numbers<std::int64_t>("l", {9, 1, 2, 4, 8}).named("n")})
            .slice(1, 4));
    EXPECT_EQ(totals(q).to_vector(), (std::vector<Total>{{"b", 9}, {"a", 2}, {"c", 4}}));
    EXPECT_EQ(q.skip(1).where([](auto x) { return x.item != "b"; }).sum(n_of), 6);
    EXPECT_EQ(q.take(2).select(item).to_vector(), (std::vector<std::string>{"b", "a"}));
    EXPECT_TRUE(keeps_codes(q, 0));
  };
  check(dictionary<std::int32_t>("i", {7, 7, 1, 0, 2, 1}, whole().slice(1, 3)).slice(1, 5));
  check(dictionary<std::int16_t>("s", {7, 7, 1, 0, 2, 1}, whole().slice(1, 3)).slice(1, 5));
}

TEST_F(arrow_codes, nulls_of_codes_and_of_entries_are_one_group) {
  const auto q = [] {
    column values = with_nulls(texts<std::int32_t>({"v", "w", "v"}), {true, false, true});
    column keys = with_nulls(dictionary<std::int32_t>("i", {0, 9, 1, 0, 2}, std::move(values)), {true, false, true, true, true});
    return query_of<MaybeSale>(structure(5, {std::move(keys).named("item"), numbers<std::int64_t>("l", {1, 2, 4, 8, 16}).named("n")}));
  }();
  const auto sums = q.group_by(item).select([](auto g) { return query::make<MaybeTotal>(g.key(), g.sum(n_of)); }).to_vector();
  EXPECT_EQ(sums, (std::vector<MaybeTotal>{{"v", 25}, {std::nullopt, 6}}));
  EXPECT_EQ(q.where([](auto x) { return x.item.has_value(); }).sum(n_of), 25);
  EXPECT_EQ(q.where([](auto x) { return x.item == "v"; }).count(), 3);
  EXPECT_TRUE(keeps_codes(q, 0));
  const auto pairs = q.join(q, item, item, [](auto a, auto b) { return a.n * b.n; });
  EXPECT_EQ(pairs.count(), 9);  // a null matches nothing
  // A dictionary without entries.
  column none = with_nulls(dictionary<std::int8_t>("c", {0, 0}, texts<std::int32_t>({})), {false, false});
  const auto empty = query_of<MaybeSale>(structure(2, {std::move(none).named("item"), numbers<std::int64_t>("l", {1, 2}).named("n")}));
  EXPECT_EQ(empty.group_by(item).select([](auto g) { return query::make<MaybeTotal>(g.key(), g.sum(n_of)); }).to_vector(),
            (std::vector<MaybeTotal>{{std::nullopt, 3}}));
}

// Where the dictionary of a batch has no entries, the next one's begin at the same place.
TEST_F(arrow_codes, batches_without_entries_are_between_others) {
  const auto nothing = [] {
    column none = with_nulls(dictionary<std::int32_t>("i", {0, 0}, texts<std::int32_t>({})), {false, false});
    return structure(2, {std::move(none).named("item"), numbers<std::int64_t>("l", {1, 2}).named("n")});
  };
  const auto some = [](const std::string& a, const std::string& b) {
    return structure(2, {dictionary<std::int32_t>("i", {0, 1}, texts<std::int32_t>({a, b})).named("item"),
                         numbers<std::int64_t>("l", {4, 8}).named("n")});
  };
  std::vector<column> batches;
  batches.push_back(nothing());
  batches.push_back(some("a", "b"));
  batches.push_back(nothing());
  batches.push_back(nothing());
  batches.push_back(some("c", "a"));
  auto stream = stream_of(std::move(batches));
  const auto q = query::from_arrow<MaybeSale>(&stream);
  EXPECT_EQ(q.group_by(item).select([](auto g) { return query::make<MaybeTotal>(g.key(), g.sum(n_of)); }).to_vector(),
            (std::vector<MaybeTotal>{{std::nullopt, 9}, {"a", 12}, {"b", 8}, {"c", 4}}));
}

// The entries of small tables lie near each other, whichever comes first.
TEST_F(arrow_codes, rows_of_two_dictionaries_are_put_together) {
  const auto table = [](const std::string& a, const std::string& b) {
    return query_of<MaybeSale>(structure(4, {dictionary<std::int32_t>("i", {0, 1, 1, 0}, texts<std::int32_t>({a, b})).named("item"),
                                             numbers<std::int64_t>("l", {1, 2, 3, 4}).named("n")}));
  };
  const auto first = table("x", "y"), second = table("p", "q");
  const auto positive = [](auto s) { return s.n > 0; };
  const auto next = [](auto s) { return query::make<MaybeTotal>(s.item, s.n + 1); };
  for (const auto& [a, b] : {std::pair(first, second), std::pair(second, first)}) {
    const auto both = a.concat(b.where(positive)).select(next);
    EXPECT_EQ(both.distinct_by(item).count(), 4);
    EXPECT_EQ(both.group_by(item).select([](auto g) { return g.count(); }).to_vector(), (std::vector<std::int64_t>{2, 2, 2, 2}));
  }
}

TEST_F(arrow_codes, codes_outside_of_the_dictionary_are_refused) {
  const auto refused = [](auto codes, const std::string& text) {
    const auto q = query_of<MaybeSale>(structure(3, {dictionary("i", codes, texts<std::int32_t>({"a", "b"})).named("item"),
                                                     numbers<std::int64_t>("l", {1, 2, 3}).named("n")}));
    try {
      (void)q.group_by(item).select([](auto g) { return g.count(); }).to_vector();
      ADD_FAILURE() << "no error";
    } catch (const query::user_error& e) {
      EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
    }
  };
  refused(std::vector<std::int32_t>{0, 2, 1}, "from_arrow: field 'item': row 1 has code 2, and the dictionary has 2 entries");
  refused(std::vector<std::int32_t>{0, 1, -1}, "row 2 has code -1");
}

TEST_F(arrow_codes, join_by_entries) {
  const sales s(100'000, 200);
  const auto coded = s.coded(), plain = s.plain();
  std::vector<Label> labels;
  for (std::int64_t i = 0; i < 150; ++i) labels.push_back({name_of(i), "label " + std::to_string(i)});
  labels.push_back({name_of(7), "another label"});
  labels.push_back({"nothing", "no label"});
  const auto inner = [&](const auto& q) {
    return q.join(query::from(labels), item, item, [](auto x, auto l) { return query::make<Labelled>(l.text, x.n); }).to_vector();
  };
  EXPECT_EQ(inner(coded), inner(plain));
  EXPECT_TRUE(keeps_codes(coded, 0));
  const auto left = [&](const auto& q) {
    return q.left_join(query::from(labels), item, item, [](auto x, auto l) {
      return query::make<Labelled>(l.has_value() ? l.value().text : std::string("none"), x.n);
    }).to_vector();
  };
  EXPECT_EQ(left(coded), left(plain));
  const auto semi = [&](const auto& q) { return q.semi_join(query::from(labels), item, item).sum(n_of); };
  EXPECT_EQ(semi(coded), semi(plain));
  const auto anti = [&](const auto& q) { return q.anti_join(query::from(labels), item, item).sum(n_of); };
  EXPECT_EQ(anti(coded), anti(plain));
  const auto built = [&](const auto& q) {
    return query::from(labels).join(q, item, item, [](auto l, auto x) { return query::make<Labelled>(l.text, x.n); }).to_vector();
  };
  EXPECT_EQ(built(coded), built(plain));
}

TEST_F(arrow_codes, other_verbs_read_the_strings) {
  const sales s(70'000, 40);
  const auto coded = s.coded(), plain = s.plain();
  const auto as_pairs = [](const auto& q) {
    std::vector<std::pair<std::string, std::int64_t>> all;
    for (const auto& row : q.to_vector()) all.emplace_back(row.item + "|" + row.place, row.n);
    return all;
  };
  EXPECT_EQ(as_pairs(coded), as_pairs(plain));
  EXPECT_EQ(as_pairs(coded.order_by(item)), as_pairs(plain.order_by(item)));
  EXPECT_EQ(as_pairs(coded.order_by(n_of).take(30)), as_pairs(plain.order_by(n_of).take(30)));
  const auto sorted = [](const auto& q) { return q.select(item).order_by([](auto x) { return x; }).to_vector(); };
  EXPECT_EQ(sorted(coded), sorted(plain));
  EXPECT_EQ(as_pairs(coded.distinct_by([](auto x) { return std::tuple(x.item, x.place); })),
            as_pairs(plain.distinct_by([](auto x) { return std::tuple(x.item, x.place); })));
  EXPECT_EQ(as_pairs(coded.concat(plain).take(80'000)), as_pairs(plain.concat(coded).take(80'000)));
  EXPECT_EQ(as_pairs(coded.reverse().skip(5)), as_pairs(plain.reverse().skip(5)));
  const auto others = [&](const auto& q) { return q.select(item).except(plain.take(10).select(item)).to_vector(); };
  EXPECT_EQ(others(coded), others(plain));
  const auto strings = [](const auto& q) {
    return q.group_by([](auto x) { return x.place; }).select([](auto g) {
      return query::make<PairTotal>(g.key(), g.min(item), g.count_distinct(item));
    }).to_vector();
  };
  EXPECT_EQ(strings(coded), strings(plain));
  const auto chunks = coded.to_columns();
  std::int64_t row = 0;
  for (const auto& chunk : chunks)
    for (const auto& text : chunk.get<0>()) ASSERT_EQ(std::string_view(text), name_of(s.items[static_cast<std::size_t>(row++)]));
  EXPECT_EQ(row, s.rows());
}

TEST_F(arrow_codes, memory_limits_and_partitions_give_the_same) {
  const sales s(400'000, 60'000);
  const auto coded = s.coded(), plain = s.plain();
  const auto wanted = totals(plain).order_by(item).to_vector();
  query::Session small({.memory_limit = 24u << 20}), divided(query::session_options{}), checked({.interpret = true});
  divided.state()->partitions = 4;
  EXPECT_EQ(totals(coded.in(small)).order_by(item).to_vector(), wanted);
  EXPECT_EQ(totals(coded.in(divided)).order_by(item).to_vector(), wanted);
  EXPECT_EQ(totals(coded.in(checked)).order_by(item).to_vector(), wanted);
  EXPECT_EQ(totals(coded).order_by(item).to_vector(), wanted);  // beside strings that are there now
}

TEST_F(arrow_codes, several_queries_read_codes_and_strings_at_once) {
  const sales s(60'000, 300);
  const auto wanted = totals(s.plain()).to_vector();
  const std::int64_t longer = s.plain().where([](auto x) { return x.item > x.place; }).count();
  for (int round = 0; round < 4; ++round) {
    const auto q = s.coded();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        if (t % 2) EXPECT_EQ(totals(q).to_vector(), wanted);
        else EXPECT_EQ(q.where([](auto x) { return x.item > x.place; }).count(), longer);
      });
    for (std::thread& t : threads) t.join();
  }
}

}  // namespace arrow_codes_test
