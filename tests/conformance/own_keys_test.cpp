// Keyed verbs by an equality and a hash of the user's: the same references as for the library's own, over folded keys.
#include <atomic>
#include <cctype>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

// Texts that differ in case only are equal; so are numbers with the same remainder. All NaNs are equal, nulls are too.
std::string lower(std::string s) {
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}
std::int64_t rest(std::int64_t x) { return std::abs(x % 7); }

struct same_text {
  bool operator()(const std::string& a, const std::string& b) const { return lower(a) == lower(b); }
  bool operator()(const std::optional<std::string>& a, const std::optional<std::string>& b) const {
    return a && b ? lower(*a) == lower(*b) : !a && !b;
  }
};
struct text_hash {
  std::size_t operator()(const std::string& a) const {  // collides a lot
    std::size_t sum = a.size();
    for (const char c : lower(a)) sum += static_cast<unsigned char>(c);
    return sum % 61;
  }
  std::size_t operator()(const std::optional<std::string>& a) const { return a ? (*this)(*a) : 77u; }
};
struct same_rest {
  bool operator()(std::int64_t a, std::int64_t b) const { return rest(a) == rest(b); }
};
struct rest_hash {
  std::size_t operator()(std::int64_t a) const { return static_cast<std::size_t>(rest(a)); }
};
// Whole numbers below a price, NaN for NaN.
double floor_of(double x) { return std::isnan(x) ? x : std::floor(x / 4); }
struct same_floor {
  bool operator()(double a, double b) const { return std::isnan(a) ? std::isnan(b) : floor_of(a) == floor_of(b); }
};
struct floor_hash {
  std::size_t operator()(double a) const {
    return std::isnan(a) || std::isinf(a) || std::abs(a) > 1e9 ? 1u : static_cast<std::size_t>(static_cast<std::int64_t>(floor_of(a)));
  }
};

const auto name_of = [](const trade& t) { return t.name; };
const auto note_of = [](const trade& t) { return t.note; };
const auto amount_of = [](const trade& t) { return t.amount; };
const auto price_of = [](const trade& t) { return t.price; };
// What a key is compared by, as a key of the library's.
const auto folded_note = [](const trade& t) { return t.note ? std::optional(lower(*t.note)) : std::nullopt; };
const auto folded_rest = [](const trade& t) { return rest(t.amount); };

template <class Key, class Folded, class Equal, class Hash>
void check_groups(const engine_config& e, const char* what, Key key, Folded folded, Equal equal, Hash hash) {
  SCOPED_TRACE(what);
  using K = std::decay_t<decltype(key(std::declval<const trade&>()))>;
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<std::tuple<K, std::int64_t>> counts;
    std::vector<std::tuple<K, std::int64_t>> sums;
    for (const auto& [k, rows] : grouped(d.rows, folded)) {
      std::int64_t ids = 0;
      for (const trade& t : rows) ids += t.id;
      counts.emplace_back(key(rows.front()), std::ssize(rows));
      sums.emplace_back(key(rows.front()), ids);
    }
    const auto q = source(e, d.rows);
    EXPECT_ROWS(q.group_by(key, equal, hash).count().as_ordered().to_vector(), counts);
    EXPECT_ROWS(q.count_by(key, equal, hash).as_ordered().to_vector(), counts);
    const auto add = [](std::int64_t s, const trade& t) { return s + t.id; };
    const auto plus = [](std::int64_t a, std::int64_t b) { return a + b; };
    EXPECT_ROWS(q.aggregate_by(key, std::int64_t{0}, add, plus, equal, hash).as_ordered().to_vector(), sums);
    EXPECT_ROWS(q.distinct_by(key, equal, hash).as_ordered().to_vector(), first_of_each(d.rows, folded));
    EXPECT_ROWS(q.select(key).distinct(equal, hash).as_ordered().to_vector(), selected(first_of_each(d.rows, folded), key));
  }
}

