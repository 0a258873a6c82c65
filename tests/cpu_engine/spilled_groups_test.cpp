// group_by with many groups in less memory than its rows take: the answer to the last bit, and what goes wrong with temporary files.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <query/query.hpp>

#include "spill_cases.hpp"

namespace query::tests {

struct Sale {
  std::int64_t item;
  std::int32_t place;
  std::string buyer;
  double price, weight;
};
QUERY_RECORD(Sale, item, place, buyer, price, weight);

namespace {

constexpr std::size_t rows = 1'200'000, items = 150'000;
constexpr std::size_t small_memory = 22u << 20;

struct sale_columns {
  std::vector<std::int64_t> item;
  std::vector<std::int32_t> place;
  std::vector<std::string> buyer;
  std::vector<double> price, weight;
};
const sale_columns& sales() {
  static const sale_columns all = [] {
    sale_columns c;
    std::uint64_t x = 1;
    for (std::size_t i = 0; i < rows; ++i) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t number = i < items ? i * 7919 % items : (x >> 33) % items;
      c.item.push_back(static_cast<std::int64_t>(number) * 1'000'003);
      c.place.push_back(static_cast<std::int32_t>(x >> 60));
      c.buyer.push_back("buyer number " + std::to_string(number));
      c.price.push_back(static_cast<double>(x >> 40) / 977.0);
      c.weight.push_back(1.0 / static_cast<double>((x >> 50) + 1));
    }
    return c;
  }();
  return all;
}
auto columns_of(const sale_columns& c) { return query::columns<Sale>(c.item, c.place, c.buyer, c.price, c.weight); }
const std::vector<Sale>& records() {
  static const std::vector<Sale> all = [] {
    std::vector<Sale> v;
    const sale_columns& c = sales();
    for (std::size_t i = 0; i < rows; ++i) v.push_back({c.item[i], c.place[i], c.buyer[i], c.price[i], c.weight[i]});
    return v;
  }();
  return all;
}

struct spill_folder : temp_folder {
  spill_folder() : temp_folder("spilled_groups_test") {}
};

const auto item = [](auto s) { return s.item; };
template <class Key> auto totals(Key key) {
  return [key](auto q) {
    return q.group_by(key).select([](auto g) {
      return std::tuple(g.key(), g.sum([](auto s) { return s.price; }), g.mean([](auto s) { return s.weight; }), g.count());
    });
  };
}
using total = std::tuple<std::int64_t, double, std::optional<double>, std::int64_t>;

template <class T> auto bits(const std::vector<T>& rows) {
  std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t, std::int64_t>> all;
  for (const auto& [key, sum, mean, count] : rows) {
    std::string k;
    if constexpr (std::is_same_v<std::decay_t<decltype(key)>, std::string>) k = key;
    else k = std::to_string(key);
    all.emplace_back(k, std::bit_cast<std::uint64_t>(sum), std::bit_cast<std::uint64_t>(double(mean)), static_cast<std::int64_t>(count));
  }
  return all;
}

// The same query in enough memory and in little: explain() says that rows went to a file, and nothing differs.
template <class Make> void expect_spilled_alike(const char* what, std::size_t memory, Make make) {
  SCOPED_TRACE(what);
  const spill_folder at;
  const auto wanted = bits(make(query::Session({.threads = 2})).to_vector());
  ASSERT_GT(wanted.size(), 100'000u);
  for (const int threads : {1, 2, 7}) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    query::Session little({.threads = threads, .memory_limit = memory, .temp_folder = at.name()});
    const auto q = make(little);
    EXPECT_EQ(bits(q.to_vector()), wanted);
    EXPECT_LE(little.memory_peak(), memory);
    EXPECT_NE(q.explain().find("in temporary files"), std::string::npos) << q.explain();
    EXPECT_TRUE(at.empty());
  }
}

TEST(spilled_groups, are_those_of_enough_memory) {
  expect_spilled_alike("numbers in columns", small_memory, [](const query::Session& s) {
    return totals(item)(query::from(columns_of(sales())).in(s));
  });
  expect_spilled_alike("in order of appearance", small_memory + (4u << 20), [](const query::Session& s) {
    return totals(item)(query::from(columns_of(sales())).in(s)).as_ordered();
  });
  expect_spilled_alike("strings in columns", small_memory, [](const query::Session& s) {
    return totals([](auto r) { return r.buyer; })(query::from(columns_of(sales())).in(s));
  });
  expect_spilled_alike("short strings that are computed", small_memory + (8u << 20), [](const query::Session& s) {
    return totals([](auto r) { return r.buyer.substr(6); })(query::from(columns_of(sales())).in(s));
  });
  expect_spilled_alike("behind a test", small_memory, [](const query::Session& s) {
    return totals(item)(query::from(columns_of(sales())).in(s).where([](auto r) { return r.place != 3; }));
  });
}

// Keys and arguments that are computed, of fields anywhere in the row, in enough memory and in little.
TEST(spilled_groups, of_computed_values) {
  struct wanted_group {
    double twice = 0;
    std::int64_t places = 0, rows = 0;
    double most = 0;
  };
  std::map<std::tuple<std::string, bool>, wanted_group> wanted;
  for (std::size_t i = 0; i < rows; ++i) {
    auto& w = wanted[{sales().buyer[i], sales().weight[i] > 0.001}];
    w.twice += sales().price[i] * 2;
    w.places += sales().place[i] + 1;
    w.most = std::max(w.most, sales().weight[i] * 3);
    ++w.rows;
  }
  const spill_folder at;
  for (const std::size_t memory : {std::size_t{0}, small_memory + (16u << 20)})
    for (const bool interpret : {false, true}) {
      query::Session s({.threads = 2, .memory_limit = memory, .temp_folder = at.name(), .interpret = interpret});
      const auto q = query::from(columns_of(sales())).in(s).group_by([](auto r) { return std::tuple(r.buyer, r.weight > 0.001); });
      const auto groups = q.select([](auto g) {
        return std::tuple(g.key(), g.sum([](auto r) { return r.price * 2; }), g.sum([](auto r) { return r.place + 1; }),
                          g.max([](auto r) { return r.weight * 3; }), g.count());
      });
      std::size_t n = 0;
      for (const auto& [key, twice, places, most, count] : groups) {
        const auto& w = wanted.at(key);
        ++n;
        ASSERT_NEAR(twice, w.twice, 1e-6 * w.twice);
        ASSERT_EQ(places, w.places);
        ASSERT_EQ(most, w.most);
        ASSERT_EQ(static_cast<std::int64_t>(count), w.rows);
      }
      EXPECT_EQ(n, wanted.size());
    }
}

struct alignas(32) Wide {
  double parts[4];
  std::int64_t item;
};

TEST(spilled_groups, of_over_aligned_rows) {
  const auto wide = query::from(records()).select(query::opaque([](const Sale& s) { return Wide{{s.price, 1, 2, 3}, s.item}; }));
  const auto key = query::opaque([](const Wide& w) { return w.item; });
  const auto misplaced = wide.group_by(key).select([](auto g) {
    return g.sum([](const Wide& w) { return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(&w) % alignof(Wide)); });
  });
  EXPECT_EQ(misplaced.count(), items);
  EXPECT_EQ(misplaced.sum(), 0);
}

