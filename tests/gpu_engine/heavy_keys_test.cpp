// Rows of generators, which hand each out once, where the device has no memory for what has begun: a key whose rows do not fit, blocks
// that do not, a device that is gone. The rows that are in host memory by then, and those that are still to come, go to the CPU, none is
// missing and none comes twice. The double's kernels do nothing but put rows apart; on a GPU all of them do.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/faulty_device.hpp"
#include "gpu_engine/out_of_core/host_blocks.hpp"
#include "gpu_engine/out_of_core/host_partitions.hpp"
#include "gpu_engine/words_read.hpp"
#include "planned_there.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/part_done.hpp"
#include "runtime/thread_pool.hpp"

namespace {

using namespace query::gpu_engine;
using query::gpu_engine::device_kind;

struct Sale {
  std::int64_t key, value, at;
  bool operator==(const Sale&) const = default;
};
QUERY_RECORD(Sale, key, value, at);
struct Seen {
  std::int64_t key, first, last, middle;
  auto operator<=>(const Seen&) const = default;
};
QUERY_RECORD(Seen, key, first, last, middle);
struct Wide {
  std::int64_t a, b, c;
  bool operator==(const Wide&) const = default;
};
QUERY_RECORD(Wide, a, b, c);
struct Named {
  std::string name;
  std::int64_t at;
};
QUERY_RECORD(Named, name, at);
struct Price {
  std::int64_t key, factor;
};
QUERY_RECORD(Price, key, factor);

constexpr std::size_t mib = std::size_t{1} << 20;
// More than is kept of a generator's first rows by a session with so much host memory.
constexpr std::size_t host_memory = 64 * mib;
constexpr std::int64_t many = 400'000;

enum class skew { one_key, half_one_key };

class heavy_keys : public faulty_device {
 protected:
  using call = driver_double::generated_call;
  using rows = std::vector<Seen>;
  struct question {
    std::string name;
    std::function<rows(query::Session&, bool once)> rows_in;  // once: of a generator, or of the same rows in memory
    std::function<std::string()> explain;                     // after the last run of a generator
  };