CONFORMS(own_keys, groups_and_distinct_rows, "group_by", "count_by", "aggregate_by", "distinct", "distinct_by") {
  check_groups(e, "text", name_of, [](const trade& t) { return lower(t.name); }, same_text{}, text_hash{});
  check_groups(e, "nulls", note_of, folded_note, same_text{}, text_hash{});
  check_groups(e, "number", amount_of, folded_rest, same_rest{}, rest_hash{});
  check_groups(e, "NaN", price_of, [](const trade& t) { return floor_of(t.price); }, same_floor{}, floor_hash{});
}

CONFORMS(own_keys, many_rows, "count_by", "distinct_by", "semi_join") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto key = [](const tick& t) { return t.amount; };
    const auto folded = [](const tick& t) { return rest(t.amount); };
    const auto first = first_of_each(d.rows, folded);
    EXPECT_ROWS(source(e, d.rows).distinct_by(key, same_rest{}, rest_hash{}).as_ordered().to_vector(), first);
    EXPECT_EQ(source(e, d.rows).count_by(key, same_rest{}, rest_hash{}).count(), std::ssize(first));
    // Hardly two keys are equal: groups by partitions.
    const auto near = [](std::int32_t a, std::int32_t b) { return a / 2 == b / 2; };
    const auto half = [](std::int32_t a) { return static_cast<std::size_t>(a / 2); };
    const auto id = [](const tick& t) { return t.id; };
    EXPECT_EQ(source(e, d.rows).count_by(id, near, half).count(), (std::ssize(d.rows) + 1) / 2);
    EXPECT_EQ(source(e, d.rows).semi_join(source(e, first), key, key, same_rest{}, rest_hash{}).count(), std::ssize(d.rows));
  }
}

struct pairing {
  std::optional<std::int32_t> id;
  std::optional<std::int64_t> factor;
};
QUERY_RECORD(pairing, id, factor);

template <class LF, class RF, class LFolded, class RFolded, class Equal, class Hash>
void check_joins(const engine_config& e, const char* what, LF lf, RF rf, LFolded lfolded, RFolded rfolded, Equal equal, Hash hash) {
  SCOPED_TRACE(what);
  for (std::size_t a_set = 0; a_set < trades().size(); ++a_set)
    for (const std::size_t b_set : {a_set % rates().size(), (a_set + 2) % rates().size()}) {
      const auto& l = trades()[a_set];
      const auto& r = rates()[b_set];
      SCOPED_TRACE(l.name + ", " + r.name);
      const auto found = matches(l.rows, r.rows, lfolded, rfolded);
      const auto back = matches(r.rows, l.rows, rfolded, lfolded);
      std::vector<pairing> inner, left, lonely;
      std::vector<trade> with, without;
      std::vector<std::pair<std::int32_t, std::int64_t>> sums;
      for (std::size_t i = 0; i < l.rows.size(); ++i) {
        std::int64_t sum = 0;
        for (const rate& x : found[i]) inner.push_back({l.rows[i].id, x.factor}), sum += x.factor;
        for (const rate& x : found[i]) left.push_back({l.rows[i].id, x.factor});
        if (found[i].empty()) left.push_back({l.rows[i].id, std::nullopt});
        (found[i].empty() ? without : with).push_back(l.rows[i]);
        sums.emplace_back(l.rows[i].id, sum);
      }
      for (std::size_t i = 0; i < r.rows.size(); ++i)
        if (back[i].empty()) lonely.push_back({std::nullopt, r.rows[i].factor});
      std::vector<pairing> right = inner, full = left;
      right.insert(right.end(), lonely.begin(), lonely.end());
      full.insert(full.end(), lonely.begin(), lonely.end());

      const auto a = source(e, l.rows);
      const auto b = source(e, r.rows);
      EXPECT_SAME_ROWS(a.join(
                            b, lf, rf,
                            [](const trade& t, const rate& x) {
                              return pairing{t.id, x.factor};
                            },
                            equal, hash)
                           .to_vector(),
                       inner);
      EXPECT_EQ(a.join(b, lf, rf, equal, hash).count(), std::ssize(inner));
      EXPECT_SAME_ROWS(a.left_join(b, lf, rf, [](const trade& t, const std::optional<rate>& x) {
                          return pairing{t.id, x ? std::optional(x->factor) : std::nullopt};
                        }, equal, hash).to_vector(), left);
      EXPECT_SAME_ROWS(a.right_join(b, lf, rf, [](const std::optional<trade>& t, const rate& x) {
                          return pairing{t ? std::optional(t->id) : std::nullopt, x.factor};
                        }, equal, hash).to_vector(), right);
      EXPECT_SAME_ROWS(a.full_join(b, lf, rf, [](const std::optional<trade>& t, const std::optional<rate>& x) {
                          return pairing{t ? std::optional(t->id) : std::nullopt, x ? std::optional(x->factor) : std::nullopt};
                        }, equal, hash).to_vector(), full);
      EXPECT_EQ(a.left_join(b, lf, rf, equal, hash).count(), std::ssize(left));
      EXPECT_EQ(a.right_join(b, lf, rf, equal, hash).count(), std::ssize(right));
      EXPECT_EQ(a.full_join(b, lf, rf, equal, hash).count(), std::ssize(full));
      EXPECT_ROWS(a.semi_join(b, lf, rf, equal, hash).as_ordered().to_vector(), with);
      EXPECT_ROWS(a.anti_join(b, lf, rf, equal, hash).as_ordered().to_vector(), without);
      EXPECT_ROWS(a.group_join(b, lf, rf, [](const trade& t, const std::vector<rate>& x) {
                     std::int64_t sum = 0;
                     for (const rate& y : x) sum += y.factor;
                     return std::pair(t.id, sum);
                   }, equal, hash).to_vector(), sums);
    }
}

