// Device functions by number: equal ones are one while one of them lives, and expressions keep those that they call.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <set>

#include <ir/analysis.hpp>
#include <ir/device_function.hpp>
#include <ir/visit.hpp>
#include <query/query.hpp>

namespace device_function_test {

using query::device_form;
using query::device_function;
using query::detail::call_site;
using query::detail::hold_device_function;
using query::ir::describe;
using query::ir::device_function_of;
using query::ir::node;
using query::ir::op;
using query::ir::traced;

struct Fill {
  std::int32_t symbol;
  double price;
};
QUERY_RECORD(Fill, symbol, price);

constexpr const char* source = "extern \"C\" __device__ double price_of(const Fill* f) { return f->price; }";
double price_of(const Fill& f) { return f.price; }

// What the plan of group_by(symbol).select(f) has of f.
template <class F> traced trace_of_groups(const F& f) {
  const auto pipe = query::from(std::vector<Fill>{}).group_by([](auto t) { return t.symbol; }).select(f).to_pipe();
  return pipe.node->functions.back().trace();
}

std::vector<const node*> calls_in(const node* root) {
  std::vector<const node*> found;
  query::ir::each_node(root, [&](const node* n) {
    if (n->what == op::call && n->bits != 0) found.push_back(n);
  });
  return found;
}

node call_of(std::uint64_t id) {
  node n;
  n.what = op::call;
  n.type = describe<double>();
  n.bits = id;
  n.text = "price_of";
  return n;
}

const auto made_inside = [](auto g) { return g.sum(query::accelerated(price_of, {.symbol = "price_of", .code = source})); };

TEST(device_function, made_inside_a_traced_function_leaves_it_pure) {
  const traced t = trace_of_groups(made_inside);
  ASSERT_TRUE(t) << t.reason;
  const auto calls = calls_in(t.root);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(device_function_of(calls[0])->function.code, source);
}

TEST(device_function, made_inside_at_two_places_is_two) {
  const auto here = [] { return query::accelerated(price_of, {.symbol = "price_of", .code = source}); };
  const auto there = [] { return query::accelerated(price_of, {.symbol = "price_of", .code = source}); };
  const traced one = trace_of_groups([&](auto g) { return std::make_pair(g.sum(here()), g.max(here())); });
  const traced two = trace_of_groups([&](auto g) { return std::make_pair(g.sum(here()), g.max(there())); });
  ASSERT_TRUE(one) << one.reason;
  ASSERT_TRUE(two) << two.reason;
  EXPECT_EQ(calls_in(one.root).size(), 1u);
  EXPECT_EQ(calls_in(two.root).size(), 2u);
}

TEST(device_function, of_a_changing_text_is_not_pure) {
  int times = 0;
  const traced t = trace_of_groups(
      [&times](auto g) { return g.sum(query::accelerated(price_of, {.symbol = "price_of", .code = source + std::to_string(++times)})); });
  EXPECT_FALSE(t);
  EXPECT_NE(t.reason.find("not pure"), std::string::npos) << t.reason;
}

TEST(device_function, lives_as_long_as_an_expression_that_calls_it) {
  query::ir::arena other;
  node call;
  {
    traced t = trace_of_groups(made_inside);
    ASSERT_TRUE(t) << t.reason;
    call = *calls_in(t.root).at(0);
    // The call moves to another place: over the first field of a pair of rows.
    const node* row = other.put(op::row, describe<Fill>(), {}, 0, 1);
    const node* moved = query::ir::substitute(other, &call, std::array{row});
    t = {};
    ASSERT_EQ(calls_in(moved).size(), 1u);
    EXPECT_EQ(moved->kids.at(0)->id, 1u);
    EXPECT_EQ(device_function_of(moved)->function.code, source);
  }
  const std::uint64_t id = call.bits;
  EXPECT_TRUE(query::ir::living_device_function(call_of(id)));
  traced alone;
  {
    const auto held = hold_device_function({.symbol = "price_of", .code = source}, {"elsewhere", 1});
    const query::ir::type* rows[] = {describe<Fill>()};
    alone = query::detail::device_call(*held, describe<double>(), rows);
  }
  EXPECT_NE(alone.root->bits, id);
  EXPECT_EQ(device_function_of(alone.root)->where.line, 1);
}

TEST(device_function, equal_in_all_but_one_thing_is_another) {
  const device_function f{.symbol = "f", .code = "code"};
  const call_site here{"a.cpp", 1};
  std::vector<std::shared_ptr<const query::detail::held_device_function>> all;
  const auto add = [&](device_function d, call_site at) { all.push_back(hold_device_function(std::move(d), at)); };
  const auto changed = [&](auto change) {
    device_function d = f;
    change(d);
    add(d, here);
  };
  add(f, here);
  add(f, {"a.cpp", 2});
  add(f, {"b.cpp", 1});
  changed([](auto& d) { d.symbol = "g"; });
  changed([](auto& d) { d.code = "edoc"; });
  changed([](auto& d) { d.code = std::string("code\0", 5); });
  changed([](auto& d) { d.form = device_form::ptx; });
  changed([](auto& d) { d.declares_records = true; });
  changed([](auto& d) { d.row.size = 8; });
  changed([](auto& d) { d.result.size = 8; });
  changed([](auto& d) { d.row.fields = {{"price", 8}}; });
  changed([](auto& d) { d.row.fields = {{"price", 16}}; });
  changed([](auto& d) { d.row.fields = {{"qty", 8}}; });
  changed([](auto& d) { d.row.fields = {{"price", 8}, {"qty", 16}}; });
  changed([](auto& d) { d.result.fields = {{"price", 8}}; });
  std::set<std::uint64_t> ids;
  for (const auto& d : all) ids.insert(d->id);
  EXPECT_EQ(ids.size(), all.size());

  const std::string file = "a.cpp";  // the same place by another address, as another translation unit has it
  EXPECT_EQ(hold_device_function(f, {file.c_str(), 1})->id, all.front()->id);
  const auto last = all.back()->function;
  EXPECT_EQ(hold_device_function(last, here), all.back());
  for (const auto& d : all) EXPECT_EQ(device_function_of(std::array{call_of(d->id)}.data()), d);
}

TEST(device_function, read_from_a_file_is_what_the_file_held) {
  const std::string path = testing::TempDir() + "query_device_function_test.ptx";
  const auto read = [&](const char* text) {
    std::ofstream(path, std::ios::binary) << text;
    return hold_device_function({.symbol = "f", .form = device_form::ptx, .file = path}, {"a.cpp", 1});
  };
  const auto one = read("one"), same = read("one"), two = read("two");
  std::remove(path.c_str());
  EXPECT_EQ(one, same);
  EXPECT_NE(one->id, two->id);
  EXPECT_EQ(two->function.code, "two");
  EXPECT_EQ(hold_device_function({.symbol = "f", .form = device_form::ptx, .code = "two"}, {"a.cpp", 1}), two);
}

// The number names the device's function: host functions of one place that captured other values keep their own results.
TEST(device_function, does_not_name_the_host_function) {
  const auto make = [](double k) {
    return query::accelerated([k](const Fill& f) { return f.price * k; }, {.symbol = "f", .code = "code"});
  };
  const auto two = make(2), three = make(3);
  EXPECT_EQ(two.device(), three.device());
  EXPECT_EQ(two(Fill{1, 1.5}), 3);
  EXPECT_EQ(three(Fill{1, 1.5}), 4.5);
}

TEST(device_function, given_up_and_made_again_has_a_number_of_its_own) {
  const auto make = [](const char* code) { return hold_device_function({.symbol = "f", .code = code}, {"a.cpp", 1}); };
  std::set<std::uint64_t> ids;
  std::uint64_t last = 0;
  for (int round = 0; round < 3; ++round)
    for (const char* code : {"one", "two"}) {
      const auto d = make(code);
      EXPECT_EQ(make(code), d);
      EXPECT_EQ(d->function.code, code);
      ids.insert(last = d->id);
    }
  EXPECT_EQ(ids.size(), 6u);
  const node gone = call_of(last);
  EXPECT_FALSE(query::ir::living_device_function(gone));
  EXPECT_THROW((void)device_function_of(&gone), query::internal_error);
  query::ir::arena a;
  EXPECT_EQ(a.put(node(gone))->bits, last);  // as an expression of another process has it
}

}  // namespace device_function_test