TEST(spilled_groups, of_records_whose_key_compiled_code_computes) {
  expect_spilled_alike("records", small_memory - (8u << 20), [](const query::Session& s) {
    return totals(query::opaque([](const Sale& r) { return r.item / 1'000'003 * 3; }))(query::from(records()).in(s));
  });
}

// ---------------------------------------------------------------- what goes wrong
auto little(const std::string& folder, int threads = 2) {
  return query::Session({.threads = threads, .memory_limit = small_memory, .temp_folder = folder});
}
std::size_t groups_in(const query::Session& s) { return totals(item)(query::from(columns_of(sales())).in(s)).to_vector().size(); }

const spilling_query query_that_spills{small_memory, "", [](const query::Session& s) { return groups_in(s) == items; }};

TEST(spilled_groups, folder_that_is_gone) { expect_error_without_folder(query_that_spills); }

TEST(spilled_groups, folder_that_is_gone_while_rows_are_there) {
  const spill_folder at;
  const auto s = little(at.name());
  std::atomic<bool> removed = false;
  const auto n = query::from(columns_of(sales())).in(s).group_by(item).select([&](auto g) {
    return std::tuple(g.key(), g.sum([](auto r) { return r.price; }));
  }).select(query::opaque([&](const std::tuple<std::int64_t, double>& t) {
    if (!removed.exchange(true)) at.remove();
    return std::get<0>(t);
  })).to_vector().size();
  EXPECT_EQ(n, items);
}

TEST(spilled_groups, faulty_files) { expect_right_or_error_of_faulty_files(query_that_spills); }
TEST(spilled_groups, disk_that_is_full) { expect_error_of_full_disk(query_that_spills, {1'000'000}); }
TEST(spilled_groups, limit_of_temporary_files) {
  expect_error_over_limit_of_files(query_that_spills, "1M");
  ASSERT_EQ(::setenv("QUERY_TEMP_LIMIT", "1X", 1), 0);
  EXPECT_THROW(query::Session(), query::user_error);
  ASSERT_EQ(::unsetenv("QUERY_TEMP_LIMIT"), 0);
  const spill_folder at;
  query::Session limited({.threads = 2, .memory_limit = small_memory, .temp_folder = at.name(), .temp_limit = 1 << 20});
  EXPECT_NE(resource_error_of([&] { groups_in(limited); }).find("temp_limit"), std::string::npos);
}

TEST(spilled_groups, function_that_throws) {
  const spill_folder at;
  const auto s = little(at.name());
  std::atomic<int> calls = 0;
  const auto key = query::opaque([&](const Sale& r) {
    if (++calls == static_cast<int>(rows) - 5) throw std::domain_error("late");
    return r.item;
  });
  EXPECT_THROW(query::from(records()).in(s).count_by(key).to_vector(), std::domain_error);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_EQ(groups_in(s), items);
}

TEST(spilled_groups, stop_and_deadline) {
  const spill_folder at;
  const auto s = little(at.name());
  std::stop_source stop;
  std::atomic<int> calls = 0;
  const auto key = query::opaque([&](const Sale& r) {
    if (++calls == static_cast<int>(rows) - 5) stop.request_stop();
    return r.item;
  });
  EXPECT_THROW(query::from(records()).in(s).stop_on(stop.get_token()).count_by(key).to_vector(), query::cancelled);
  EXPECT_EQ(groups_in(s), items);
}

TEST(spilled_groups, ten_queries_in_one_small_memory) {
  const spill_folder at;
  query::Session s({.threads = 4, .memory_limit = 6 * small_memory, .temp_folder = at.name()});
  std::vector<std::thread> threads;
  std::atomic<int> right = 0, refused = 0;
  for (int t = 0; t < 10; ++t)
    threads.emplace_back([&] {
      try {
        right += groups_in(s) == items;
      } catch (const query::resource_error&) {
        ++refused;  // their tables and results alone may not fit
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(right + refused, 10);
  EXPECT_GT(right, 0);
  EXPECT_LE(s.memory_peak(), s.memory_limit());
  EXPECT_EQ(groups_in(s), items);
}

}  // namespace
}  // namespace query::tests
