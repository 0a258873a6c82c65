// join_where beside nested loops.
#include <atomic>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"
#include "conformance/expect_message.hpp"
#include "conformance/rows.hpp"

namespace conformance::where_join {

struct met { std::int32_t left, right; };  // by id
QUERY_RECORD(met, left, right);
struct span {
  std::int32_t id;
  std::int16_t kind;
  std::int64_t begin, end;
  double weight;
  std::optional<std::int64_t> until;
  std::string name;
};
QUERY_RECORD(span, id, kind, begin, end, weight, until, name);
struct moment { std::int32_t id; std::int32_t kind; std::int64_t time; float value; std::uint8_t small; std::string name; };
QUERY_RECORD(moment, id, kind, time, value, small, name);

const auto ids = [](const auto& l, const auto& r) { return query::make<met>(l.id, r.id); };

template <class L, class R, class C> std::vector<met> expected(const std::vector<L>& left, const std::vector<R>& right, const C& holds) {
  std::vector<met> all;
  for (const L& l : left)
    for (const R& r : right)
      if (holds(l, r)) all.push_back({l.id, r.id});
  return all;
}

constexpr std::int64_t low = std::numeric_limits<std::int64_t>::min(), high = std::numeric_limits<std::int64_t>::max();

// Ends that come before beginnings, equal ones, the ends of the type, NaNs, zeros of either sign, names that differ after 8 characters.
std::vector<span> spans(std::size_t n, int values) {
  std::mt19937_64 random(seed() + n);
  std::vector<span> rows;
  const double odd[] = {0.0, -0.0, std::nan(""), -std::nan(""), std::numeric_limits<double>::infinity(), -1.5, 2.25};
  for (std::size_t i = 0; i < n; ++i) {
    const auto any = [&] { return static_cast<std::int64_t>(random() % static_cast<unsigned>(values)) - values / 2; };
    span s{static_cast<std::int32_t>(i), static_cast<std::int16_t>(any() % 4), any(), any(), static_cast<double>(any()), {}, {}};
    if (random() % 4) s.end = s.begin + any() / 4;
    if (random() % 16 == 0) s.begin = random() % 2 ? low : high;
    if (random() % 16 == 0) s.end = random() % 2 ? low : high;
    if (random() % 3 == 0) s.weight = odd[random() % std::size(odd)];
    if (random() % 3) s.until = any();
    const char* const names[] = {"", "a", "prefixed", "prefixed, one", "prefixed, two", "\xff", "prefix"};
    s.name = names[random() % std::size(names)];
    if (random() % 32 == 0) s.name.push_back('\0');
    rows.push_back(std::move(s));
  }
  return rows;
}
std::vector<moment> moments(std::size_t n, int values) {
  std::vector<moment> rows;
  for (const span& s : spans(n, values))
    rows.push_back({s.id, s.kind, s.begin, static_cast<float>(s.weight), static_cast<std::uint8_t>(s.end), s.name});
  return rows;
}

struct sides { std::string name; std::vector<moment> left; std::vector<span> right; };
const std::vector<sides>& both() {
  static const std::vector<sides> all = {
      {"nothing", {}, {}},
      {"no left rows", {}, spans(40, 10)},
      {"no right rows", moments(40, 10), {}},
      {"one and one", moments(1, 10), spans(1, 10)},
      {"one left row", moments(1, 10), spans(300, 40)},
      {"few values", moments(300, 8), spans(350, 8)},
      {"all equal", moments(100, 1), spans(90, 1)},
      {"many values", moments(1100, 1000), spans(700, 1000)},
  };
  return all;
}

template <class C> void conforms(const engine_config& e, const sides& s, const C& condition) {
  EXPECT_ROWS(source(e, s.left).join_where(source(e, s.right), condition, ids).to_vector(), expected(s.left, s.right, condition));
}

CONFORMS(join_where, one_inequality, "join_where") {
  for (const sides& s : both()) {
    SCOPED_TRACE(s.name);
    conforms(e, s, [](const auto& l, const auto& r) { return l.time < r.begin; });
    conforms(e, s, [](const auto& l, const auto& r) { return r.begin <= l.time; });
    conforms(e, s, [](const auto& l, const auto& r) { return l.time > r.end; });
    conforms(e, s, [](const auto& l, const auto& r) { return r.end >= l.time; });
    // Of different types, and computed.
    conforms(e, s, [](const auto& l, const auto& r) { return l.value < r.weight; });
    conforms(e, s, [](const auto& l, const auto& r) { return l.value >= r.weight; });
    conforms(e, s, [](const auto& l, const auto& r) { return r.kind > l.small; });
    conforms(e, s, [](const auto& l, const auto& r) { return -l.kind * 2 <= r.kind + 1; });
    conforms(e, s, [](const auto& l, const auto& r) { return l.name < r.name; });
    conforms(e, s, [](const auto& l, const auto& r) { return l.name >= r.name; });
  }
}

CONFORMS(join_where, two_inequalities, "join_where") {
  for (const sides& s : both()) {
    SCOPED_TRACE(s.name);
    conforms(e, s, [](const auto& l, const auto& r) { return r.begin <= l.time && l.time < r.end; });
    conforms(e, s, [](const auto& l, const auto& r) { return l.small < r.end && l.time > r.end; });
    conforms(e, s, [](const auto& l, const auto& r) { return l.value < r.weight && r.end <= l.time; });
    conforms(e, s, [](const auto& l, const auto& r) { return l.name > r.name && l.value > r.weight && l.time != r.begin; });
    conforms(e, s, [](const auto& l, const auto& r) { return r.begin < l.time && r.weight < l.kind && r.kind >= l.kind; });
    // Written as tests.
    conforms(e, s, [](const auto& l, const auto& r) {
      if (l.time < r.begin) return false;
      return l.time <= r.end;
    });
    conforms(e, s, [](const auto& l, const auto& r) {
      if (l.kind != r.kind) return false;
      if (l.value < r.weight) return false;
      if (l.small == 3) return false;
      return !(l.time > r.end);
    });
  }
}

CONFORMS(join_where, equality_and_inequalities, "join_where") {
  for (const sides& s : both()) {
    SCOPED_TRACE(s.name);
    conforms(e, s, [](const auto& l, const auto& r) { return l.kind == r.kind; });
    conforms(e, s, [](const auto& l, const auto& r) { return l.kind == r.kind && r.begin <= l.time && l.time < r.end; });
    conforms(e, s, [](const auto& l, const auto& r) { return l.name == r.name && l.value == r.weight && l.time > r.begin; });
    conforms(e, s, [](const auto& l, const auto& r) { return r.kind == l.kind && r.begin < l.time && l.value < r.weight; });
  }
}

// Parts of the condition that find no candidates, of one side or both.
CONFORMS(join_where, further_conditions, "join_where") {
  for (const sides& s : both()) {
    SCOPED_TRACE(s.name);
    conforms(e, s, [](const auto& l, const auto& r) { return l.kind != 0 && r.begin < l.time && (l.kind == r.kind || l.value > 0); });
    conforms(e, s, [](const auto& l, const auto& r) { return l.time > r.end && r.weight > 0 && l.id != r.id; });
    conforms(e, s, [](const auto& l, const auto& r) { return l.id + r.id > 40 && l.kind < r.kind; });
    conforms(e, s, [](const auto& l, const auto& r) { return l.time < r.begin || l.kind == r.kind; });
    conforms(e, s, [](const auto& l, const auto& r) { return !(l.value < r.weight); });
    conforms(e, s, [](const auto& l, const auto&) { return l.kind > 0; });
    conforms(e, s, [](const auto&, const auto& r) { return r.kind > 0; });
    // Divisions that a test before them makes safe.
    conforms(e, s, [](const auto& l, const auto& r) { return l.kind != 0 && 12 / l.kind > r.kind; });
  }
}

CONFORMS(join_where, nulls, "join_where") {
  for (const sides& s : both()) {
    SCOPED_TRACE(s.name);
    conforms(e, s, [](const auto& l, const auto& r) { return r.until > l.time; });
    conforms(e, s, [](const auto& l, const auto& r) { return r.until < l.time; });  // a null is less than any value
    conforms(e, s, [](const auto& l, const auto& r) { return r.until.has_value() && *r.until < l.time; });
    conforms(e, s, [](const auto& l, const auto& r) { return r.begin < l.time && (!r.until.has_value() || l.time < *r.until); });
    conforms(e, s, [](const auto& l, const auto& r) { return r.until == l.time; });
    conforms(e, s, [](const auto& l, const auto& r) { return l.time < r.until.value_or(3); });
    EXPECT_ROWS(source(e, s.right).join_where(source(e, s.right), [](const auto& l, const auto& r) { return l.until == r.until; }, ids)
                    .to_vector(),
                expected(s.right, s.right, [](const span& l, const span& r) { return l.until == r.until; }));
    EXPECT_ROWS(source(e, s.right).join_where(source(e, s.right), [](const auto& l, const auto& r) { return l.until >= r.until; }, ids)
                    .to_vector(),
                expected(s.right, s.right, [](const span& l, const span& r) { return l.until >= r.until; }));
  }
}

// Functions that name their types are opaque; without a result, pairs.
CONFORMS(join_where, opaque_conditions_and_pairs, "join_where") {
  const auto within = [](const moment& l, const span& r) { return r.begin <= l.time && l.time < r.end; };
  for (const sides& s : both()) {
    SCOPED_TRACE(s.name);
    conforms(e, s, within);
    std::vector<met> got;
    for (const auto& [l, r] : source(e, s.left).join_where(s.right, [](const auto& l, const auto& r) {
           return r.begin <= l.time && l.time < r.end;
         }).to_vector()) {
      EXPECT_EQ(l.name, s.left[static_cast<std::size_t>(l.id)].name);
      EXPECT_EQ(r.name, s.right[static_cast<std::size_t>(r.id)].name);
      got.push_back({l.id, r.id});
    }
    EXPECT_ROWS(got, expected(s.left, s.right, within));
  }
}

// More rows than a part holds on one side, and pairs that come in several pieces.
CONFORMS(join_where, many_rows, "join_where") {
  const std::vector<tick>& rows = many_ticks();
  const std::vector<tick> few(rows.begin(), rows.begin() + 200);
  const auto less = [](const auto& l, const auto& r) { return l.amount < r.amount && l.key == r.key; };
  EXPECT_ROWS(source(e, rows).join_where(source(e, few), less, ids).to_vector(), expected(rows, few, less));
  EXPECT_ROWS(source(e, few).join_where(source(e, rows), less, ids).to_vector(), expected(few, rows, less));
  const auto near = [](const auto& l, const auto& r) { return r.id > l.id - 3 && r.id < l.id + 2 && r.price >= l.price; };
  std::vector<met> wanted;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = i < 2 ? 0 : i - 2; j < std::min(i + 2, rows.size()); ++j)
      if (near(rows[i], rows[j])) wanted.push_back({rows[i].id, rows[j].id});
  EXPECT_ROWS(source(e, rows).join_where(source(e, rows), near, ids).to_vector(), wanted);
  EXPECT_EQ(source(e, rows).join_where(source(e, rows), near, ids).count(), static_cast<std::int64_t>(wanted.size()));
}

