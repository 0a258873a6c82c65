// Of rows of many fields those that a query touches cross the bus, and no others: on the driver double, whose kernels do nothing and
// which counts bytes.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"

namespace {

using namespace query::gpu_engine;

// Eight bytes a field.
struct Wide {
  std::int64_t id, key, when, size, weight, owner, place, colour, shape, price, tax, total;
};
QUERY_RECORD(Wide, id, key, when, size, weight, owner, place, colour, shape, price, tax, total);

class touched_columns : public testing::Test {
 protected:
  static constexpr std::size_t rows = 20'000, others = 16'000;

  void SetUp() override {
    fake_.allow_unknown_kernels();
    for (std::size_t i = 0; i < rows; ++i) {
      Wide& row = wide_.emplace_back();
      row.id = static_cast<std::int64_t>(i);
      row.key = row.id % 7;
      row.price = 2 * row.id;
      row.tax = 3 * row.id;
    }
    other_.assign(wide_.begin(), wide_.begin() + others);
    use(0);
  }
  void use(std::size_t block_rows, std::size_t memory = std::size_t{64} << 20) { use(block_rows, memory, kernels_); }
  void use(std::size_t block_rows, std::size_t memory, kernel_cache& kernels) {
    session_ = std::make_unique<query::Session>(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    session_->add_engine(make_engine(device_, {memory, 0}, kernels, block_rows));
  }
  auto all() const { return query::from(wide_).as_accelerated(); }
  auto build() const { return query::from(other_); }
  // So many of its fields of `rows` rows and of `others` rows are brought, and little beside them.
  template <class Q> void brings(const char* what, const Q& q, std::size_t fields, std::size_t of_others = 0) {
    SCOPED_TRACE(what);
    const auto here = q.in(*session_);
    const std::size_t before = fake_.bytes_up();
    (void)here.to_vector();
    const std::size_t bytes = fake_.bytes_up() - before, wanted = 8 * (rows * fields + others * of_others);
    EXPECT_EQ(here.explain().find("went to the cpu"), std::string::npos) << here.explain();
    EXPECT_GE(bytes, wanted);
    EXPECT_LT(bytes, wanted + 8 * others / 4) << static_cast<double>(bytes) / (8 * rows) << " fields of the rows";
  }

  std::vector<Wide> wide_, other_;
  driver_double fake_;
  device device_{fake_.calls(), 0};
  kernel_cache kernels_{
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }}};
  std::unique_ptr<query::Session> session_;
};

const auto key = [](auto r) { return r.key; };
const auto id = [](auto r) { return r.id; };
const auto tax = [](auto r) { return r.tax; };
const auto size_of = [](auto r) { return r.size; };
const auto on_no_cpu = [](std::span<const Wide>) -> std::vector<std::int64_t> { throw std::runtime_error("the CPU's form ran"); };
const auto pair = [](auto l, auto r) { return l.price + r.tax; };

TEST_F(touched_columns, of_joins_cross_the_bus) {
  brings("join", all().join(build(), key, id, pair), 2, 2);
  brings("filter, join", all().where([](auto r) { return r.when >= 0; }).join(build(), key, id, pair), 3, 2);
  brings("join, filtered build side", all().join(build().as_accelerated().where([](auto r) { return r.size >= 0; }), key, id, pair), 2, 3);
  brings("filter, join, group_by",
         all().where([](auto r) { return r.when >= 0; }).join(build(), key, id, pair).group_by([](auto x) { return x; }).select([](auto g) {
           return g.count();
         }),
         3, 2);
  brings("filter, semi_join", all().where([](auto r) { return r.when >= 0; }).semi_join(build(), key, id).select(tax), 3, 1);
  brings("anti_join", all().anti_join(build(), key, id).select(tax), 2, 1);
  brings("two joins", all().semi_join(build(), key, id).join(build(), id, key, pair), 3, 3);
  brings("filter, right_join",
         all()
             .where([](auto r) { return r.when >= 0; })
             .right_join(build().where([](auto r) { return r.size >= 0; }), key, id,
                         [](auto l, auto r) { return r.tax + query::iff(l.has_value(), l->price, 1); }),
         12, 3);  // a row that may be missing is made whole
  brings("filter, cross_join",
         all().where([](auto r) { return r.when >= 0; }).cross_join(build().where([](auto r) { return r.size >= 0; }), pair), 2, 2);
  brings("filter, group_join",
         all()
             .where([](auto r) { return r.when >= 0; })
             .group_join(build(), key, id, [](auto r, auto own) { return r.tax + query::cast<std::int64_t>(own.size()); }),
         3, 1);
}

