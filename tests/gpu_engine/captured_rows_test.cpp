// Rows of captured queries and containers on the GPU engine: those that lie there are read there, and a loop brings what it does not
// change once. On the driver double, whose kernels are written here; what is copied is counted.
#include <gtest/gtest.h>

#include <cstring>
#include <regex>

#include <query/query.hpp>

#include "gpu_engine/device_rows.hpp"
#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/loop_kernels.hpp"
#include "planned_there.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;
using loop_kernels::at, loop_kernels::word;
using numbers = std::vector<word>;

struct Rate {  // with gaps
  std::int32_t id;
  word factor;
  std::int8_t grade;
};
QUERY_RECORD(Rate, id, factor, grade);
struct Named {
  std::string name;
  word factor;
};
QUERY_RECORD(Named, name, factor);

constexpr auto factor_of = [](auto, auto e) { return e.factor; };

class captured_rows : public testing::Test {
 protected:
  void SetUp() override {
    loop_kernels::add_round_kernels(fake_);
    // As in rows_together.cpp.
    fake_.add_kernel("place_columns", [](void** a) {
      const word* w = static_cast<const word*>(a[0]);
      for (word c = 0; c < w[3]; ++c) {
        const word *of = w + 4 + 4 * c, bytes = of[2];
        for (word i = 0; i < w[0]; ++i) std::memcpy(at<char>(w[1] + i * w[2] + of[1]), at<char>(of[0] + i * bytes), bytes);
      }
    }, (4 + 4 * 32) * 8);
    fake_.add_generated("collect_rows", [this](const driver_double::generated_call& c) { collect(c); });
    for (word i = 0; i < 200; ++i)
      rates_.push_back({static_cast<std::int32_t>(i), i * i + 1, static_cast<std::int8_t>(i % 5)});
    use(std::size_t{64} << 20);
  }
  void use(std::size_t budget) {
    session_.emplace(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    engine_ = make_engine(device_, {budget, 0}, kernels_);
    session_->add_engine(engine_);
  }

  // x plus the sum of all factors; of the rows with a name, of those whose name has three letters.
  static word sum_of(word rows, word n, bool named) {
    word sum = 0;
    for (word j = 0; j < n; ++j) {
      if (!named) {
        sum += at<Rate>(rows)[j].factor;
      } else {
        const word* row = at<word>(rows) + 3 * j;  // the characters' address, how many, the factor
        sum += std::string(at<const char>(row[0]), row[1]).find("ab") == 0 && row[1] == 3 ? row[2] : 0;
      }
    }
    return sum;
  }
  // select: x + sum; where: those that are one of the factors.
  void collect(const driver_double::generated_call& c) {
    const auto read = [&](const char* text, int group = 1) { return word_of(c, text, group); };
    const bool filters = c.program.find("compact<policy") != std::string::npos;
    const bool shared = c.program.find("copy_captured(") != std::string::npos;
    const char* const copied = R"(copy_captured\(captured, \(\(const \w+\*\)p\.w\[(\d+)\]\), p\.w\[(\d+)\]\))";
    const word rows = shared ? read(copied) : read(R"(\(\(const T\d+\*\)p\.w\[(\d+)\]\)\[j)"),
               n = shared ? read(copied, 2) : read(R"(j\d+ < p\.w\[(\d+)\])");
    const word *in = at<word>(read(R"(\(\(const u64\* __restrict__\)p\.w\[(\d+)\]\)\[i\])"));
    word* out = at<word>(read(R"(const out = \(\(u64\*\)p\.w\[(\d+)\]\))"));
    if (!filters) {
      const word sum = sum_of(rows, n, c.program.find("text") != std::string::npos);
      for (word i = 0, all = read(R"(write_rows<256>\(p\.w\[(\d+)\])"); i < all; ++i) out[i] = in[i] + sum;
      return;
    }
    word kept = 0;
    for (word i = 0, all = read(R"(compact<policy, u64>\(p\.w\[(\d+)\])"); i < all; ++i) {
      bool one = false;
      for (word j = 0; j < n; ++j) one = one || at<Rate>(rows)[j].factor == in[i];
      if (one) out[kept++] = in[i];
    }
    *at<word>(read(R"(\(\(void\*\)p\.w\[\d+\]\), \(\(u64\*\)p\.w\[(\d+)\]\))")) = kept;
  }
  // A parameter that the program reads, as its text tells it.
  static word word_of(const driver_double::generated_call& c, const char* text, int group) {
    std::smatch found;
    if (!std::regex_search(c.program, found, std::regex(text))) {
      ADD_FAILURE() << text << " is not in\n" << c.program;
      return 0;
    }
    return c.words.at(std::stoul(found[static_cast<std::size_t>(group)]));
  }

  template <class C> auto plus_factors(const query::Query<word>& rows, const C& captured) {
    return rows.select([captured](auto x) { return x + captured.sum(x, factor_of); });
  }
  template <class C> auto among_factors(const query::Query<word>& rows, const C& captured) {
    return rows.where([captured](auto x) { return captured.any(x, [](auto x, auto e) { return e.factor == x; }); });
  }
  word all_factors() const {
    word sum = 0;
    for (const Rate& r : rates_) sum += r.factor;
    return sum;
  }
  numbers expected(int rounds) const {
    numbers rows = start_;
    for (word& x : rows) x += all_factors() * static_cast<word>(rounds);
    return rows;
  }
  template <class C> auto loop(int rounds, const C& captured) {
    return query::from(start_).as_accelerated().do_while(
        [&](query::Query<word> now) -> query::Query<word> { return plus_factors(now, captured); }, query::times(rounds));
  }
  template <class Q> std::size_t bytes_up_for(const Q& q) {
    const std::size_t before = fake_.bytes_up();
    (void)q.in(*session_).to_vector();
    return fake_.bytes_up() - before;
  }

  numbers start_ = {5, 17, 2, 101, 7};
  std::vector<Rate> rates_;
  driver_double fake_;
  device device_{fake_.calls(), 0};
  kernel_cache kernels_{
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }}};
  std::shared_ptr<query::runtime::engine> engine_;
  std::optional<query::Session> session_;
};

