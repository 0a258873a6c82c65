// What the decoders of messages make of damage: an error, or something of the same size. A peer has proved the session's token before any
// of them runs (transport_test.cpp), and may call any code of the program by sending its place: that is what plans are for. So places of
// code stay as they are here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "cluster/messages.hpp"
#include "cluster/program.hpp"
#include "cluster/sent_errors.hpp"
#include "cluster/sent_plan.hpp"
#include "runtime/cluster.hpp"
#include "runtime/session_state.hpp"

namespace damaged_messages_test {

struct item {
  std::int32_t id, shelf;
  double price;
  std::string name;
  std::optional<std::string> label;
  std::vector<std::string> tags;
  std::vector<std::int32_t> sizes;
};
QUERY_RECORD(item, id, shelf, price, name, label, tags, sizes);
struct plain {
  std::int32_t id;
  double price;
};
QUERY_RECORD(plain, id, price);
struct loose {  // with bytes that no value decides
  std::int8_t id;
  std::optional<std::int32_t> shelf;
  std::optional<plain> part;
};
QUERY_RECORD(loose, id, shelf, part);

namespace {

using namespace query::cluster;

std::uint32_t seed() {
  const char* const s = std::getenv("QUERY_TEST_SEED");
  return s ? static_cast<std::uint32_t>(std::atoi(s)) : 31;
}

// Keeps the bytes of each plan that it is asked for.
struct recording_cluster final : query::runtime::cluster {
  mutable std::vector<std::vector<std::byte>> plans;
  std::string name() const override { return "recording"; }
  int partitions() const override { return 3; }
  int threads() const override { return 1; }
  std::string transport() const override { return "nothing"; }
  bool can_travel(const query::ir::type&) const override { return true; }
  std::shared_ptr<const prepared> prepare(const query::planner::machine_graph& g,
                                          const query::planner::column_options& forms,
                                          const query::planner::function_set& by_expression) const override {
    try {
      plans.push_back(write_plan(g, forms, program(), by_expression).bytes);
    } catch (const closures_stay& e) {
      query::runtime::stays_here all;
      for (const verb_stays& x : e.all) all.because.push_back({x.why, x.verb->label, x.verb->where, x.function});
      throw all;
    } catch (const cannot_travel& e) {
      throw query::runtime::stays_here{{{e.why}}};
    }
    throw query::runtime::stays_here{{{"its plan is all that is wanted"}}};
  }
};

std::vector<item> items() {
  std::vector<item> all;
  for (int i = 0; i < 200; ++i) {
    item x{i, i % 7, i / 2.0, "item " + std::to_string(i % 30), {}, {}, {}};
    if (i % 3) x.label = std::string(static_cast<std::size_t>(i % 50), 'x');
    for (int k = 0; k < i % 4; ++k) x.tags.push_back("tag " + std::to_string(k));
    for (int k = 0; k < i % 5; ++k) x.sizes.push_back(k);
    all.push_back(std::move(x));
  }
  return all;
}

std::vector<std::vector<std::byte>> real_plans() {
  query::Session session({.threads = 1, .gpu = query::gpu_use::off});
  auto own = std::make_unique<recording_cluster>();
  const recording_cluster& recorded = *own;
  session.state()->processes = std::move(own);
  session.state()->partitions = 3;
  const auto rows = items();
  std::vector<plain> numbers;
  for (int i = 0; i < 500; ++i) numbers.push_back({i % 50, i / 4.0});
  const auto all = query::from(rows).in(session);
  const auto points = query::from(numbers).in(session);
  const double limit = 7;
  all.where([limit](auto x) { return x.price > limit; }).select([](auto x) { return x.id; }).to_vector();
  points.group_by([](auto p) { return p.id; })
      .select([](auto g) { return query::make<plain>(g.key(), g.sum([](auto p) { return p.price; })); })
      .to_vector();
  all.order_by([](auto x) { return x.price; }).to_vector();
  all.join(points, [](auto x) { return x.id; }, [](auto p) { return p.id; }, [](auto x, auto p) { return x.price * p.price; }).sum();
  const auto captured = query::broadcast(points.where([](auto p) { return p.price > 100; }));
  points.select([captured](auto p) { return captured.count([p](auto c) { return c.id == p.id; }); }).to_vector();
  query::from(std::vector<int>(100, 3)).in(session).distinct().to_vector();
  points.where([limit](const plain& p) { return p.price > limit + static_cast<double>(std::string("ab").size()); }).count();
  return recorded.plans;
}

// Bytes that tell a place in the program, wherever they begin.
std::vector<bool> places_in(std::span<const std::byte> plan, const program& here) {
  std::vector<bool> is(plan.size(), false);
  constexpr std::size_t size = sizeof(std::uint32_t) + sizeof(std::uint64_t);
  for (std::size_t i = 0; i + size <= plan.size(); ++i) {
    code_place p;
    std::memcpy(&p.module, plan.data() + i, sizeof p.module);
    std::memcpy(&p.offset, plan.data() + i + sizeof p.module, sizeof p.offset);
    for (const auto part : {program::part::code, program::part::constant}) try {
        here.address_of(p, part);
        std::fill_n(is.begin() + static_cast<std::ptrdiff_t>(i), size, true);
      } catch (const query::cluster_error&) {
      }
  }
  return is;
}

TEST(damaged_messages, plans_are_errors_or_plans) {
  const program here, nowhere = program::matching({});
  std::mt19937 random(seed());
  const auto plans = real_plans();
  ASSERT_GE(plans.size(), 5u);
  std::size_t errors = 0, read = 0;
  const auto decode = [&](std::span<const std::byte> bytes, const program& in) {
    try {
      kept_of_plans kept;
      const received_plan p = read_plan(bytes, in, kept);
      ++read;
    } catch (const std::exception&) {
      ++errors;
    }
  };
  for (const auto& plan : plans) {
    decode(plan, here);
    EXPECT_EQ(errors, 0u);
    const std::vector<bool> places = places_in(plan, here);
    for (std::size_t n = 0; n < plan.size(); n += 1 + random() % 5) decode(std::span(plan).first(n), here);
    for (int i = 0; i < 3000; ++i) {
      auto damaged = plan;
      for (std::size_t k = 1 + random() % 3; k; --k) {
        const std::size_t at = random() % plan.size();
        if (places[at]) continue;
        damaged[at] = static_cast<std::byte>(random() % 3 ? random() : random() % 3 * 127);
      }
      decode(damaged, nowhere);
      // Of one that is longer or shorter from somewhere on, other bytes are the places.
      std::vector<std::byte> shifted(damaged.begin(), damaged.begin() + static_cast<std::ptrdiff_t>(random() % damaged.size()));
      shifted.insert(shifted.end(), random() % 9, static_cast<std::byte>(random()));
      shifted.insert(shifted.end(), damaged.begin() + static_cast<std::ptrdiff_t>(random() % damaged.size()), damaged.end());
      decode(shifted, nowhere);
    }
    errors = 0;
  }
  EXPECT_GE(read, plans.size());
}

TEST(damaged_messages, values_in_plans_may_be_any) {
  const program here;
  std::mt19937 random(seed() + 1);
  std::size_t errors = 0, read = 0;
  for (const auto& plan : real_plans()) {
    const std::vector<bool> places = places_in(plan, here);
    for (int i = 0; i < 2000; ++i) {
      auto damaged = plan;
      const std::size_t at = random() % plan.size();
      if (places[at]) continue;
      damaged[at] ^= static_cast<std::byte>(1u << random() % 8);
      try {
        kept_of_plans kept;
        read_plan(damaged, here, kept);
        ++read;
      } catch (const std::exception&) {
        ++errors;
      }
    }
  }
  EXPECT_GT(errors, 100u);
  EXPECT_GT(read, 100u);
}

// Pages of rows, as they come from another process: read within their bytes, and into memory that these bytes account for.
template <class Row> void expect_pages_are_checked(const std::vector<Row>& rows) {
  query::Session session({.threads = 1, .memory_limit = std::size_t{64} << 20, .gpu = query::gpu_use::off});
  auto& s = *session.state();
  query::runtime::cancel_flag cancel;
  query::runtime::run_context context{*s.scheduler, s.pool, cancel};
  query::detail::table all;
  all.rows = rows.data();
  all.n = rows.size();
  all.type = query::ir::describe<Row>();
  const auto pages = s.cpu->pages_of(all, context);
  ASSERT_EQ(pages.size(), 1u);
  std::mt19937 random(seed() + 2);
  std::size_t errors = 0, read = 0;
  const auto decode = [&](std::span<const std::byte> bytes, std::uint64_t n) {
    query::runtime::row_page page;
    page.rows = n;
    page.bytes = s.pool.allocate(bytes.size());
    if (!bytes.empty()) std::memcpy(page.bytes.data(), bytes.data(), bytes.size());
    const query::runtime::row_page* const one[] = {&page};
    try {
      s.cpu->rows_of(all.type, one, context);
      ++read;
    } catch (const std::exception&) {
      ++errors;
    }
  };
  const std::span whole(pages[0].bytes.template as<const std::byte>(), pages[0].bytes.size());
  decode(whole, rows.size());
  EXPECT_EQ(errors, 0u);
  for (const std::uint64_t n : {rows.size() + 1, std::size_t{1} << 40, ~std::size_t{0}}) decode(whole, n);
  EXPECT_EQ(errors, 3u);
  for (int i = 0; i < 3000; ++i) {
    const std::span<const std::byte> some = i % 2 ? whole : whole.first(random() % whole.size());
    std::vector<std::byte> damaged(some.begin(), some.end());
    for (std::size_t k = random() % 4; k && !damaged.empty(); --k) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    decode(damaged, i % 3 ? rows.size() : random() % 1000);
  }
  EXPECT_GT(errors, 1000u);
  EXPECT_GT(read, 100u);
}

TEST(damaged_messages, pages_of_texts_and_lists_are_checked) { expect_pages_are_checked(items()); }
TEST(damaged_messages, pages_of_numbers_are_checked) {
  std::vector<plain> numbers;
  for (int i = 0; i < 300; ++i) numbers.push_back({i, i / 2.0});
  expect_pages_are_checked(numbers);
}

TEST(damaged_messages, pages_of_rows_with_unused_bytes_are_checked) {
  std::vector<loose> rows;
  for (int i = 0; i < 300; ++i)
    rows.push_back({static_cast<std::int8_t>(i), i % 2 ? std::optional(i) : std::nullopt,
                    i % 3 ? std::optional(plain{i, 0.5}) : std::nullopt});
  expect_pages_are_checked(rows);
}

TEST(damaged_messages, greetings_modules_and_exceptions_are_errors_or_themselves) {
  std::mt19937 random(seed() + 3);
  byte_writer greeting, modules, exception, asked, result;
  write_hello(greeting, {{.threads = 3, .temp_folder = "/tmp/somewhere", .cluster = ""}, "token"});
  const std::vector<block> blocks{{2, 1, {1, 1}, 1, {10, 100, 7}}, {2, 1, {2, 1}, 1, {}}};
  write_task(asked, {{3, 1, 2}, work::receive, 7, {1, 2}, blocks, {1, 2}, {std::byte{5}}});
  write_result(result, {3, 1, 2}, {9, {std::byte{1}, std::byte{2}}, {{10, 100, 7}}});
  write_modules(modules, program().names());
  try {
    throw std::out_of_range("no such key");
  } catch (...) {
    put_exception(exception);
  }
  const auto damaged = [&](std::span<const std::byte> bytes) {
    std::vector<std::byte> d(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(random() % (bytes.size() + 1)));
    for (std::size_t k = random() % 3; k && !d.empty(); --k) d[random() % d.size()] = static_cast<std::byte>(random());
    return d;
  };
  const auto read = [](const std::vector<std::byte>& bytes, const auto& by) {
    byte_reader from(bytes);
    try {
      by(from);
    } catch (const std::exception&) {
    }
  };
  for (int i = 0; i < 5000; ++i) {
    read(damaged(greeting.bytes()), [](byte_reader& from) { read_hello(from); });
    read(damaged(modules.bytes()), [](byte_reader& from) { read_modules(from); });
    read(damaged(asked.bytes()), [](byte_reader& from) { read_task(from); });
    read(damaged(result.bytes()), [](byte_reader& from) {
      task_id t;
      read_result(from, t);
    });
    read(damaged(exception.bytes()), [](byte_reader& from) { rethrow(from, "process 2"); });
  }
}

}  // namespace
}  // namespace damaged_messages_test
