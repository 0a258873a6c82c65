// Rows that come in any order, in little memory, are given in the order of their positions; those of one position as they came.
#include "cpu_engine/positioned_rows.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <query/cpu/segment_form.hpp>
#include <query/record.hpp>

#include "cpu_engine/tbb_scheduler.hpp"
#include "runtime/temp_file.hpp"
#include "temp_folder.hpp"

namespace query::tests {

struct Found {
  std::uint64_t position;
  std::int64_t number;  // among those of its position
};
QUERY_RECORD(Found, position, number);
struct NamedAt {
  std::string name;
  std::int64_t number;
};
QUERY_RECORD(NamedAt, name, number);

namespace {

constexpr std::size_t memory = 4u << 20;

struct fixture {
  temp_folder folder{"positioned_rows_test"};
  cpu::tbb_scheduler scheduler{2};
  runtime::buffer_pool pool{memory};
  runtime::cancel_flag cancel;
  runtime::temp_space temp{folder.name()};
  runtime::run_context context{.scheduler = scheduler, .pool = pool, .cancel = cancel, .temp = &temp};
  detail::logical node;
  planner::vertex vertex;
  cpu::vertex_tasks tasks{context, std::vector<detail::binding>{}};

  explicit fixture(const ir::type* row) {
    node.row = row;
    vertex.node = &node;
  }
  std::shared_ptr<cpu::positioned_rows> rows(const planner::column_schema* columns, std::uint64_t end, std::uint64_t expected,
                                             std::size_t parts, std::vector<cpu::column> places = {}) {
    return std::make_shared<cpu::positioned_rows>(vertex, tasks, columns, end, expected, parts, memory, 0, std::move(places));
  }
  template <class Row> std::vector<Row> all(const std::shared_ptr<cpu::positioned_rows>& of) {
    std::vector<Row> rows;
    cpu::table_pass pass(of, context);
    detail::table t;
    while (pass.next(t)) rows.insert(rows.end(), static_cast<const Row*>(t.rows), static_cast<const Row*>(t.rows) + t.n);
    EXPECT_EQ(rows.size(), of->size());
    return rows;
  }
};

std::uint64_t drawn(std::uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15u;
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
  return i ^ (i >> 27);
}

// Row i of `positions` has times(i) rows, all in one part, which is drawn; a part feeds the rows of its positions in any order.
// apart: how far positions lie from each other.
template <class Times> void expect_in_order(std::uint64_t positions, Times times, std::uint64_t apart = 1) {
  constexpr std::size_t parts = 5;
  fixture f(ir::describe<Found>());
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < positions; ++i) total += times(i);
  const auto rows = f.rows(nullptr, positions * apart, total, parts);
  f.tasks.for_each(parts, [&](std::size_t part) {
    cpu::positioned_rows::writer to(*rows, part);
    std::vector<Found> some;
    std::vector<std::uint64_t> at;
    const auto flush = [&] {
      const cpu::column c{some.data(), sizeof(Found), 0, sizeof(Found), nullptr, true};
      to.append({&c, 1}, some.size(), at.data(), true);
      some.clear();
      at.clear();
    };
    for (std::uint64_t k = 0; k < positions; ++k) {
      const std::uint64_t position = positions - 1 - k;  // backwards, as many of them as there are
      if (drawn(position) % parts != part) continue;
      for (std::uint64_t i = 0; i < times(position); ++i) {
        some.push_back({position, static_cast<std::int64_t>(i)});
        at.push_back(position * apart);
        if (some.size() == 3000) flush();
      }
    }
    flush();
    to.finish();
  });
  rows->finish();
  ASSERT_EQ(rows->size(), total);
  const auto all = f.all<Found>(rows);
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < positions; ++i)
    for (std::uint64_t k = 0; k < times(i); ++k, ++at) {
      ASSERT_EQ(all[at].position, i);
      ASSERT_EQ(all[at].number, static_cast<std::int64_t>(k));
    }
  EXPECT_LE(f.pool.peak(), memory);
  if (total > 500'000) {
    EXPECT_GT(f.context.pieces->to_files.load(), 0u);
  }
}

