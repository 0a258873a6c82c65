// What is under way when something fails, on the driver double: results on their way to the host, rows that are in a table already, uploads
// that nobody waited for, kernels that read memory of another stream's.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/out_of_core/block_input.hpp"
#include "gpu_engine/out_of_core/group_stream.hpp"
#include "gpu_engine/upload.hpp"
#include "runtime/thread_pool.hpp"

namespace {

using namespace query::gpu_engine;

struct Item {
  std::int64_t key;
  double value;
  bool operator==(const Item&) const = default;
};
QUERY_RECORD(Item, key, value);

// The n-th event from now (1: the next) is refused for a lack of memory; 0: none is.
std::atomic<int> failing_event{0}, events{0};
int (*make_event)(event_handle*, unsigned) = nullptr;

driver with_failing_events(const driver& of) {
  driver d = of;
  make_event = of.cuEventCreate;
  d.cuEventCreate = [](event_handle* e, unsigned flags) {
    return ++events == failing_event ? static_cast<int>(cuda_result::out_of_memory) : make_event(e, flags);
  };
  return d;
}

class work_under_way : public testing::Test {
 protected:
  void SetUp() override {
    fake_.allow_unknown_kernels();
    for (int i = 0; i < 60'000; ++i) items_.push_back({i, i * 0.5});
  }
  void TearDown() override { failing_event = 0; }
  void use(std::size_t block_rows) {
    session_ = std::make_unique<query::Session>(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    engine_ = make_engine(device_, {std::size_t{64} << 20, 0}, kernels_, block_rows);
    session_->add_engine(engine_);
  }
  auto all() { return query::from(items_).as_accelerated().in(*session_); }
  // Calls run(n) for each event that it asks for, which is refused, on an engine that has none yet.
  template <class F> void each_event(std::size_t block_rows, F run) {
    use(block_rows);
    events = 0;
    run(0);
    for (int n = 1, count = events; n <= count; ++n) {
      SCOPED_TRACE("event " + std::to_string(n) + " of " + std::to_string(count));
      failing_event = 0;
      use(block_rows);
      events = 0;
      failing_event = n;
      run(n);
    }
  }

  std::vector<Item> items_;
  driver_double fake_;
  driver calls_ = with_failing_events(fake_.calls());
  device device_{calls_, 0};
  kernel_cache kernels_{
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }}};
  std::shared_ptr<query::runtime::engine> engine_;
  std::unique_ptr<query::Session> session_;
  // For parts of the engine alone.
  query::runtime::thread_pool threads_{2};
  query::runtime::buffer_pool pool_{std::size_t{1} << 30};
  query::runtime::cancel_flag cancel_;
  query::runtime::run_context context_{threads_, pool_, cancel_};
  std::shared_ptr<gpu_session> gpu_ = std::make_shared<gpu_session>(device_, std::size_t{64} << 20, kernels_);
};

// One block's rows are fetched while the next is computed. Where that failed, the next block was computed once more, and its rows alone
// were there in the end.
TEST_F(work_under_way, of_fetched_blocks_is_not_forgotten_where_memory_fails) {
  each_event(20'000, [this](int) {
    const auto q = all().select([](auto i) { return i.value; });
    EXPECT_EQ(q.to_vector().size(), items_.size()) << q.explain();
  });
}

// A wait that failed behind the kernel that puts a block's rows into the table had them put there twice.
TEST_F(work_under_way, of_groups_is_not_done_twice_where_memory_fails) {
  fake_.add_generated("aggregate_rows", [](const auto&) {});
  each_event(20'000, [this](int) {
    const auto q = all().group_by([](auto i) { return i.key; }).select([](auto g) { return g.sum([](auto i) { return i.value; }); });
    const auto before = fake_.launches("aggregate_rows");
    (void)q.to_vector();
    if (q.explain().find("went to the cpu") != std::string::npos) return;
    EXPECT_EQ(fake_.launches("aggregate_rows") - before, 3u) << "one a block";
  });
}

// Rows that the CPU made and that stay on the device are read on whatever stream is free.
TEST_F(work_under_way, of_rows_that_stay_has_ended_when_they_are_given) {
  use(0);
  items_.resize(1000);
  const auto q = all().order_by([](const Item& i) { return i.key; }).cached();
  const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
  const query::planner::vertex& v = *g->vertices.back();
  ASSERT_TRUE(v.node->what == query::detail::verb::cached && v.inputs.front().table);
  query::detail::table made;
  made.rows = items_.data();
  made.n = items_.size();
  made.type = query::ir::describe<Item>();
  context_.tables[v.inputs.front().table] = query::runtime::vertex_rows(made);
  for (int round = 0; round < 30; ++round) {
    vertex_run run(gpu_, {}, context_);
    const query::detail::table read = run_cached(v, run)->fetch(context_);
    ASSERT_TRUE(std::equal(items_.begin(), items_.end(), static_cast<const Item*>(read.rows))) << round;
  }
  // The one row of an aggregate of nothing.
  items_.clear();
  const auto of_nothing = all().aggregate([](auto g) { return query::make<Item>(g.count(), g.sum([](auto i) { return i.value; })); });
  const auto h = query::planner::make_machine_graph(of_nothing.to_pipe(), "", {.gpu_status = ""});
  for (int round = 0; round < 30; ++round) {
    vertex_run run(gpu_, {}, context_);
    const query::detail::table read = run_group_by(*h->vertices.back(), run)->fetch(context_);
    ASSERT_EQ(read.n, 1u);
    ASSERT_TRUE(*static_cast<const Item*>(read.rows) == (Item{0, 0})) << round;
  }
}

