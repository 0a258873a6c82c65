// Groups and aggregates of a generator while others have all device memory, for ever: blocks go on in the room that was kept for them, and
// no row goes missing. What has no bounds (a row's strings) is waited for, not for ever.
#include <atomic>

#include "gpu_engine/groups_without_memory.hpp"

namespace {

using namespace groups_of_generators;

class groups_beside_others : public groups_without_memory {
 protected:
  // Taken as the session's own memory is, or refused by the driver.
  enum class way { taken, refused };
  void others_begin(way how, std::int64_t at) {
    taken_at_ = how == way::taken ? at : -1;
    starved_at_ = how == way::refused ? at : -1;
  }
  void nobody_else() { taken_at_ = starved_at_ = -1; }
  struct moment {
    std::int64_t row;
    bool all_are_here;  // the first block is in host memory: the CPU may have them all
  };
  std::vector<moment> moments() const {
    return {{0, true}, {20'000, true}, {60'000, false}, {many_ / 2, false}, {many_ - 1, false}, {many_, false}};
  }
  // Of 16,000 rows each, two blocks ahead of what has been taken.
  void begin(std::size_t bytes = 6 * mib) { use_memory(bytes, 16'000); }
  // The rows are gone from the host long before the end.
  void SetUp() override {
    groups_without_memory::SetUp();
    many_ = 450'000;
  }
};
QUERY_ON_DEVICES(groups_beside_others);

TEST_P(groups_beside_others, are_the_same_whenever_others_take_all_memory) {
  const std::vector<question> asked = questions();
  for (const question& q : asked) {
    nobody_else();
    const rows wanted = q.rows_in(cpu_, false);
    way how = way::taken;
    for (const moment& m : moments()) {
      // A card takes seconds for each of these runs: there, fewer of them.
      if (real() && &q != &asked.front() && (m.row == many_ / 2 || m.row == many_ - 1)) continue;
      SCOPED_TRACE(q.name + ", from row " + std::to_string(m.row) + (how == way::taken ? ", taken" : ", refused"));
      begin();
      others_begin(how, m.row);
      expect_rows(q, wanted);
      if (!m.all_are_here) {
        EXPECT_FALSE(fell()) << plan_;
      }
      how = how == way::taken ? way::refused : way::taken;
    }
  }
}

// Rooms that a block of 1024 rows does not fit: shorter ones do.
TEST_P(groups_beside_others, of_a_session_with_hardly_any_memory_are_the_same) {
  many_ = 400'000;
  keys_ = keys::few;
  for (const question& q : questions()) {
    SCOPED_TRACE(q.name);
    nobody_else();
    const rows wanted = q.rows_in(cpu_, false);
    begin(mib);
    others_begin(way::refused, 60'000);
    expect_rows(q, wanted);
    EXPECT_FALSE(fell()) << plan_;
  }
}

// Blocks get longer as soon as there is memory again.
TEST_P(groups_beside_others, go_on_in_long_blocks_when_there_is_memory_again) {
  keys_ = keys::few;
  const question q = questions()[0];
  const rows wanted = q.rows_in(cpu_, false);
  const auto blocks = [this] {
    const auto at = plan_.find(" blocks of rows");
    const auto from = at == std::string::npos ? at : plan_.rfind(' ', at - 1);
    return from == std::string::npos ? 0 : std::stoi(plan_.substr(from));
  };
  begin();
  others_begin(way::refused, 60'000);
  expect_rows(q, wanted);
  EXPECT_NE(plan_.find(" blocks in reserved memory"), std::string::npos) << plan_;
  const int without = blocks();
  EXPECT_GT(without, 200);
  begin();
  others_begin(way::refused, 60'000);
  given_back_at_ = 65'000;
  expect_rows(q, wanted);
  EXPECT_FALSE(fell()) << plan_;
  EXPECT_GT(blocks(), 30);
  EXPECT_LT(blocks(), without / 2);
}

TEST_P(groups_beside_others, behind_a_join_are_the_same) {
  std::vector<Pair> names;
  for (std::int32_t i = 0; i < 700; ++i) names.push_back({i, i * 3});
  keys_ = keys::few;
  const question q = asked("behind a join", [names](auto events) {
    const auto by_name = events.join(
        query::from(names), [](auto e) { return e.key; }, [](auto n) { return n.first; },
        [](auto e, auto n) { return query::make<Event>(e.key, e.value, e.at + query::cast<std::int64_t>(n.second)); });
    return by_name.group_by([](auto e) { return e.key; }).select([](auto g) {
      const auto value = [](auto e) { return e.value; };
      return query::make<Summary>(g.key(), g.sum(value), g.count(), g.min(value), g.sum([](auto e) { return e.at; }));
    });
  });
  const rows wanted = q.rows_in(cpu_, false);
  for (const way how : {way::taken, way::refused}) {
    begin();
    others_begin(how, many_ / 2);
    rows mine;
    EXPECT_NO_THROW(mine = q.rows_in(*session_, true));
    if (counts() || fell()) {
      EXPECT_TRUE(mine == wanted) << mine.size() << " of " << wanted.size() << " groups\n" << plan_;
    }
    EXPECT_EQ(memory().counters().used, 0u);
  }
}

TEST_P(groups_beside_others, of_all_rows_have_their_result) {
  const auto value = [](auto e) { return e.value; };
  const auto check = [&](const char* name, auto f) {
    nobody_else();
    const auto wanted = f(query::from(all_events())).in(cpu_).to_vector();
    way how = way::taken;
    for (const moment& m : moments()) {
      SCOPED_TRACE(std::string(name) + ", from row " + std::to_string(m.row));
      begin();
      others_begin(how, m.row);
      const auto q = f(events().as_accelerated()).in(*session_);
      auto mine = wanted;
      EXPECT_NO_THROW(mine = q.to_vector());
      taken_.clear();
      if (counts() || fell()) {
        EXPECT_TRUE(mine == wanted);
      }
      if (!m.all_are_here) {
        EXPECT_FALSE(fell()) << q.explain();
      }
      EXPECT_EQ(memory().counters().used, 0u);
      how = how == way::taken ? way::refused : way::taken;
    }
  };
  check("aggregates", [=](auto q) {
    return q.aggregate([=](auto g) {
      return query::make<Summary>(g.count(), g.sum(value), g.min(value), g.max(value), g.sum([](auto e) { return e.at; }));
    });
  });
  check("a state of one's own", [=](auto q) {
    return q.where([](auto e) { return e.at > 400'000; }).aggregate([](auto g) {
      return g.aggregate(
          std::int64_t{0}, [](auto s, auto e) { return s + e.value; }, [](auto a, auto b) { return a + b; });
    });
  });
  check("of no rows", [](auto q) { return q.where([](auto e) { return e.at < 0; }).aggregate([](auto g) { return g.count(); }); });
}

// A row whose string is longer than the room, and nobody gives anything back: the query ends when it is told to, and after some seconds
// with an error that says where and why. Given back in time, it goes on.
TEST_P(groups_beside_others, wait_for_what_has_no_bounds_and_not_for_ever) {
  many_ = 300'000;
  constexpr std::int64_t long_at = 250'500;
  std::atomic<std::int64_t> next = 0;
  const auto groups = [&] {
    next = 0;
    return query::generate([&]() -> std::optional<Titled> {
             if (next == 250'000) memory().fail_allocation(1, true);
             if (next >= many_) return std::nullopt;
             const std::int64_t i = next++;
             return Titled{i == long_at ? std::string(400'000, 'x') : "a title", i};
           })
        .as_accelerated()
        .group_by([](auto r) { return r.value % 700; })
        .select([](auto g) {
          return query::make<Pair>(g.sum([](auto r) { return query::cast<std::int64_t>(r.title.size()); }),
                                   query::cast<std::int32_t>(g.key()));
        })
        .in(*session_);
  };
  begin();
  try {
    (void)groups().to_vector();
    ADD_FAILURE();
  } catch (const query::resource_error& e) {
    for (const char* part : {"the rows of generate (", "groups_beside_others_test.cpp:", "cannot be read a second time", "memory"})
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
  EXPECT_GT(next, long_at);
  begin();
  EXPECT_THROW((void)groups().timeout(2).to_vector(), query::cancelled);
  begin();
  std::stop_source stop;
  {
    std::jthread stopping([&] {
      while (next <= long_at) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      stop.request_stop();
    });
    EXPECT_THROW((void)groups().stop_on(stop.get_token()).to_vector(), query::cancelled);
  }
  EXPECT_EQ(memory().counters().used, 0u);
  begin();
  std::jthread others([&] {
    while (next <= long_at) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    memory().fail_allocation(0);
  });
  const auto waiting = groups();
  EXPECT_NO_THROW((void)waiting.to_vector());
  EXPECT_NE(waiting.explain().find(" ms for memory"), std::string::npos) << waiting.explain();
}

}  // namespace
