// Further forms of verbs: functions of the row's number, results of elements, zip of three and four, orders of rows, values in lambdas.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>

#include "conformance/engines.hpp"
#include "conformance/expect_message.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance::verb_forms {

const auto amount = [](const auto& t) { return t.amount; };
const auto name = [](const auto& t) { return t.name; };
const auto price = [](const auto& t) { return t.price; };

CONFORMS(verb_forms, while_with_the_number, "take_while", "skip_while") {
  for (const auto& d : trades()) {
    for (const std::int64_t limit : {0, 1, 700, 9000}) {
      SCOPED_TRACE(d.name + ", " + std::to_string(limit));
      const auto passes = [limit](const trade& t, std::int64_t i) { return i < limit && t.amount > -500; };
      std::size_t border = 0;
      while (border < d.rows.size() && passes(d.rows[border], static_cast<std::int64_t>(border))) ++border;
      const auto at = d.rows.begin() + static_cast<std::ptrdiff_t>(border);
      const std::vector<trade> before(d.rows.begin(), at), rest(at, d.rows.end());
      const auto traced = [limit](const auto& t, const auto& i) { return i < limit && t.amount > -500; };
      const auto q = source(e, d.rows);
      EXPECT_ROWS(q.take_while(traced).to_vector(), before);
      EXPECT_ROWS(q.skip_while(traced).to_vector(), rest);
      EXPECT_ROWS(q.take_while(passes).to_vector(), before);
      EXPECT_ROWS(q.skip_while(passes).to_vector(), rest);
    }
    // The number is that of the row behind the filter.
    const auto odd = kept(d.rows, [](const trade& t) { return t.id % 2 != 0; });
    EXPECT_ROWS(source(e, d.rows).where([](auto t) { return t.id % 2 != 0; }).take_while([](auto, auto i) { return i < 5; }).to_vector(),
                std::vector<trade>(odd.begin(), odd.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(5, odd.size()))));
  }
}

CONFORMS(verb_forms, select_many_with_the_number, "select_many") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<std::int64_t> wanted;
    for (std::size_t i = 0; i < d.rows.size(); ++i) {
      wanted.push_back(d.rows[i].amount / 2);
      wanted.push_back(static_cast<std::int64_t>(i));
    }
    const auto q = source(e, d.rows);
    EXPECT_ROWS(q.select_many([](const auto& t, const auto& i) { return std::array{t.amount / 2, i}; }).to_vector(), wanted);
    EXPECT_ROWS(q.select_many([](const trade& t, std::int64_t i) {
      return std::vector<std::int64_t>{t.amount / 2, i};
    }).to_vector(), wanted);
  }
}

// A range whose elements are made as they are read.
struct made_texts {
  struct iterator {
    const std::string* name;
    int i;
    std::string operator*() const { return *name + (i == 0 ? " that is long enough to be stored elsewhere" : " which is as long"); }
    iterator& operator++() {
      ++i;
      return *this;
    }
    bool operator!=(const iterator& o) const { return i != o.i; }
    bool operator==(const iterator& o) const { return i == o.i; }
  };
  const std::string* name;
  iterator begin() const { return {name, 0}; }
  iterator end() const { return {name, 2}; }
};