  void SetUp() override {
    faulty_device::SetUp();
    if (IsSkipped() || real()) return;
    fake_->add_generated("place_rows", [this](const call& c) {
      const auto words = read_by(c, "place_rows");  // where to, how many
      auto* const places = reinterpret_cast<std::uint32_t*>(words.at(0));
      for (std::uint64_t i = 0; i < words.at(1); ++i) places[i] = static_cast<std::uint32_t>(key_of(placed_++) * 7 % 16);
    });
  }
  // No partition of a heavy key has room, nor have all of the rows.
  void little_memory() {
    use(8192, 3 * mib, host_memory);
    placed_ = 0;
  }
  std::int64_t key_of(std::int64_t i) const { return skew_ == skew::one_key || i % 2 ? 5 : i % 50 + 10; }
  Sale sale(std::int64_t i) const { return {key_of(i), i * 7919 % 100'003, i}; }

  // Each row once, whoever opens it.
  auto sales() {
    next_ = 0;
    return query::generate([this]() -> std::optional<Sale> { return next_ < many ? std::optional(sale(next_++)) : std::nullopt; });
  }
  std::vector<Sale> all_sales() const {
    std::vector<Sale> all;
    for (std::int64_t i = 0; i < many; ++i) all.push_back(sale(i));
    return all;
  }

  template <class F> question asked(std::string name, F f) {
    return {std::move(name),
            [this, f](query::Session& s, bool once) {
              rows found;
              if (once) {
                const auto q = f(sales().as_accelerated()).in(s);
                found = q.to_vector();
                plan_ = q.explain();
              } else {
                found = f(query::from(all_sales())).in(s).to_vector();
              }
              std::sort(found.begin(), found.end());
              return found;
            },
            [this] { return plan_; }};
  }
  std::vector<question> questions() {
    const auto key = [](auto s) { return s.key; };
    std::vector<question> all;
    all.push_back(asked("first and last", [key](auto q) {
      return q.group_by(key).select([](auto g) { return query::make<Seen>(g.key(), g.first().at, g.last().at, g.count()); });
    }));
    all.push_back(asked("median behind row-wise work", [key](auto q) {
      return q.where([](auto s) { return s.value % 3 != 1; })
          .select([](auto s) { return query::make<Sale>(s.key, s.value * 2, s.at); })
          .group_by(key)
          .select([](auto g) {
            const auto value = [](auto s) { return s.value; };
            return query::make<Seen>(g.key(), g.first().at, query::cast<std::int64_t>(g.count_distinct(value)),
                                     query::cast<std::int64_t>(g.median(value) * 2.0));
          });
    }));
    all.push_back(asked("wide keys", [](auto q) {
      return q.group_by([](auto s) { return query::make<Wide>(s.key, s.key + 1, s.key * 2); })
          .select([](auto g) { return query::make<Seen>(g.key().b, g.sum([](auto s) { return s.value; }), g.count(), g.key().c); });
    }));
    return all;
  }
  // Of the last run: it went to the CPU.
  bool fell() const { return session_->state()->history.fallbacks().first > 0; }

  skew skew_ = skew::one_key;
  std::int64_t next_ = 0, placed_ = 0;
  std::string plan_;
};
QUERY_ON_DEVICES(heavy_keys);

TEST_P(heavy_keys, of_a_generator_go_to_the_cpu) {
  for (const skew s : {skew::one_key, skew::half_one_key}) {
    skew_ = s;
    for (const question& q : questions()) {
      SCOPED_TRACE(q.name + (s == skew::one_key ? ", one key" : ", half one key"));
      little_memory();
      const rows wanted = q.rows_in(cpu_, false);
      rows mine;
      EXPECT_NO_THROW(mine = q.rows_in(*session_, true));
      EXPECT_TRUE(planned_there(q.explain()));
      EXPECT_TRUE(fell()) << q.explain();
      EXPECT_NE(q.explain().find("the last run went to the cpu: "), std::string::npos) << q.explain();
      EXPECT_TRUE(mine == wanted);
      EXPECT_EQ(memory().counters().used, 0u);
      if (real()) {
        EXPECT_NE(q.explain().find("memory"), std::string::npos) << q.explain();
      }
    }
  }
}

TEST_P(heavy_keys, of_a_generator_are_an_error_where_the_gpu_is_demanded) {
  little_memory();
  const auto q = sales().as_accelerated().require_gpu().in(*session_).group_by([](auto s) { return s.key; }).select([](auto g) {
    return g.first().at;
  });
  EXPECT_THROW((void)q.to_vector(), query::resource_error);
  EXPECT_EQ(memory().counters().used, 0u);
}

// With room for all partitions: what fails does so on the way.
TEST_P(heavy_keys, leave_all_rows_to_the_cpu_at_each_failure) {
  skew_ = skew::half_one_key;
  for (const bool for_ever : {false, true}) {
    const question q = questions()[1];
    const rows wanted = q.rows_in(cpu_, false);
    const auto again = [&] {
      use(30'000, 64 * mib, host_memory);
      placed_ = 0;
    };
    again();
    const auto allocations = memory().counters().allocations, calls = faulty_->counted();
    (void)q.rows_in(*session_, true);
    const std::uint64_t count = for_ever ? faulty_->counted() - calls : memory().counters().allocations - allocations;
    int times_fallen = 0;
    for (std::uint64_t k = 1; k <= count; k += k < 12 ? 1 : 1 + count / (for_ever ? 10 : 25)) {
      SCOPED_TRACE((for_ever ? "call " : "allocation ") + std::to_string(k) + " of " + std::to_string(count));
      again();
      if (for_ever) faulty_->fail_call(k, for_ever_lost[k % std::size(for_ever_lost)], true);
      else memory().fail_allocation(k);
      rows mine;
      EXPECT_NO_THROW(mine = q.rows_in(*session_, true));
      const bool broken = !for_ever || faulty_->broken();
      faulty_->mend();
      memory().fail_allocation(0);
      times_fallen += fell();
      if (real() || (fell() && broken)) {
        EXPECT_TRUE(mine == wanted) << q.explain();
      }
    }
    EXPECT_GT(times_fallen, for_ever ? 8 : 0);
  }
}

// A left row has to see all of its key's build rows at once.
TEST_P(heavy_keys, of_a_build_side_leave_a_generator_to_the_cpu) {
  const std::vector<Price> prices(200'000, Price{4, 3});
  const auto joined = [&](auto q) {
    return q.left_join(query::from(prices), [](auto s) { return s.at; }, [](auto p) { return p.key; },
                       [](auto s, auto p) { return query::make<Sale>(s.key, p.has_value() ? p->factor : s.value, s.at); })
        .group_by([](auto s) { return s.key; })
        .select([](auto g) {
          return query::make<Seen>(g.key(), g.sum([](auto s) { return s.value; }), g.count(), g.sum([](auto s) { return s.at; }));
        });
  };
  const question q = asked("left_join", joined);
  little_memory();
  const rows wanted = q.rows_in(cpu_, false);
  rows mine;
  EXPECT_NO_THROW(mine = q.rows_in(*session_, true));
  EXPECT_TRUE(fell()) << q.explain();
  EXPECT_TRUE(mine == wanted) << q.explain();
}

// What the device had sorted or folded stays, the CPU does the rest: results count on a GPU alone.
TEST_P(heavy_keys, of_no_kind_keep_a_generator_from_being_sorted_and_folded_in_part) {
  skew_ = skew::half_one_key;
  const auto key = [](auto s) { return s.key; };
  const auto changed = [](auto s) { return query::make<Sale>(s.key % 100, s.value, s.at + 1); };
  const auto sorted_by = [&](auto q) { return q.where([](auto s) { return s.value % 5 != 0; }).select(changed).order_by(key); };
  const auto wanted = sorted_by(query::from(all_sales())).in(cpu_).to_vector();
  const std::int64_t sum = query::from(all_sales()).in(cpu_).select([](auto s) { return s.value; }).sum();
  std::uint64_t launches = 1;
  for (const int kind : {0, 1, 2}) {
    int in_part = 0;
    for (std::uint64_t k = 0; k <= launches; k += 1 + launches / 9) {
      SCOPED_TRACE("query " + std::to_string(kind) + ", launch " + std::to_string(k) + " of " + std::to_string(launches));
      use(8192, 64 * mib, host_memory);
      const auto before = faulty_->launches();
      if (k) faulty_->break_after_launch(k, for_ever_lost[k % std::size(for_ever_lost)]);
      if (kind == 0) {
        std::vector<Sale> mine;
        EXPECT_NO_THROW(mine = sorted_by(sales().as_accelerated()).in(*session_).to_vector());
        if (real()) {
          EXPECT_TRUE(mine == wanted);
        }
      } else if (kind == 1) {
        std::int64_t mine = 0;
        EXPECT_NO_THROW(mine = sales().as_accelerated().in(*session_).select([](auto s) { return s.value; }).sum());
        if (real()) {
          EXPECT_EQ(mine, sum);
        }
      } else {
        std::vector<Sale> mine;
        EXPECT_NO_THROW(mine = sorted_by(sales().as_accelerated()).take(1000).in(*session_).to_vector());
        if (real()) {
          EXPECT_TRUE(std::equal(mine.begin(), mine.end(), wanted.begin(), wanted.begin() + 1000));
        }
      }
      faulty_->mend();
      EXPECT_EQ(next_, many);
      if (k == 0) launches = std::max<std::uint64_t>(faulty_->launches() - before, 1);
      else in_part += fell();
    }
    EXPECT_GT(in_part, 3) << kind;
  }
}

// The rest of the rows alone has other numbers.
TEST_P(heavy_keys, of_no_kind_have_rows_numbered_anew) {
  const auto run = [&] { return sales().as_accelerated().in(*session_).select([](auto, auto i) { return i; }).sum(); };
  const auto again = [&] { use(8192, 64 * mib, host_memory); };
  again();
  const auto before = faulty_->launches();
  (void)run();
  const auto launches = faulty_->launches() - before;
  again();
  faulty_->break_after_launch(1, cuda_result::launch_failed);
  EXPECT_EQ(run(), many * (many - 1) / 2);
  again();
  faulty_->break_after_launch(launches - 1, cuda_result::launch_failed);
  EXPECT_THROW((void)run(), query::resource_error);
}

// Such rows do not lie apart in host memory: the CPU has them from the beginning.
TEST_P(heavy_keys, that_are_strings_are_grouped) {
  little_memory();
  std::int64_t next = 0;
  const auto named = [](std::int64_t i) { return Named{i % 2 ? "heavy" : "of key " + std::to_string(i % 100), i}; };
  const auto made = query::generate([&]() -> std::optional<Named> { return next < 50'000 ? std::optional(named(next++)) : std::nullopt; });
  const auto groups = [](auto q) {
    return q.group_by([](auto r) { return r.name; }).select([](auto g) {
      return query::make<Seen>(g.count(), g.first().at, g.last().at, g.sum([](auto r) { return r.at; }));
    });
  };
  std::vector<Named> rows_here;
  for (std::int64_t i = 0; i < 50'000; ++i) rows_here.push_back(named(i));
  rows mine, wanted = groups(query::from(rows_here)).in(cpu_).to_vector();
  EXPECT_NO_THROW(mine = groups(made.as_accelerated()).in(*session_).to_vector());
  std::sort(mine.begin(), mine.end());
  std::sort(wanted.begin(), wanted.end());
  EXPECT_TRUE(mine == wanted);
}

// What the CPU makes of the rows of sorted blocks, of rows that no block had when the device failed, and of the rest.
TEST(rows_sorted_in_part, are_sorted_with_the_rest) {
  constexpr std::int64_t n = 100'000, block = 10'000;
  const auto sale = [](std::int64_t i) { return Sale{i * 7919 % 50, i % 7, i}; };
  std::int64_t next = 0;
  const auto made = query::generate([&]() -> std::optional<Sale> { return next < n ? std::optional(sale(next++)) : std::nullopt; });
  const auto worked_on = [](auto q) {
    return q.where([](auto s) { return s.value != 3; }).select([](auto s) { return query::make<Sale>(s.key, s.value, s.at + 1); });
  };
  const auto sorted = [&](auto q) { return worked_on(q).order_by([](auto s) { return s.key; }); };
  std::vector<Sale> all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back(sale(i));
  query::Session here{{.threads = 2, .gpu = query::gpu_use::off}};
  const std::vector<Sale> wanted = sorted(query::from(all)).in(here).to_vector();
  const auto graph = query::planner::make_machine_graph(sorted(made).in(here).to_pipe(), "", {.gpu_status = "none"});
  const query::planner::vertex& v = *graph->top.back();
  ASSERT_EQ(v.node->what, query::detail::verb::order_by);

  query::runtime::buffer_pool pool(24 * mib);  // a sixteenth is less than what is read below
  query::runtime::cancel_flag cancel;
  query::runtime::run_context context{*here.state()->scheduler, pool, cancel};
  context.local = here.state()->cpu.get();
  std::vector<std::vector<Sale>> runs;
  std::vector<query::detail::table> tables;
  for (std::int64_t first = 0; first < 3 * block; first += block) {
    const std::vector<Sale> some(all.begin() + first, all.begin() + first + block);
    runs.push_back(sorted(query::from(some)).in(here).to_vector());
  }
  for (auto& run : runs) {
    query::detail::table t;
    t.rows = run.data();
    t.n = run.size();
    t.type = query::ir::describe<Sale>();
    tables.push_back(t);
  }
  {
    streamed_rows source(v.inputs.front(), streamed_rows::keep::until_put_away, context);
    host_block b;
    for (int i = 0; i < 7; ++i) ASSERT_TRUE(source.next(block, b));
    source.put_away(3 * block);
    ASSERT_TRUE(source.give_back({}));
  }
  EXPECT_EQ(next, 7 * block);
  query::runtime::vertex_rows rows =
      query::runtime::run_rest(v, query::runtime::done_in_part("on purpose", tables), *here.state()->cpu, context);
  EXPECT_EQ(next, n);
  const query::detail::table& t = context.fetched(rows);
  const Sale* const found = static_cast<const Sale*>(t.rows);
  EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), found, found + t.n));
}

// A stream's rows between those that were put away and those that it still has.
class rows_given_back : public testing::Test {
 protected:
  static constexpr std::int64_t rows = 100'000, block = 20'000;

  rows_given_back() {
    source_.what = query::detail::verb::source_stream;
    source_.row = query::ir::describe<std::int64_t>();
    source_.source = std::shared_ptr<void>(&next_, [](void*) {});
    source_.open = [](const void* from) -> std::unique_ptr<query::detail::row_stream> {
      class counting final : public query::detail::row_stream {
       public:
        explicit counting(std::int64_t& next) : next_(next) {}
        std::size_t next(void* raw, std::size_t most) override {
          std::size_t n = 0;
          for (; n < most && next_ < rows; ++n) static_cast<std::int64_t*>(raw)[n] = next_++;
          return n;
        }

       private:
        std::int64_t& next_;
      };
      return std::make_unique<counting>(*static_cast<std::int64_t*>(const_cast<void*>(from)));
    };
    branch_.source = &source_;
    branch_.row = source_.row;
    branch_.number = 3;
  }
  std::vector<std::int64_t> read_again(query::runtime::run_context& context) {
    query::runtime::begun_reader again(context.begun, 3, source_, 0);
    std::vector<std::int64_t> found;
    std::array<std::int64_t, 777> some;
    while (const std::size_t n = again.next(some.data(), some.size())) found.insert(found.end(), some.begin(), some.begin() + n);
    return found;
  }
  static std::vector<std::int64_t> numbers(std::int64_t from, std::int64_t to) {
    std::vector<std::int64_t> all;
    for (; from < to; ++from) all.push_back(from);
    return all;
  }

  query::runtime::thread_pool threads_{2};
  query::runtime::buffer_pool pool_;
  query::runtime::cancel_flag cancel_;
  query::runtime::run_context context_{threads_, pool_, cancel_};
  query::detail::logical source_;
  query::planner::branch branch_;
  std::int64_t next_ = 0;
};

TEST_F(rows_given_back, are_all_of_them_while_the_first_are_kept) {
  streamed_rows source(branch_, streamed_rows::keep::until_put_away, context_);
  host_block b;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(source.next(block, b));
  source.put_away(2 * block + 5);
  EXPECT_FALSE(source.give_back({}));
  EXPECT_EQ(read_again(context_), numbers(0, rows));
}

TEST_F(rows_given_back, are_those_that_were_parted_those_under_way_and_the_rest) {
  query::runtime::buffer_pool small(mib);  // a sixteenth is less than a block
  query::runtime::run_context context{threads_, small, cancel_};
  streamed_rows source(branch_, streamed_rows::keep::until_put_away, context);
  host_partitions parts(8, 2, context_);
  host_block b;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(source.next(block, b));
    std::vector<std::uint32_t> places;  // even ones and odd ones; the first is left out
    for (std::size_t j = 0; j < b.rows.n; ++j) places.push_back(j == 0 ? 7 : j % 2);
    parts.append(b.rows.rows, places.data(), b.rows.n);
    source.put_away(b.rows.first + b.rows.n);
  }
  b = {};
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(source.next(block, b));
  source.put_away(2 * block + 7);
  ASSERT_TRUE(source.give_back(parts.give_up()));
  EXPECT_TRUE(parts.empty());
  EXPECT_EQ(parts.size(1), 0u);
  std::vector<std::int64_t> wanted;
  for (const std::int64_t first : {std::int64_t{0}, block})
    for (const std::int64_t odd : {0, 1})
      for (std::int64_t i = odd ? 1 : 2; i < block; i += 2) wanted.push_back(first + i);
  for (const std::int64_t i : numbers(2 * block + 7, rows)) wanted.push_back(i);
  const auto begun = context.begun.open(3, source_);
  EXPECT_EQ(begun->pieces.size(), 4u);
  EXPECT_EQ(read_again(context), wanted);
  // They went as they were read.
  for (const auto& piece : begun->pieces) EXPECT_EQ(piece.owner, nullptr);
  EXPECT_THROW((void)context.begun.open(3, source_), query::runtime::stream_begun);
}

}  // namespace
