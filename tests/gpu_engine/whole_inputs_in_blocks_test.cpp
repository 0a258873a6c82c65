// Verbs that want all of their input, over rows that come to the device in blocks: aggregates of all rows, distinct and set verbs, right
// and full joins, group joins, cross joins. In small blocks, and with right sides that are parted; against the CPU engine's results.
// Where there is no GPU these are skipped.
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

struct Item {
  std::int64_t id;
  std::int64_t key;
  std::optional<std::int32_t> lot;
  double price;
};
QUERY_RECORD(Item, id, key, lot, price);
struct Wide {
  std::int64_t a, b, c;
};
QUERY_RECORD(Wide, a, b, c);
struct Ends {
  std::int64_t first, last, low, high, sum, n;
  bool operator==(const Ends&) const = default;
};
QUERY_RECORD(Ends, first, last, low, high, sum, n);

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr auto id = [](auto r) { return r.id; };
constexpr auto key = [](auto r) { return r.key; };
constexpr auto lot = [](auto r) { return r.lot; };
constexpr auto price = [](auto r) { return r.price; };

// Few keys or many, a third of the lots empty, every 50th price a NaN or a zero with a sign.
std::vector<Item> items(std::int64_t n, std::int64_t keys, std::int64_t from = 0) {
  std::vector<Item> all(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t h = mixed(static_cast<std::uint64_t>(i + from) + 1);
    Item& it = all[static_cast<std::size_t>(i)];
    it.id = i + from;
    it.key = static_cast<std::int64_t>(h % static_cast<std::uint64_t>(keys));
    it.lot = h % 3 ? std::optional<std::int32_t>(static_cast<std::int32_t>(h >> 40) % 500) : std::nullopt;
    it.price = h % 50 == 0 ? (h % 100 == 0 ? std::nan("") : -0.0) : static_cast<double>((h >> 20) % 4000) / 4;
  }
  return all;
}

class whole_inputs : public fixture {
 protected:
  // Rows that may come in any order.
  template <class Q> void same(const char* what, const Q& q) {
    SCOPED_TRACE(what);
    const auto there = q.in(*gpu_);
    EXPECT_TRUE(planned_there(there.explain()));
    auto mine = sorted(there.to_vector()), wanted = sorted(q.in(cpu_).to_vector());
    stayed_in_blocks(there);
    plan_ = there.explain();
    ASSERT_EQ(mine.size(), wanted.size());
    EXPECT_TRUE(mine == wanted);
  }
  template <class Q> void goes_to_the_cpu(const Q& q, const char* because) {
    const auto there = q.in(*gpu_);
    EXPECT_EQ(bits(there.to_vector()), bits(q.in(cpu_).to_vector()));
    EXPECT_NE(there.explain().find(because), std::string::npos) << there.explain();
    EXPECT_NE(there.explain().find("the last run went to the cpu: gpu: memory: "), std::string::npos) << there.explain();
  }
  template <class T> static std::vector<std::string> bits(const std::vector<T>& rows) {
    std::vector<std::string> all;
    for (const T& row : rows) all.push_back(of(row));
    return all;
  }
  template <class T> static std::vector<std::string> sorted(const std::vector<T>& rows) {
    std::vector<std::string> all = bits(rows);
    std::sort(all.begin(), all.end());
    return all;
  }
  static std::string of(std::int64_t x) { return std::to_string(x); }
  static std::string of(double x) { return x != x ? "nan" : std::to_string(x); }
  static std::string of(const std::optional<std::int32_t>& x) { return x ? std::to_string(*x) : "none"; }
  static std::string of(const Item& i) { return of(i.id) + " " + of(i.key) + " " + of(i.lot) + " " + of(i.price); }
  static std::string of(const Wide& w) { return of(w.a) + " " + of(w.b) + " " + of(w.c); }
  static std::string of(const Total& t) { return of(t.key) + " " + of(t.sum) + " " + of(t.n); }
  static std::string of(const Ends& e) {
    return of(e.first) + " " + of(e.last) + " " + of(e.low) + " " + of(e.high) + " " + of(e.sum) + " " + of(e.n);
  }