CONFORMS(verb_forms, select_many_with_results, "select_many") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<std::pair<std::string, std::int64_t>> of_arrays, of_lists, numbered;
    for (std::size_t i = 0; i < d.rows.size(); ++i) {
      const trade& t = d.rows[i];
      for (const std::int32_t leg : t.legs) of_arrays.emplace_back(t.name, leg + t.amount % 7);
      for (int n = 0; n < t.id % 4; ++n) of_lists.emplace_back(t.name, n);
      for (int n = 0; n < t.id % 4; ++n) numbered.emplace_back(t.name, n * static_cast<std::int64_t>(i));
    }
    const auto q = source(e, d.rows);
    const auto leg = [](const auto& t, const auto& x) { return std::pair(t.name, x + t.amount % 7); };
    EXPECT_ROWS(q.select_many([](const auto& t) { return t.legs; }, leg).to_vector(), of_arrays);
    EXPECT_ROWS(q.select_many([](const trade& t) -> const auto& { return t.legs; }, leg).to_vector(), of_arrays);
    // A range of one, whose result is an array itself; and one of none.
    using two = std::array<std::int64_t, 2>;
    std::vector<two> of_one;
    for (const trade& t : d.rows) of_one.push_back({t.amount, t.id});
    EXPECT_ROWS(q.select_many([](const trade& t) { return std::array<std::int64_t, 1>{t.amount}; }, [](const trade& t, std::int64_t x) {
      return two{x, t.id};
    }).to_vector(), of_one);
    EXPECT_EQ(q.select_many([](const trade&) { return std::array<std::int64_t, 0>{}; }, [](const trade&, std::int64_t x) {
      return x;
    }).count(), 0);
    // Views of elements that end with the call.
    std::vector<std::string> texts;
    for (const trade& t : d.rows)
      for (const char* end : {" that is long enough to be stored elsewhere", " which is as long"}) texts.push_back(t.name + end);
    const auto both = [](const trade& t) {
      return std::array<std::string, 2>{t.name + " that is long enough to be stored elsewhere", t.name + " which is as long"};
    };
    const auto made = [](const trade& t) { return made_texts{&t.name}; };
    const auto view = [](const trade&, const std::string& x) { return std::string_view(x); };
    EXPECT_ROWS(q.select_many(both, view).to_vector(), texts);
    EXPECT_ROWS(q.select_many(made, view).to_vector(), texts);
    for (std::string& x : texts) x = x.c_str();  // names may hold a zero
    EXPECT_ROWS(q.select_many(made, [](const trade&, const std::string& x) { return x.c_str(); }).to_vector(), texts);
    // A range that is made for the row, and one that its function only looks through.
    const auto count = [](const trade& t) {
      std::vector<int> all;
      for (int n = 0; n < t.id % 4; ++n) all.push_back(n);
      return all;
    };
    const auto with_name = [](const trade& t, int n) { return std::pair(t.name, static_cast<std::int64_t>(n)); };
    EXPECT_ROWS(q.select_many(count, with_name).to_vector(), of_lists);
    static constexpr std::array digits{0, 1, 2};
    EXPECT_ROWS(q.select_many([](const trade& t) {
      return std::span<const int>(digits).first(static_cast<std::size_t>(std::max(0, t.id % 4)));
    }, with_name).to_vector(), of_lists);
    EXPECT_ROWS(q.select_many([](const trade& t, std::int64_t i) {
      std::vector<std::int64_t> all;
      for (int n = 0; n < t.id % 4; ++n) all.push_back(n * i);
      return all;
    }, [](const trade& t, std::int64_t x) { return std::pair(t.name, x); }).to_vector(), numbered);
  }
}