// A query that fails, or is stopped, does not wait for its kernels: what they read must stay until they end.
TEST_F(work_under_way, of_a_run_that_failed_ends_before_the_memory_goes_that_it_reads) {
  constexpr std::size_t bytes = 4096;
  for (int round = 0; round < 10; ++round) {
    device_buffer rows;
    {
      const stream_lease of_rows = gpu_->lease();
      rows = gpu_->memory().allocate(2 * bytes, *of_rows);
      vertex_run run(gpu_, {}, context_);
      const device_buffer copy = run.allocate(bytes);
      for (int i = 0; i < 20; ++i) run.copy(copy.address(), rows.address(), bytes);
    }
    rows.reset();
    gpu_->memory().trim();  // to the driver
    const stream_lease next = gpu_->lease();
    ASSERT_NO_THROW(next->synchronize(query::runtime::cancel_flag())) << "an illegal address";
  }
}

// The same of a block, whose memory is the stream's that brought it.
TEST_F(work_under_way, of_a_block_that_failed_ends_before_its_memory_goes) {
  use(0);
  const auto q = all().order_by([](auto i) { return i.key; });
  const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
  const query::planner::branch& b = g->vertices.front()->inputs.front();
  constexpr std::size_t bytes = 4096;
  struct failing final : block_consumer {
    failing(const query::planner::branch& from, vertex_run& r) : of(from), run(r), copy(r.allocate(bytes)) {}
    void take() override {
      const auto block = run.input(of, {});
      for (int i = 0; i < 20; ++i) run.copy(copy.address(), block->column(0), bytes);
      throw query::user_error("of the block");
    }
    const query::planner::branch& of;
    vertex_run& run;
    device_buffer copy;
  };
  for (int round = 0; round < 10; ++round) {
    vertex_run run(gpu_, {}, context_);
    failing consumer(b, run);
    EXPECT_THROW(block_input(b, {true, true}, 8, run).each(consumer), query::user_error);
    gpu_->memory().trim();
    ASSERT_NO_THROW(run.on().synchronize(query::runtime::cancel_flag())) << "an illegal address";
  }
}

// A share's rows may lie on its device by field; where they do not fit beside its groups, they come in blocks, whole.
TEST_F(work_under_way, of_groups_is_done_by_kernels_for_the_columns_that_a_block_has) {
  use(0);
  const auto q = all().group_by([](auto i) { return i.key; }).select([](auto g) { return g.sum([](auto i) { return i.value; }); });
  const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
  std::vector<std::string> programs;
  fake_.add_generated("aggregate_rows", [&](const driver_double::generated_call& c) { programs.push_back(c.program); });
  vertex_run run(gpu_, {}, context_);
  const query::ir::type* type = query::ir::describe<Item>();
  query::detail::row_block rows;
  rows.rows = items_.data();
  rows.n = items_.size();
  const auto by_field = upload_rows(gpu_, rows, type, field_columns(type), run.on(), context_),
             whole = upload_rows(gpu_, rows, type, {{0, type}}, run.on(), context_);
  group_stream(*g->vertices.front(), run).take(whole);
  group_stream groups(*g->vertices.front(), run);
  gpu_->memory().fail_allocation(1);
  EXPECT_THROW(groups.take(by_field), out_of_memory);
  groups.take(whole);
  ASSERT_EQ(programs.size(), 2u);
  EXPECT_TRUE(programs[0] == programs[1]);
}

// Of a build side that does not fit, a part at a time lies where its rows were: functions that capture it would take that for all.
TEST_F(work_under_way, of_a_join_in_parts_leaves_captured_rows_whole) {
  session_ = std::make_unique<query::Session>(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
  session_->add_engine(make_engine(device_, {std::size_t{4} << 20, 0}, kernels_, 4000));
  items_.resize(9'000);
  const auto key = [](auto i) { return i.key; };
  const auto build = all().order_by([](const Item& i) { return i.key; });  // on the CPU
  const auto q = all().join(build, key, key, [table = query::broadcast(build)](auto a, auto b) {
    return a.value + b.value + query::cast<double>(table.count(a, [](auto a, auto t) { return t.key == a.key; }));
  });
  int parts = 0;
  fake_.add_generated("place_rows", [](const driver_double::generated_call& c) {
    for (std::uint64_t i = 0; i < c.words[2]; ++i) reinterpret_cast<std::uint32_t*>(c.words[1])[i] = i % 2;
  });
  fake_.add_generated("build_rows", [&](const driver_double::generated_call& c) {
    parts += std::find(c.words.begin(), c.words.end(), items_.size()) == c.words.end();
  });
  const std::vector<double> mine = q.to_vector();
  EXPECT_EQ(parts, 0) << "captured rows were not all there";
  EXPECT_EQ(mine.size(), items_.size());
  const std::string plan = q.explain();
  EXPECT_NE(plan.find("went to the cpu: gpu: memory: the build side of a join"), std::string::npos) << plan;
}

}  // namespace
