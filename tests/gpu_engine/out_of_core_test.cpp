// Queries over rows that do not fit the device, on a GPU: against the CPU engine's results, in small blocks that force
// every path, and at eight times a budget of 256 MB, skew included. Where there is no GPU these are skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <query/query.hpp>

#include "gpu_engine/larger_than_memory.hpp"
#include "planned_there.hpp"

namespace {

using namespace query::gpu_engine;
using namespace query::gpu_engine::larger_than_memory;

struct Person {
  std::string name;
  std::optional<std::int16_t> age;
  double weight;
  std::int64_t id;
};
QUERY_RECORD(Person, name, age, weight, id);
struct Place {
  std::int64_t row;
  std::int32_t column;
};
QUERY_RECORD(Place, row, column);
struct Moment {
  std::int64_t key;
  std::optional<double> variance;
};
QUERY_RECORD(Moment, key, variance);
struct Same {
  std::int64_t key;
  std::optional<double> variance;
  std::int64_t n;
};
QUERY_RECORD(Same, key, variance, n);
struct Alike {
  std::int64_t key;
  bool all;
};
QUERY_RECORD(Alike, key, all);

class out_of_core : public fixture {
 protected:
  // Every breaker over these rows.
  void breakers(const std::vector<Row>& rows, const std::vector<Dim>& dims, const std::vector<Dim>& large, bool spills) {
    const auto all = query::from(rows).as_accelerated();
    same_rows("where, select",
              all.where([](auto r) { return r.key < 300; }).select([](auto r) { return r.value + r.id; }));
    same_rows("order_by", all.order_by([](auto r) { return r.spread; }));
    same_rows("order_by, most keys equal",
              all.order_by([](auto r) { return r.heavy; }).select([](auto r) { return r.id; }));
    same_rows("order_by, all keys equal",
              all.order_by_descending([](auto r) { return r.key * 0; }).select([](auto r) { return r.id; }));
    same_rows(
        "top",
        all.order_by([](auto r) { return r.value; }).then_by_descending([](auto r) { return r.spread; }).take(1000));
    const auto grouped = [&](auto key) {
      return all.group_by(key).select(
          [](auto g) { return query::make<Total>(g.key(), g.sum([](auto r) { return r.value; }), g.count()); });
    };
    same_groups("group_by, a thousand", grouped([](auto r) { return query::cast<std::int64_t>(r.key); }));
    same_groups("group_by, one heavy key", grouped([](auto r) { return query::cast<std::int64_t>(r.heavy); }));
    same_groups("group_by, all keys equal", grouped([](auto r) { return r.id * 0; }));
    same_groups("group_by, all keys differ", grouped([](auto r) { return r.spread; }));
    if (spills) {
      EXPECT_NE(plan_.find("of groups to host memory"), std::string::npos) << plan_;
    }
    same_groups("group_by, firsts", all.group_by([](auto r) { return r.key; }).select([](auto g) {
      return query::make<Total>(query::cast<std::int64_t>(g.key()), g.first([](auto r) { return r.id; }),
                                g.last([](auto r) { return r.id; }));
    }));
    const auto joined = [&](const auto& build, auto key) {
      return all.where([](auto r) { return r.value > -400'000; })
          .join(
              query::from(build), key, [](auto d) { return d.key; },
              [](auto r, auto d) { return query::make<Total>(query::cast<std::int64_t>(r.key), r.id, d.factor); })
          .group_by([](auto t) { return t.key; })
          .select(
              [](auto g) { return query::make<Total>(g.key(), g.sum([](auto t) { return t.sum * t.n; }), g.count()); });
    };
    same_groups("join, small build side", joined(dims, [](auto r) { return query::cast<std::int64_t>(r.key); }));
    same_groups("join, one heavy key", joined(dims, [](auto r) { return query::cast<std::int64_t>(r.heavy); }));
    same_groups("join, large build side", joined(large, [](auto r) { return r.spread; }));
    same_groups(
        "left_join, large build side",
        all.left_join(
               query::from(large), [](auto r) { return r.spread; }, [](auto d) { return d.key; },
               [](auto r, auto d) {
                 return query::make<Total>(query::cast<std::int64_t>(r.key), d.has_value() ? d->factor : r.id, r.id);
               })
            .group_by([](auto t) { return t.key; })
            .select(
                [](auto g) { return query::make<Total>(g.key(), g.sum([](auto t) { return t.sum; }), g.count()); }));
    using query::detail::fold_kind;
    const auto values = all.where([](auto r) { return r.key != 5; }).select([](auto r) { return r.value; });
    EXPECT_EQ(static_cast<std::int64_t>(folded(values, fold_kind::count).count), values.in(cpu_).count());
    EXPECT_EQ(value(folded(values, fold_kind::sum)), values.in(cpu_).sum());
    EXPECT_EQ(value(folded(values, fold_kind::min)), values.in(cpu_).min());
    EXPECT_EQ(value(folded(values, fold_kind::max)), values.in(cpu_).max());
  }
};

TEST_F(out_of_core, small_blocks_give_what_one_piece_gives) {
  const std::vector<Row> rows = rows_of(200'000);
  const std::vector<Dim> dims = dims_of(3000, rows), large = dims_of(150'000, rows);
  for (const std::size_t block : {std::size_t{7'777}, std::size_t{60'000}, std::size_t{1} << 22}) {
    SCOPED_TRACE(block);
    use(std::size_t{24} << 20, block);
    breakers(rows, dims, large, false);
  }
}

TEST_F(out_of_core, every_breaker_at_eight_times_the_budget) {
  const std::size_t budget = std::size_t{256} << 20;
  const std::vector<Row> rows = rows_of(static_cast<std::int64_t>(8 * budget / sizeof(Row)));
  const std::vector<Dim> dims = dims_of(3000, rows), large = dims_of(16 << 20, rows);
  use(budget, 0);
  in_blocks_ = true;
  breakers(rows, dims, large, true);  // 67 million groups beside 43 MB for their table
  EXPECT_LE(session_of(*engine_).memory().counters().peak, budget);
}

// Keys whose hashes begin alike for 32 bits: of a thousand tiles that want the same few slots none would find places for all of its rows.
// mix64 of gpu_primitives/hash_keys.cuh backwards.
TEST_F(out_of_core, groups_of_crowded_hashes_find_places_a_few_at_a_time) {
  const auto crowded = [](std::uint64_t i) {
    std::uint64_t h = i << 20;
    h ^= h >> 33;
    h *= 0x9cb4b2f8129337dbu;
    h ^= h >> 33;
    h *= 0x4f74430c22a54005u;
    h ^= h >> 33;
    return static_cast<std::int64_t>(h);
  };
  std::vector<Row> rows = rows_of(60'000);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (i % 10 != 3) rows[i].spread = crowded(i % 2900);
  for (const std::size_t block : {std::size_t{2'000}, std::size_t{30'000}}) {
    use(std::size_t{24} << 20, block);
    same_groups("group_by, crowded hashes", query::from(rows).as_accelerated().group_by([](auto r) { return r.spread; }).select([](auto g) {
      return query::make<Total>(g.key(), g.sum([](auto r) { return r.value; }), g.count());
    }));
  }
}

// Keys with nulls and NaNs, strings in the rows, wide keys, states without an atomic form.
TEST_F(out_of_core, blocks_of_other_forms_of_rows) {
  std::vector<Person> people(60'000);
  for (std::size_t i = 0; i < people.size(); ++i) {
    const std::uint64_t h = mixed(i + 1);
    people[i] = {"name " + std::to_string(h % 3000),
                 h % 7 ? std::optional<std::int16_t>(static_cast<std::int16_t>(h % 90)) : std::nullopt,
                 h % 11 ? static_cast<double>(h % 1000) / 8 : std::nan(""), static_cast<std::int64_t>(i)};
  }
  use(std::size_t{24} << 20, 7000);
  const auto all = query::from(people).as_accelerated();
  const auto numbers = all.select([](auto p) { return std::make_tuple(p.age, p.weight, p.id); });
  const auto ids = [](auto p) { return std::get<2>(p); };
  same_rows("where on strings",
            all.where([](auto p) { return p.name < "name 2"; }).select([](auto p) { return p.id; }));
  same_rows("order_by, nulls", numbers.order_by([](auto p) { return std::get<0>(p); })
                                   .then_by_descending([](auto p) { return std::get<1>(p); })
                                   .select(ids));
  same_rows("top, NaNs", numbers.order_by_descending([](auto p) { return std::get<1>(p); }).take(9000).select(ids));
  const auto counted = [](auto g) {
    return query::make<Total>(g.count(), g.max([](auto p) { return p.id; }), g.min([](auto p) { return p.id; }));
  };
  same_groups("group_by, strings", all.group_by([](auto p) { return p.name; }).select(counted));
  same_groups("group_by, nulls", all.group_by([](auto p) { return p.age; }).select(counted));
  same_groups("group_by, NaNs", all.group_by([](auto p) { return p.weight; }).select(counted));
  same_groups("group_by, two words",
              all.group_by([](auto p) { return query::make<Place>(p.id % 100, query::cast<std::int32_t>(p.id % 7)); })
                  .select(counted));
  same_groups(
      "group_by, locked states",
      all.group_by([](auto p) { return p.id % 5000; })
          .select([](auto g) {
            return query::make<Moment>(g.key(), g.variance([](auto p) { return query::cast<double>(p.id % 3); }));
          })
          .select([](auto m) {
            return query::make<Total>(m.key, query::cast<std::int64_t>(m.variance.value_or(0.0) * 10.0 + 0.45), m.key);
          }));
  // States that view strings in the memory of a block, behind results that own nothing.
  const auto name = [](auto p) { return p.name; };
  const auto by_number = all.group_by([](auto p) { return p.id % 5000; });
  same_groups("group_by, strings compared",
              by_number.select([=](auto g) { return query::make<Alike>(g.key(), g.min(name) == g.max(name)); })
                  .select([](auto a) { return query::make<Total>(a.key, query::cast<std::int64_t>(a.all), a.key); }));
  same_groups("group_by, rows by strings",
              by_number.select([=](auto g) { return query::make<Total>(g.key(), g.arg_max(name).id, g.arg_min(name).id); }));
  same_groups("group_by, distinct strings",
              by_number.select([=](auto g) { return query::make<Total>(g.key(), g.count_distinct(name), g.count()); }));
}

// One key has most rows of the build side: its rows are met in slices.
TEST_F(out_of_core, a_build_side_of_one_key) {
  std::vector<Row> rows = rows_of(100'000);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].spread = i < 5 ? 1 : static_cast<std::int64_t>(i);
  const std::vector<Dim> same(400'000, Dim{1, 3});
  use(std::size_t{24} << 20, 0);
  same_groups(
      "join, all build keys equal",
      query::from(rows)
          .as_accelerated()
          .join(
              query::from(same), [](auto r) { return r.spread; }, [](auto d) { return d.key; },
              [](auto r, auto d) { return query::make<Total>(r.id, d.factor, r.id); })
          .group_by([](auto t) { return t.key; })
          .select([](auto g) { return query::make<Total>(g.key(), g.sum([](auto t) { return t.sum; }), g.count()); }));
}

// All rows of one group do not fit, and its first row is wanted: the CPU takes it, and says so.
TEST_F(out_of_core, what_does_not_run_in_blocks_goes_to_the_cpu_and_says_so) {
  const std::vector<Row> rows = rows_of(2'000'000);
  use(std::size_t{24} << 20, 0);
  const auto q =
      query::from(rows).as_accelerated().in(*gpu_).group_by([](auto r) { return r.id * 0; }).select([](auto g) {
        return query::make<Total>(g.key(), g.first([](auto r) { return r.id; }), g.count());
      });
  const std::vector<Total> wanted = {{0, 0, 2'000'000}};
  EXPECT_TRUE(q.to_vector() == wanted);
  EXPECT_NE(q.explain().find("the last run went to the cpu: gpu: memory"), std::string::npos) << q.explain();
}

TEST_F(out_of_core, a_stream_is_aggregated_in_bounded_memory) {
  use(std::size_t{256} << 20, 0);
  const std::int64_t n = 30'000'000;
  const auto q =
      query::range(std::int64_t{0}, n)
          .as_accelerated()
          .in(*gpu_)
          .group_by([](auto i) { return i % 1000; })
          .select([](auto g) { return query::make<Total>(g.key(), g.sum([](auto i) { return i; }), g.count()); });
  EXPECT_TRUE(planned_there(q.explain()));
  gpu_->reset_memory_peak();
  const std::vector<Total> totals = q.to_vector();
  stayed(q);
  std::int64_t sum = 0, count = 0;
  for (const Total& t : totals) sum += t.sum, count += t.n;
  EXPECT_EQ(totals.size(), 1000u);
  EXPECT_EQ(sum, n * (n - 1) / 2);
  EXPECT_EQ(count, n);
  EXPECT_LT(gpu_->memory_peak(), std::size_t{128} << 20) << "of " << n * 8 << " bytes of rows";
  EXPECT_EQ(value(folded(query::range(std::int64_t{0}, n).as_accelerated(), query::detail::fold_kind::sum)),
            n * (n - 1) / 2);
}

// Blocks that are long enough for a sample of their keys: few groups in tables of blocks, many in the table of all, and either after the
// other, where the table has room for all groups and where it has not.
TEST_F(out_of_core, groups_of_blocks_by_their_number) {
  const std::vector<Row> rows = rows_of(3'000'000);
  const std::int64_t half = 1'500'000;
  in_blocks_ = true;
  for (const auto& [memory, block] : {std::pair(std::size_t{1} << 30, 700'001), std::pair(std::size_t{48} << 20, 300'000)}) {
    SCOPED_TRACE(memory);
    use(memory, block);
    const auto both = [&](const std::string& what, auto key) {
      const auto grouped = [&](const auto& of) { return query::from(rows).as_accelerated().group_by(key).select(of); };
      same_groups(what.c_str(), grouped([](auto g) {
        return query::make<Total>(query::cast<std::int64_t>(g.key()), g.sum([](auto r) { return r.value; }), g.count());
      }));
      same_groups((what + ", locked states").c_str(), grouped([](auto g) {
        return query::make<Same>(query::cast<std::int64_t>(g.key()), g.variance([](auto r) { return query::cast<double>(r.id * 0 + 3); }),
                                 g.count());
      }).select([](auto s) { return query::make<Total>(s.key, query::cast<std::int64_t>(s.variance.value_or(0.0)), s.n); }));
    };
    both("16", [](auto r) { return r.spread & 15; });
    both("1,024", [](auto r) { return r.spread & 1023; });
    both("5,000", [](auto r) { return query::cast<std::uint64_t>(r.spread) % 5000u; });
    both("a million", [](auto r) { return r.spread & 0xFFFFF; });
    both("one heavy key", [](auto r) { return r.heavy; });
    both("few, then many", [=](auto r) { return query::iff(r.id < half, r.id & 7, r.spread); });
    both("many, then few", [=](auto r) { return query::iff(r.id < half, r.spread, r.id & 7); });
    same_groups("two words", query::from(rows)
                                 .as_accelerated()
                                 .group_by([](auto r) { return query::make<Place>(r.spread & 31, query::cast<std::int32_t>(r.id & 3)); })
                                 .select([](auto g) {
                                   return query::make<Total>(g.key().row, g.sum([](auto r) { return r.value; }), g.count());
                                 }));
  }
}

// The numbers of ranges are computed where they are read, and numbered from the first.
TEST_F(out_of_core, groups_of_numbers_in_blocks) {
  in_blocks_ = true;
  const auto check = [&](const char* what, const auto& range) {
    same_groups(what, range.as_accelerated()
                          .where([](auto x, auto i) { return query::cast<std::int64_t>(x) % 5 != 0 || i % 3 == 0; })
                          .group_by([](auto x) { return query::cast<std::int64_t>(x) & 1023; })
                          .select([](auto g) {
                            return query::make<Total>(g.key(), g.sum([](auto x) { return query::cast<std::int64_t>(x); }), g.count());
                          }));
  };
  for (const std::size_t block : {std::size_t{70'001}, std::size_t{300'000}}) {
    SCOPED_TRACE(block);
    use(std::size_t{64} << 20, block);
    check("u64", query::range(std::uint64_t{1} << 40, 1'000'000));
    check("i64", query::range(std::int64_t{-500'000}, 1'000'000));
    check("i32", query::range(std::int32_t{-7}, 1'000'000));
    check("u32", query::range(std::uint32_t{4'000'000'000}, 200'000));
    check("i16", query::range(std::int16_t{-32'768}, 65'536));
    check("f64", query::range(0.5, 1'000'000));
  }
}

TEST_F(out_of_core, later_runs_ask_the_driver_for_nothing_and_leave_nothing) {
  const std::vector<Row> rows = rows_of(50'000);
  for (const std::size_t block : {std::size_t{0}, std::size_t{10'000}}) {
    use(std::size_t{256} << 20, block);
    const auto all = query::from(rows).as_accelerated().in(*gpu_);
    const auto groups =
        all.group_by([](auto r) { return r.key; }).select([](auto g) { return g.sum([](auto r) { return r.value; }); });
    const auto sorted = all.order_by([](auto r) { return r.spread; });
    const auto some = all.where([](auto r) { return r.key < 30; }).select([](auto r) { return r.value; });
    const auto run = [&] {
      (void)groups.to_vector();
      (void)sorted.to_vector();
      (void)some.to_vector();
    };
    for (int i = 0; i < 30; ++i) run();
    const device_memory_counters before = session_of(*engine_).memory().counters();
    const transfer_counters pinned = session_of(*engine_).copies().counters();
    for (int i = 0; i < 330; ++i) run();
    const device_memory_counters after = session_of(*engine_).memory().counters();
    // Blocks overlap by chance, and a few more buffers may be out at once; one more in every run, or in each tenth, is too many.
    EXPECT_LE(after.driver_allocations, before.driver_allocations + (block ? 16 : 0))
        << "in " << after.allocations - before.allocations;
    EXPECT_EQ(after.used, before.used);
    EXPECT_LE(session_of(*engine_).copies().counters().pinned_allocations, pinned.pinned_allocations + 4);  // of a thousand and more
  }
}

}  // namespace