TEST_F(touched_columns, of_sorts_cross_the_bus) {
  brings("order_by, select", all().order_by(key).select(tax), 2);
  brings("order_by twice", all().order_by(key).order_by(id).select(tax), 3);
  brings("filter, order_by, select", all().where([](auto r) { return r.when > 0; }).order_by(key).select(tax), 3);
  brings("order_by, group_by", all().order_by(key).group_by(id).select([](auto g) { return g.first(tax); }), 3);
  brings("top", all().order_by(key).take(100).select(tax), 2);
  brings("order_by", all().order_by(key), 12);
}

TEST_F(touched_columns, of_slices_cross_the_bus) {
  const std::size_t rest = rows - others;
  const auto late = [](auto r) { return r.when >= 0; };
  brings("take, select", all().take(others).select(tax), 0, 1);
  brings("skip, select", all().skip(rest).select(tax), 0, 1);
  brings("take_last, select", all().take_last(others).select(tax), 0, 1);
  brings("skip_last, group_by", all().skip_last(rest).group_by(key).select([](auto g) { return g.sum(tax); }), 0, 2);
  brings("take_while, select", all().take_while(late).select(tax), 2);
  brings("skip_while, select", all().skip_while(late).select(tax), 2);
  brings("default_if_empty, select", all().default_if_empty().select(tax), 1);
  brings("skip, take_while, order_by, select", all().skip(rest).take_while(late).order_by(key).select(tax), 0, 3);
  brings("skip, count", all().skip(rest).take_while(late).select(tax).where([](auto x) { return x > 0; }), 0, 2);
  brings("filter, skip, select", all().where(late).skip(rest).select(tax), 2);
  brings("skip", all().skip(rest), 0, 12);
}

TEST_F(touched_columns, of_sets_cross_the_bus) {
  brings("distinct_by, select", all().distinct_by(key).select(tax), 2);
  brings("union_with_by, select", all().union_with_by(build(), key).select(tax), 2, 2);
  brings("intersect_by, select", all().intersect_by(build(), key).select(tax), 2, 1);
  brings("except_by, select", all().except_by(build(), key).select(tax), 2, 1);
  brings("skip, distinct_by, select", all().skip(rows - others).distinct_by(key).select(tax), 0, 2);
  brings("distinct_by", all().distinct_by(key), 12);
  brings("distinct, select", all().distinct().select(tax), 12);
  brings("except", all().except_by(build(), key), 12, 1);
}

TEST_F(touched_columns, of_rows_that_change_places_cross_the_bus) {
  brings("concat, select", all().concat(build()).select(tax), 1, 1);
  brings("reverse, select", all().reverse().select(tax), 1);
  brings("sample, select", all().sample(100).select(tax), 1);
  brings("zip", all().zip(build(), pair), 0, 2);
  brings("zip, pairs", all().zip(build()).select([](auto both) { return both.first.price + both.second.tax; }), 0, 24);
  brings("hash_partitioned_by, group_by", all().hash_partitioned_by(key, 4).group_by(size_of).select([](auto g) { return g.first(tax); }),
         3);
  brings("range_partitioned_by, select", all().range_partitioned_by(key, 4).select(tax), 2);
  brings("partitioned, select", all().partitioned(4).select(tax), 1);
}