CONFORMS(own_keys, joins, "join", "left_join", "right_join", "full_join", "semi_join", "anti_join", "group_join") {
  check_joins(e, "text", name_of, [](const rate& r) { return r.name; }, [](const trade& t) { return lower(t.name); },
              [](const rate& r) { return lower(r.name); }, same_text{}, text_hash{});
  check_joins(e, "number", [](const trade& t) { return std::int64_t{t.key}; }, [](const rate& r) { return r.factor; },
              [](const trade& t) { return rest(t.key); }, [](const rate& r) { return rest(r.factor); }, same_rest{}, rest_hash{});
}

CONFORMS(own_keys, joins_never_show_a_null_to_the_functions, "join", "full_join", "group_join") {
  static std::atomic<int> nulls;
  nulls = 0;
  const auto equal = [](const std::optional<std::int32_t>& a, const std::optional<std::int32_t>& b) {
    nulls += !a || !b;
    return a && b ? *a % 3 == *b % 3 : true;  // would match every null with everything
  };
  const auto hash = [](const std::optional<std::int32_t>& a) {
    nulls += !a;
    return a ? static_cast<std::size_t>(std::abs(*a % 3)) : 0u;
  };
  const auto fold = [](const std::optional<std::int32_t>& x) { return x ? std::optional(*x % 3) : std::nullopt; };
  check_joins(
      e, "lot", [](const trade& t) { return t.lot; }, [](const rate& r) { return r.lot; }, [&](const trade& t) { return fold(t.lot); },
      [&](const rate& r) { return fold(r.lot); }, equal, [hash](const std::optional<std::int32_t>& a) { return hash(a); });
  EXPECT_EQ(nulls, 0);
}

