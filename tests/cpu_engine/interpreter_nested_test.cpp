// Loops, nested computations, bindings, failures, threads.
#include <atomic>
#include <random>
#include <thread>

#include <query/broadcast.hpp>
#include <query/errors.hpp>
#include <query/functions.hpp>

#include "interpreted.hpp"

namespace interpreter_nested_test {

using query::interpreter::binding;
using query::interpreter::collection;
using query::interpreter::program;
using query::interpreter::scratch;
using query::ir::describe;
using query::ir::node;
using query::ir::op;
using query::testing::expect_same;
using query::testing::interpret;
using query::testing::trace;

struct Leg {
  std::int64_t qty;
  double price;
  bool operator==(const Leg&) const = default;
};
QUERY_RECORD(Leg, qty, price);

struct Trade {
  std::int64_t id;
  double x, y;
  std::array<float, 8> p;
  std::string s;
  std::vector<Leg> legs;
  std::vector<double> values;
  std::array<std::int32_t, 4> small;
};
QUERY_RECORD(Trade, id, x, y, p, s, legs, values, small);

std::vector<Trade> trades(std::size_t n) {
  std::mt19937_64 g(11);
  std::vector<Trade> all(n);
  for (std::size_t i = 0; i < n; ++i) {
    Trade& t = all[i];
    t.id = static_cast<std::int64_t>(i);
    t.x = static_cast<double>(g() % 400) / 100 - 2;
    t.y = static_cast<double>(g() % 400) / 100 - 2;
    for (float& v : t.p) v = static_cast<float>(g() % 64) / 4;
    for (auto& v : t.small) v = static_cast<std::int32_t>(g() % 9);
    t.s = std::string(g() % 30, 's');
    for (std::size_t k = g() % 7; k > 0; --k) t.legs.push_back({static_cast<std::int64_t>(g() % 9), static_cast<double>(g() % 100)});
    for (std::size_t k = 1 + g() % 4; k > 0; --k) t.values.push_back(static_cast<double>(g() % 50));
  }
  return all;
}
const std::vector<Trade>& rows() {
  static const std::vector<Trade> r = trades(2500);
  return r;
}

TEST(interpreter_loop, runs_each_row_as_long_as_it_needs) {
  expect_same<Trade>([](auto t) {
    using R = query::value_t<int, decltype(t.x)>;
    auto end = query::loop(std::tuple{t.x * 0, t.y * 0, R(0)},
                           [](auto z) { auto [a, b, n] = z; return n < 100 && a * a + b * b < 4; },
                           [&](auto z) { auto [a, b, n] = z; return std::tuple{a * a - b * b + t.x, 2 * a * b + t.y, n + 1}; });
    return std::get<2>(end);
  }, rows());
}

TEST(interpreter_loop, assigns_all_states_at_once) {
  // (a, b) -> (b, a): a swap must not read what it has written.
  expect_same<Trade>([](auto t) {
    auto end = query::loop(std::tuple{t.id, t.id + 1, t.id % 7}, [](auto z) { return std::get<2>(z) > 0; },
                           [](auto z) { auto [a, b, n] = z; return std::tuple{b, a, n - 1}; });
    return std::get<0>(end) * 3 + std::get<1>(end);
  }, rows());
}

TEST(interpreter_loop, nests_and_divides_by_what_only_running_rows_hold) {
  expect_same<Trade>([](auto t) {
    auto end = query::loop(std::tuple{t.id % 50 + 1, t.id % 13, t.id * 0}, [](auto z) { return std::get<1>(z) > 0; },
                           [](auto z) {
                             auto a = std::get<0>(z), b = std::get<1>(z), n = std::get<2>(z);  // clang 14 captures no bindings
                             auto inner = query::loop(std::tuple{b, n}, [](auto w) { return std::get<0>(w) > 3; },
                                                      [&](auto w) { auto [c, m] = w; return std::tuple{c - 2, m + a / b}; });
                             return std::tuple{b, a % b, std::get<1>(inner) + 1};
                           });
    return std::get<0>(end) * 1000 + std::get<2>(end);
  }, rows());
}

TEST(interpreter_loop, without_end_is_an_error_only_where_it_is_chosen) {
  query::ir::arena a;
  const auto* i64 = describe<std::int64_t>();
  const node* row = a.put(op::row, i64);
  const node* state = a.put(op::variable, i64, {}, 0, 2);
  std::uint64_t five = 5, one = 1;
  const node* c5 = a.put(op::literal, i64, {}, five);
  const node* endless =
      a.put(op::loop, i64,
            {row, a.put(op::ne, describe<bool>(), {state, c5}), a.put(op::add, i64, {state, a.put(op::literal, i64, {}, one)})}, 1, 2);
  const node* chosen = a.put(op::select, i64, {a.put(op::lt, describe<bool>(), {row, c5}), endless, row});
  const std::vector<std::int64_t> in{1, -3, 100, 7, 5};
  EXPECT_EQ(interpret<std::int64_t>(chosen, in), (std::vector<std::int64_t>{5, 5, 100, 7, 5}));
  EXPECT_THROW(interpret<std::int64_t>(endless, std::vector<std::int64_t>{100}), query::user_error);
}

TEST(interpreter_nested, runs_over_lists_of_any_length) {
  expect_same<Trade>([](auto t) { return query::sum(t.legs, [](auto l) { return query::cast<double>(l.qty) * l.price; }); }, rows());
  expect_same<Trade>([](auto t) { return query::count(t.legs, [&](auto l) { return l.price > t.x * 25; }); }, rows());
  expect_same<Trade>(
      [](auto t) { return query::any(t.legs, [](auto l) { return l.qty == 3; }) && !query::all(t.values, [](auto v) { return v > 9; }); },
      rows());
  expect_same<Trade>([](auto t) { return query::max(t.values) - query::min(t.values, [](auto v) { return v * 2; }); }, rows());
  expect_same<Trade>([](auto t) { return query::fold(t.legs, t.id, [](auto s, auto l) { return s * 3 + l.qty; }); }, rows());
  expect_same<Trade>([](auto t) { return query::max(t.small); }, rows());
  expect_same<Trade>([](auto t) { return t.values[query::cast<std::size_t>(t.id) % t.values.size()]; }, rows());
  EXPECT_THROW(interpret<double>(trace<Trade>([](auto t) { return query::max(t.legs, [](auto l) { return l.price; }); }).root, rows()),
               query::user_error);
}

TEST(interpreter_nested, checks_positions_in_arrays_of_the_row_and_computed_ones) {
  query::ir::arena a;
  const auto *i64 = describe<std::int64_t>(), *i32 = describe<std::int32_t>(), *array = describe<std::array<std::int32_t, 4>>();
  const node* id = a.put(op::field, i64, {}, offsetof(Trade, id));
  const node* small = a.put(op::field, array, {}, offsetof(Trade, small));
  const node* part = a.put(op::element, i32, {small}, 2);
  const node* computed = a.put(op::make, array, {part, a.put(op::add, i32, {part, part}), part, part});
  const node* position = a.put(op::mod, i64, {id, a.put(op::literal, i64, {}, 4)});
  const auto got = interpret<std::int32_t>(
      a.put(op::add, i32, {a.put(op::index, i32, {small, position}), a.put(op::index, i32, {computed, position})}), rows());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], rows()[i].small[i % 4] + rows()[i].small[2] * (i % 4 == 1 ? 2 : 1));
  EXPECT_THROW(interpret<std::int32_t>(a.put(op::index, i32, {small, id}), rows()), query::user_error);
  EXPECT_THROW(interpret<std::int32_t>(a.put(op::index, i32, {computed, a.put(op::negate, i64, {id})}), rows()), query::user_error);
}

