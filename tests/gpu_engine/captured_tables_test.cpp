// Where captured collections lie for the kernels that read them: small ones in the shared memory of each block.
#include "gpu_engine/generated_kernels.hpp"

namespace generated {
namespace {

struct Point {
  double x;
  std::int32_t k;
};
QUERY_RECORD(Point, x, k);

constexpr auto smaller_ones = [](auto p, auto e) { return query::iff(e < p.x, e, 0.0); };
template <class C> auto sums_of(const C& table) {
  static const std::vector<Point> points(3000);
  return query::from(points).as_accelerated().select([table](auto p) { return table.sum(p, smaller_ones); });
}
std::vector<double> numbers(std::size_t n) { return std::vector<double>(n, 1.5); }

// Plans on a device that is only pretended.
class captured_tables : public testing::Test {
 protected:
  template <class Q> std::string planned_fold(const Q& q) {
    const auto g = graph_of(q);
    const kernel_source::witness seen(true);
    verdict_ = engine_->accepts(query::planner::fold_vertex(*g, query::detail::fold_kind::sum));
    EXPECT_TRUE(static_cast<bool>(verdict_)) << verdict_.why;
    return seen.texts().empty() ? "" : seen.texts().back();
  }
  template <class Q> std::string planned(const Q& q) {
    const auto g = graph_of(q);
    query::planner::vertex last;
    last.inputs = {g->result};
    last.captures = g->captures;
    last.accelerated = true;
    const kernel_source::witness seen(true);
    verdict_ = engine_->accepts(last);
    EXPECT_TRUE(static_cast<bool>(verdict_)) << verdict_.why;
    return seen.texts().empty() ? "" : seen.texts().back();
  }
  static bool in_shared(const std::string& text) { return text.find("copy_captured(") != std::string::npos; }
  void expect_said(const std::string& what) const {
    EXPECT_NE(verdict_.notes.find("captured: " + what), std::string::npos) << verdict_.notes;
  }

  template <class Q> static auto graph_of(const Q& q) {
    return query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
  }
  driver_double fake_;
  device pretended_{fake_.calls(), 0};
  kernel_cache kernels_{{.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view, int) { return compiled{}; }}};
  std::shared_ptr<query::runtime::engine> engine_ = make_engine(pretended_, {std::size_t{64} << 20, 0}, kernels_);
  query::runtime::verdict verdict_;
};

TEST_F(captured_tables, lie_in_shared_memory_up_to_8_kib) {
  EXPECT_TRUE(in_shared(planned_fold(sums_of(query::broadcast(numbers(64))))));
  expect_said("64 rows in shared memory");
  EXPECT_TRUE(in_shared(planned_fold(sums_of(query::broadcast(numbers(1024))))));
  EXPECT_FALSE(in_shared(planned_fold(sums_of(query::broadcast(numbers(1025))))));
  expect_said("1025 rows in device memory");
  EXPECT_TRUE(in_shared(planned_fold(sums_of(query::broadcast(numbers(0))))));
}

TEST_F(captured_tables, of_other_sizes_do_not_make_other_programs) {
  EXPECT_EQ(planned_fold(sums_of(query::broadcast(numbers(64)))), planned_fold(sums_of(query::broadcast(numbers(700)))));
  EXPECT_EQ(planned_fold(sums_of(query::broadcast(numbers(1025)))), planned_fold(sums_of(query::broadcast(numbers(70'000)))));
}

TEST_F(captured_tables, share_the_room) {
  const auto both = [](std::size_t n, std::size_t m) {
    static const std::vector<Point> points(3000);
    const auto a = query::broadcast(numbers(n)), b = query::broadcast(numbers(m));
    return query::from(points).as_accelerated().where([a](auto p) { return a[p.k] > 1; }).select([b](auto p) {
      return b.sum(p, smaller_ones);
    });
  };
  const std::string fits = planned(both(700, 324));
  EXPECT_NE(fits.find("  copy_captured(captured, "), std::string::npos) << fits;
  EXPECT_NE(fits.find("  copy_captured((captured + p.w["), std::string::npos) << fits;
  expect_said("700 rows in shared memory, 324 rows in shared memory");
  const std::string too_many = planned(both(700, 326));
  EXPECT_NE(too_many.find("  copy_captured(captured, "), std::string::npos) << too_many;
  EXPECT_EQ(too_many.find("captured + "), std::string::npos) << too_many;
  expect_said("700 rows in shared memory, 326 rows in device memory");
}

TEST_F(captured_tables, with_strings_stay_in_device_memory) {
  static const std::vector<Point> points(3000);
  const auto notes = query::broadcast(std::vector<Note>(3));
  EXPECT_FALSE(in_shared(planned(query::from(points).as_accelerated().where(
      [notes](auto p) { return notes.any(p, [](auto p, auto n) { return n.name.size() == 3 && n.id == p.k; }); }))));
  expect_said("3 rows in device memory");
}

TEST_F(generated_kernels, copy_captured_tables_to_shared_memory) {
  const auto run = [&](std::size_t n) { (void)sums_of(query::broadcast(numbers(n))).in(session_).to_vector(); };
  run(64);
  EXPECT_EQ(fake_.shared_bytes("collect_rows"), 512u);
  const int programs = compiled_;
  run(65);
  EXPECT_EQ(fake_.shared_bytes("collect_rows"), 528u);  // at multiples of 16
  run(1024);
  EXPECT_EQ(fake_.shared_bytes("collect_rows"), 8192u);
  EXPECT_EQ(compiled_, programs);
  run(1025);
  EXPECT_EQ(fake_.shared_bytes("collect_rows"), 0u);
  EXPECT_EQ(compiled_, programs + 1);
}

TEST_F(generated_kernels, read_several_captured_tables) {
  const auto table = query::broadcast(symbols_);
  const auto numbers = query::broadcast(std::vector<float>(33));
  const auto flags = query::broadcast(std::vector<std::int8_t>{1, 0, 1});
  const auto rows = trades().where(
      [=](auto t) { return flags[t.level] == 1 && table.any(t, [](auto t, auto s) { return s.id == t.symbol; }); });
  compiles("numbers", rows.select([=](auto t) { return numbers.sum(t, [](auto t, auto x) { return x * t.weight; }); }));
  EXPECT_EQ(fake_.shared_bytes("collect_rows"), 16u + 1600u + 144u);
  compiles("wide rows", rows.select([=](auto t) {
    return std::tuple(t.symbol, t.price, t.qty, t.x, t.x, t.x, t.x, t.x, t.x, numbers.max(t, [](auto t, auto x) { return x * t.weight; }));
  }));
  compiles("every row", trades().select([=](auto t) { return table.sum(t, [](auto t, auto s) { return s.rate * t.price; }); }));
  EXPECT_EQ(fake_.shared_bytes("collect_rows"), 1600u);
  compiles("an element for every row", trades().select([=](auto t) { return table[t.symbol]; }));
  EXPECT_EQ(fake_.shared_bytes("collect_rows"), 0u);
}

}  // namespace
}  // namespace generated