TEST_F(captured_rows, of_cached_records_are_put_together_there_and_once) {
  const auto rows = query::from(start_).as_accelerated().cached();
  const auto c = query::broadcast(query::from(rates_).as_accelerated().cached());
  EXPECT_EQ(plus_factors(rows, c).in(*session_).to_vector(), expected(1));
  EXPECT_TRUE(planned_there(plus_factors(rows, c).in(*session_).explain()));
  EXPECT_EQ(fake_.launches("place_columns"), 1u);
  const std::size_t up = fake_.bytes_up(), down = fake_.bytes_down();
  EXPECT_EQ(plus_factors(rows, c).in(*session_).to_vector(), expected(1));
  EXPECT_EQ(among_factors(rows, c).in(*session_).to_vector(), (numbers{5, 17, 2, 101}));
  EXPECT_EQ(fake_.launches("place_columns"), 1u);
  EXPECT_EQ(fake_.bytes_up(), up);
  EXPECT_LT(fake_.bytes_down() - down, rates_.size() * sizeof(Rate) / 2) << "results and words of status alone";
}

TEST_F(captured_rows, of_cached_records_with_strings_view_the_strings_that_lie_there) {
  std::vector<Named> named;
  for (word i = 0; i < 60; ++i) named.push_back({i % 3 == 0 ? "abc" : "abcd, of more characters than a short string has", i});
  word sum = 0;
  for (const Named& n : named) sum += n.name.size() == 3 ? n.factor : 0;
  const auto c = query::broadcast(query::from(named).as_accelerated().cached());
  const auto rows = query::from(start_).as_accelerated().cached();
  const auto q = rows.select([c](auto x) {
    return x + c.sum(x, [](auto, auto e) { return query::iff(e.name.size() == 3u, e.factor, word{0}); });
  });
  numbers wanted = start_;
  for (word& x : wanted) x += sum;
  EXPECT_EQ(q.in(*session_).to_vector(), wanted);
  const std::size_t up = fake_.bytes_up();
  EXPECT_EQ(q.in(*session_).to_vector(), wanted);
  EXPECT_EQ(fake_.bytes_up(), up);
  EXPECT_EQ(fake_.launches("place_columns"), 1u);
}

TEST_F(captured_rows, that_a_loop_does_not_change_are_brought_once_and_its_rounds_repeated) {
  const auto check = [&](const char* what, const auto& c) {
    SCOPED_TRACE(what);
    for (const int rounds : {1, 2, 3, 20}) {
      const std::size_t repeated = fake_.launches("judge_round");
      EXPECT_EQ(loop(rounds, c).in(*session_).to_vector(), expected(rounds)) << rounds;
      EXPECT_EQ(fake_.launches("judge_round") - repeated, rounds > 3 ? static_cast<std::size_t>(rounds) - 2 : 0u)
          << loop(rounds, c).in(*session_).explain();
    }
    EXPECT_EQ(bytes_up_for(loop(1, c)), bytes_up_for(loop(30, c)));
  };
  check("cached", query::broadcast(query::from(rates_).as_accelerated().cached()));
  EXPECT_EQ(fake_.launches("place_columns"), 1u);
  check("not accelerated", query::broadcast(query::from(rates_)));
  check("computed on the CPU", query::broadcast(query::from(rates_).where([](const Rate&) { return true; })));
  check("a container", query::broadcast(rates_));
  EXPECT_EQ(fake_.launches("place_columns"), 1u);
}