TEST(interpreter_nested, any_stops_before_an_element_that_would_trap) {
  expect_same<Trade>([](auto t) { return query::any(t.legs, [&](auto l) { return l.qty == 0 || (t.id / l.qty) % 3 == 1; }); }, rows());
  expect_same<Trade>([](auto t) -> query::value_t<double, decltype(t.x)> {
    if (t.legs.size() == 0) return -1.0;
    return query::min(t.legs, [](auto l) { return l.price; });
  }, rows());
}

TEST(interpreter_nested, searches_captured_collections) {
  std::vector<std::array<float, 8>> centres(5);
  for (std::size_t c = 0; c < centres.size(); ++c)
    for (float& v : centres[c]) v = static_cast<float>(c * 3);
  const auto captured = query::broadcast(centres);
  const auto nearest = [captured](auto t) { return captured.arg_min(t.p, [](auto p, auto c) { return query::squared_distance(p, c); }); };
  const collection c{captured.handle()->slot, centres.data(), centres.size()};
  expect_same<Trade>(nearest, rows(), {{&c, 1}, {}});
  const auto sum = [captured](auto t) { return captured.sum(t, [](auto u, auto e) { return query::dot(u.p, e); }); };
  expect_same<Trade>(sum, rows(), {{&c, 1}, {}});
  const auto at = [captured](auto t) { return captured[t.id % 5][2] + t.p[0]; };
  const auto got = interpret<float>(trace<Trade>(at).root, rows(), {{&c, 1}, {}});
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], centres[i % 5][2] + rows()[i].p[0]);
  const collection empty{captured.handle()->slot, nullptr, 0};
  EXPECT_EQ(interpret<int>(trace<Trade>(nearest).root, rows(), {{&empty, 1}, {}})[3], -1);
  EXPECT_THROW(interpret<int>(trace<Trade>(nearest).root, rows()), query::internal_error);
}

