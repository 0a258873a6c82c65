// Rows that are equal, though their bits differ: the first to appear stands for them, behind verbs that arrange rows, too.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

using zeros = std::vector<double>;

// 0.0, -0.0, 1.0, 0.0, -0.0... of a few and of many rows.
std::vector<zeros> all_zeros() {
  std::vector<zeros> sets = {{0.0, -0.0}, {-0.0, 0.0}, {1, 0.0, -0.0, 0.0, 1}};
  zeros many(50'001);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = i % 3 == 0 ? static_cast<double>(i % 4) : i % 3 == 1 ? -0.0 : 0.0;
  sets.push_back(many);
  return sets;
}
zeros reversed(zeros v) {
  std::reverse(v.begin(), v.end());
  return v;
}
zeros firsts(const zeros& v) {
  zeros r;
  for (const double x : v)
    if (std::find(r.begin(), r.end(), x) == r.end()) r.push_back(x);
  return r;
}
// Bits in an order of their own.
std::vector<std::uint64_t> bits(const zeros& v) {
  std::vector<std::uint64_t> r;
  for (const double x : v) r.push_back(std::bit_cast<std::uint64_t>(x));
  std::sort(r.begin(), r.end());
  return r;
}
#define EXPECT_BITS(got, wanted) EXPECT_EQ(bits(got), bits(wanted))

CONFORMS(equal_rows, the_first_stays_behind_reverse, "distinct", "reverse", "union_with", "intersect", "except") {
  for (const zeros& v : all_zeros()) {
    const auto q = source(e, v).reverse();
    const zeros wanted = firsts(reversed(v));
    EXPECT_BITS(q.distinct().to_vector(), wanted);
    EXPECT_BITS(q.union_with(source(e, zeros{5})).to_vector(), [&] { zeros w = wanted; w.push_back(5); return w; }());
    EXPECT_BITS(source(e, zeros{5}).union_with(q).to_vector(), [&] { zeros w = wanted; w.push_back(5); return w; }());
    EXPECT_BITS(q.intersect(source(e, v)).to_vector(), wanted);
    EXPECT_BITS(q.except(source(e, zeros{5})).to_vector(), wanted);
    // What is only looked up may come in any order.
    EXPECT_BITS(source(e, v).intersect(q).to_vector(), firsts(v));
  }
}

CONFORMS(equal_rows, the_first_stays_behind_sorts, "distinct", "order_by", "union_with") {
  using row = std::tuple<std::int32_t, double>;
  std::vector<row> rows;
  for (std::int32_t i = 0; i < 1000; ++i) rows.emplace_back(0, i % 2 ? 0.0 : -0.0);
  const zeros v = {0.0, -0.0};  // 1 / -0.0 is less
  const auto sorted = source(e, v).order_by([](auto x) { return 1 / x; });
  EXPECT_BITS(sorted.distinct().to_vector(), zeros{-0.0});
  EXPECT_BITS(sorted.union_with(source(e, zeros{1})).to_vector(), (zeros{-0.0, 1}));
  EXPECT_BITS(source(e, v).order_by_descending([](auto x) { return 1 / x; }).distinct().to_vector(), zeros{0.0});
  // Inside of records.
  const auto first = source(e, rows).reverse().distinct().first();
  EXPECT_FALSE(std::signbit(std::get<1>(first)));
}

// The key of a group is the key of its first row. (The GPU packs keys, and has one zero.)
CONFORMS(equal_rows, the_first_is_the_key_of_its_group, "group_by", "group_by.select", "count_by", "reverse") {
  if (e.accelerate) return;
  for (const zeros& v : all_zeros()) {
    const auto itself = [](auto x) { return x; };
    const auto q = source(e, v).reverse();
    EXPECT_BITS(q.group_by(itself).keys().to_vector(), firsts(reversed(v)));
    const auto counted = q.group_by(itself).select([](auto g) { return std::pair(g.key(), g.count()); });
    EXPECT_BITS(counted.select([](auto p) { return p.first; }).to_vector(), firsts(reversed(v)));
  }
}

CONFORMS(equal_rows, stay_in_windows_and_beside_each_other, "over", "group_by.top", "join_where", "slice", "shuffle") {
  const auto itself = [](auto x) { return x; };
  for (const zeros& v : all_zeros()) {
    const auto q = source(e, v).reverse();
    const zeros wanted = firsts(reversed(v));
    EXPECT_BITS(q.over(itself).take(1).to_vector(), wanted);
    EXPECT_BITS(q.group_by(itself).top(1, [](auto) { return 1; }).to_vector(), wanted);
    EXPECT_BITS(q.slice(1, -1).distinct().to_vector(), firsts(v.size() < 3 ? zeros() : zeros(v.rbegin() + 1, v.rend() - 1)));
    EXPECT_BITS(q.shuffle(5).distinct().to_vector(), firsts(q.shuffle(5).to_vector()));
    zeros of_first;
    for (const double x : reversed(v)) of_first.push_back(*std::find(wanted.begin(), wanted.end(), x));
    EXPECT_BITS(q.over(itself).select([=](auto, auto w) { return w.first(itself); }).to_vector(), of_first);
  }
  const zeros v = {0.0, -0.0, 1};
  const auto pairs = source(e, v).join_where(v, [](auto a, auto b) { return a == b; }, [](auto, auto b) { return b; });
  EXPECT_BITS(pairs.to_vector(), (zeros{0.0, -0.0, 0.0, -0.0, 1}));
}

// Rows with a number of their own: which one of equal keys is given is seen by it. Keys are zeros of both signs, NaNs of either sign and
// with several payloads, and other numbers.
struct marked {
  std::int32_t id;
  double key;
};
QUERY_RECORD(marked, id, key);

double key_number(std::uint64_t i) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const std::array<double, 10> all = {0.0, -0.0, nan, -nan, std::bit_cast<double>(0x7ff8'0000'0000'1234u), 1, -1, inf, -inf, 5e-324};
  return i % 16 < all.size() ? all[i % 16] : static_cast<double>(i % 3001);
}
std::vector<marked> marked_rows(std::int32_t from, std::size_t n) {
  std::vector<marked> all;
  for (std::size_t i = 0; i < n; ++i)
    all.push_back({from + static_cast<std::int32_t>(i), key_number((i + static_cast<std::uint64_t>(from)) * 0x9e3779b97f4a7c15u >> 40)});
  return all;
}
std::vector<marked> reversed(std::vector<marked> v) {
  std::reverse(v.begin(), v.end());
  return v;
}
std::vector<marked> joined(std::vector<marked> a, const std::vector<marked>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The numbers of the rows that are the first of their key.
template <class F> std::map<std::string, std::int32_t> firsts_of(const std::vector<marked>& rows, F key) {
  std::map<std::string, std::int32_t> r;
  for (const marked& m : rows) r.emplace(key_text(key(m)), m.id);
  return r;
}
template <class Rows> std::vector<std::int32_t> ids_of(const Rows& rows) {
  std::vector<std::int32_t> r;
  for (const auto& m : rows) {
    if constexpr (requires { m.id; }) r.push_back(m.id);
    else if constexpr (requires { m.second; }) r.push_back(m.second);
    else r.push_back(m);
  }
  std::sort(r.begin(), r.end());
  return r;
}

// Each verb that gives one row a key, of rows as they are, sorted, in reverse and concatenated. `key`: `native` as the library gets it,
// traced or not.
template <class F, class Key> void check_firsts(const engine_config& e, const char* name, F native, Key key) {
  SCOPED_TRACE(name);
  for (const std::size_t n : {std::size_t{12}, std::size_t{500}, std::size_t{20'000}}) {
    SCOPED_TRACE(n);
    const auto left = marked_rows(0, n), right = marked_rows(1'000'000, n);
    const std::vector<marked> few(right.begin(), right.begin() + 3);
    const auto in_few = firsts_of(few, native);
    const auto check = [&](const query::Query<marked>& q, const std::vector<marked>& rows) {
      const auto firsts = firsts_of(rows, native);
      const auto kept = [&](bool there) {
        auto r = firsts;
        std::erase_if(r, [&](const auto& k) { return in_few.contains(k.first) != there; });
        return ids_of(r);
      };
      EXPECT_EQ(ids_of(q.distinct_by(key).to_vector()), ids_of(firsts));
      EXPECT_EQ(ids_of(q.union_with_by(source(e, right), key).to_vector()), ids_of(firsts_of(joined(rows, right), native)));
      EXPECT_EQ(ids_of(source(e, right).union_with_by(q, key).to_vector()), ids_of(firsts_of(joined(right, rows), native)));
      EXPECT_EQ(ids_of(q.intersect_by(source(e, few), key).to_vector()), kept(true));
      EXPECT_EQ(ids_of(q.except_by(source(e, few), key).to_vector()), kept(false));
      EXPECT_EQ(ids_of(q.except_by(std::vector<marked>(), key).to_vector()), ids_of(firsts));
      EXPECT_EQ(ids_of(q.group_by(key).select([](auto g) { return g.first([](auto m) { return m.id; }); }).to_vector()), ids_of(firsts));
      EXPECT_EQ(ids_of(q.group_by(key).top(1, [](auto) { return 1; }).to_vector()), ids_of(firsts));
    };
    check(source(e, left), left);
    {
      SCOPED_TRACE("behind reverse");
      check(source(e, left).reverse(), reversed(left));
    }
    {
      SCOPED_TRACE("behind a sort");
      auto sorted = left;
      std::stable_sort(sorted.begin(), sorted.end(), [](const marked& a, const marked& b) { return a.id % 7 > b.id % 7; });
      check(source(e, left).order_by_descending([](auto m) { return m.id % 7; }), sorted);
    }
    {
      SCOPED_TRACE("behind concat");
      check(source(e, few).concat(source(e, left)), joined(few, left));
    }
  }
}

CONFORMS(equal_rows, the_first_of_its_key_is_given, "distinct_by", "union_with_by", "intersect_by", "except_by", "group_by",
         "group_by.top") {
  const auto key = [](const auto& m) { return m.key; };
  check_firsts(e, "double", key, key);
  check_firsts(e, "opaque", key, query::opaque(key));
  check_firsts(e, "float", [](const marked& m) { return static_cast<float>(m.key); }, [](auto m) { return query::cast<float>(m.key); });
}

CONFORMS(equal_rows, the_first_of_its_composed_key_is_given, "distinct_by", "union_with_by", "intersect_by", "except_by", "group_by",
         "group_by.top") {
  const auto with_number = [](auto m) { return std::pair(m.key, m.id % 3); };
  const auto both = [](const marked& m) { return std::array<double, 2>{m.key, 1.0}; };
  const auto some = [](const marked& m) { return m.id % 5 ? std::optional(m.key) : std::nullopt; };
  check_firsts(e, "pair", with_number, with_number);
  check_firsts(e, "array", both, both);
  check_firsts(e, "optional", some, some);
}

// With the user's equality the first to appear is given, too, though its hash tells nothing of zeros or NaNs.
CONFORMS(equal_rows, the_first_by_the_users_equality_is_given, "distinct", "distinct_by", "union_with", "union_with_by", "intersect",
         "intersect_by", "except", "except_by") {
  const auto left = marked_rows(0, 3000), right = marked_rows(1'000'000, 3000);
  const std::vector<marked> few(right.begin(), right.begin() + 3);
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  const auto hash = [](double a) { return static_cast<std::size_t>(a == 1 ? 1 : 2); };
  const auto same_rows = [=](const marked& a, const marked& b) { return same(a.key, b.key); };
  const auto hash_of_row = [=](const marked& m) { return hash(m.key); };
  const auto key = [](const marked& m) { return m.key; };
  const auto in_few = firsts_of(few, key);
  const auto check = [&](const query::Query<marked>& q, const std::vector<marked>& rows) {
    auto kept = firsts_of(rows, key), left_out = kept;
    const std::vector<std::int32_t> firsts = ids_of(kept), of_both = ids_of(firsts_of(joined(rows, right), key));
    std::erase_if(kept, [&](const auto& k) { return !in_few.contains(k.first); });
    std::erase_if(left_out, [&](const auto& k) { return in_few.contains(k.first); });
    EXPECT_EQ(ids_of(q.distinct(same_rows, hash_of_row).to_vector()), firsts);
    EXPECT_EQ(ids_of(q.distinct_by(key, same, hash).to_vector()), firsts);
    EXPECT_EQ(ids_of(q.union_with(source(e, right), same_rows, hash_of_row).to_vector()), of_both);
    EXPECT_EQ(ids_of(q.union_with_by(source(e, right), key, same, hash).to_vector()), of_both);
    EXPECT_EQ(ids_of(q.intersect(source(e, few), same_rows, hash_of_row).to_vector()), ids_of(kept));
    EXPECT_EQ(ids_of(q.intersect_by(source(e, few), key, same, hash).to_vector()), ids_of(kept));
    EXPECT_EQ(ids_of(q.except(source(e, few), same_rows, hash_of_row).to_vector()), ids_of(left_out));
    EXPECT_EQ(ids_of(q.except_by(source(e, few), key, same, hash).to_vector()), ids_of(left_out));
  };
  check(source(e, left), left);
  check(source(e, left).reverse(), reversed(left));
}

// Of plain numbers, the bits of the first NaN to appear stay, as those of the first zero do.
CONFORMS(equal_rows, the_first_nan_stays, "distinct", "union_with", "intersect", "except", "distinct_by") {
  zeros v;
  for (const marked& m : marked_rows(0, 5000)) v.push_back(m.key);
  const auto firsts_in = [](const zeros& of) {
    std::map<std::string, double> first;
    for (const double x : of) first.emplace(key_text(x), x);
    zeros r;
    for (const auto& [key, x] : first) r.push_back(x);
    return r;
  };
  const auto check = [&](const query::Query<double>& q, const zeros& rows) {
    const zeros wanted = firsts_in(rows);
    EXPECT_BITS(q.distinct().to_vector(), wanted);
    EXPECT_BITS(q.distinct_by([](auto x) { return x; }).to_vector(), wanted);
    EXPECT_BITS(q.union_with(source(e, v)).to_vector(), wanted);
    EXPECT_BITS(q.intersect(source(e, v)).to_vector(), wanted);
    EXPECT_BITS(q.except(source(e, zeros{1e300})).to_vector(), wanted);
  };
  check(source(e, v), v);
  check(source(e, v).reverse(), reversed(v));
}

}  // namespace
}  // namespace conformance
