// Vertices that several devices share, on real ones: 1, 2 and 4 of them, which may be fewer GPUs that are each opened more than
// once (with QUERY_GPUS=0,0, or where the machine has fewer). Against the CPU engine's results. Skipped without a GPU; the driver
// double's side of it is in shared_vertices_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>

#include <query/query.hpp>

#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/several/gpu_set.hpp"
#include "planned_there.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

struct Row {
  std::int64_t id;
  std::int32_t key;
  std::int32_t small;
  std::int64_t value;
  std::int64_t spread;
  bool operator==(const Row&) const = default;
};
QUERY_RECORD(Row, id, key, small, value, spread);
struct Total {
  std::int64_t key;
  std::int64_t sum;
  std::int64_t n;
  bool operator==(const Total&) const = default;
};
QUERY_RECORD(Total, key, sum, n);
struct Dim {
  std::int32_t key;
  std::int64_t factor;
};
QUERY_RECORD(Dim, key, factor);
struct Pair {
  std::int64_t id;
  std::int64_t product;
  bool operator==(const Pair&) const = default;
};
QUERY_RECORD(Pair, id, product);
struct Named {
  std::int64_t id;
  std::string name;
};
QUERY_RECORD(Named, id, name);
struct Place {
  std::array<float, 32> x;
};
QUERY_RECORD(Place, x);
struct Centre {
  std::int64_t id;
  std::array<float, 32> x;
};
QUERY_RECORD(Centre, id, x);
struct Rank {
  std::int32_t id;
  double value;
};
QUERY_RECORD(Rank, id, value);