// Without kernels, so that the double gives the rows themselves.
TEST_F(touched_columns, are_those_of_every_reader) {
  const std::size_t from = rows - others;
  const auto few = all().skip(from);
  const auto on_host = [](auto q) { return q.on(query::engine::cpu); };
  const auto expects = [&](const char* what, const auto& got, std::int64_t factor) {
    ASSERT_EQ(got.size(), others) << what;
    for (std::size_t i = 0; i < others; ++i) ASSERT_EQ(got[i], factor * static_cast<std::int64_t>(from + i)) << what << ' ' << i;
  };
  const auto read = [&](const char* what, const auto& q, std::size_t fields, std::int64_t factor) {
    const auto here = q.in(*session_);
    const std::size_t before = fake_.bytes_up();
    expects(what, here.to_vector(), factor);
    const std::string plan = here.explain(), vertex = plan.substr(plan.find("v1 skip(4000)"));
    EXPECT_LT(vertex.find("gpu: "), vertex.find('\n')) << plan;
    const std::size_t bytes = fake_.bytes_up() - before;
    EXPECT_GE(bytes, 8 * others * fields) << what;
    EXPECT_LT(bytes, 8 * others * fields + 1000) << what;
  };
  read("a function", on_host(few.select(tax)), 1, 3);
  read("an opaque function", on_host(few.select(query::opaque([](const Wide& r) { return r.price; }))), 12, 2);
  read("a sort", on_host(on_host(few.order_by(id)).select(tax)), 2, 3);
  read("two readers", on_host(few.zip(few, [](auto a, auto b) { return a.tax + b.price; })), 2, 5);
  read("an apply", few.apply(on_no_cpu, query::on_gpu([](auto& asked) {
                               const Wide* in = asked.rows();
                               std::int64_t* out = asked.results(asked.size());
                               asked.wait();
                               for (std::size_t i = 0; i < asked.size(); ++i) out[i] = in[i].tax;
                             })),
       12, 3);
}

TEST_F(touched_columns, are_those_that_an_apply_asks_for) {
  const auto applied = [&](const char* what, std::size_t fields, std::int64_t factor, auto g) {
    const std::size_t before = fake_.bytes_up();
    const auto got = all().apply(on_no_cpu, query::on_gpu(g)).in(*session_).to_vector();
    ASSERT_EQ(got.size(), rows) << what;
    for (std::size_t i = 0; i < rows; ++i) ASSERT_EQ(got[i], factor * static_cast<std::int64_t>(i)) << what << ' ' << i;
    const std::size_t bytes = fake_.bytes_up() - before;
    EXPECT_GE(bytes, 8 * rows * fields) << what;
    EXPECT_LT(bytes, 8 * rows * fields + 1000) << what;
  };
  const auto each = [](auto& asked, auto value) {
    std::int64_t* out = asked.results(asked.size());
    asked.wait();
    for (std::size_t i = 0; i < asked.size(); ++i) out[i] = value(i);
  };
  applied("one column, twice", 1, 2, [each](auto& asked) {
    const std::int64_t* prices = asked.column(&Wide::price);
    EXPECT_EQ(asked.column(&Wide::price), prices);
    each(asked, [=](std::size_t i) { return prices[i]; });
  });
  applied("two columns", 2, 5, [each](auto& asked) {
    const std::int64_t *prices = asked.column(&Wide::price), *taxes = asked.column(&Wide::tax);
    each(asked, [=](std::size_t i) { return prices[i] + taxes[i]; });
  });
  applied("a column and rows", 13, 1, [each](auto& asked) {
    const std::int64_t* prices = asked.column(&Wide::price);
    const Wide* whole = asked.rows();
    each(asked, [=](std::size_t i) { return whole[i].tax - prices[i]; });
  });
  applied("the number of rows", 0, 0, [each](auto& asked) { each(asked, [](std::size_t) { return std::int64_t{0}; }); });
}

TEST_F(touched_columns, of_columns_cross_the_bus) {
  std::vector<std::int64_t> column(rows);
  const auto all =
      query::from(query::columns<Wide>(column, column, column, column, column, column, column, column, column, column, column, column))
          .as_accelerated();
  brings("filter, join", all.where([](auto r) { return r.when >= 0; }).join(build(), key, id, pair), 3, 2);
  brings("order_by, select", all.order_by(key).select(tax), 2);
  brings("skip, distinct_by, select", all.skip(rows - others).distinct_by(key).select(tax), 0, 2);
  brings("take_while, select", all.take_while([](auto r) { return r.when >= 0; }).select(tax), 2);
}

