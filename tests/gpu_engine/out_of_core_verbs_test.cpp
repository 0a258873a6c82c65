// The breakers that out_of_core_test.cpp leaves out, over rows of eight times the device's budget, skew included: the results are
// the CPU's, and either the vertex stayed on the GPU or explain() says why it did not. The budget is 32 MiB for 256 MiB of rows; a query
// of each verb, and one in which a key has half of the rows or more, runs over 2 GiB with 256 MiB. Where there is no GPU these are skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/larger_than_memory.hpp"
#include "planned_there.hpp"

namespace {

using namespace query::gpu_engine;
using namespace query::gpu_engine::larger_than_memory;

struct Quarters {
  std::int64_t key;
  double middle, low;
  std::int64_t distinct;
};
QUERY_RECORD(Quarters, key, middle, low, distinct);

// Of rows without gaps; whatever their order, unless that counts.
template <class T> std::uint64_t sum_of_hashes(const std::vector<T>& rows, bool in_order = false) {
  static_assert(sizeof(T) % 8 == 0 && std::is_trivially_copyable_v<T>);
  std::uint64_t sum = rows.size();
  for (const T& row : rows) {
    std::uint64_t words[sizeof(T) / 8], h = 1;
    std::memcpy(words, &row, sizeof(T));
    for (const std::uint64_t w : words) h = mixed(h * 3 + w);
    sum = (in_order ? mixed(sum) : sum) + h;
  }
  return sum;
}
constexpr std::size_t mib = std::size_t{1} << 20;

class out_of_core_verbs : public fixture {
 protected:
  void SetUp() override {
    fixture::SetUp();
    if (IsSkipped()) return;
    const std::size_t n = 8 * budget() / sizeof(Row);
    if (rows().size() != n) rows() = rows_of(static_cast<std::int64_t>(n));
    use(budget(), 0);
  }
  void TearDown() override {
    if (!engine_) return;
    EXPECT_LE(session_of(*engine_).memory().counters().peak, budget());
  }
  virtual std::size_t budget() const { return 32 * mib; }
  static std::vector<Row>& rows() {
    static std::vector<Row> all;
    return all;
  }
  static auto all() { return query::from(rows()).as_accelerated(); }
  // Of every third row there is a partner, and of as many keys that no row has.
  static std::vector<Dim> large() {
    std::vector<Dim> dims(rows().size() / 3);
    for (std::size_t i = 0; i < dims.size(); ++i)
      dims[i] = {i % 2 ? rows()[i * 3].spread : static_cast<std::int64_t>(i), static_cast<std::int64_t>(i % 13)};
    return dims;
  }
  static std::vector<Dim> small() { return dims_of(3000, rows()); }

  enum class where { gpu, either, cpu };
  // Everything of q was to run on the GPU; `w` says whether it may, or has to, end up on the CPU.
  template <class Q> void same(const char* what, const Q& q, where w = where::either) {
    SCOPED_TRACE(what);
    const auto there = q.in(*gpu_);
    EXPECT_TRUE(planned_there(there.explain()));
    const auto begin = std::chrono::steady_clock::now();
    const auto mine = there.to_vector();
    seconds(what, begin);
    plan_ = there.explain();
    ran_as_it_says(plan_, w);
    const auto then = std::chrono::steady_clock::now();
    const auto wanted = q.in(cpu_).to_vector();
    seconds("    the CPU", then);
    EXPECT_FALSE(wanted.empty());
    EXPECT_EQ(mine.size(), wanted.size());
    EXPECT_EQ(sum_of_hashes(mine, in_order_), sum_of_hashes(wanted, in_order_));
    EXPECT_EQ(session_of(*engine_).memory().counters().used, 0u) << "nothing stays behind";
  }
  static void ran_as_it_says(const std::string& plan, where w) {
    const std::string mark = "the last run went to the cpu: ";
    const std::size_t at = plan.find(mark);
    if (at == std::string::npos) {
      EXPECT_EQ(plan.find("went to the cpu"), std::string::npos) << plan;
      EXPECT_NE(w, where::cpu) << plan;
      return;
    }
    const std::string reason = plan.substr(at + mark.size(), plan.find('\n', at) - at - mark.size());
    std::printf("    on the cpu: %s\n", reason.c_str());
    EXPECT_NE(w, where::gpu) << plan;
    EXPECT_EQ(reason.rfind("gpu: memory: ", 0), 0u) << plan;
    EXPECT_GT(reason.size(), std::string("gpu: memory: ").size()) << plan;
  }