struct instant { std::int32_t id; std::int64_t time; std::uint64_t unsigned_time; };
QUERY_RECORD(instant, id, time, unsigned_time);

CONFORMS(join_where, extremes, "join_where") {
  std::vector<instant> rows;
  for (const std::int64_t t : {low, high, low + 1, std::int64_t{0}, high - 1, low, std::int64_t{-1}, high})
    rows.push_back({static_cast<std::int32_t>(rows.size()), t, static_cast<std::uint64_t>(t)});
  const auto conform = [&](const auto& condition) {
    EXPECT_ROWS(source(e, rows).join_where(source(e, rows), condition, ids).to_vector(), expected(rows, rows, condition));
  };
  conform([](const auto& l, const auto& r) { return l.time < r.time; });
  conform([](const auto& l, const auto& r) { return l.time > r.time; });
  conform([](const auto& l, const auto& r) { return l.unsigned_time < r.unsigned_time; });
  conform([](const auto& l, const auto& r) { return l.unsigned_time > r.unsigned_time; });
  conform([](const auto& l, const auto& r) { return l.time <= r.time && l.unsigned_time >= r.unsigned_time; });
  conform([](const auto& l, const auto& r) { return query::cast<double>(l.time) >= query::cast<double>(r.time) && l.id != r.id; });
  const auto captured = [limit = std::int64_t{-1}](const auto& l, const auto& r) { return l.time < r.time && r.time < limit; };
  conform(captured);
}