TEST(positioned_rows, come_in_order) {
  expect_in_order(600'000, [](std::uint64_t) { return 1u; });
  expect_in_order(900'000, [](std::uint64_t i) { return drawn(i) % 4; });
}

TEST(positioned_rows, beyond_32_bits) {
  for (const std::uint64_t apart : {(std::uint64_t{1} << 32) / 599'999, std::uint64_t{1} << 20, std::uint64_t{1} << 44})
    expect_in_order(600'000, [](std::uint64_t i) { return drawn(i) % 3; }, apart);
}

TEST(positioned_rows, few_or_none) {
  expect_in_order(0, [](std::uint64_t) { return 1u; });
  expect_in_order(1, [](std::uint64_t) { return 3u; });
  expect_in_order(100'000, [](std::uint64_t i) { return i == 7 ? 1u : 0u; });
}

// Ranges of positions that have far more rows than others are put apart again, and a single position may have most rows.
TEST(positioned_rows, skew) {
  expect_in_order(600'000, [](std::uint64_t i) { return i < 1000 ? 600u : 0u; });
  expect_in_order(100'000, [](std::uint64_t i) { return i == 77'777 ? 700'000u : 1u; });
  expect_in_order(3, [](std::uint64_t i) { return i == 1 ? 700'000u : 2u; });
}

// Strings that lie in the user's columns are kept by number, and rows are put together when they are read.
TEST(positioned_rows, of_columns) {
  constexpr std::uint64_t n = 200'000;
  fixture f(ir::describe<NamedAt>());
  std::vector<std::string> names;
  std::vector<std::int64_t> numbers;
  for (std::uint64_t i = 0; i < n; ++i) {
    names.push_back("a name of some length " + std::to_string(i));
    numbers.push_back(static_cast<std::int64_t>(i));
  }
  const auto schema = planner::column_schema::of_fields(ir::describe<NamedAt>(), {});
  f.vertex.limit = n - 10;
  const auto rows = f.rows(&schema, n, n, 1);
  {
    cpu::positioned_rows::writer to(*rows, 0);
    std::vector<std::uint32_t> select;
    std::vector<std::uint64_t> at;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t k = i * 7919 % n;
      select.push_back(static_cast<std::uint32_t>(k));
      at.push_back(n - 1 - k);
    }
    const cpu::column columns[] = {{names.data(), sizeof(std::string), schema.columns[0].offset, sizeof(std::string), select.data()},
                                   {numbers.data(), 8, schema.columns[1].offset, 8, select.data()}};
    to.append(columns, n, at.data(), false);
    to.finish();
  }
  rows->finish();
  const auto all = f.all<NamedAt>(rows);
  ASSERT_EQ(all.size(), n - 10);
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i].number, static_cast<std::int64_t>(n - 1 - i));
    ASSERT_EQ(all[i].name, names[n - 1 - i]);
  }
  EXPECT_LE(f.pool.peak(), memory);
}

// The numbers are not stored, as positions say where they lie.
TEST(positioned_rows, of_columns_that_lie_at_positions) {
  constexpr std::uint64_t n = 300'000;
  fixture f(ir::describe<NamedAt>());
  std::vector<std::string> names;
  std::vector<std::int64_t> numbers;
  for (std::uint64_t i = 0; i < n; ++i) {
    names.push_back("a name " + std::to_string(i));
    numbers.push_back(static_cast<std::int64_t>(i) * 3);
  }
  const auto schema = planner::column_schema::of_fields(ir::describe<NamedAt>(), {});
  const cpu::column stored{names.data(), sizeof(std::string), schema.columns[0].offset, sizeof(std::string)};
  const cpu::column lies{numbers.data(), 8, schema.columns[1].offset, 8};
  const auto rows = f.rows(&schema, n, n, 1, {{}, lies});
  {
    cpu::positioned_rows::writer to(*rows, 0);
    std::vector<std::uint32_t> select;
    std::vector<std::uint64_t> at;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t k = i * 7919 % n;
      if (k % 3 == 0) continue;  // of some positions there is no row
      select.push_back(static_cast<std::uint32_t>(n - 1 - k));
      at.push_back(k);
    }
    cpu::column columns[] = {stored, {}};
    columns[0].select = select.data();
    to.append(columns, select.size(), at.data(), false);
    to.finish();
  }
  rows->finish();
  const auto all = f.all<NamedAt>(rows);
  ASSERT_EQ(all.size(), n / 3 * 2);
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    const std::uint64_t position = i / 2 * 3 + i % 2 + 1;
    ASSERT_EQ(all[i].number, static_cast<std::int64_t>(position) * 3);
    ASSERT_EQ(all[i].name, names[n - 1 - position]);
  }
  EXPECT_LE(f.pool.peak(), memory);
}

}  // namespace
}  // namespace query::tests
