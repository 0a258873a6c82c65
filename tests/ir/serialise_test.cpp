// Trees and types to bytes and back; malformed bytes.
#include <algorithm>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include <ir/serialise.hpp>
#include <ir/visit.hpp>
#include <query/detail/traced_row.hpp>
#include <query/functions.hpp>

namespace serialise_test {

using query::ir::arena;
using query::ir::describe;
using query::ir::node;
using query::ir::op;
using query::ir::type;
using query::ir::type_registry;

enum class Side : std::uint8_t { buy, sell };
struct Point {
  float x, y;
};
QUERY_RECORD(Point, x, y);
struct Trade {
  std::int32_t symbol;
  double price;
  Side side;
  Point at;
  std::array<Point, 3> w;
};
QUERY_RECORD(Trade, symbol, price, side, at, w);
struct Named {
  std::string name;
  std::optional<double> fee;
};
QUERY_RECORD(Named, name, fee);

template <class T, class F> query::ir::traced trace(const F& f) {
  return query::ir::run_trace(
      [&] { return query::detail::to_node(f(query::detail::make_twin<T>(query::detail::row_node(describe<T>(), 0)))); });
}

TEST(serialise, keeps_text_shape_and_sharing) {
  const auto t = trace<Trade>([](auto r) {
    auto x = query::sqrt(r.price) * r.at.x;
    for (int i = 0; i < 20; ++i) x = x + x;
    if (r.symbol == 3) return query::make<Point>(x, r.w[1].y);
    return query::make<Point>(r.at.x, 1.5f);
  });
  ASSERT_TRUE(t) << t.reason;
  const auto bytes = serialise(t.root);
  EXPECT_LT(bytes.size(), 4000u);
  arena a;
  type_registry types;
  const node* back = deserialise(bytes, a, types);
  EXPECT_EQ(show(back), show(t.root));
  EXPECT_EQ(back->shape, t.root->shape);
  int nodes = 0, before = 0;
  query::ir::each_node(back, [&](const node*) { ++nodes; });
  query::ir::each_node(t.root, [&](const node*) { ++before; });
  EXPECT_EQ(nodes, before);
}

TEST(serialise, rebuilds_types_by_layout) {
  type_registry types;
  const type* t = deserialise_type(query::ir::serialise(describe<Trade>()), types);
  EXPECT_TRUE(same_layout(*t, *describe<Trade>()));
  EXPECT_NE(t, describe<Trade>());
  EXPECT_EQ(t->fields()[0].of, describe<std::int32_t>());
  EXPECT_TRUE(t->fields()[2].of->is_enum);
  EXPECT_EQ(deserialise_type(query::ir::serialise(describe<Trade>()), types), t);
  EXPECT_EQ(deserialise_type(query::ir::serialise(describe<std::optional<double>>()), types), describe<std::optional<double>>());
  EXPECT_EQ(deserialise_type(query::ir::serialise(describe<std::vector<std::string>>()), types), describe<std::vector<std::string>>());
  EXPECT_EQ(deserialise_type(query::ir::serialise(describe<char>()), types), describe<char>());
  EXPECT_EQ(deserialise_type(query::ir::serialise(describe<std::optional<std::int8_t>>()), types), describe<std::optional<std::int8_t>>());
}

TEST(serialise, asks_the_program_for_types_with_a_life_of_their_own) {
  const auto bytes = query::ir::serialise(describe<Named>());
  type_registry types;
  EXPECT_THROW(deserialise_type(bytes, types), std::runtime_error);
  const auto known = [](std::string_view name, std::size_t) -> const type* { return name == "Named" ? describe<Named>() : nullptr; };
  EXPECT_EQ(deserialise_type(bytes, types, known), describe<Named>());
  const auto other = [](std::string_view, std::size_t) -> const type* { return describe<Trade>(); };
  EXPECT_THROW(deserialise_type(bytes, types, other), std::runtime_error);
}

TEST(serialise, carries_strings_optionals_loops_and_nested) {
  const auto t = trace<Named>([](auto r) {
    auto halved = query::loop(r.fee.value_or(9.0), [](auto p) { return p > 1; }, [](auto p) { return p / 2; });
    return std::tuple{r.name + std::string("a\0b", 3), halved, r.fee};
  });
  ASSERT_TRUE(t) << t.reason;
  arena a;
  type_registry types;
  const auto known = [](std::string_view name, std::size_t size) -> const type* {
    using R = std::tuple<std::string, double, std::optional<double>>;
    return name == "Named" ? describe<Named>() : name == "tuple" && size == sizeof(R) ? describe<R>() : nullptr;
  };
  const node* back = deserialise(serialise(t.root), a, types, known);
  EXPECT_EQ(show(back), show(t.root));
  EXPECT_EQ(back->type, t.root->type);
}

TEST(serialise, refuses_every_cut_and_survives_every_flipped_byte) {
  const auto t = trace<Trade>([](auto r) { return query::make<Point>(r.at.x * 2, r.w[2].y); });
  const auto bytes = serialise(t.root);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    arena a;
    type_registry types;
    EXPECT_THROW(deserialise({bytes.data(), n}, a, types), std::runtime_error) << n;
  }
  std::mt19937_64 g(5);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    auto bad = bytes;
    for (std::uint64_t k = 1 + g() % 3; k > 0; --k) bad[g() % bad.size()] = static_cast<std::byte>(g() % 4 ? g() : 0xff);
    arena a;
    type_registry types;
    try {
      const node* n = deserialise(bad, a, types);
      EXPECT_FALSE(show(n).empty());
    } catch (const std::runtime_error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  auto longer = bytes;
  longer.push_back(std::byte{0});
  arena a;
  type_registry types;
  EXPECT_THROW(deserialise(longer, a, types), std::runtime_error);
}

}  // namespace serialise_test
