// The kernels that only blocks need compile: spilled groups, keys of sorted blocks, partitions by key. By NVRTC, on the
// driver double, whose kernels do nothing.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_engine/out_of_core/state_stream.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

struct Trade {
  std::int64_t id;
  std::int32_t symbol;
  double price;
  std::optional<std::int16_t> lot;
};
QUERY_RECORD(Trade, id, symbol, price, lot);
struct Symbol {
  std::int32_t id;
  double rate;
};
QUERY_RECORD(Symbol, id, rate);

struct Person {
  std::int64_t id;
  std::string name;
  double height;
};
QUERY_RECORD(Person, id, name, height);

class block_kernels : public testing::Test {
 protected:
  void SetUp() override {
    if (!compiler::find()) GTEST_SKIP() << "SKIPPED: no NVRTC: " << compiler::why_not();
    fake_.allow_unknown_kernels();
    session_.add_engine(make_engine(device_, {std::size_t{16} << 20, 0}, kernels_, 3000));
  }
  template <class Q> void compiles(const char* what, const Q& q, const char* kernel) {
    SCOPED_TRACE(what);
    compiled_.clear();
    const auto here = q.in(session_);
    (void)here.to_vector();
    EXPECT_EQ(here.explain().find("went to the cpu"), std::string::npos) << here.explain();
    EXPECT_NE(compiled_.find(kernel), std::string::npos);
  }