  bool in_order_ = false;  // the order of rows counts
};

constexpr auto spread = [](auto r) { return r.spread; };
constexpr auto heavy = [](auto r) { return query::cast<std::int64_t>(r.heavy); };
constexpr auto key_of = [](auto d) { return d.key; };

TEST_F(out_of_core_verbs, semi_and_anti_join) {
  const std::vector<Dim> few = small(), many = large(), same_key(100'000, Dim{7, 1});
  same("semi_join, small build side", all().semi_join(query::from(few), spread, key_of), where::gpu);
  same("semi_join, large build side", all().semi_join(query::from(many), spread, key_of), where::gpu);
  same("semi_join, one heavy key", all().semi_join(query::from(same_key), heavy, key_of), where::gpu);
  same("anti_join, small build side", all().anti_join(query::from(few), spread, key_of), where::gpu);
  same("anti_join, large build side", all().anti_join(query::from(many), spread, key_of), where::gpu);
  same("anti_join, one heavy key", all().anti_join(query::from(same_key), heavy, key_of), where::gpu);
}

TEST_F(out_of_core_verbs, right_and_full_join) {
  const std::vector<Dim> few = small(), many = large();
  const auto right = [](auto r, auto d) {
    return query::make<Total>(d.key, r.has_value() ? r->id : decltype(r->id)(-1), d.factor);
  };
  const auto full = [](auto r, auto d) {
    return query::make<Total>(r.has_value() ? r->id : decltype(r->id)(-1), d.has_value() ? d->factor : decltype(d->factor)(-1),
                              r.has_value() ? r->value : decltype(r->value)(-1));
  };
  same("right_join, small right side", all().right_join(query::from(few), spread, key_of, right), where::gpu);
  same("right_join, large right side", all().right_join(query::from(many), spread, key_of, right), where::gpu);
  same("right_join, one heavy key", all().right_join(query::from(few), heavy, key_of, right), where::gpu);
  same("full_join, small right side", all().full_join(query::from(few), spread, key_of, full), where::gpu);
  same("full_join, large right side", all().full_join(query::from(many), spread, key_of, full), where::gpu);
  same("full_join, one heavy key", all().full_join(query::from(few), heavy, key_of, full), where::gpu);
}

// All rows of the build side have one key, which five rows look for; where its rows do not fit, that is said to be the reason.
TEST_F(out_of_core_verbs, left_join_with_one_heavy_build_key) {
  std::vector<Row> probes = rows();
  for (std::size_t i = 0; i < probes.size(); ++i) probes[i].spread = i < 5 ? 1 : static_cast<std::int64_t>(i);
  const std::vector<Dim> fits(50'000, Dim{1, 3}), too_many(200'000, Dim{1, 3});
  const auto joined = [&](const std::vector<Dim>& build) {
    return query::from(probes).as_accelerated().left_join(query::from(build), spread, key_of, [](auto r, auto d) {
      return query::make<Total>(r.id, d.has_value() ? d->factor : decltype(d->factor)(-1), r.value);
    });
  };
  same("left_join, one build key", joined(fits), where::gpu);
  same("left_join, one build key, too many rows", joined(too_many));
}

TEST_F(out_of_core_verbs, group_join) {
  const std::vector<Dim> few = small(), many = large();
  const auto sums = [](auto r, auto own) {
    return query::make<Total>(r.id, query::sum(own, [](auto d) { return d.factor; }), query::cast<std::int64_t>(own.size()));
  };
  same("group_join, small right side", all().group_join(query::from(few), spread, key_of, sums), where::gpu);
  same("group_join, large right side", all().group_join(query::from(many), spread, key_of, sums), where::gpu);
  same("group_join, one heavy key", all().group_join(query::from(few), heavy, key_of, sums), where::gpu);
}

TEST_F(out_of_core_verbs, sets) {
  const std::vector<Row> some(rows().begin(), rows().begin() + static_cast<std::ptrdiff_t>(rows().size() / 2));
  const auto half = query::from(some);
  same("distinct_by, all differ", all().distinct_by([](auto r) { return r.spread; }), where::gpu);
  same("distinct_by, a thousand keys", all().distinct_by([](auto r) { return r.key; }), where::gpu);
  same("distinct, one heavy value", all().select([](auto r) { return query::cast<std::int64_t>(r.heavy); }).distinct(), where::gpu);
  same("union_with", all().union_with(half), where::gpu);
  same("intersect", all().intersect(half), where::gpu);
  same("except", all().except(half), where::gpu);
  same("except_by, one heavy key",
       all().except_by(query::from(std::vector<Row>(some.begin(), some.begin() + 2)), [](auto r) { return r.heavy; }),
       where::gpu);
}

// Rows are parted by their groups' keys, unless one group does not fit.
TEST_F(out_of_core_verbs, groups_whose_rows_lie_side_by_side) {
  const auto quarters = [](auto g) {
    const auto value = [](auto r) { return r.value; };
    return query::make<Quarters>(query::cast<std::int64_t>(g.key()), g.median(value), g.quantile(value, 0.25),
                                 query::cast<std::int64_t>(g.count_distinct([](auto r) { return r.key; })));
  };
  same("median, quantile, count_distinct", all().group_by([](auto r) { return r.key; }).select(quarters), where::gpu);
  same("median of a few rows each", all().group_by([](auto r) { return r.id % 1'000'000; }).select(quarters), where::gpu);
  same("median, one heavy key", all().group_by([](auto r) { return r.heavy; }).select(quarters));
  same("median, all keys equal", all().group_by([](auto r) { return r.id * 0; }).select(quarters));
}

TEST_F(out_of_core_verbs, collected_groups) {
  const auto lists = all().group_by([](auto r) { return r.key; }).select([](auto g) {
    return std::make_pair(g.key(), g.collect([](auto r) { return r.id; }));
  });
  const auto there = lists.in(*gpu_);
  EXPECT_TRUE(planned_there(there.explain()));
  auto mine = there.to_vector(), wanted = lists.in(cpu_).to_vector();
  ran_as_it_says(there.explain(), where::either);
  const auto by_key = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::sort(mine.begin(), mine.end(), by_key);
  std::sort(wanted.begin(), wanted.end(), by_key);
  EXPECT_EQ(mine.size(), 1000u);
  EXPECT_TRUE(mine == wanted);
}

TEST_F(out_of_core_verbs, aggregate) {
  same("aggregate", all().aggregate([](auto g) {
    return query::make<Total>(g.min([](auto r) { return r.value; }), g.sum([](auto r) { return r.value; }), g.count());
  }),
       where::gpu);
  same("aggregate, of functions of one's own",
       all().group_by([](auto r) { return r.key; }).select([](auto g) {
         return query::make<Total>(query::cast<std::int64_t>(g.key()),
                                   g.aggregate(
                                       std::int64_t{0}, [](auto s, auto r) { return s + r.value; }, [](auto a, auto b) { return a + b; }),
                                   g.count());
       }));
}

TEST_F(out_of_core_verbs, verbs_about_the_sequence) {
  same("reverse", all().reverse());
  same("take_last", all().take_last(100'000), where::gpu);
  same("skip", all().skip(8'000'000), where::gpu);
  same("window", all().select([](auto r) { return r.value; }).window(3, [](auto run) { return query::sum(run); }));
  same("cross_join", all().cross_join(query::from(std::vector<Dim>{{1, 2}, {3, 4}}), [](auto r, auto d) {
    return query::make<Total>(r.id, d.key, d.factor + r.value);
  }), where::gpu);
}

// ---------------------------------------------------------------- 2 GiB of rows with 256 MiB
struct Label {
  std::string text;
  std::int64_t value;
};
QUERY_RECORD(Label, text, value);

// What each verb gives is thinned out behind it: the vectors that are compared stay small.
class verbs_at_256_mib : public out_of_core_verbs, public testing::WithParamInterface<const char*> {
 protected:
  std::size_t budget() const override { return 256 * mib; }
  bool is(const char* verb) const { return std::string(GetParam()) == verb; }
  static auto few_of(std::int64_t of) {
    return [of](auto t) { return t.key % of == 0; };
  }
  static std::vector<Label> labels(std::size_t n) {
    std::vector<Label> all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = {"label " + std::to_string(mixed(i) % 1000), static_cast<std::int64_t>(i)};
    return all;
  }
  // Half of them have key -1; one has -2.
  std::vector<Dim> skewed() {
    std::vector<Dim> dims(rows().size() / 4);
    for (std::size_t i = 0; i < dims.size(); ++i)
      dims[i] = {i == 0 ? -2 : i % 2 ? -1 : static_cast<std::int64_t>(4 * i + 1), static_cast<std::int64_t>(i % 13)};
    return dims;
  }
  void strings() {
    const std::vector<Label> all = labels(8 * budget() / sizeof(Label));
    same("group_by of strings", query::from(all).as_accelerated().group_by([](auto r) { return r.text; }).select([](auto g) {
      return query::make<Total>(g.max([](auto r) { return r.value; }), g.sum([](auto r) { return r.value; }), g.count());
    }));
  }
};

TEST_P(verbs_at_256_mib, run_or_say_why_not) {
  const std::vector<Dim> few = small();
  const auto dims = query::from(few);
  const auto half = query::from(rows()).where([](auto r) { return r.id % 2 == 0; });
  const auto pair = [](auto r, auto d) { return query::make<Total>(query::cast<std::int64_t>(r.key), r.id, d.factor); };
  const auto maybe = [](auto r, auto d) {
    return query::make<Total>(r.has_value() ? r->id : decltype(r->id)(-1), d.has_value() ? d->factor : decltype(d->factor)(-1),
                              r.has_value() ? r->value : decltype(r->value)(-1));
  };
  const auto keyed = [](auto r, auto d) { return query::make<Total>(d.key, r.has_value() ? r->id : decltype(r->id)(-1), d.factor); };
  const auto own = [](auto r, auto d) {
    return query::make<Total>(r.id, query::sum(d, [](auto x) { return x.factor; }), query::cast<std::int64_t>(d.size()));
  };
  const auto median = [](auto g) {
    const auto value = [](auto r) { return r.value; };
    return query::make<Quarters>(query::cast<std::int64_t>(g.key()), g.median(value), g.quantile(value, 0.25),
                                 query::cast<std::int64_t>(g.count_distinct([](auto r) { return r.key; })));
  };
  const auto collected = [](auto g) {
    return std::make_pair(g.key(), g.collect([](auto r) { return r.value; }));
  };
  const auto list_sums = [](auto p) {
    return query::make<Total>(query::cast<std::int64_t>(std::get<0>(p)), query::sum(std::get<1>(p)),
                              query::cast<std::int64_t>(std::get<1>(p).size()));
  };
  const auto all_sums = [](auto g) {
    return query::make<Total>(g.min([](auto r) { return r.value; }), g.sum([](auto r) { return r.value; }), g.count());
  };
  const auto thin = [](auto r) { return r.id % 64 == 0; };
  const auto some = [](auto r) { return r.id % 63 == 0; };
  const auto value = [](auto r) { return r.value; };
  const auto half_of_rows = [](auto r) { return query::iff(r.id % 2 == 0, r.id * 0 - 1, r.id); };
  const auto few_of_half = [](auto r) { return query::iff(r.id % 2 == 0, query::iff(r.id < 10, r.id * 0 - 1, r.id * 0 - 2), r.id); };
  const std::vector<Row> one(rows().begin(), rows().begin() + 1);
  const std::vector<Dim> one_partner = {{-1, 5}, {3, 6}, {-7, 7}};
  if (is("semi_join")) same("semi_join", all().semi_join(dims, spread, key_of), where::gpu);
  else if (is("anti_join")) same("anti_join", all().anti_join(dims, spread, key_of).where(thin), where::gpu);
  else if (is("right_join")) same("right_join", all().right_join(dims, spread, key_of, keyed), where::gpu);
  else if (is("full_join")) same("full_join", all().full_join(dims, spread, key_of, maybe).where(few_of(64)), where::gpu);
  else if (is("group_join")) same("group_join", all().group_join(dims, spread, key_of, own).where(few_of(64)), where::gpu);
  else if (is("cross_join"))
    same("cross_join", all().cross_join(query::from(std::vector<Dim>{{1, 2}, {3, 4}}), pair).where(few_of(100)), where::gpu);
  else if (is("distinct")) same("distinct", all().select([](auto r) { return r.id / 4; }).distinct(), where::gpu);
  else if (is("union_with")) same("union_with", all().union_with(half).where(thin), where::gpu);
  else if (is("intersect")) same("intersect", all().intersect(half).where(thin), where::gpu);
  else if (is("except")) same("except", all().except(half).where(some), where::gpu);
  else if (is("median")) same("median", all().group_by([](auto r) { return r.key; }).select(median), where::gpu);
  else if (is("collect")) same("collect", all().group_by([](auto r) { return r.key; }).select(collected).select(list_sums));
  else if (is("aggregate")) same("aggregate", all().aggregate(all_sums), where::gpu);
  else if (is("distinct_skewed")) same("distinct, half of the rows equal", all().distinct_by(half_of_rows).where(some), where::gpu);
  else if (is("union_skewed"))
    same("union_with, half of the rows equal", all().union_with_by(half, half_of_rows).where(some), where::gpu);
  else if (is("except_skewed"))
    same("except, half of the rows equal", all().except_by(query::from(one), half_of_rows).where(some), where::gpu);
  else if (is("right_join_skewed"))  // half of the left rows have one partner, and half of the right rows one key, which few look for
    same("right_join, half of the rows of one key",
         all().right_join(query::from(skewed()), few_of_half, key_of, keyed).where([](auto t) { return (t.sum + 1) % 5 == 0; }),
         where::gpu);
  else if (is("full_join_skewed"))
    same("full_join, half of the rows of one key",
         all().full_join(query::from(one_partner), half_of_rows, key_of, maybe).where(few_of(64)), where::gpu);
  else if (is("group_join_skewed"))
    same("group_join, half of the rows of one key",
         all().group_join(query::from(one_partner), half_of_rows, key_of, own).where(few_of(64)), where::gpu);
  else if (is("full_join_large")) {
    const std::vector<Dim> many = large();
    same("full_join, large right side", all().full_join(query::from(many), spread, key_of, maybe).where(few_of(64)), where::gpu);
  } else if (is("aggregate_rows"))
    same("aggregate, rows", all().aggregate([](auto g) {
      return query::make<Total>(g.arg_max([](auto r) { return r.spread; }).id, g.first([](auto r) { return r.spread; }),
                                g.last([](auto r) { return r.id; }));
    }),
         where::gpu);
  else if (is("reverse")) same("reverse", all().reverse().where(thin));
  else if (is("window")) same("window", all().select(value).window(3, [](auto run) { return query::sum(run); }).take_last(100'000));
  else if (is("take_last")) same("take_last", all().take_last(100'000));
  else strings();
}
INSTANTIATE_TEST_SUITE_P(each, verbs_at_256_mib,
                         testing::Values("semi_join", "anti_join", "right_join", "full_join", "group_join", "cross_join", "distinct",
                                         "union_with", "intersect", "except", "median", "collect", "aggregate", "reverse", "window",
                                         "take_last", "strings", "distinct_skewed", "union_skewed", "except_skewed", "right_join_skewed",
                                         "full_join_skewed", "group_join_skewed", "full_join_large", "aggregate_rows"),
                         [](const auto& i) { return std::string(i.param); });

// The user's own aggregates, heavy keys of other joins, and verbs that may move to the CPU.
class more_verbs_at_256_mib : public verbs_at_256_mib {
 protected:
  static auto own_sum() {
    return [](auto g) {
      const auto sum = g.aggregate(std::int64_t{0}, [](auto s, auto r) { return s + r.value; }, [](auto a, auto b) { return a + b; });
      return query::make<Total>(query::cast<std::int64_t>(g.key()), sum, g.count());
    };
  }
  // One row in 16 looks for a partner, and the first of them for key -1; all others have none.
  static auto few_rows() {
    return all().where([](auto r) { return r.id % 16 == 0; });
  }
  static auto first_has_one() {
    return [](auto r) { return query::iff(r.id == 0, r.id * 0 - 1, r.id * 0 - 2); };
  }
  static std::vector<Dim> of_one_key(std::size_t n) { return std::vector<Dim>(n, Dim{-1, 5}); }
  // Of 80 characters: eight times the budget, with what points at them.
  std::vector<Label> long_labels() const {
    std::vector<Label> all(8 * budget() / (24 + 80));
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = {std::to_string(mixed(i)), static_cast<std::int64_t>(i)};
      all[i].text.resize(80, '.');
    }
    return all;
  }
};

TEST_P(more_verbs_at_256_mib, run_or_say_why_not) {
  const auto thin = [](auto r) { return r.id % 64 == 0; };
  const auto half = query::from(rows()).where([](auto r) { return r.id % 2 == 0; });
  const auto half_of_rows = [](auto r) { return query::iff(r.id % 2 == 0, r.id * 0 - 1, r.id); };
  const auto value = [](auto r) { return r.value; };
  const auto found = [](auto r, auto d) { return query::make<Total>(r.id, d.has_value() ? d->factor : decltype(d->factor)(-1), r.value); };
  const auto sums = [](auto r, auto own) {
    return query::make<Total>(r.id, query::sum(own, [](auto d) { return d.factor; }), query::cast<std::int64_t>(own.size()));
  };
  if (is("own_aggregate")) {
    same("an aggregate of one's own", all().group_by([](auto r) { return r.key; }).select(own_sum()), where::gpu);
  } else if (is("own_aggregate_skewed")) {
    same("an aggregate of one's own, one heavy key", all().group_by([](auto r) { return r.heavy; }).select(own_sum()), where::gpu);
  } else if (is("left_join_skewed")) {
    const std::vector<Dim> fits = of_one_key(400'000);
    same("left_join, one build key", few_rows().left_join(query::from(fits), first_has_one(), key_of, found), where::gpu);
  } else if (is("left_join_skewed_large")) {
    const std::vector<Dim> large = of_one_key(2'000'000);
    same("left_join, one build key, too many rows", few_rows().left_join(query::from(large), first_has_one(), key_of, found));
  } else if (is("semi_join_large")) {
    const std::vector<Dim> many = large();
    same("semi_join, large build side", all().semi_join(query::from(many), spread, key_of).where([](auto r) { return r.id % 63 == 0; }),
         where::gpu);
  } else if (is("anti_join_large")) {
    const std::vector<Dim> many = large();
    same("anti_join, large build side", all().anti_join(query::from(many), spread, key_of).where(thin), where::gpu);
  } else if (is("semi_join_skewed")) {
    same("semi_join, half of the rows of one key", all().semi_join(query::from(skewed()), half_of_rows, key_of).where(thin));
  } else if (is("anti_join_skewed")) {
    same("anti_join, half of the rows of one key",
         all().anti_join(query::from(skewed()), half_of_rows, key_of).where([](auto r) { return r.id % 63 == 0; }));
  } else if (is("group_join_large")) {
    const std::vector<Dim> many = large();
    same("group_join, large right side", all().group_join(query::from(many), spread, key_of, sums).where(few_of(64)), where::gpu);
  } else if (is("intersect_skewed")) {
    same("intersect, half of the rows equal", all().intersect_by(half, half_of_rows).where(thin), where::gpu);
  } else if (is("cached")) {
    same("cached, of computed rows", few_rows().select([](auto r) { return query::make<Total>(r.id, r.value, r.spread); }).cached(),
         where::gpu);
  } else if (is("groups")) {
    // What a function makes of a group is the CPU's.
    const auto q = all().group_by([](auto r) { return r.key; }).groups().select([](const auto& g) {
      return Total{g.key(), static_cast<std::int64_t>(g.count()), g.key()};
    });
    const auto there = q.in(*gpu_);
    EXPECT_TRUE(planned_there(there.explain(), "group_by"));
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Total> mine = there.to_vector();
    seconds("groups", begin);
    ran_as_it_says(there.explain(), where::either);
    EXPECT_EQ(sum_of_hashes(mine), sum_of_hashes(q.in(cpu_).to_vector()));
  } else if (is("hash_partitioned_by")) {
    same("hash_partitioned_by", all().hash_partitioned_by(spread, 5).where(thin));
  } else if (is("range_partitioned_by")) {
    same("range_partitioned_by", all().range_partitioned_by(spread, 5).where(thin));
  } else if (is("partitioned")) {
    same("partitioned", all().where([](auto r) { return r.key != 5; }).partitioned(3).where(thin));
  } else if (is("order_by_strings")) {
    const std::vector<Label> labels = long_labels();
    in_order_ = true;
    same("order_by strings", query::from(labels).as_accelerated().order_by([](auto l) { return l.text; }).select(value));
  } else if (is("own_aggregate_of_all")) {
    same("an aggregate of one's own, of all rows", all().aggregate([](auto g) {
      const auto sum = g.aggregate(std::int64_t{0}, [](auto s, auto r) { return s + r.value; }, [](auto a, auto b) { return a + b; });
      return query::make<Total>(g.max([](auto r) { return r.value; }), sum, g.count());
    }),
         where::gpu);
  } else if (is("median_of_all")) {
    same("median of all rows", all().aggregate([value](auto g) {
      return query::make<Quarters>(g.count(), g.median(value), g.quantile(value, 0.25), g.max(value));
    }),
         where::cpu);
    EXPECT_NE(plan_.find("of all rows wants rows side by side, which do not fit the device"), std::string::npos) << plan_;
  } else if (is("chunk")) {
    same("chunk", all().select(value).chunk(64, [](auto run) { return query::sum(run); }));
  } else if (is("zip")) {
    const auto both = [](auto a, auto b) { return query::make<Total>(a.id, a.value + b.value, b.spread); };
    same("zip", all().zip(query::from(rows()), both).where(few_of(64)));
  } else {
    same("concat", all().concat(half).where(thin));
  }
}
INSTANTIATE_TEST_SUITE_P(each, more_verbs_at_256_mib,
                         testing::Values("own_aggregate", "own_aggregate_skewed", "left_join_skewed", "left_join_skewed_large",
                                         "semi_join_large", "anti_join_large", "semi_join_skewed", "anti_join_skewed", "group_join_large",
                                         "intersect_skewed", "cached", "groups", "hash_partitioned_by", "range_partitioned_by",
                                         "partitioned", "order_by_strings", "own_aggregate_of_all", "median_of_all", "chunk", "zip",
                                         "concat"),
                         [](const auto& i) { return std::string(i.param); });

}  // namespace
