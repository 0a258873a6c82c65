// Joins in partitions where many rows have one key: those that probe are spread over all partitions, and what they look up goes to each.
// Other engines do nothing else for such keys; joins_test.cpp has them.
#include <functional>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "runtime/session_state.hpp"

namespace conformance {
namespace {

struct asked {
  std::int32_t id;
  std::int64_t key;
  std::optional<std::int32_t> maybe;
  std::string name;
};
QUERY_RECORD(asked, id, key, maybe, name);
struct told {
  std::int64_t key;
  std::optional<std::int32_t> maybe;
  std::string name;
  std::int32_t number;
};
QUERY_RECORD(told, key, maybe, name, number);
struct pairing {
  std::optional<std::int32_t> id, number;
};
QUERY_RECORD(pairing, id, number);

// Key number 0 is null where keys may be.
using numbers = std::function<std::int64_t(std::int32_t)>;
std::vector<asked> askers(std::int32_t n, const numbers& key) {
  std::vector<asked> all;
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int64_t k = key(i);
    all.push_back({i, k, k ? std::optional(static_cast<std::int32_t>(k)) : std::nullopt,
                   "a key that no buffer within a string holds " + std::to_string(k)});
  }
  return all;
}
std::vector<told> tellers(std::int32_t n, const numbers& key) {
  std::vector<told> all;
  for (const asked& a : askers(n, key)) all.push_back({a.key, a.maybe, a.name, a.id});
  return all;
}

const numbers all_equal = [](std::int32_t) { return 7; };
const numbers two_heavy = [](std::int32_t i) { return i % 5 < 2 ? 3 : i % 5 < 4 ? 0 : i; };
const numbers in_runs = [](std::int32_t i) { return i < 300 ? 11 : i; };  // the heavy key's rows lie side by side
const numbers zipf = [](std::int32_t i) {
  std::int64_t k = 0;
  for (std::int32_t rest = i * 7919 % 1009; rest > 0; rest = rest * 3 / 5 - 1) ++k;
  return k;
};
const numbers even = [](std::int32_t i) { return i % 61; };

struct sides {
  const char* name;
  std::vector<asked> left;
  std::vector<told> right;
};
std::vector<sides> cases() {
  return {{"all keys equal", askers(600, all_equal), tellers(9, all_equal)},
          {"the heavy key has no match", askers(600, all_equal), tellers(40, [](std::int32_t i) { return i + 10; })},
          {"two heavy keys, one of them null", askers(700, two_heavy), tellers(60, even)},
          {"a heavy key in a run", askers(500, in_runs), tellers(100, even)},
          {"zipf", askers(900, zipf), tellers(50, zipf)},
          {"a key that is heavy in the hash table alone", askers(500, even), tellers(150, all_equal)},
          {"a key that is heavy on both sides", askers(400, two_heavy), tellers(60, two_heavy)}};
}

template <class F, class G> void check_joins(const engine_config& e, F f, G native) {
  for (const sides& s : cases()) {
    SCOPED_TRACE(s.name);
    const auto found = matches(s.left, s.right, native, native);
    const auto back = matches(s.right, s.left, native, native);
    std::vector<pairing> inner, left, right, full;
    std::vector<asked> semi, anti;
    for (std::size_t i = 0; i < s.left.size(); ++i) {
      const asked& l = s.left[i];
      for (const told& m : found[i]) inner.push_back({l.id, m.number});
      for (const told& m : found[i]) left.push_back({l.id, m.number});
      if (found[i].empty()) left.push_back({l.id, std::nullopt});
      (found[i].empty() ? anti : semi).push_back(l);
    }
    right = inner;
    full = left;
    for (std::size_t i = 0; i < s.right.size(); ++i)
      if (back[i].empty()) {
        right.push_back({std::nullopt, s.right[i].number});
        full.push_back({std::nullopt, s.right[i].number});
      }
    // The planner does not know how many rows are left behind a filter.
    const auto a = source(e, s.left).where([](auto x) { return x.id >= 0; });
    const auto b = source(e, s.right).where([](auto x) { return x.number >= 0; });
    const auto both = a.join(b, f, f, [](auto x, auto y) { return query::make<pairing>(x.id, y.number); });
    EXPECT_SAME_ROWS(both.to_vector(), inner);
    EXPECT_EQ(both.count(), inner.size());
    EXPECT_SAME_ROWS(b.join(a, f, f, [](auto y, auto x) { return query::make<pairing>(x.id, y.number); }).to_vector(), inner);
    const auto or_null = [](const asked& x, const std::optional<told>& y) {
      return pairing{x.id, y ? std::optional(y->number) : std::nullopt};
    };
    EXPECT_SAME_ROWS(a.left_join(b, f, f, or_null).to_vector(), left);
    EXPECT_ROWS(a.left_join(b, f, f, or_null).as_ordered().to_vector(), left);
    EXPECT_SAME_ROWS(a.right_join(b, f, f, [](const std::optional<asked>& x, const told& y) {
      return pairing{x ? std::optional(x->id) : std::nullopt, y.number};
    }).to_vector(), right);
    EXPECT_SAME_ROWS(a.full_join(b, f, f, [](const std::optional<asked>& x, const std::optional<told>& y) {
      return pairing{x ? std::optional(x->id) : std::nullopt, y ? std::optional(y->number) : std::nullopt};
    }).to_vector(), full);
    EXPECT_SAME_ROWS(a.semi_join(b, f, f).to_vector(), semi);
    EXPECT_SAME_ROWS(a.anti_join(b, f, f).to_vector(), anti);
    // A later verb that wants rows of a key together has them so.
    const auto sizes = both.group_by([](auto p) { return p.number; }).select([](auto g) {
      return query::make<pairing>(g.key(), query::cast<std::int32_t>(g.count()));
    });
    std::vector<pairing> groups;
    for (const auto& [number, rows] : grouped(inner, [](const pairing& p) { return p.number; }))
      groups.push_back({number, static_cast<std::int32_t>(rows.size())});
    EXPECT_SAME_ROWS(sizes.to_vector(), groups);
  }
}

CONFORMS(skewed_joins, by_number, "join", "left_join", "right_join", "full_join", "semi_join", "anti_join") {
  if (!in_partitions(e)) return;
  check_joins(e, [](auto x) { return x.key; }, [](const auto& x) { return x.key; });
}
CONFORMS(skewed_joins, by_nullable_number, "join", "left_join", "right_join", "full_join", "semi_join", "anti_join") {
  if (!in_partitions(e)) return;
  check_joins(e, [](auto x) { return x.maybe; }, [](const auto& x) { return x.maybe; });
}
CONFORMS(skewed_joins, by_string, "join", "left_join", "right_join", "full_join", "semi_join", "anti_join") {
  if (!in_partitions(e)) return;
  check_joins(e, [](auto x) { return x.name; }, [](const auto& x) { return x.name; });
}

CONFORMS(skewed_joins, plans_say_what_was_spread, "join") {
  if (!in_partitions(e)) return;
  const auto key = [](auto x) { return x.key; };
  const auto rows = askers(600, all_equal);
  const auto others = tellers(40, all_equal);
  const auto q = source(e, rows).where([](auto x) { return x.id >= 0; }).join(source(e, others).where([](auto x) { return x.number >= 0; }),
                                                                              key, key, [](auto x, auto y) { return x.id + y.number; });
  (void)q.count();
  const std::string plan = q.explain();
  EXPECT_NE(plan.find("40 rows went by hash, as those that probe them; 1 heavy key spread, with about 100% of those that probe"),
            std::string::npos) << plan;
  EXPECT_NE(q.explain_json().find("; 1 heavy key spread"), std::string::npos);
}

}  // namespace
}  // namespace conformance