  template <class F> void in_each_size(F f) {
    for (const std::size_t block : {std::size_t{3'001}, std::size_t{25'000}, std::size_t{1} << 22}) {
      SCOPED_TRACE(block);
      use(24 * mib, block);
      f();
      EXPECT_EQ(session_of(*engine_).memory().counters().used, 0u);
    }
  }
};

constexpr auto ends = [](auto g) {
  return query::make<Ends>(g.first(id), g.last(id), g.arg_min([](auto r) { return r.key; }).id, g.arg_max([](auto r) { return r.key; }).id,
                           g.sum(id), g.count());
};

TEST_F(whole_inputs, are_aggregated) {
  const std::vector<Item> rows = items(70'000, 1000);
  const std::vector<Item> few = items(200, 1000);
  const auto all = query::from(rows).as_accelerated();
  const auto counted = [](auto g) {
    return query::make<Total>(g.min(key), g.max(key), g.count());
  };
  in_each_size([&] {
    const auto row = [&](const char* what, const auto& q) {
      SCOPED_TRACE(what);
      const auto there = q.in(*gpu_);
      const auto mine = there.to_vector();
      stayed_in_blocks(there);
      EXPECT_EQ(mine.size(), 1u);
      EXPECT_EQ(bits(mine), bits(q.in(cpu_).to_vector()));
    };
    row("states", all.aggregate(counted));
    row("rows", all.aggregate(ends));
    row("the last blocks' rows", all.where([](auto r) { return r.id > 69'000; }).aggregate(ends));
    row("the first block's rows", all.where([](auto r) { return r.id < 10; }).aggregate(ends));
    row("computed rows", all.select([](auto r) { return query::make<Wide>(r.id, r.key * 3, r.id - r.key); }).aggregate([](auto g) {
      return query::make<Total>(g.first([](auto w) { return w.a + w.c; }), g.arg_max([](auto w) { return w.b; }).c, g.count());
    }));
    row("functions of one's own", all.aggregate([](auto g) {
      return query::make<Total>(g.aggregate(
                                    std::int64_t{0}, [](auto s, auto r) { return s + r.id * 3; }, [](auto a, auto b) { return a + b; }),
                                g.max(id), g.count());
    }));
    row("behind a filter, functions of one's own", all.where([](auto r) { return r.key % 3 == 0; }).aggregate([](auto g) {
      return query::make<Total>(g.aggregate(
                                    std::int64_t{0}, [](auto s, auto r) { return s + r.id * 3; }, [](auto a, auto b) { return a + b; }),
                                g.last(id), g.count());
    }));
    row("behind a join", all.join(query::from(few), key, key, [](auto r, auto f) { return query::make<Wide>(r.id, f.id, r.key); })
                             .aggregate([](auto g) {
                               return query::make<Total>(g.sum([](auto w) { return w.a * w.b; }), g.max([](auto w) { return w.c; }),
                                                         g.count());
                             }));
    // Of no rows.
    const auto none = all.where([](auto r) { return r.id < 0; }).aggregate([](auto g) { return g.count(); }).in(*gpu_);
    EXPECT_EQ(none.to_vector(), std::vector<std::int64_t>{0});
    stayed(none);
    goes_to_the_cpu(all.aggregate([](auto g) {
      return query::make<Total>(query::cast<std::int64_t>(g.count_distinct(key)), g.max(key), g.count());
    }),
                    "wants rows side by side");
  });
}

TEST_F(whole_inputs, are_aggregated_as_they_are_generated) {
  use(64 * mib, 0);
  const auto numbers = query::generate([n = std::int64_t{0}]() mutable { return n < 1'500'000 ? std::optional(n++) : std::nullopt; });
  const auto q = numbers.as_accelerated()
                     .select([](auto i) { return query::make<Wide>(i, i * 7 % 1000, -i); })
                     .aggregate([](auto g) {
                       return query::make<Total>(g.arg_max([](auto w) { return w.b; }).a, g.sum([](auto w) { return w.c; }), g.count());
                     })
                     .in(*gpu_);
  EXPECT_TRUE(planned_there(q.explain()));
  const std::vector<Total> wanted = {{857, -(std::int64_t{1'500'000} * 1'499'999 / 2), 1'500'000}};
  EXPECT_TRUE(q.to_vector() == wanted);
  stayed_in_blocks(q);
}

TEST_F(whole_inputs, are_made_distinct_and_are_sets) {
  const std::vector<Item> rows = items(60'000, 1000), others = items(40'000, 50'000, 30'000), none;
  const auto a = query::from(rows).as_accelerated(), b = query::from(others), empty = query::from(none);
  const auto wide = [](auto r) { return query::make<Wide>(r.key, r.key * 5 % 77, r.id % 2); };
  in_each_size([&] {
    same("distinct", a.select(key).distinct());
    same("distinct, all differ", a.select(id).distinct());
    same("distinct, all equal", a.select([](auto r) { return r.id * 0; }).distinct());
    same("distinct_by, a thousand keys", a.distinct_by(key));
    same("distinct_by, nulls", a.distinct_by(lot));
    same("distinct_by, NaNs and zeros", a.distinct_by(price));
    same("distinct_by, one heavy key", a.distinct_by([](auto r) { return query::iff(r.id % 2 == 0, r.id * 0 - 5, r.id); }));
    same("distinct, wide keys", a.select(wide).distinct());
    same("distinct, of few that stay", a.where([](auto r) { return r.id % 5000 == 7; }).distinct_by(key));
    same("distinct, behind a join",
         a.join(query::from(others), id, id, [](auto r, auto o) { return query::make<Wide>(r.key, o.key % 10, r.key % 7); }).distinct());
    same("union_with", a.select(key).union_with(b.select(key)));
    same("union_with_by", a.union_with_by(b, key));
    same("union_with, wide", a.select(wide).union_with(b.select(wide)));
    same("union_with nothing", a.union_with_by(empty, key));
    same("union_with of nothing", empty.as_accelerated().union_with_by(b.as_accelerated(), key));
    same("intersect", a.select(key).intersect(b.select(key)));
    same("intersect_by", a.intersect_by(b, key));
    same("intersect, nulls", a.intersect_by(b.where([](auto r) { return r.id % 100 == 0; }), lot));
    same("except", a.select(id).except(b.select(id)));
    same("except_by", a.except_by(b.where([](auto r) { return r.key < 100; }), key));
    same("except, wide", a.select(wide).except(b.select(wide)));
    same("except nothing", a.except_by(empty, key));
    const auto some = a.select(id).distinct().take(5).in(*gpu_);
    EXPECT_EQ(some.to_vector().size(), 5u);
    goes_to_the_cpu(a.distinct_by(key).as_ordered(), "order that as_ordered() asks for");
  });
}

// Rows of sets that do not fit at once, as partitions.
TEST_F(whole_inputs, of_sets_larger_than_memory_come_in_partitions) {
  use(24 * mib, 0);
  const std::vector<Item> rows = items(900'000, 300'000), others = items(700'000, 300'000, 500'000);
  const auto a = query::from(rows).as_accelerated(), b = query::from(others);
  same("distinct", a.select(id).distinct());
  same("distinct_by", a.distinct_by(key));
  same("union_with_by", a.union_with_by(b, id));
  same("intersect_by", a.intersect_by(b, id));
  same("except_by", a.except_by(b, id));
  EXPECT_LE(session_of(*engine_).memory().counters().peak, 24 * mib);
}

constexpr auto of_right = [](auto r, auto d) {
  return query::make<Total>(d.id, r.has_value() ? r->id : decltype(r->id)(-1), d.key);
};
constexpr auto of_both = [](auto r, auto d) {
  return query::make<Total>(r.has_value() ? r->id : decltype(r->id)(-1), d.has_value() ? d->id : decltype(d->id)(-1),
                            r.has_value() ? r->key : decltype(r->key)(-1));
};
constexpr auto of_list = [](auto r, auto own) {
  return query::make<Total>(r.id, query::sum(own, [](auto d) { return d.id; }), query::cast<std::int64_t>(own.size()));
};

TEST_F(whole_inputs, are_joined_with_rows_that_find_no_partner) {
  const std::vector<Item> rows = items(30'000, 4000), unique = items(5000, 1, 28'000), repeated = items(9000, 6000, 100'000), none;
  const auto a = query::from(rows).as_accelerated();
  const auto b = query::from(unique), c = query::from(repeated), empty = query::from(none);
  const auto wide = [](auto r) { return query::make<Wide>(r.key, r.key % 9, r.key % 4); };
  in_each_size([&] {
    same("right, unique keys", a.right_join(b, id, id, of_right));
    same("right, repeated keys", a.right_join(c, key, key, of_right));
    same("right, nulls", a.where([](auto r) { return r.id % 50 == 0; }).right_join(c, lot, lot, of_right));
    same("right, wide keys", a.right_join(c, wide, wide, of_right));
    same("right, of no left rows", a.where([](auto r) { return r.id < 0; }).right_join(c, key, key, of_right));
    same("right, of no right rows", a.right_join(empty, key, key, of_right));
    same("full, unique keys", a.full_join(b, id, id, of_both));
    same("full, repeated keys", a.full_join(c, key, key, of_both));
    same("full, nulls", a.where([](auto r) { return r.id % 50 == 0; }).full_join(c, lot, lot, of_both));
    same("full, wide keys", a.full_join(c, wide, wide, of_both));
    same("full, of no left rows", a.where([](auto r) { return r.id < 0; }).full_join(c, key, key, of_both));
    same("full, of no right rows", a.full_join(empty, key, key, of_both));
    same("full, computed sides", a.where([](auto r) { return r.key % 2 == 0; })
                                     .select([](auto r) { return query::make<Wide>(r.id, r.key, r.key); })
                                     .full_join(c.where([](auto r) { return r.key % 3 == 0; }), [](auto w) { return w.b; }, key,
                                                [](auto w, auto d) {
                                                  return query::make<Total>(w.has_value() ? w->a : decltype(w->a)(-1),
                                                                            d.has_value() ? d->id : decltype(d->id)(-1),
                                                                            w.has_value() ? w->c : decltype(w->c)(-1));
                                                }));
    same("group_join", a.group_join(c, key, key, of_list));
    same("group_join, counted", a.group_join(c, key, key, [](auto r, auto own) {
      return query::make<Total>(r.id, r.key, query::cast<std::int64_t>(own.size()));
    }));
    same("group_join, of no right rows", a.group_join(empty, key, key, of_list));
    // Blocks of the left side keep LINQ's order, as long as the right side fits.
    const auto in_order = [&](const auto& q) {
      const auto there = q.in(*gpu_);
      EXPECT_TRUE(there.to_vector() == q.in(cpu_).to_vector());
      stayed_in_blocks(there);
    };
    in_order(a.right_join(c, key, key, of_right).as_ordered());
    in_order(a.full_join(c, key, key, of_both).as_ordered());
    in_order(a.group_join(c, key, key, of_list).as_ordered());
  });
}

TEST_F(whole_inputs, are_joined_by_partitions_where_the_right_side_does_not_fit) {
  for (const std::size_t block : {std::size_t{0}, std::size_t{9'000}}) {
    use(24 * mib, block);
    const std::vector<Item> rows = items(150'000, 100'000), large = items(200'000, 150'000, 50'000);
    const auto a = query::from(rows).as_accelerated(), b = query::from(large);
    same("right", a.right_join(b, key, key, of_right));
    EXPECT_NE(plan_.find("partitions in host memory"), std::string::npos) << plan_;
    same("right, computed",
         a.where([](auto r) { return r.key % 2 == 0; }).right_join(b.where([](auto r) { return r.id > 1000; }), key, key, of_right));
    same("full", a.full_join(b, key, key, of_both));
    same("full, nulls", a.where([](auto r) { return r.id % 500 == 0; }).full_join(b, lot, lot, of_both));
    // Of the right rows only the fields come that are read: these many do not fit.
    const std::vector<Item> more = items(400'000, 150'000, 50'000);
    same("group_join", a.group_join(query::from(more), key, key, of_list));
    EXPECT_NE(plan_.find("partitions in host memory"), std::string::npos) << plan_;
    goes_to_the_cpu(a.right_join(b, key, key, of_right).as_ordered(), "order that as_ordered() asks for");
    EXPECT_LE(session_of(*engine_).memory().counters().peak, 24 * mib);
  }
}

// The right side's rows of one key do not fit: a right join meets them in slices, others want them at once.
TEST_F(whole_inputs, are_joined_with_one_key_that_does_not_fit) {
  use(24 * mib, 0);
  std::vector<Item> rows = items(100'000, 1000), one = items(250'000, 1000);
  for (Item& r : rows) r.key = r.id < 3 ? 7 : r.id + 1000;
  for (Item& r : one) r.key = r.id % 2 ? 7 : r.id * 2 + 1'000'000;
  const auto a = query::from(rows).as_accelerated(), b = query::from(one);
  same("right", a.right_join(b, key, key, of_right));
  const auto full = a.full_join(b, key, key, of_both).in(*gpu_);
  EXPECT_EQ(sorted(full.to_vector()), sorted(a.full_join(b, key, key, of_both).in(cpu_).to_vector()));
  EXPECT_NE(full.explain().find("right rows of one key do not fit"), std::string::npos) << full.explain();
}

TEST_F(whole_inputs, are_paired) {
  const std::vector<Item> rows = items(2500, 100), few = items(40, 10), many = items(100'000, 10);
  const auto a = query::from(rows).as_accelerated();
  const auto pair = [](auto r, auto d) { return query::make<Total>(r.id, d.id, d.key); };
  const auto in_order = [&](const auto& q) {
    const auto there = q.in(*gpu_);
    EXPECT_TRUE(there.to_vector() == q.in(cpu_).to_vector());
    stayed_in_blocks(there);
  };
  for (const std::size_t block : {std::size_t{700}, std::size_t{1} << 20}) {
    use(24 * mib, block);
    in_order(a.cross_join(query::from(few), pair));
    in_order(a.where([](auto r) { return r.id % 7 == 0; }).cross_join(query::from(few), pair));
    in_order(a.cross_join(query::from(few).where([](auto r) { return r.id < 0; }), pair));
    // A left row at a time, in several pieces.
    in_order(a.where([](auto r) { return r.id < 9; }).cross_join(query::from(many), pair));
  }
  // More pairs than fit, of rows that do.
  use(24 * mib, 0);
  in_order(a.cross_join(query::from(items(2000, 10)), pair));
}

// Keys whose hashes share so many bits that a table of their groups has to grow three times: in group joins, and in joins that met a key
// twice. mix64 of gpu_primitives/hash_keys.cuh backwards.
TEST_F(whole_inputs, of_crowded_hashes_are_joined_in_a_larger_table) {
  const auto crowded = [](std::uint64_t i) {
    std::uint64_t h = i << 48;
    h ^= h >> 33;
    h *= 0x9cb4b2f8129337dbu;
    h ^= h >> 33;
    h *= 0x4f74430c22a54005u;
    h ^= h >> 33;
    return static_cast<std::int64_t>(h);
  };
  std::vector<Item> right(3500), left(4000);
  for (std::size_t i = 0; i < right.size(); ++i) right[i] = {static_cast<std::int64_t>(i), crowded(i % 3000), std::nullopt, 0};
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = {static_cast<std::int64_t>(i), crowded(i), std::nullopt, 0};
  const auto a = query::from(left).as_accelerated(), b = query::from(right);
  use(64 * mib, 0);
  const auto stays = [&](const auto& q) {
    const auto there = q.in(*gpu_);
    EXPECT_EQ(sorted(there.to_vector()), sorted(q.in(cpu_).to_vector()));
    stayed(there);
  };
  stays(a.group_join(b, key, key, of_list));
  stays(a.right_join(b, key, key, of_right));
  stays(a.full_join(b, key, key, of_both));
  stays(a.left_join(b, key, key, [](auto r, auto d) {
    return query::make<Total>(r.id, d.has_value() ? d->id : decltype(d->id)(-1), r.key);
  }));
}

}  // namespace
