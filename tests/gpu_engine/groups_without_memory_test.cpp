// Groups of a generator, which hands each row out once, where device memory runs out while they are made: somebody else takes what is left,
// budgets are small, allocations fail. They are spilled, put apart once more where a part does not fit, and no row goes missing; the CPU
// takes over only as long as it has all rows. The double's kernels do nothing, so results count on a GPU alone.
#include "gpu_engine/groups_without_memory.hpp"

namespace {

using namespace groups_of_generators;

QUERY_ON_DEVICES(groups_without_memory);

// The table takes its share; half of the rows are in it, or in host memory, when all that is left goes to somebody else.
TEST_P(groups_without_memory, that_others_took_are_spilled_and_go_on_in_less) {
  for (const keys k : {keys::distinct, keys::skewed, keys::few}) {
    keys_ = k;
    for (const question& q : questions()) {
      taken_at_ = -1;
      const rows wanted = q.rows_in(cpu_, false);
      for (const std::int64_t at : {many_ / 2, many_ - many_ / 8}) {
        for (const std::size_t memory : {6 * mib, 40 * mib}) {
          SCOPED_TRACE(q.name + ", keys " + std::to_string(static_cast<int>(k)) + ", at row " + std::to_string(at) + ", of " +
                       std::to_string(memory));
          use_memory(memory);
          taken_at_ = at;
          expect_rows(q, wanted);
          if (memory < 40 * mib) {  // else it may be before the first block was taken
            EXPECT_FALSE(fell()) << plan_;
          }
          if (counts() && k == keys::distinct && !fell()) {
            EXPECT_TRUE(spilled()) << plan_;
          }
        }
      }
    }
  }
}

// As little as goes: each part of what is spilled is more than the table has room for.
TEST_P(groups_without_memory, of_a_small_budget_are_parted_until_they_fit) {
  many_ = 600'000;
  for (const question& q : questions()) {
    taken_at_ = -1;
    const rows wanted = q.rows_in(cpu_, false);
    for (const std::size_t memory : {mib * 3 / 4, 2 * mib}) {
      SCOPED_TRACE(q.name + ", of " + std::to_string(memory));
      use_memory(memory);
      const auto before = faulty_->launches();
      expect_rows(q, wanted);
      // Small parts are put together at once: a part of a part has less than ten rows.
      if (counts() && q.name == questions()[0].name) {
        EXPECT_LT(faulty_->launches() - before, static_cast<std::uint64_t>(many_) / 4);
      }
    }
    use_memory(4 * mib, 5000);
    taken_at_ = 20'000;
    expect_rows(q, wanted);
    EXPECT_FALSE(fell()) << plan_;
  }
}

// So few rows that a checked run of the kernels has time for all of them.
TEST_P(groups_without_memory, of_few_rows_are_spilled_too) {
  many_ = 60'000;
  for (const question& q : questions()) {
    SCOPED_TRACE(q.name);
    const rows wanted = q.rows_in(cpu_, false);
    use_memory(mib * 3 / 4);
    expect_rows(q, wanted);
    if (counts()) {
      EXPECT_TRUE(spilled()) << plan_;
    }
  }
}

// Nothing of the rows is lost with what was never there.
TEST_P(groups_without_memory, from_the_first_row_on_go_to_the_cpu) {
  for (const question& q : questions()) {
    SCOPED_TRACE(q.name);
    taken_at_ = -1;
    const rows wanted = q.rows_in(cpu_, false);
    use_memory(40 * mib);
    taken_at_ = 0;
    expect_rows(q, wanted);
    EXPECT_TRUE(fell()) << plan_;
    EXPECT_NE(plan_.find("the last run went to the cpu: gpu: memory: "), std::string::npos) << plan_;
  }
}

// Allocations that fail, each in turn, with more rows behind them than the host keeps.
TEST_P(groups_without_memory, at_each_allocation_lose_no_rows) {
  for (const question& q : questions()) {
    const rows wanted = q.rows_in(cpu_, false);
    use_memory(5 * mib, 16'000);
    const auto before = memory().counters().allocations;
    (void)q.rows_in(*session_, true);
    const auto count = memory().counters().allocations - before;
    // A card takes seconds for some of these runs: there, fewer of them.
    const std::uint64_t all = std::string(GetParam()) == "gpu" ? 8 : 40;
    for (std::uint64_t k = 1; k <= count; k += k < all ? 1 : 1 + count / all) {
      SCOPED_TRACE(q.name + ": allocation " + std::to_string(k) + " of " + std::to_string(count));
      use_memory(5 * mib, 16'000);
      memory().fail_allocation(k);
      expect_rows(q, wanted);
      memory().fail_allocation(0);
    }
  }
}

TEST_P(groups_without_memory, of_all_rows_have_their_result) {
  const auto value = [](auto e) { return e.value; };
  const auto summary = [=](auto q) {
    return q.aggregate([=](auto g) {
      return query::make<Summary>(g.count(), g.sum(value), g.min(value), g.max(value), g.sum([](auto e) { return e.at; }));
    });
  };
  const auto own = [=](auto q) {
    return q.aggregate([](auto g) {
      return g.aggregate(
          std::int64_t{0}, [](auto s, auto e) { return s + e.value; }, [](auto a, auto b) { return a + b; });
    });
  };
  const Summary wanted = summary(query::from(all_events()).in(cpu_)).to_vector().at(0);
  const std::int64_t wanted_own = own(query::from(all_events()).in(cpu_)).to_vector().at(0);
  const auto check = [&] {
    const auto q = summary(events().as_accelerated().in(*session_));
    Summary mine{};
    EXPECT_NO_THROW(mine = q.to_vector().at(0));
    taken_.clear();
    if (counts() || fell()) {
      EXPECT_TRUE(mine == wanted);
    }
    std::int64_t mine_own = 0;
    EXPECT_NO_THROW(mine_own = own(events().as_accelerated().in(*session_)).to_vector().at(0));
    taken_.clear();
    if (counts()) {
      EXPECT_EQ(mine_own, wanted_own);
    }
    EXPECT_EQ(memory().counters().used, 0u);
  };
  use_memory(5 * mib, 16'000);
  const auto before = memory().counters().allocations;
  check();
  const auto count = memory().counters().allocations - before;
  for (std::uint64_t k = 1; k <= count; k += k < 20 ? 1 : 1 + count / 30) {
    SCOPED_TRACE("allocation " + std::to_string(k) + " of " + std::to_string(count));
    use_memory(5 * mib, 16'000);
    memory().fail_allocation(k);
    check();
    memory().fail_allocation(0);
  }
  use_memory(5 * mib, 16'000);
  taken_at_ = many_ / 2;
  check();
}

// Others have all memory, more than once, and give it back after a while: each time the query goes on, without it and with it.
TEST_P(groups_without_memory, that_others_take_and_give_back_is_done_without) {
  for (const question& q : questions()) {
    SCOPED_TRACE(q.name);
    starved_at_ = -1;
    const rows wanted = q.rows_in(cpu_, false);
    use_memory(6 * mib, 16'000);
    starved_at_ = many_ / 4;  // the first block has been taken
    std::jthread others([this](const std::stop_token& ended) {
      while (!ended.stop_requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(400));
        memory().fail_allocation(0);
      }
    });
    expect_rows(q, wanted);
    EXPECT_FALSE(fell()) << plan_;
  }
}

// A first block that has to be cut is in host memory as long as no later one has been taken: the CPU has all rows.
TEST_P(groups_without_memory, of_the_first_block_alone_leave_all_rows_to_the_cpu) {
  keys_ = keys::few;
  many_ = 20'000;
  const question q = questions()[1];
  const rows wanted = q.rows_in(cpu_, false);
  use_memory(3 * mib / 2, 20'000);
  const auto before = memory().counters().allocations;
  (void)q.rows_in(*session_, true);
  const auto count = memory().counters().allocations - before;
  int failed = 0;
  for (std::uint64_t k = 1; k <= count; ++k) {
    SCOPED_TRACE("from allocation " + std::to_string(k) + " of " + std::to_string(count));
    use_memory(3 * mib / 2, 20'000);
    memory().fail_allocation(k, true);
    rows mine;
    EXPECT_NO_THROW(mine = q.rows_in(*session_, true));
    memory().fail_allocation(0);
    if (counts() || fell()) {
      EXPECT_TRUE(mine == wanted);
    }
    failed += fell();
  }
  EXPECT_GT(failed, 0);
}

// Keys that need their rows: these are parted in host memory, and all there for the CPU.
TEST_P(groups_without_memory, by_strings_lose_no_rows) {
  const auto titled = [](std::int64_t i) { return Titled{"title " + std::to_string(i % 5000), i}; };
  const auto groups = [](auto q) {
    return q.group_by([](auto r) { return r.title; }).select([](auto g) {
      const auto value = [](auto r) { return r.value; };
      return query::make<Summary>(g.count(), g.sum(value), g.min(value), g.max(value), g.count());
    });
  };
  std::vector<Titled> here;
  for (std::int64_t i = 0; i < 60'000; ++i) here.push_back(titled(i));
  rows wanted = groups(query::from(here).in(cpu_)).to_vector();
  std::sort(wanted.begin(), wanted.end());
  for (const std::int64_t at : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{40'000}}) {
    SCOPED_TRACE(at);
    use_memory(6 * mib);
    std::int64_t next = 0;
    const auto made = query::generate([&]() -> std::optional<Titled> {
      if (next == at) take_all();
      return next < 60'000 ? std::optional(titled(next++)) : std::nullopt;
    });
    rows mine;
    EXPECT_NO_THROW(mine = groups(made.as_accelerated().in(*session_)).to_vector());
    taken_.clear();
    std::sort(mine.begin(), mine.end());
    EXPECT_TRUE(mine == wanted);
  }
}

// What lay on a device that is gone is gone: the error says which rows, and what failed. By then the host has not kept the first rows.
TEST_P(groups_without_memory, that_a_lost_device_had_are_an_error_which_names_the_generator) {
  many_ = 600'000;
  broken_at_ = many_ - 10'000;
  for (const question& q : questions()) {
    SCOPED_TRACE(q.name);
    use_memory(8 * mib, 16'000);
    try {
      (void)q.rows_in(*session_, true);
      ADD_FAILURE();
    } catch (const query::resource_error& e) {
      for (const char* part :
           {"the rows of generate (", "groups_without_memory.hpp:", "cannot be read a second time", "the device is lost"})
        EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
    EXPECT_TRUE(faulty_->broken());
    EXPECT_GT(faulty_->refused(), 0u);
  }
}

}  // namespace
