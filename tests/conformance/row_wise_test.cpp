// where, select, select_many, as_type, values: with and without row numbers, over every data set.
#include <map>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

struct named_price {
  std::string name;
  double price;
  std::optional<std::int64_t> twice;
  side way;
};
QUERY_RECORD(named_price, name, price, twice, way);

CONFORMS(row_wise, where_keeps_the_rows_for_which_f_is_true, "where", "to_vector") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<trade> numbers, floats, strings, nulls;
    for (const trade& t : d.rows) {
      if (t.key > 0 && t.amount != 7) numbers.push_back(t);
      if (t.price > 0 || t.hot) floats.push_back(t);
      if (t.name == "ab" || t.name.size() > 15) strings.push_back(t);
      if (t.lot && *t.lot > 3 && t.way != side::none) nulls.push_back(t);
    }
    EXPECT_ROWS(source(e, d.rows).where([](auto t) { return t.key > 0 && t.amount != 7; }).to_vector(), numbers);
    EXPECT_ROWS(source(e, d.rows).where([](auto t) { return t.price > 0 || t.hot; }).to_vector(), floats);
    EXPECT_ROWS(source(e, d.rows).where([](auto t) { return t.name == "ab" || query::length(t.name) > 15; }).to_vector(), strings);
    EXPECT_ROWS(source(e, d.rows).where([](auto t) { return t.lot.has_value() && *t.lot > 3 && t.way != side::none; }).to_vector(), nulls);
  }
}

CONFORMS(row_wise, where_and_select_keep_order_over_batch_and_part_borders, "where", "select") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    std::vector<tick> kept;
    std::vector<double> products;
    for (const tick& t : d.rows)
      if (t.amount % 3 == 0) {
        kept.push_back(t);
        products.push_back(t.price * static_cast<double>(t.amount));
      }
    const auto q = source(e, d.rows).where([](auto t) { return t.amount % 3 == 0; });
    EXPECT_ROWS(q.to_vector(), kept);
    EXPECT_ROWS(q.select([](auto t) { return t.price * query::cast<double>(t.amount); }).to_vector(), products);
  }
}

CONFORMS(row_wise, select_replaces_each_row, "select") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<named_price> made;
    std::vector<std::string> names;
    std::vector<bool> hot;
    std::vector<std::optional<std::int32_t>> lots;
    std::vector<std::pair<std::int32_t, std::string>> pairs;
    for (const trade& t : d.rows) {
      made.push_back({t.name, t.price, t.lot ? std::optional<std::int64_t>(*t.lot) : std::nullopt, t.way});
      names.push_back(t.name);
      hot.push_back(t.hot);
      lots.push_back(t.lot);
      pairs.emplace_back(t.key, t.name);
    }
    EXPECT_ROWS(source(e, d.rows).select([](auto t) { return query::make<named_price>(t.name, t.price, t.lot, t.way); }).to_vector(), made);
    EXPECT_ROWS(source(e, d.rows).select([](auto t) { return t.name; }).to_vector(), names);
    EXPECT_ROWS(source(e, d.rows).select([](auto t) { return t.hot; }).to_vector(), hot);
    EXPECT_ROWS(source(e, d.rows).select([](auto t) { return t.lot; }).to_vector(), lots);
    EXPECT_ROWS(source(e, d.rows).select([](const trade& t) { return std::pair(t.key, t.name); }).to_vector(), pairs);
  }
}

CONFORMS(row_wise, functions_may_take_the_number_of_the_row, "where", "select") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    std::vector<tick> third;
    std::vector<std::int64_t> numbers, after_filter;
    std::int64_t i = 0, j = 0;
    for (const tick& t : d.rows) {
      if (i % 3 == 1) third.push_back(t);
      numbers.push_back(i * 10 + t.key);
      if (t.amount > 0) after_filter.push_back(t.id - j++);
      ++i;
    }
    EXPECT_ROWS(source(e, d.rows).where([](auto, std::int64_t n) { return n % 3 == 1; }).to_vector(), third);
    EXPECT_ROWS(source(e, d.rows).select([](auto t, std::int64_t n) { return n * 10 + t.key; }).to_vector(), numbers);
    EXPECT_ROWS(
        source(e, d.rows).where([](auto t) { return t.amount > 0; }).select([](auto t, std::int64_t n) { return t.id - n; }).to_vector(),
        after_filter);
  }
}

CONFORMS(row_wise, select_many_puts_in_the_elements_of_any_range, "select_many") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<std::int32_t> legs, repeated;
    std::vector<std::string> letters;
    for (const trade& t : d.rows) {
      legs.insert(legs.end(), t.legs.begin(), t.legs.end());
      for (int k = 0; k < t.id % 4; ++k) repeated.push_back(t.key);
      if (t.lot) letters.push_back(t.name);
    }
    EXPECT_ROWS(source(e, d.rows).select_many([](const trade& t) { return t.legs; }).to_vector(), legs);
    EXPECT_ROWS(source(e, d.rows)
                    .select_many([](const trade& t) { return std::vector<std::int32_t>(static_cast<std::size_t>(t.id % 4), t.key); })
                    .to_vector(),
                repeated);
    EXPECT_ROWS(source(e, d.rows).select_many([](const trade& t) { return std::vector<std::string>(t.lot ? 1 : 0, t.name); }).to_vector(),
                letters);
    EXPECT_EQ(source(e, d.rows).select_many([](const trade& t) { return t.legs; }).where([](auto x) { return x > 0; }).count(),
              std::count_if(legs.begin(), legs.end(), [](int x) { return x > 0; }));
  }
}