template <class Key, class Folded, class Equal, class Hash>
void check_sets(const engine_config& e, const char* what, Key key, Folded folded, Equal equal, Hash hash) {
  SCOPED_TRACE(what);
  for (std::size_t i = 0; i < trades().size(); ++i)
    for (const std::size_t j : {i, (i + 1) % trades().size(), std::size_t{0}}) {
      const auto &x = trades()[i], &y = trades()[j];
      SCOPED_TRACE(x.name + ", " + y.name);
      std::unordered_set<std::string> others;
      for (const trade& t : y.rows) others.insert(key_text(folded(t)));
      const auto known = [&](const trade& t) { return others.contains(key_text(folded(t))); };
      std::vector<trade> all = x.rows;
      all.insert(all.end(), y.rows.begin(), y.rows.end());
      const auto both = first_of_each(kept(x.rows, known), folded);
      const auto only = first_of_each(kept(x.rows, [&](const trade& t) { return !known(t); }), folded);
      const auto a = source(e, x.rows), b = source(e, y.rows);
      EXPECT_ROWS(a.union_with_by(b, key, equal, hash).as_ordered().to_vector(), first_of_each(all, folded));
      EXPECT_ROWS(a.intersect_by(b, key, equal, hash).as_ordered().to_vector(), both);
      EXPECT_ROWS(a.except_by(b, key, equal, hash).as_ordered().to_vector(), only);
      EXPECT_ROWS(a.select(key).union_with(b.select(key), equal, hash).as_ordered().to_vector(), selected(first_of_each(all, folded), key));
      EXPECT_ROWS(a.select(key).intersect(b.select(key), equal, hash).as_ordered().to_vector(), selected(both, key));
      EXPECT_ROWS(a.select(key).except(b.select(key), equal, hash).as_ordered().to_vector(), selected(only, key));
    }
}

CONFORMS(own_keys, sets, "union_with", "union_with_by", "intersect", "intersect_by", "except", "except_by") {
  check_sets(e, "nulls", note_of, folded_note, same_text{}, text_hash{});
  check_sets(e, "number", amount_of, folded_rest, same_rest{}, rest_hash{});
}

CONFORMS(own_keys, lookups_and_maps, "to_lookup", "to_map") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto lookup = source(e, d.rows).to_lookup(note_of, same_text{}, text_hash{});
    const auto groups = grouped(d.rows, folded_note);
    ASSERT_EQ(lookup.size(), groups.size());
    std::size_t i = 0;
    for (const auto& g : lookup) EXPECT_ROWS(g.rows(), groups[i++].second);
    for (const auto& [k, rows] : groups) {
      EXPECT_TRUE(lookup.contains(k));
      EXPECT_ROWS(lookup[k], rows);
      if (k) {
        std::string upper = *k;
        for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        EXPECT_ROWS(lookup[upper], rows);
      }
    }
    EXPECT_FALSE(lookup.contains("no such note"));
    EXPECT_TRUE(lookup["no such note"].empty());

    const auto first = first_of_each(d.rows, folded_note);
    const auto map = source(e, first).to_map(note_of, [](const trade& t) { return t.id; }, same_text{}, text_hash{});
    ASSERT_EQ(map.size(), first.size());
    i = 0;
    for (const auto& [k, id] : map) EXPECT_EQ(id, first[i++].id);
    for (const trade& t : first) EXPECT_EQ(map.at(folded_note(t)), t.id);
    EXPECT_FALSE(map.contains("no such note"));
    const auto whole = source(e, first).to_map(note_of, same_text{}, text_hash{});
    for (const trade& t : first) EXPECT_EQ(whole.at(folded_note(t)).id, t.id);
    if (first.size() != d.rows.size()) {
      EXPECT_THROW(source(e, d.rows).to_map(note_of, same_text{}, text_hash{}), query::user_error);
    }
  }
}