std::uint64_t mixed(std::uint64_t h) {
  h ^= h >> 31;
  h *= 0x7fb5d329728ea185ull;
  h ^= h >> 27;
  return h * 0x81dadef4bc2dd44dull;
}
std::vector<Row> rows_of(std::int64_t n) {
  std::vector<Row> rows(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t h = mixed(static_cast<std::uint64_t>(i) + 1);
    rows[static_cast<std::size_t>(i)] = {i, static_cast<std::int32_t>(h % 1000), static_cast<std::int32_t>((h >> 20) % 5),
                                         static_cast<std::int64_t>(h >> 44) - 500'000, static_cast<std::int64_t>(mixed(h))};
  }
  return rows;
}

class several_gpus : public testing::Test {
 protected:
  void SetUp() override {
    if (!device::first() || !compiler::find()) GTEST_SKIP() << "SKIPPED: no GPU: " << device::why_not();
    ordinals_ = query::runtime::options_from_environment().gpus;
    if (ordinals_.empty())
      for (int i = 0; i < device::count(); ++i) ordinals_.push_back(i);
  }
  // Vertices run in blocks of so many rows; 0: as large as fits.
  void use(std::size_t count, std::size_t block_rows) {
    static kernel_cache kernels({.headers = embedded_sources(), .options = {"--fmad=false"}, .folder = {}, .compile = {}});
    std::vector<const device*> devices;
    std::map<int, int> times;
    for (std::size_t i = 0; i < count; ++i) {
      const int ordinal = ordinals_[i % ordinals_.size()];
      devices.push_back(device::find(ordinal, times[ordinal]++));
      ASSERT_NE(devices.back(), nullptr) << device::why_not(ordinal);
    }
    engine_ = make_engine(devices, {.memory = std::size_t{2} << 30, .min_rows = 0}, kernels, block_rows);
    gpu_ = std::make_unique<query::Session>(query::session_options{.gpu = query::gpu_use::off});
    gpu_->add_engine(engine_);
    count_ = count;
  }
  // `check()` for 1, 2 and 4 devices, in tiny blocks of rows and in large ones.
  template <class F> void each_number(F check) {
    for (const std::size_t devices : {std::size_t{1}, std::size_t{2}, std::size_t{4}})
      for (const std::size_t block_rows : {std::size_t{3000}, std::size_t{0}}) {
        SCOPED_TRACE(std::to_string(devices) + " devices, blocks of " + std::to_string(block_rows));
        use(devices, block_rows);
        if (HasFatalFailure()) return;
        check(block_rows ? few_ : many_);
      }
  }
  // The plan names so many devices, and nothing went elsewhere in the run before.
  template <class Q> void was_shared(const Q& q) const {
    const std::string plan = q.explain();
    if (count_ > 1) {
      EXPECT_NE(plan.find(" x " + device::first()->name()), std::string::npos) << plan;  // fewer where bytes are few
    }
    stayed(q);
  }
  template <class Q> static void stayed(const Q& q) {
    const std::string plan = q.explain();
    EXPECT_TRUE(planned_there(plan));
    EXPECT_EQ(plan.find("went to the cpu"), std::string::npos) << plan;
  }
  template <class Q> void same_rows(const char* what, const Q& q, bool shared = true) {
    SCOPED_TRACE(what);
    const auto there = q.in(*gpu_);
    const auto mine = there.to_vector();
    if (shared) was_shared(there);
    else stayed(there);
    EXPECT_TRUE(mine == q.in(cpu_).to_vector()) << mine.size();
  }
  template <class Q> void same_groups(const char* what, const Q& q, bool shared = true) {
    SCOPED_TRACE(what);
    const auto there = q.in(*gpu_);
    std::vector<Total> mine = there.to_vector(), wanted = q.in(cpu_).to_vector();
    if (shared) was_shared(there);
    else stayed(there);
    const auto by_key = [](const Total& a, const Total& b) { return a.key < b.key; };
    std::sort(mine.begin(), mine.end(), by_key);
    std::sort(wanted.begin(), wanted.end(), by_key);
    EXPECT_TRUE(mine == wanted) << mine.size() << " and " << wanted.size();
  }

  std::vector<int> ordinals_;
  std::size_t count_ = 1;
  const std::vector<Row> few_ = rows_of(40'000), many_ = rows_of(2'200'000);
  std::shared_ptr<query::runtime::engine> engine_;
  std::unique_ptr<query::Session> gpu_;
  query::Session cpu_{query::session_options{.gpu = query::gpu_use::off}};
};

TEST_F(several_gpus, folds_are_combined_in_the_order_of_the_shares) {
  each_number([&](const std::vector<Row>& rows) {
    const auto q = query::from(rows).as_accelerated().where([](auto r) { return r.key != 3; });
    const auto values = q.select([](auto r) { return r.value; });
    EXPECT_EQ(q.in(*gpu_).count(), q.in(cpu_).count());
    EXPECT_EQ(values.in(*gpu_).sum(), values.in(cpu_).sum());
    EXPECT_EQ(values.in(*gpu_).min(), values.in(cpu_).min());
    EXPECT_EQ(values.in(*gpu_).max(), values.in(cpu_).max());
    const auto halves = q.select([](auto r) { return query::cast<double>(r.value) * 0.37; }).in(*gpu_);
    EXPECT_EQ(halves.sum(), halves.sum()) << "sums of the same shares repeat";
    stayed(q.in(*gpu_));
  });
}

TEST_F(several_gpus, row_wise_work_keeps_its_order) {
  each_number([&](const std::vector<Row>& rows) {
    const auto q = query::from(rows).as_accelerated();
    same_rows("where, select",
              q.where([](auto r) { return r.value > 0; }).select([](auto r) { return query::make<Pair>(r.id, r.value * 3); }));
    same_rows("numbered", q.select([](auto r, auto i) { return query::make<Pair>(r.id, r.value + query::cast<std::int64_t>(i)); }));
    same_rows("nothing", q.where([](auto r) { return r.key < 0; }).select([](auto r) { return r.id; }));
  });
}

TEST_F(several_gpus, groups_of_all_devices_are_put_together) {
  each_number([&](const std::vector<Row>& rows) {
    const auto q = query::from(rows).as_accelerated();
    const auto total = [](auto g) { return query::make<Total>(g.key(), g.sum([](auto r) { return r.value; }), g.count()); };
    same_groups("five", q.group_by([](auto r) { return query::cast<std::int64_t>(r.small); }).select(total));
    same_groups(
        "a thousand",
        q.where([](auto r) { return r.value > -400'000; }).group_by([](auto r) { return query::cast<std::int64_t>(r.key); }).select(total));
    same_groups("one a row", q.group_by([](auto r) { return r.spread; }).select(total));
    same_groups("none", q.where([](auto r) { return r.key < 0; }).group_by([](auto r) { return r.spread; }).select(total));
    same_groups("of one share's rows", q.where([](auto r) { return r.id < 100; }).group_by([](auto r) { return r.id; }).select(total));
  });
}

TEST_F(several_gpus, parts_are_read_where_they_lie) {
  each_number([&](const std::vector<Row>& rows) {
    const auto groups = query::from(rows).as_accelerated().group_by([](auto r) { return r.spread; }).select([](auto g) {
      return query::make<Total>(g.key(), g.sum([](auto r) { return r.value; }), g.count());
    });
    same_rows("sorted groups", groups.order_by([](auto t) { return t.key; }), false);
    same_groups("groups of groups", groups.group_by([](auto t) { return t.sum % 10; }).select([](auto g) {
      return query::make<Total>(g.key(), g.sum([](auto t) { return t.n; }), g.count());
    }), false);
    same_rows("distinct, on one device", groups.select([](auto t) { return t.sum % 10; }).distinct().order_by([](auto x) { return x; }),
              false);
  });
}

TEST_F(several_gpus, sorts_are_stable) {
  each_number([&](const std::vector<Row>& rows) {
    const auto q = query::from(rows).as_accelerated();
    const bool shared = rows.size() == few_.size();  // many_ has not so many bytes that an exchange pays
    same_rows("one key", q.order_by([](auto r) { return r.key; }), shared);
    same_rows("two keys", q.order_by_descending([](auto r) { return r.small; }).then_by([](auto r) { return r.spread; }), shared);
    same_rows("the first", q.order_by([](auto r) { return r.key; }).take(1234));
  });
}

TEST_F(several_gpus, each_device_has_the_build_side) {
  std::vector<Dim> dims;
  for (int i = 0; i < 1500; i += 2) dims.push_back({i, i % 13});
  each_number([&](const std::vector<Row>& rows) {
    const auto q = query::from(rows).as_accelerated();
    const auto build = query::from(dims).as_accelerated().where([](auto d) { return d.factor != 5; });
    const auto key = [](auto r) { return r.key; };
    const auto pair = [](auto r, auto d) { return query::make<Pair>(r.id, r.value * d.factor); };
    auto joined = q.join(build, key, key, pair);
    std::vector<Pair> mine = joined.in(*gpu_).to_vector(), wanted = joined.in(cpu_).to_vector();
    const auto by_id = [](const Pair& a, const Pair& b) { return a.id < b.id; };
    std::sort(mine.begin(), mine.end(), by_id);
    std::sort(wanted.begin(), wanted.end(), by_id);
    EXPECT_TRUE(mine == wanted);
    EXPECT_EQ(joined.select([](auto p) { return p.product; }).in(*gpu_).sum(),
              joined.select([](auto p) { return p.product; }).in(cpu_).sum());
    same_groups("groups of pairs", joined.group_by([](auto p) { return p.product % 100; }).select([](auto g) {
      return query::make<Total>(g.key(), g.sum([](auto p) { return p.product; }), g.count());
    }));
    was_shared(joined.in(*gpu_));
  });
}

TEST_F(several_gpus, cached_rows_stay_on_their_devices) {
  each_number([&](const std::vector<Row>& rows) {
    const auto kept = query::from(rows).as_accelerated().in(*gpu_).cached();
    EXPECT_EQ(kept.count(), rows.size());
    const auto up = [&] {
      std::uint64_t bytes = 0;
      for (const auto& gpu : gpus_of(*engine_).all()) bytes += gpu->copies().counters().bytes_up;
      return bytes;
    };
    const auto before = up();
    const auto values = kept.select([](auto r) { return r.value; });
    std::int64_t sum = 0;
    for (const Row& r : rows) sum += r.value;
    EXPECT_EQ(values.sum(), sum);
    std::int64_t by_groups = 0, n = 0;
    for (const Total& t : kept.group_by([](auto r) { return query::cast<std::int64_t>(r.key); }).select([](auto g) {
           return query::make<Total>(g.key(), g.sum([](auto r) { return r.value; }), g.count());
         }).to_vector()) {
      by_groups += t.sum;
      n += t.n;
    }
    EXPECT_EQ(by_groups, sum);
    EXPECT_EQ(n, static_cast<std::int64_t>(rows.size()));
    // One device alone has no form of cached() in blocks.
    const bool stays = count_ > 1 || rows.size() == many_.size();
    if (stays) {
      EXPECT_LT(up() - before, rows.size()) << "the rows were copied again";
    }
    EXPECT_EQ(kept.select([](auto r) { return r.key; }).distinct().count(), 1000u) << "one device, which takes the others' parts";
    EXPECT_TRUE(kept.to_vector() == rows);
    if (stays) stayed(kept);
  });
}

TEST_F(several_gpus, rows_in_parts_are_exchanged) {
  each_number([&](const std::vector<Row>& rows) {
    const auto kept = query::from(rows).as_accelerated().in(*gpu_).cached();
    const auto plain = query::from(rows).in(cpu_);
    const auto small = [](auto r) { return r.small; };
    const auto spread = [](auto r) { return r.spread; };
    const auto positive = [](auto r) { return r.value > 0; };
    const auto id = [](auto r) { return r.id; };
    EXPECT_TRUE(kept.order_by(small).to_vector() == plain.order_by(small).to_vector()) << "equal keys stay in order";
    EXPECT_TRUE(kept.order_by_descending(small).then_by(spread).to_vector() ==
                plain.order_by_descending(small).then_by(spread).to_vector());
    EXPECT_TRUE(kept.where(positive).order_by(spread).select(id).to_vector() ==
                plain.where(positive).order_by(spread).select(id).to_vector());
    EXPECT_TRUE(kept.where([](auto r) { return r.key < 0; }).order_by(spread).to_vector().empty());
    const auto sorted = kept.order_by(spread).cached();
    EXPECT_TRUE(sorted.select(id).to_vector() == plain.order_by(spread).select(id).to_vector()) << "parts in the order of their keys";

    const auto pair = [](auto l, auto r) { return query::make<Pair>(l.id * 7 + r.id, l.value - r.value); };
    std::vector<Pair> wanted;
    for (const Row& r : rows) wanted.push_back({r.id * 8, 0});
    auto pairs = kept.join(kept, spread, spread, pair).to_vector();
    const auto by_id = [](const Pair& a, const Pair& b) { return a.id < b.id; };
    std::sort(pairs.begin(), pairs.end(), by_id);
    EXPECT_TRUE(pairs == wanted);
    EXPECT_EQ(kept.join(query::from(rows).in(*gpu_), spread, spread, pair).select([](auto p) { return p.product; }).sum(), 0)
        << "a build side in host memory";
    if (count_ > 1 || rows.size() == many_.size()) stayed(kept.order_by(small));  // one device has no form of cached() in blocks
  });
}

TEST_F(several_gpus, rounds_of_loops_are_shared) {
  constexpr std::size_t clusters = 16;
  std::vector<Place> places(30'000);
  for (std::size_t i = 0; i < places.size(); ++i)
    for (std::size_t d = 0; d < places[i].x.size(); ++d)
      places[i].x[d] = static_cast<float>(mixed(i % clusters * 100 + d) % 1000) + static_cast<float>(mixed(i * 64 + d) % 100) * 0.1f;
  std::vector<Centre> start;
  for (std::size_t i = 0; i < clusters; ++i) start.push_back({static_cast<std::int64_t>(i), places[i].x});
  const auto centres = [&](const auto& points, query::Session& in) {
    auto found = query::from(start).as_accelerated().in(in).do_while(
        [points](query::Query<Centre> now) {
          const auto c = query::broadcast(now);
          return points.group_by([c](auto p) { return c.arg_min(p, [](auto p, auto e) { return query::squared_distance(p.x, e.x); }); })
              .select([](auto g) { return query::make<Centre>(g.key(), g.mean([](auto p) { return p.x; })); });
        },
        query::times(4)).to_vector();
    std::sort(found.begin(), found.end(), [](const Centre& a, const Centre& b) { return a.x < b.x; });
    return found;
  };
  const auto ranks = [](const auto& rows, query::Session& in) {
    std::vector<Rank> first;
    for (std::int32_t i = 0; i < 1000; ++i) first.push_back({i, 0.001});
    auto found = query::from(first).as_accelerated().in(in).do_while(
        [rows](query::Query<Rank> now) {
          return rows.join(now, [](auto r) { return r.key; }, [](auto k) { return k.id; },
                           [](auto r, auto k) { return query::make<Rank>((r.key * 7 + r.small) % 1000, k.value * 0.02); })
              .group_by([](auto k) { return k.id; })
              .select([](auto g) { return query::make<Rank>(g.key(), 0.0001 + g.sum([](auto k) { return k.value; })); });
        },
        query::times(4)).to_vector();
    std::sort(found.begin(), found.end(), [](const Rank& a, const Rank& b) { return a.id < b.id; });
    return found;
  };
  const auto far = [](const std::vector<Centre>& a, const std::vector<Centre>& b) {
    double most = a.size() == b.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
      for (std::size_t d = 0; d < a[i].x.size(); ++d) most = std::max(most, std::abs(static_cast<double>(a[i].x[d]) - b[i].x[d]));
    return most;
  };
  const std::vector<Centre> wanted = centres(query::from(places).in(cpu_), cpu_);
  const std::vector<Rank> wanted_ranks = ranks(query::from(few_).in(cpu_), cpu_);
  for (const std::size_t devices : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
    SCOPED_TRACE(devices);
    use(devices, 3000);
    const auto here = query::from(places).as_accelerated().in(*gpu_);
    EXPECT_LT(far(centres(here.cached(), *gpu_), wanted), 1e-3);
    EXPECT_LT(far(centres(here, *gpu_), wanted), 1e-3);
    const std::vector<Rank> mine = ranks(query::from(few_).as_accelerated().in(*gpu_).cached(), *gpu_);
    ASSERT_EQ(mine.size(), wanted_ranks.size());
    for (std::size_t i = 0; i < mine.size(); ++i) EXPECT_NEAR(mine[i].value, wanted_ranks[i].value, 1e-9 * wanted_ranks[i].value) << i;
  }
}

TEST_F(several_gpus, what_has_no_form_over_shares_runs_on_one) {
  std::vector<Named> names;
  for (int i = 0; i < 20'000; ++i) names.push_back({i, "name " + std::to_string(i % 77)});
  each_number([&](const std::vector<Row>& rows) {
    const auto q = query::from(rows).as_accelerated();
    same_rows("a loop", q.select([](auto r) {
                           return r.value;
                         }).do_while([](auto x) { return x.select([](auto v) { return v / 2 + 1; }); }, query::times(5)),
              false);
    // Strings in the rows are read by each device, but rows that hold them are one device's.
    EXPECT_EQ(query::from(names).as_accelerated().in(*gpu_).where([](auto r) { return r.name == "name 5"; }).count(), 260u);
  });
}

}  // namespace
