// Keys of two sides whose types differ.
#include <limits>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"

namespace conformance {
namespace {

struct narrow {
  std::int32_t id;
  std::string name;
  std::optional<std::int16_t> lot;
  std::uint32_t bits;
};
QUERY_RECORD(narrow, id, name, lot, bits);
struct wide {
  std::int64_t id;
  std::string name;
  std::optional<std::int64_t> lot;
  std::uint64_t bits;
};
QUERY_RECORD(wide, id, name, lot, bits);
struct short_key {
  std::int32_t id;
  std::string name;
};
QUERY_RECORD(short_key, id, name);
struct long_key {
  std::int64_t id;
  std::string name;
};
QUERY_RECORD(long_key, id, name);

constexpr std::uint32_t most32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t most64 = std::numeric_limits<std::uint64_t>::max();
const std::vector<narrow> left{{1, "a", 5, 1}, {-1, "b", std::nullopt, most32}, {3, "c", 7, 3}, {3, "c", 7, 3}};
const std::vector<wide> right{{1, "a", 5, 1}, {-1, "b", std::nullopt, most64}, {3, "c", 8, 3}, {4294967297, "a", 5, 1}, {3, "x", 7, 9}};

// Pairs of numbers of rows that match, by a loop.
template <class L, class R, class Same> std::int64_t pairs(const L& l, const R& r, Same same) {
  std::int64_t n = 0;
  for (const auto& a : l)
    for (const auto& b : r) n += same(a, b);
  return n;
}

CONFORMS(join_key_types, parts_meet_in_their_common_type, "join", "semi_join", "group_join") {
  const auto l = source(e, left);
  const auto r = source(e, right);
  const auto id_and_name = pairs(left, right, [](auto& a, auto& b) { return a.id == b.id && a.name == b.name; });
  EXPECT_EQ(id_and_name, 4);
  const auto tuple = [](auto x) { return std::tuple(x.id, x.name); };
  const auto pair = [](auto x) { return std::pair(x.id, x.name); };
  EXPECT_EQ(l.join(r, tuple, tuple).count(), id_and_name);
  EXPECT_EQ(r.join(l, tuple, tuple).count(), id_and_name);
  EXPECT_EQ(l.join(r, pair, pair).count(), id_and_name);
  EXPECT_EQ(l.join(r, tuple, pair).count(), id_and_name);
  EXPECT_EQ(l.join(
                 r, [](auto x) { return query::make<short_key>(x.id, x.name); }, [](auto x) { return query::make<long_key>(x.id, x.name); })
                .count(),
            id_and_name);
  EXPECT_EQ(l.semi_join(r, tuple, tuple).count(), 4);
  EXPECT_EQ(l.group_join(r, tuple, tuple, [](auto, auto m) { return query::cast<std::int64_t>(m.size()); }).sum(), id_and_name);
  const auto named = [](const auto& x) { return std::tuple(x.id, x.name); };
  EXPECT_EQ(l.join(
                 r, [&](const narrow& x) { return named(x); }, [&](const wide& x) { return named(x); })
                .count(),
            id_and_name);
}

CONFORMS(join_key_types, arrays_and_nested_parts, "join", "anti_join") {
  const auto l = source(e, left);
  const auto r = source(e, right);
  EXPECT_EQ(l.join(
                 r,
                 [](auto x) {
                   return std::array{x.id, x.id};
                 },
                 [](auto x) {
                   return std::array{x.id, x.id};
                 })
                .count(),
            pairs(left, right, [](auto& a, auto& b) { return a.id == b.id; }));
  const auto nested = [](auto x) { return std::tuple(std::pair(x.id, x.name), x.id); };
  EXPECT_EQ(l.join(r, nested, nested).count(), 4);
  EXPECT_EQ(l.anti_join(r, nested, nested).count(), 0);
}

// A null part matches nothing.
CONFORMS(join_key_types, optional_parts, "join", "left_join") {
  const auto l = source(e, left);
  const auto r = source(e, right);
  const auto key = [](auto x) { return std::tuple(x.lot, x.name); };
  const auto matches = pairs(left, right, [](auto& a, auto& b) { return a.lot && b.lot && *a.lot == *b.lot && a.name == b.name; });
  EXPECT_EQ(matches, 2);
  EXPECT_EQ(l.join(r, key, key).count(), matches);
  EXPECT_EQ(l.left_join(r, key, key).count(), 5);
  EXPECT_EQ(l.join(
                 r, [](auto x) { return std::tuple(x.id, x.name); }, [](auto x) { return std::tuple(x.lot, x.name); })
                .count(),
            pairs(left, right, [](auto& a, auto& b) { return b.lot && a.id == *b.lot && a.name == b.name; }));
}

// A negative number equals no unsigned one, though C++ makes the same bits of them.
CONFORMS(join_key_types, signed_and_unsigned, "join", "left_join", "right_join", "full_join", "semi_join", "anti_join") {
  const auto l = source(e, left);
  const auto r = source(e, right);
  const auto id = [](auto x) { return x.id; };
  const auto bits = [](auto x) { return x.bits; };
  const auto equal = [](auto a, auto b) { return std::cmp_equal(a, b); };
  const auto bits_of_right = pairs(left, right, [&](auto& a, auto& b) { return equal(a.id, b.bits); });
  EXPECT_EQ(bits_of_right, 4);
  EXPECT_EQ(l.join(r, id, bits).count(), bits_of_right);
  EXPECT_EQ(r.join(l, bits, id).count(), bits_of_right);
  EXPECT_EQ(r.join(r, id, bits).count(), pairs(right, right, [&](auto& a, auto& b) { return equal(a.id, b.bits); }));
  EXPECT_EQ(l.join(l, id, bits).count(), pairs(left, left, [&](auto& a, auto& b) { return equal(a.id, b.bits); }));
  EXPECT_EQ(l.left_join(r, id, bits).count(), bits_of_right + 1);
  EXPECT_EQ(r.right_join(r, id, bits).count(), pairs(right, right, [&](auto& a, auto& b) { return equal(a.id, b.bits); }) + 2);
  EXPECT_EQ(l.full_join(r, id, bits).count(), bits_of_right + 1 + 2);
  EXPECT_EQ(l.semi_join(r, id, bits).count(), 3);
  EXPECT_EQ(l.anti_join(r, id, bits).count(), 1);
  const auto both = [](auto x) { return std::tuple(x.bits, x.name); };
  EXPECT_EQ(l.join(
                 r, [](auto x) { return std::tuple(x.id, x.name); }, both)
                .count(),
            pairs(left, right, [&](auto& a, auto& b) { return equal(a.id, b.bits) && a.name == b.name; }));
  EXPECT_EQ(l.join(
                 r, [](const narrow& x) { return std::optional(x.id); }, bits)
                .count(),
            bits_of_right);
}

CONFORMS(join_key_types, integers_and_floats, "join") {
  const std::vector<std::int32_t> whole{16777217, 16777216, 2};
  const std::vector<float> parts{16777216.0f, 2.0f, 2.5f};
  const auto itself = [](auto x) { return x; };
  EXPECT_EQ(source(e, whole).join(source(e, parts), itself, itself).count(), 2);  // a float has no 16777217, and a double has
}

}  // namespace
}  // namespace conformance