  std::vector<Trade> trades_ = std::vector<Trade>(60'000);
  std::vector<Symbol> symbols_ = std::vector<Symbol>(40'000);
  driver_double fake_;
  device device_{fake_.calls(), 0};
  std::string compiled_;
  kernel_cache kernels_{
      {.headers = embedded_sources(), .options = {}, .folder = "", .compile = [this](std::string_view source, int) {
         compiled_ += source;
         return image_of(source, compiler::find()->compile(source, embedded_sources(), 90, {}));
       }}};
  query::Session session_{{.threads = 2, .gpu = query::gpu_use::off}};
};

TEST_F(block_kernels, compile) {
  const auto all = query::from(trades_).as_accelerated();
  const auto symbol = [](auto t) { return t.symbol; };
  compiles(
      "order",
      all.order_by([](auto t) { return t.lot; }).then_by_descending([](auto t) { return t.price; }).select([](auto t) {
        return t.id;
      }),
      "write_keys");
  compiles("groups", all.group_by(symbol).select([](auto g) { return g.sum([](auto t) { return t.price; }); }),
           "pair_groups");
  compiles("groups of two words",
           all.group_by([](auto t) { return query::make<Symbol>(t.symbol, t.price); }).select([](auto g) {
             return std::make_tuple(g.count(), g.stddev([](auto t) { return t.price; }));
           }),
           "pair_groups");
  compiles("groups that need their rows",
           all.where([](auto t) { return t.id >= 0; }).group_by([](auto t) { return t.lot; }).select([](auto g) {
             return g.first([](auto t) { return t.price; });
           }),
           "place_rows");
  compiles(
      "a large build side",
      all.join(
          query::from(symbols_), symbol, [](auto s) { return s.id; }, [](auto t, auto s) { return t.price * s.rate; }),
      "place_rows");
}

// Build sides that do not fit are parted by the key, whose string lives as long as its hash is made.
TEST_F(block_kernels, of_keys_that_make_strings_compile) {
  const std::vector<Person> people(60'000, Person{1, "Ada", 2.0});
  const std::vector<Person> others(40'000, Person{2, "ADA", 3.0});
  const auto all = query::from(people).as_accelerated();
  const auto lower = [](auto p) { return query::to_lower(p.name); };
  const auto joined = all.join(query::from(others), lower, lower, [](auto a, auto b) { return a.height * b.height; });
  compiles("joined by a made key", joined, "place_rows");
  const auto in_parts = [&](const auto& q) {
    EXPECT_NE(q.explain().find("partitions in host memory"), std::string::npos) << q.explain();
    EXPECT_EQ(q.explain().find("went to the cpu"), std::string::npos) << q.explain();
  };
  const auto ordered = joined.order_by([](auto x) { return x; }).in(session_);
  (void)ordered.to_vector();
  in_parts(ordered);
  const auto counted = joined.in(session_);
  (void)counted.count();
  in_parts(counted);
  compiles("made before the join",
           all.select([](auto p) { return query::make<Person>(p.id, p.name + "!", p.height); })
               .join(query::from(others), [](auto p) { return p.id; }, [](auto p) { return p.id; }, [](auto a, auto) { return a.height; }),
           "place_rows");
}

// Keys of each width, states of numbers, records and arrays; with ordinary aggregates beside them, and row-wise work before.
TEST_F(block_kernels, of_states_of_the_users_compile) {
  const auto all = query::from(trades_).as_accelerated();
  const auto price = [](auto t) { return t.price; };
  const double start = 0.0;
  const auto own = [=](auto g) {
    return std::make_tuple(g.key(), g.aggregate(start, [](auto s, auto t) { return s + t.price; }, [](auto a, auto b) { return a + b; }),
                           g.count(), g.sum(price), g.stddev(price), g.max([](auto t) { return t.lot; }));
  };
  const auto compiled = [&](const char* what, const auto& q, const char* kernel = "finish_states") {
    const auto here = q.in(session_);
    compiles(what, q, kernel);
    EXPECT_NE(here.explain().find("in the last run: 20 blocks of rows"), std::string::npos) << here.explain();
    // All of the program: states grow and are spilled where kernels do something.
    const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
    const query::planner::vertex& v = *g->vertices.front();
    EXPECT_TRUE(state_stream::possible(v));
    const input_layout in = bare(v.inputs.front()) ? planned_layout(v.inputs.front(), group_fields(v)) : whole_rows(v.inputs.front().row);
    const auto program = in_order::generate(v, in, in_order::output::states_of_block).source.text();
    EXPECT_NO_THROW((void)compiler::find()->compile(program, embedded_sources(), 90, {})) << program;
  };
  compiled("a key of four bytes", all.group_by([](auto t) { return t.symbol; }).select(own));
  compiled("a key of eight", all.group_by([](auto t) { return t.id % 5; }).select(own));
  compiled("a key of two words", all.group_by([](auto t) { return query::make<Symbol>(t.symbol, t.price); }).select([](auto g) {
    return g.aggregate(std::int64_t{0}, [](auto s, auto t) { return s + t.id; }, [](auto a, auto b) { return a + b; });
  }));
  compiled("nulls as keys, behind a filter", all.where([](auto t) { return t.id > 5; }).group_by([](auto t) { return t.lot; }).select(own),
           "collect_rows");  // of which the double keeps none
  compiled("a state that is a record", all.group_by([](auto t) { return t.symbol; }).select([](auto g) {
    return g.aggregate(Symbol{-1, 0.0}, [](auto, auto t) { return query::make<Symbol>(t.symbol, t.price); },
                       [](auto a, auto b) {
                         return query::make<Symbol>(query::iff(b.id < 0, a.id, b.id), query::iff(b.id < 0, a.rate, b.rate));
                       });
  }));
  compiled("a state that is an array", all.group_by([](auto t) { return t.symbol; }).select([](auto g) {
    const auto add = [](auto s, auto t) {
      s[0] += t.price;
      s[1] += 1.0;
      return s;
    };
    const auto combine = [](auto a, auto b) {
      for (int i = 0; i < 2; ++i) a[i] += b[i];
      return a;
    };
    return g.aggregate(std::array<double, 2>{}, add, combine);
  }));
}

// Of blocks that are long enough for a sample, which counts nothing here: there are few groups.
TEST_F(block_kernels, of_groups_in_tables_of_blocks_compile) {
  query::Session session({.threads = 2, .gpu = query::gpu_use::off});
  session.add_engine(make_engine(device_, {std::size_t{64} << 20, 0}, kernels_, 300'000));
  const auto compile = [&](const char* what, const auto& q, const char* also) {
    SCOPED_TRACE(what);
    compiled_.clear();
    const auto here = q.in(session);
    (void)here.to_vector();
    EXPECT_EQ(here.explain().find("went to the cpu"), std::string::npos) << here.explain();
    for (const char* part : {"sample_groups", "group_copies::thread", also}) EXPECT_NE(compiled_.find(part), std::string::npos) << part;
  };
  trades_.resize(300'000);
  compile("rows", query::from(trades_).as_accelerated().group_by([](auto t) { return t.symbol; }).select([](auto g) {
    return std::make_tuple(g.key(), g.sum([](auto t) { return t.price; }), g.max([](auto t) { return t.lot; }));
  }),
          "merge_partials");
  const auto numbered = [](auto numbers) {
    return numbers.as_accelerated()
        .where([](auto, auto i) { return i != 3; })
        .select([](auto i) { return std::pair(i >> 4u, query::cast<double>(i) * 0.5); })
        .group_by([](auto r) { return r.first; })
        .select([](auto g) { return std::tuple(g.key(), g.count(), g.mean([](auto r) { return r.second; })); });
  };
  compile("numbers", numbered(query::range(std::uint64_t{3}, 300'000)), "numbers_from<u64>{");
  compile("short numbers", numbered(query::range(std::uint32_t{3}, 300'000)), "numbers_from<u32>{");
  const auto same = [](auto i) { return i; };
  compile("numbers as they are",
          query::range(std::int32_t{-9}, 300'000).as_accelerated().group_by(same).select([=](auto g) { return g.sum(same); }),
          "numbers_from<i32>{");
}

TEST_F(block_kernels, of_verbs_that_want_all_rows_compile) {
  const auto all = query::from(trades_).as_accelerated();
  const auto symbol = [](auto t) { return t.symbol; };
  const auto price = [](auto t) { return t.price; };
  compiles("states of all rows", all.aggregate([=](auto g) { return std::make_tuple(g.count(), g.sum(price), g.stddev(price)); }),
           "take_block");
  compiles("rows of all rows", all.where([](auto t) { return t.id > 5; }).aggregate([=](auto g) {
    return std::make_tuple(g.first(price), g.arg_max([](auto t) { return t.lot; }), g.arg_min(price).id, g.last(symbol));
  }),
           "fetch_kept");
  compiles("computed rows of all rows", all.select([](auto t) { return query::make<Symbol>(t.symbol, t.price); }).aggregate([](auto g) {
    return std::make_pair(g.arg_min([](auto s) { return s.rate; }).id, g.count());
  }),
           "fetch_kept");
  compiles("one's own of all rows", all.select([](auto t) { return query::make<Symbol>(t.symbol, t.price); }).aggregate([](auto g) {
    return std::make_pair(g.aggregate(
                              0.0, [](auto s, auto t) { return s + t.rate; }, [](auto a, auto b) { return a + b; }),
                          g.first([](auto t) { return t.id; }));
  }),
           "finish_blocks");
  const auto symbols = query::from(symbols_);
  const auto few = symbols.take(100);
  const auto id = [](auto s) { return s.id; };
  compiles("distinct", all.distinct_by(symbol), "first_rows_of_keys");
  compiles("except", all.select(symbol).except(symbols.select(id)), "keep_flagged");
  const auto right = [](auto t, auto s) { return query::make<Symbol>(s.id, t.has_value() ? t->price : s.rate); };
  compiles("a right join", all.right_join(few, symbol, id, right), "add_unmatched");
  compiles("a right join, by partitions", all.where([](auto t) { return t.id >= 0; }).right_join(symbols, symbol, id, right), "place_rows");
  compiles("a group join", all.group_join(few, symbol, id, [](auto t, auto own) {
    return query::make<Symbol>(t.symbol, query::sum(own, [](auto s) { return s.rate; }));
  }),
           "join_lists");
  compiles("pairs", all.cross_join(query::from(std::vector<Symbol>(3)), [](auto t, auto s) { return t.price * s.rate; }), "pair_all");
}

}  // namespace