// Functions that trace: what they give is a field of the row, or an array made of fields.
CONFORMS(row_wise, select_many_of_arrays_goes_on_in_all_verbs, "select_many", "where", "select", "group_by", "sum", "count") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<std::int32_t> legs, positive;
    std::vector<std::int64_t> made;
    std::map<std::int32_t, std::int64_t> groups;
    std::int64_t sum = 0;
    for (const trade& t : d.rows) {
      for (const std::int32_t x : t.legs) {
        legs.push_back(x);
        if (t.key > 1 && x > 0) positive.push_back(x % 7);
        ++groups[x % 5];
        sum += x % 1000;
      }
      for (const std::int64_t x : {t.amount, t.amount / 3}) made.push_back(x);
    }
    const auto many = source(e, d.rows).select_many([](auto t) { return t.legs; });
    EXPECT_ROWS(many.to_vector(), legs);
    EXPECT_ROWS(source(e, d.rows)
                    .where([](auto t) { return t.key > 1; })
                    .select_many([](auto t) { return t.legs; })
                    .where([](auto x) { return x > 0; })
                    .select([](auto x) { return x % 7; })
                    .to_vector(),
                positive);
    EXPECT_ROWS(source(e, d.rows).select_many([](auto t) { return std::array{t.amount / 1, t.amount / 3}; }).to_vector(), made);
    EXPECT_EQ(many.count(), std::ssize(legs));
    EXPECT_EQ(many.select([](auto x) { return x % 1000; }).sum(), sum);
    const auto counts =
        many.group_by([](auto x) { return x % 5; }).select([](auto g) { return std::pair(g.key(), g.count()); }).to_vector();
    std::map<std::int32_t, std::int64_t> found;
    for (const auto& [k, n] : counts) found[k] = n;
    EXPECT_EQ(found, groups);
    EXPECT_ROWS(many.skip(5).take(700).to_vector(),
                std::vector<std::int32_t>(legs.begin() + std::min<std::ptrdiff_t>(5, std::ssize(legs)),
                                          legs.begin() + std::min<std::ptrdiff_t>(705, std::ssize(legs))));
  }
}

CONFORMS(row_wise, traced_functions_may_take_the_number_of_the_row, "where", "select", "count", "sum") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    std::vector<tick> third;
    std::vector<std::int64_t> numbers, behind;
    std::int64_t i = 0, sum = 0;
    for (const tick& t : d.rows) {
      if (i % 3 == 1) {
        behind.push_back(std::ssize(third) * 2 + t.key);
        third.push_back(t);
      }
      numbers.push_back(i * 10 + t.key);
      sum += i++;
    }
    const auto every_third = [](auto, auto n) { return n % 3 == 1; };
    const auto q = source(e, d.rows);
    EXPECT_ROWS(q.where(every_third).to_vector(), third);
    EXPECT_EQ(q.where(every_third).count(), std::ssize(third));
    EXPECT_ROWS(q.select([](auto t, auto n) { return n * 10 + t.key; }).to_vector(), numbers);
    EXPECT_ROWS(q.where(every_third).select([](auto t, auto n) { return n * 2 + t.key; }).to_vector(), behind);
    EXPECT_EQ(q.select([](auto, auto n) { return n; }).sum(), sum);
  }
}

CONFORMS(row_wise, one_row_may_give_more_than_a_batch, "select_many") {
  const std::vector<int> sizes = {0, 5000, 1, 1024, 0, 3000};
  std::vector<int> expected;
  for (const int n : sizes)
    for (int k = 0; k < n; ++k) expected.push_back(k);
  const auto q = source(e, sizes).select_many([](const int& n) {
    std::vector<int> v;
    for (int k = 0; k < n; ++k) v.push_back(k);
    return v;
  });
  EXPECT_ROWS(q.to_vector(), expected);
  EXPECT_ROWS(q.take(6001).to_vector(), std::vector<int>(expected.begin(), expected.begin() + 6001));
}

CONFORMS(row_wise, as_type_converts_and_values_drops_nulls, "as_type", "values") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<double> keys;
    std::vector<std::int32_t> lots;
    std::vector<std::string> notes;
    for (const trade& t : d.rows) {
      keys.push_back(t.key);
      if (t.lot) lots.push_back(*t.lot);
      if (t.note) notes.push_back(*t.note);
    }
    EXPECT_ROWS(source(e, d.rows).select([](auto t) { return t.key; }).template as_type<double>().to_vector(), keys);
    EXPECT_ROWS(source(e, d.rows).select([](auto t) { return t.lot; }).values().to_vector(), lots);
    EXPECT_ROWS(source(e, d.rows).select([](auto t) { return t.note; }).values().to_vector(), notes);
  }
}

}  // namespace
}  // namespace conformance