struct undescribed { int id, time; };

CONFORMS(join_where, rows_that_are_no_records, "join_where") {
  const std::vector<undescribed> rows = {{0, 4}, {1, 2}, {2, 6}};
  EXPECT_ROWS(source(e, rows).join_where(rows, [](const undescribed& l, const undescribed& r) { return l.time < r.time; },
                                         [](const undescribed& l, const undescribed& r) { return l.id * 10 + r.id; }).to_vector(),
              (std::vector<int>{2, 10, 12}));
  const std::vector<std::int64_t> left = {5, -3, 8}, right = {4, 6, -9};
  const auto both_digits = [](auto l, auto r) { return l * 10 + r; };
  EXPECT_ROWS(source(e, left).join_where(right, [](auto l, auto r) { return l > r; }, both_digits).to_vector(),
              (std::vector<std::int64_t>{54, 41, -39, 84, 86, 71}));
}

// Beside other verbs: rows that come once, filters below and above it, a reader that stops early, and one of another join.
CONFORMS(join_where, beside_other_verbs, "join_where") {
  const sides& s = both().back();
  const auto within = [](const auto& l, const auto& r) { return r.begin <= l.time && l.time < r.end; };
  const std::vector<met> wanted = expected(s.left, s.right, within);
  const auto once = query::generate([&s, i = std::size_t{0}]() mutable -> std::optional<moment> {
    return i < s.left.size() ? std::optional(s.left[i++]) : std::nullopt;
  });
  EXPECT_ROWS(on(e, once).join_where(source(e, s.right).reverse().reverse(), within, ids).to_vector(), wanted);
  const auto joined = source(e, s.left).join_where(source(e, s.right), within, ids);
  for (const std::size_t n : {0, 1, 70, 1 << 20}) {
    SCOPED_TRACE(n);
    EXPECT_ROWS(joined.take(static_cast<std::int64_t>(n)).to_vector(),
                std::vector<met>(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(std::min(n, wanted.size()))));
  }
  const auto above = [](const auto& m) { return m.left % 3 == 0 && m.right > 100; };
  EXPECT_ROWS(joined.where(above).to_vector(), [&] {
    std::vector<met> some;
    for (const met& m : wanted)
      if (above(m)) some.push_back(m);
    return some;
  }());
  EXPECT_EQ(joined.count(), static_cast<std::int64_t>(wanted.size()));
  EXPECT_EQ(joined.sum([](const auto& m) { return query::cast<std::int64_t>(m.right); }), [&] {
    std::int64_t sum = 0;
    for (const met& m : wanted) sum += m.right;
    return sum;
  }());
  std::size_t read = 0;
  for (const met& m : joined) {
    EXPECT_EQ(m.left, wanted[read].left);
    EXPECT_EQ(m.right, wanted[read].right);
    if (++read == 100) break;
  }
  EXPECT_EQ(read, std::min<std::size_t>(100, wanted.size()));
  const auto left_id = [](const auto& m) { return m.left; };
  EXPECT_EQ(joined.semi_join(joined.where(above), left_id, left_id).count(), [&] {
    std::vector<char> some(s.left.size());
    for (const met& m : wanted)
      if (above(m)) some[static_cast<std::size_t>(m.left)] = 1;
    std::int64_t n = 0;
    for (const met& m : wanted) n += some[static_cast<std::size_t>(m.left)];
    return n;
  }());
}