TEST_F(captured_rows, are_brought_once_where_rounds_run_vertex_by_vertex) {
  const auto rounds_of = [&](int rounds, const auto& c) {
    return query::from(start_).as_accelerated().do_while(
        [&](query::Query<word> now) -> query::Query<word> { return plus_factors(now, c); },
        [rounds, i = std::make_shared<int>(0)](std::span<const word>, std::span<const word>) { return ++*i % rounds != 0; });
  };
  const auto check = [&](const char* what, const auto& c) {
    SCOPED_TRACE(what);
    EXPECT_EQ(rounds_of(7, c).in(*session_).to_vector(), expected(7));
    EXPECT_EQ(bytes_up_for(rounds_of(1, c)), bytes_up_for(rounds_of(12, c)));
  };
  check("cached", query::broadcast(query::from(rates_).as_accelerated().cached()));
  check("not accelerated", query::broadcast(query::from(rates_)));
  check("a container", query::broadcast(rates_));
  EXPECT_EQ(fake_.launches("judge_round"), 0u);
}

// Code of the user's that runs between rounds may have other rows captured.
TEST_F(captured_rows, of_a_handle_that_the_condition_changes_are_those_of_the_round) {
  for (const int rounds : {1, 2, 3, 9}) {
    query::collection<Rate> c = query::broadcast(rates_);
    numbers wanted = start_;
    for (int round = 1; round <= rounds; ++round)
      for (word& x : wanted) x += all_factors() * static_cast<word>(round);
    int i = 0;
    const auto q = query::from(start_).as_accelerated().do_while(
        [&](query::Query<word> now) -> query::Query<word> {
          return now.select([&c](auto x) { return x + c.sum(x, factor_of); });
        },
        [&](std::span<const word>, std::span<const word>) {
          std::vector<Rate> next = rates_;
          for (Rate& r : next) r.factor *= static_cast<word>(i + 2);
          c = query::broadcast(next);  // what the function captures by reference stands for other rows from now on
          return ++i < rounds;
        });
    EXPECT_EQ(q.in(*session_).to_vector(), wanted) << rounds;
  }
}

// What takes more than a share of the memory is not kept beside the cached columns, but a loop puts it together once.
TEST_F(captured_rows, of_large_cached_records_are_put_together_once_a_loop) {
  use(std::size_t{8} << 20);
  while (rates_.size() * sizeof(Rate) < (std::size_t{8} << 20) / 16 + sizeof(Rate)) rates_.push_back({1, 2, 3});
  const auto c = query::broadcast(query::from(rates_).as_accelerated().cached());
  for (const std::size_t loops : {1u, 2u}) {
    EXPECT_EQ(loop(6, c).in(*session_).to_vector(), expected(6));
    EXPECT_EQ(fake_.launches("place_columns"), loops);
  }
  EXPECT_GT(fake_.launches("judge_round"), 0u);
}

// The copy beside cached columns is the first to go where any query of the session lacks memory, and is made again when it is read.
TEST_F(captured_rows, kept_whole_go_where_another_query_lacks_memory) {
  const auto rows = query::from(start_).as_accelerated().cached();
  const auto c = query::broadcast(query::from(rates_).as_accelerated().cached());
  EXPECT_EQ(plus_factors(rows, c).in(*session_).to_vector(), expected(1));
  EXPECT_EQ(fake_.launches("place_columns"), 1u);
  device_memory& memory = session_of(*engine_).memory();
  const std::size_t used = memory.counters().used;
  memory.fail_allocation(3);  // behind those that a vertex begins with
  EXPECT_EQ(plus_factors(query::from(start_).as_accelerated(), query::broadcast(rates_)).in(*session_).to_vector(), expected(1));
  EXPECT_EQ(session_->state()->history.fallbacks().first, 0u) << session_->state()->history.fallbacks().second;
  EXPECT_LE(memory.counters().used + rates_.size() * sizeof(Rate), used);
  EXPECT_EQ(plus_factors(rows, c).in(*session_).to_vector(), expected(1));
  EXPECT_EQ(fake_.launches("place_columns"), 2u);
}

// Whatever lacks memory, in whichever round: the rows are right, and nothing stays behind.
TEST_F(captured_rows, survive_each_failing_allocation) {
  std::uint64_t allocations = 0;
  const auto run = [&](std::uint64_t failing) {
    SCOPED_TRACE(std::to_string(failing) + " of " + std::to_string(allocations));
    use(std::size_t{64} << 20);
    device_memory& memory = session_of(*engine_).memory();
    memory.fail_allocation(failing);
    {
      const auto c = query::broadcast(query::from(rates_).as_accelerated().cached());
      EXPECT_EQ(loop(6, c).in(*session_).to_vector(), expected(6));
      EXPECT_EQ(plus_factors(query::from(start_).as_accelerated(), c).in(*session_).to_vector(), expected(1));
      EXPECT_EQ(loop(6, query::broadcast(rates_)).in(*session_).to_vector(), expected(6));
    }
    session_->trim();
    EXPECT_EQ(memory.counters().used, 0u);
    if (!failing) allocations = memory.counters().allocations;
  };
  run(0);
  EXPECT_GT(allocations, 20u);
  for (std::uint64_t k = 1; k <= allocations; ++k) run(k);
}

}  // namespace