CONFORMS(own_keys, contains_and_sequence_equal, "contains", "sequence_equal") {
  const std::vector<std::string> rows = {"One", "two", "THREE"}, same = {"oNE", "TWO", "three"}, shorter = {"one", "two"},
                                 other = {"one", "two", "four"};
  const auto q = source(e, rows);
  EXPECT_TRUE(q.contains("ONE", same_text{}));
  EXPECT_TRUE(q.contains("three", same_text{}));
  EXPECT_FALSE(q.contains("four", same_text{}));
  EXPECT_FALSE(q.contains("one"));
  EXPECT_TRUE(q.sequence_equal(source(e, same), same_text{}));
  EXPECT_TRUE(q.sequence_equal(same, same_text{}));
  EXPECT_FALSE(q.sequence_equal(source(e, same)));
  for (const auto& x : {shorter, other}) {
    EXPECT_FALSE(q.sequence_equal(source(e, x), same_text{}));
    EXPECT_FALSE(q.sequence_equal(x, same_text{}));
  }
  const std::vector<std::string> none;
  EXPECT_TRUE(source(e, none).sequence_equal(none, same_text{}));
  EXPECT_FALSE(source(e, none).contains("one", same_text{}));
}

// A key that nobody has described.
struct version {
  int major = 0, minor = 0;
};
const auto same_major = [](const version& a, const version& b) { return a.major == b.major; };
const auto major_hash = [](const version& a) { return static_cast<std::size_t>(a.major); };

CONFORMS(own_keys, keys_without_a_description, "join", "intersect_by", "to_lookup", "count_by") {
  const std::vector<int> rows = {10, 21, 12, 33, 24};
  const auto key = [](int x) { return version{x / 10, x % 10}; };
  const auto q = source(e, rows);
  EXPECT_EQ(q.count_by(key, same_major, major_hash).count(), 3);
  EXPECT_EQ(q.join(q, key, key, same_major, major_hash).count(), 9);
  EXPECT_EQ((q.to_lookup(key, same_major, major_hash)[version{2, 7}].size()), 2u);
  const std::vector<int> twenties = {29, 20};
  EXPECT_ROWS(q.intersect_by(source(e, twenties), key, same_major, major_hash).to_vector(), std::vector<int>{21});
}

CONFORMS(own_keys, a_filter_stays_above_a_distinct_by_the_users_equality, "distinct", "explain") {
  const std::vector<std::int64_t> rows = {7, 14, 1, 8, 0};
  const auto q = source(e, rows).distinct(same_rest{}, rest_hash{});
  const auto filtered = q.where([](auto x) { return x > 7; });
  EXPECT_ROWS(filtered.to_vector(), std::vector<std::int64_t>{});  // the first of 7, 14 and 0 is 7
  EXPECT_EQ(filtered.explain().find("predicate_pushdown"), std::string::npos);
  EXPECT_NE(filtered.explain().find("by the user's own equality"), std::string::npos) << filtered.explain();
  EXPECT_EQ(source(e, rows).distinct().distinct(same_rest{}, rest_hash{}).count(), 2);
  EXPECT_EQ(q.distinct().count(), 2);
  const std::string join = source(e, rows)
                               .join(
                                   source(e, rows), [](auto x) { return x; }, [](auto x) { return x; }, same_rest{}, rest_hash{})
                               .explain();
  EXPECT_NE(join.find("by the user's own equality"), std::string::npos) << join;
}

CONFORMS(own_keys, what_the_functions_throw_arrives, "join", "distinct") {
  struct trouble {};
  const std::vector<std::int64_t> rows = {1, 2, 3};
  const auto equal = [](std::int64_t, std::int64_t) -> bool { throw trouble{}; };
  const auto zero = [](std::int64_t) -> std::size_t { return 0; };
  const auto hash = [](std::int64_t) -> std::size_t { throw trouble{}; };
  const auto id = [](auto x) { return x; };
  EXPECT_THROW(source(e, rows).distinct(equal, zero).to_vector(), trouble);
  EXPECT_THROW(source(e, rows).join(source(e, rows), id, id, same_rest{}, hash).to_vector(), trouble);
  EXPECT_THROW(source(e, rows).full_join(source(e, rows), id, id, equal, zero).to_vector(), trouble);
}

}  // namespace
}  // namespace conformance