// A traced condition leaves out most pairs; an opaque one is asked about all. What either throws arrives.
CONFORMS(join_where, what_functions_throw, "join_where") {
  const sides& s = both()[5];
  const auto q = source(e, s.left);
  EXPECT_ANY_THROW(q.join_where(s.right, [](const moment& l, const span&) -> bool {
    if (l.id == 3) throw std::runtime_error("of the condition");
    return false;
  }).to_vector());
  EXPECT_ANY_THROW(q.join_where(s.right, [](const auto& l, const auto& r) { return l.time < r.begin; },
                                [](const moment& l, const span&) -> int {
                                  if (l.id % 2) throw std::runtime_error("of the result");
                                  return 0;
                                }).to_vector());
}

CONFORMS(join_where, plan, "join_where") {
  const sides& s = both()[5];
  const auto q = source(e, s.left);
  const std::string two = q.join_where(s.right, [](const auto& l, const auto& r) {
    return l.kind == r.kind && r.begin < l.time && l.time < r.end;
  }, ids).explain();
  EXPECT_NE(two.find("right rows sorted by"), std::string::npos) << two;
  EXPECT_NE(two.find("condition: "), std::string::npos) << two;
  const std::string tests = q.join_where(s.right, [](const auto& l, const auto& r) {
    if (l.time < r.begin) return false;
    return !(l.time >= r.end);
  }, ids).explain();
  EXPECT_NE(tests.find("right rows sorted by r.begin, r.end"), std::string::npos) << tests;
  const std::string opaque = q.join_where(s.right, [](const moment& l, const span& r) { return l.time < r.end; }, ids).explain();
  EXPECT_NE(opaque.find("asked about every pair: the condition is opaque"), std::string::npos) << opaque;
  const std::string other = q.join_where(s.right, [](const auto& l, const auto& r) { return l.time != r.end; }, ids).explain();
  EXPECT_NE(other.find("asked about every pair: no part of the condition"), std::string::npos) << other;
}

}  // namespace conformance::where_join