TEST(interpreter_nested, folds_strings) {
  query::ir::arena a;
  const auto* text = describe<std::string>();
  const node* legs = a.put(op::field, describe<std::vector<Leg>>(), {}, offsetof(Trade, legs));
  const node* s = a.put(op::field, text, {}, offsetof(Trade, s));
  const node* next = a.put(op::add, text, {a.put(op::variable, text, {}, 0, 2), a.put(op::literal, text, {}, 0, 0, ",a long enough part")});
  const auto got = interpret<std::string>(a.put(op::nested, text, {legs, s, next}, 0, 2, "fold"), rows());
  for (std::size_t i = 0; i < got.size(); ++i) {
    std::string want = rows()[i].s;
    for (std::size_t k = 0; k < rows()[i].legs.size(); ++k) want += ",a long enough part";
    ASSERT_EQ(got[i], want);
  }
}

TEST(interpreter_bindings, read_selected_rows_and_rows_by_pointer) {
  const auto t = trace<Trade>([](auto r) { return std::tuple{r.id * 2, r.s + "!", query::dot(r.p, r.p)}; });
  using R = std::tuple<std::int64_t, std::string, float>;
  const program p(t.root);
  scratch s;
  std::vector<std::uint32_t> select;
  std::vector<const void*> pointers;
  for (std::uint32_t i = 0; i < 1300; ++i) {
    select.push_back(2499 - i);
    pointers.push_back(i % 10 ? &rows()[2499 - i] : nullptr);
  }
  for (const bool by_pointer : {false, true}) {
    binding b{rows().data(), sizeof(Trade), {}};
    if (by_pointer) b.pointers = pointers.data();
    else b.select = select.data();
    query::testing::results<R> out(select.size());
    p.run({&b, 1}, {}, select.size(), out.data(), s);
    out.made(select.size());
    for (std::size_t i = 0; i < select.size(); ++i) {
      if (by_pointer && i % 10 == 0) {
        ASSERT_EQ(out[i], (R{0, "!", 0.f}));
        continue;
      }
      const Trade& r = rows()[select[i]];
      ASSERT_EQ(std::get<0>(out[i]), r.id * 2);
      ASSERT_EQ(std::get<1>(out[i]), r.s + "!");
      ASSERT_EQ(std::get<2>(out[i]), query::dot(r.p, r.p));
    }
  }
}

TEST(interpreter_failures, leave_nothing_constructed) {
  // Row 2000 fails after two full batches of strings: LeakSanitizer sees what would be left.
  const auto t = trace<Trade>([](auto r) { return std::tuple{r.s + " with enough characters for the heap", 100 / (2000 - r.id)}; });
  using R = std::tuple<std::string, std::int64_t>;
  const program p(t.root);
  scratch s;
  query::testing::results<R> out(rows().size());
  const binding b{rows().data(), sizeof(Trade), {}};
  EXPECT_THROW(p.run({&b, 1}, {}, rows().size(), out.data(), s), query::user_error);
  p.run({&b, 1}, {}, 2000, out.data(), s);  // the scratch is as good as new
  out.made(2000);
  EXPECT_EQ(std::get<1>(out[1999]), 100);
}

TEST(interpreter_failures, name_unknown_functions) {
  query::ir::arena a;
  const node* n = a.put(op::call, describe<double>(), {a.put(op::row, describe<double>())}, 0, 0, "gamma_ray");
  try {
    program p(n);
    FAIL();
  } catch (const query::user_error& e) {
    EXPECT_NE(std::string(e.what()).find("gamma_ray(f64)"), std::string::npos) << e.what();
  }
}

TEST(interpreter_threads, share_a_program_with_a_scratch_each) {
  const auto t = trace<Trade>([](auto r) { return query::sum(r.legs, [](auto l) { return query::cast<double>(l.qty) * l.price; }) + r.x; });
  const program p(t.root);
  const auto want = interpret<double>(t.root, rows());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&] {
      scratch s;
      std::vector<double> out(rows().size());
      const binding b{rows().data(), sizeof(Trade), {}};
      for (int i = 0; i < 5; ++i) {
        p.run({&b, 1}, {}, rows().size(), out.data(), s);
        wrong += out != want;
      }
    });
  for (auto& t2 : threads) t2.join();
  EXPECT_EQ(wrong, 0);
}

TEST(interpreter_scratch, serves_several_programs_in_turn) {
  const auto x = trace<Trade>([](auto r) { return r.x * 2; }), y = trace<Trade>([](auto r) { return r.y + 5 - r.x; });
  const program p(x.root), q(y.root);
  scratch s;
  const binding b{rows().data(), sizeof(Trade), {}};
  std::vector<double> out(rows().size());
  for (int i = 0; i < 3; ++i) {
    p.run({&b, 1}, {}, rows().size(), out.data(), s);
    EXPECT_EQ(out[77], rows()[77].x * 2);
    q.run({&b, 1}, {}, rows().size(), out.data(), s);
    EXPECT_EQ(out[2077], rows()[2077].y + 5 - rows()[2077].x);
  }
}

}  // namespace interpreter_nested_test