CONFORMS(verb_forms, zip_of_three_and_four, "zip") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const std::vector<tick>& ticks = small_ticks().back().rows;
    const std::vector<int> numbers{7, 8, 9, 10, 11};
    std::vector<std::tuple<std::string, double, std::int64_t>> three;
    std::vector<std::tuple<std::string, double, std::int64_t, int>> four;
    std::vector<std::int64_t> sums;
    for (std::size_t i = 0; i < std::min(d.rows.size(), ticks.size()); ++i) {
      three.emplace_back(d.rows[i].name, ticks[i].price, static_cast<std::int64_t>(i));
      if (i < numbers.size()) four.emplace_back(d.rows[i].name, ticks[i].price, static_cast<std::int64_t>(i), numbers[i]);
      if (i < numbers.size()) sums.push_back(d.rows[i].amount % 9 + ticks[i].amount + static_cast<std::int64_t>(i) + numbers[i]);
    }
    const auto names = source(e, d.rows).select(name);
    const auto prices = source(e, ticks).select(price);
    const auto count = query::range(std::int64_t{0}, 1 << 20);
    EXPECT_ROWS(names.zip(prices, count).to_vector(), three);
    EXPECT_ROWS(names.zip(prices, count, numbers).to_vector(), four);
    EXPECT_ROWS(source(e, d.rows).zip(ticks, count, [](const auto& t, const auto& u, const auto& i) {
      return std::tuple(t.name, u.price, i);
    }).to_vector(), three);
    EXPECT_ROWS(source(e, d.rows).zip(ticks, count, std::vector<int>(numbers), [](const trade& t, const tick& u, std::int64_t i, int n) {
      return t.amount % 9 + u.amount + i + n;
    }).to_vector(), sums);
  }
}

CONFORMS(verb_forms, extremes_by_an_order_of_rows, "min", "max") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto by_name = [](const trade& a, const trade& b) { return a.name < b.name; };
    // The first of equals, both ways.
    std::vector<trade> least, most;
    for (const trade& t : d.rows) {
      if (least.empty() || t.name < least[0].name) least = {t};
      if (most.empty() || most[0].name < t.name) most = {t};
    }
    const auto listed = [](const std::optional<trade>& t) { return t ? std::vector<trade>{*t} : std::vector<trade>(); };
    const auto q = source(e, d.rows);
    EXPECT_ROWS(listed(q.min(by_name)), least);
    EXPECT_ROWS(listed(q.max(by_name)), most);
    const auto numbers = q.select(amount);
    EXPECT_EQ(numbers.min(std::greater<>()), numbers.max());
    EXPECT_EQ(numbers.max([](auto a, auto b) { return b < a; }), numbers.min());
  }
}

CONFORMS(verb_forms, values_in_lambdas, "broadcast", "value_of") {
  for (const auto& d : small_ticks()) {
    SCOPED_TRACE(d.name);
    std::int64_t total = 0;
    std::optional<double> most;
    for (const tick& t : d.rows) {
      total += t.amount;
      if (!most || *most < t.price) most = t.price;
    }
    std::vector<std::int64_t> wanted;
    std::vector<tick> dearest;
    for (const tick& t : d.rows) {
      wanted.push_back(t.amount - total);
      if (t.price == most) dearest.push_back(t);
    }
    const auto q = source(e, d.rows);
    const auto sum = query::broadcast(query::value_of(q).sum(amount));
    EXPECT_ROWS(q.select([sum](const auto& t) { return t.amount - sum.value(t); }).to_vector(), wanted);
    EXPECT_ROWS(q.select([sum](const tick& t) { return t.amount - sum.value(t); }).to_vector(), wanted);
    const auto highest = query::broadcast(query::value_of(q).max(price));
    EXPECT_ROWS(q.where([highest](const tick& t) { return t.price == highest.value(t); }).to_vector(), dearest);
  }
}

// Anew in each round: halves the distance of each number to the sum of all.
CONFORMS(verb_forms, values_of_the_round, "broadcast", "value_of", "do_while") {
  std::vector<std::int64_t> wanted{1, 2, 3, 40};
  const std::vector<std::int64_t> start = wanted;
  for (int round = 0; round < 4; ++round) {
    std::int64_t sum = 0;
    for (const std::int64_t x : wanted) sum += x;
    for (std::int64_t& x : wanted) x = (x + sum) % 1000;
  }
  const auto all = source(e, start).do_while([](query::Query<std::int64_t> now) {
    const auto sum = query::broadcast(query::value_of(now).sum());
    return now.select([sum](const auto& x) { return (x + sum.value(x)) % 1000; });
  }, query::times(4)).to_vector();
  EXPECT_ROWS(all, wanted);
}

}  // namespace conformance::verb_forms