TEST_F(touched_columns, cross_it_in_blocks) {
  use(3000);
  brings("filter, select", all().where([](auto r) { return r.when >= 0; }).select(tax), 2);
  const auto few = build().take(10);
  brings("join", all().join(few, key, id, pair), 2);
  brings("filter, join", all().where([](auto r) { return r.when >= 0; }).join(few, key, id, pair), 3);
  brings("filter, semi_join", all().where([](auto r) { return r.when >= 0; }).semi_join(few, key, id).select(tax), 3);
  brings("distinct_by, select", all().distinct_by(key).select(tax), 2);
  brings("except_by, select", all().except_by(build(), key).select(tax), 2, 1);
  // Sorted blocks are merged in host memory; what is selected of them goes up again.
  brings("order_by, select", all().order_by(key).select(tax), 3);
}

// Whole rows are made without what was not brought.
TEST_F(touched_columns, are_enough_for_the_kernels) {
  if (!compiler::find()) GTEST_SKIP() << "SKIPPED: no NVRTC: " << compiler::why_not();
  std::string compiled_text;
  kernel_cache kernels({.headers = embedded_sources(), .options = {}, .folder = "", .compile = [&](std::string_view source, int) {
                          compiled_text += source;
                          return image_of(source, compiler::find()->compile(source, embedded_sources(), 90, {}));
                        }});
  const auto compiles = [&](const char* what, const auto& q) {
    SCOPED_TRACE(what);
    compiled_text.clear();
    const auto here = q.in(*session_);
    (void)here.to_vector();
    EXPECT_EQ(here.explain().find("went to the cpu"), std::string::npos) << here.explain();
    EXPECT_FALSE(compiled_text.empty());
  };
  use(0, std::size_t{64} << 20, kernels);
  compiles("filter, join", all().where([](auto r) { return r.when >= 0; }).join(build().take(10), key, id, pair));
  EXPECT_NE(compiled_text.find("{.f1 = "), std::string::npos) << "a row is made of its key and what else is read";
  compiles("filter, semi_join", all().where([](auto r) { return r.when >= 0; }).semi_join(build().take(10), key, id).select(tax));
  compiles("anti_join", all().anti_join(build().take(10), key, id).select(tax));
  compiles("order_by, select", all().order_by(key).select(tax));
  compiles("filter, order_by, take, select", all().where([](auto r) { return r.when > 0; }).order_by(key).take(100).select(tax));
  compiles("take_while, select", all().take_while([](auto r) { return r.when >= 0; }).select(tax));
  compiles("distinct_by, select", all().distinct_by(key).select(tax));
  compiles("union_with_by, select", all().union_with_by(build(), key).select(tax));
  compiles("intersect_by, select", all().intersect_by(build(), key).select(tax));
  compiles("hash_partitioned_by, select", all().hash_partitioned_by(key, 4).select(tax));
  compiles("range_partitioned_by, select", all().range_partitioned_by(key, 4).select(tax));
  compiles("concat, reverse, select", all().concat(build()).reverse().select(tax));
  compiles("zip", all().zip(build(), pair));
  compiles("order_by, group_by", all().order_by(key).group_by(id).select([](auto g) { return g.first(tax); }));
  use(3000, std::size_t{64} << 20, kernels);
  compiles("order_by in blocks", all().order_by(key).select(tax));
  use(0);  // nothing of these kernels stays
}

// Both sides go apart by their keys: the double's kernels place no row, so that is all there is.
TEST_F(touched_columns, of_both_sides_that_do_not_fit_are_those_of_the_key) {
  use(3000, std::size_t{8} << 20);
  brings("join", all().join(build(), key, id, pair), 1, 1);
  brings("filter, join", all().where([](auto r) { return r.when >= 0; }).join(build(), key, id, pair), 2, 1);
}

}  // namespace
