// Random chains of verbs over every kind of source, read in every way, against the same chains over a std::vector. random_test.cpp
// draws lambdas for a few verbs; this draws verbs, their neighbours and their readers: what rules and fusion must keep apart.
// QUERY_TEST_SEED=n draws others, QUERY_TEST_ROUNDS=n times as many (random_rounds.hpp).
#include <filesystem>
#include <random>

#include <unistd.h>

#include "conformance/random_chains.hpp"
#include "conformance/random_rounds.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

using namespace random_chains;
using number = std::mt19937::result_type;

items drawn(std::mt19937& g, number n) {
  items v;
  for (number i = 0; i < n; ++i)
    v.push_back({static_cast<std::int32_t>(g() % 7), g() % 4 ? std::optional<std::int32_t>(g() % 5) : std::nullopt,
                 (static_cast<double>(g() % 9) - 4) / 2, std::string(g() % 3, static_cast<char>('a' + g() % 3))});
  return v;
}

// One item a field, or a file: kept while queries read them.
struct columns_of_items {
  std::vector<std::int32_t> k;
  std::vector<std::optional<std::int32_t>> o;
  std::vector<double> d;
  std::vector<std::string> s;
  explicit columns_of_items(const items& rows) {
    for (const item& t : rows) k.push_back(t.k), o.push_back(t.o), d.push_back(t.d), s.push_back(t.s);
  }
};

bool among(const item& t, const std::unordered_set<std::string>& keys) { return keys.contains(key_text(whole(t))); }
std::unordered_set<std::string> keys_of(const items& rows) {
  std::unordered_set<std::string> keys;
  for (const item& t : rows) keys.insert(key_text(whole(t)));
  return keys;
}
bool less_d(const item& x, const item& y) { return before(x.d, y.d); }

const std::vector<step>& row_wise_steps() {
  static const std::vector<step> all = {
      {"where k < a", false, [](chain& c, std::int32_t a) {
         c.q = c.q.where([a](auto t) { return t.k < a; });
         c.rows = kept(c.rows, [a](const item& t) { return t.k < a; });
       }},
      {"where o > 1", false, [](chain& c, std::int32_t) {
         c.q = c.q.where([](auto t) { return t.o && *t.o > 1; });
         c.rows = kept(c.rows, [](const item& t) { return t.o && *t.o > 1; });
       }},
      {"where, opaque", false, [](chain& c, std::int32_t a) {
         const auto f = [a](const item& t) { return t.s.size() != static_cast<std::size_t>(a) % 3; };
         c.q = c.q.where(f);
         c.rows = kept(c.rows, f);
       }},
      {"select", false, [](chain& c, std::int32_t a) {
         c.q = c.q.select([a](auto t) { return query::make<item>(t.k + a, t.o, t.d * 2, t.s); });
         for (item& t : c.rows) t.k += a, t.d *= 2;
       }},
      {"where by number", true, [](chain& c, std::int32_t a) {
         c.q = c.q.where([a](auto, auto i) { return i % 3 != a % 3; });
         std::int64_t i = 0;
         c.rows = kept(c.rows, [&](const item&) { return i++ % 3 != a % 3; });
       }},
      {"where by number, opaque", true, [](chain& c, std::int32_t a) {
         c.q = c.q.where([a](const item&, std::int64_t i) { return i % 4 != a % 4; });
         std::int64_t i = 0;
         c.rows = kept(c.rows, [&](const item&) { return i++ % 4 != a % 4; });
       }},
      {"select by number", true, [](chain& c, std::int32_t) {
         c.q = c.q.select([](auto t, auto i) { return query::make<item>(t.k, t.o, t.d + query::cast<double>(i), t.s); });
         for (std::size_t i = 0; i < c.rows.size(); ++i) c.rows[i].d += static_cast<double>(i);
       }},
      {"select_many", true, [](chain& c, std::int32_t) {
         const auto copies = [](const item& t) {
           items v(static_cast<std::size_t>(t.k % 3), t);
           for (std::size_t i = 0; i < v.size(); ++i) v[i].d = static_cast<double>(i);
           return v;
         };
         c.q = c.q.select_many(copies);
         items made;
         for (const item& t : c.rows)
           for (item& copy : copies(t)) made.push_back(std::move(copy));
         c.rows = std::move(made);
       }},
  };
  return all;
}

const std::vector<step>& sequence_steps() {
  static const std::vector<step> all = {
      {"take", true,
       [](chain& c, std::int32_t a) {
         c.q = c.q.take(static_cast<std::uint64_t>(a));
         c.rows.erase(c.rows.begin() + c.at_most(a), c.rows.end());
       }},
      {"skip", true,
       [](chain& c, std::int32_t a) {
         c.q = c.q.skip(static_cast<std::uint64_t>(a));
         c.rows.erase(c.rows.begin(), c.rows.begin() + c.at_most(a));
       }},
      {"take_last", true,
       [](chain& c, std::int32_t a) {
         c.q = c.q.take_last(static_cast<std::uint64_t>(a));
         c.rows.erase(c.rows.begin(), c.rows.end() - c.at_most(a));
       }},
      {"skip_last", true,
       [](chain& c, std::int32_t a) {
         c.q = c.q.skip_last(static_cast<std::uint64_t>(a));
         c.rows.erase(c.rows.end() - c.at_most(a), c.rows.end());
       }},
      {"take_while", true,
       [](chain& c, std::int32_t a) {
         c.q = c.q.take_while([a](auto t) { return t.k != a % 7; });
         c.rows.erase(std::find_if(c.rows.begin(), c.rows.end(), [a](const item& t) { return t.k == a % 7; }), c.rows.end());
       }},
      {"skip_while", true,
       [](chain& c, std::int32_t a) {
         c.q = c.q.skip_while([a](auto t) { return t.k != a % 7; });
         c.rows.erase(c.rows.begin(), std::find_if(c.rows.begin(), c.rows.end(), [a](const item& t) { return t.k == a % 7; }));
       }},
      {"reverse", true,
       [](chain& c, std::int32_t) {
         c.q = c.q.reverse();
         std::reverse(c.rows.begin(), c.rows.end());
       }},
      {"concat", true,
       [](chain& c, std::int32_t) {
         c.q = c.q.concat(c.others());
         c.rows.insert(c.rows.end(), c.other->begin(), c.other->end());
       }},
      {"append and prepend", true,
       [](chain& c, std::int32_t a) {
         const item last{a, a, 1, "last"}, first{a, {}, 2, "first"};
         c.q = c.q.append(last).prepend(first);
         c.rows.push_back(last);
         c.rows.insert(c.rows.begin(), first);
       }},
      {"default_if_empty", true,
       [](chain& c, std::int32_t) {
         c.q = c.q.default_if_empty(item{1, 2, 3, "none"});
         if (c.rows.empty()) c.rows.push_back({1, 2, 3, "none"});
       }},
      {"zip with itself", true,
       [](chain& c, std::int32_t) {
         c.q = c.q.zip(c.q.skip(1), [](auto x, auto y) { return query::make<item>(x.k, y.o, x.d - y.d, y.s); });
         items made;
         for (std::size_t i = 0; i + 1 < c.rows.size(); ++i)
           made.push_back({c.rows[i].k, c.rows[i + 1].o, c.rows[i].d - c.rows[i + 1].d, c.rows[i + 1].s});
         c.rows = std::move(made);
       }},
      {"do_while", true,
       [](chain& c, std::int32_t a) {
         c.q = c.q.do_while([](lazy now) { return now.skip(1).select([](auto t) { return query::make<item>(t.k + 1, t.o, t.d, t.s); }); },
                            query::times(1 + a % 3));
         for (std::int32_t i = 0; i < 1 + a % 3; ++i) {
           if (!c.rows.empty()) c.rows.erase(c.rows.begin());
           for (item& t : c.rows) ++t.k;
         }
       }},
      {"cached", false, [](chain& c, std::int32_t) { c.q = c.q.cached(); }},
  };
  return all;
}

const std::vector<step>& keyed_steps() {
  static const std::vector<step> all = {
      {"order_by, then_by", true,
       [](chain& c, std::int32_t) {
         c.q = c.q.order_by(key).then_by_descending([](auto t) { return t.d; });
         std::stable_sort(c.rows.begin(), c.rows.end(), [](const item& x, const item& y) { return x.k != y.k ? x.k < y.k : less_d(y, x); });
       }},
      {"order_by all fields", false,
       [](chain& c, std::int32_t) {
         c.q = c.q.order_by([](auto t) { return t.o; }, query::nulls::first)
                   .then_by([](auto t) { return t.s; })
                   .then_by(key)
                   .then_by([](auto t) { return t.d; });
         std::stable_sort(c.rows.begin(), c.rows.end(), [](const item& x, const item& y) {
           const auto a = std::tie(x.o, x.s, x.k), b = std::tie(y.o, y.s, y.k);
           return a != b ? a < b : less_d(x, y);
         });
         c.ordered = true;
       }},
      {"distinct_by", true,
       [](chain& c, std::int32_t) {
         c.free_order(c.q.distinct_by(key));
         c.rows = first_of_each(c.rows, key);
       }},
      {"distinct", false,
       [](chain& c, std::int32_t) {
         c.free_order(c.q.distinct());
         c.rows = first_of_each(c.rows, whole);
       }},
      {"union_with", false,
       [](chain& c, std::int32_t) {
         c.free_order(c.q.union_with(c.others()));
         c.rows.insert(c.rows.end(), c.other->begin(), c.other->end());
         c.rows = first_of_each(c.rows, whole);
       }},
      {"except", false,
       [](chain& c, std::int32_t) {
         c.free_order(c.q.except(c.others()));
         c.rows = first_of_each(kept(c.rows, [others = keys_of(*c.other)](const item& t) { return !among(t, others); }), whole);
       }},
      {"intersect", false,
       [](chain& c, std::int32_t) {
         c.free_order(c.q.intersect(c.others()));
         c.rows = first_of_each(kept(c.rows, [others = keys_of(*c.other)](const item& t) { return among(t, others); }), whole);
       }},
      {"join", false,
       [](chain& c, std::int32_t) {
         const auto by = [](auto t) { return t.o; };
         c.free_order(c.q.join(c.others(), by, by, [](auto l, auto r) { return query::make<item>(l.k + r.k, r.o, l.d, l.s); }));
         items made;
         for (const item& l : c.rows)
           for (const item& r : *c.other)
             if (same_key(l, r)) made.push_back({l.k + r.k, r.o, l.d, l.s});
         c.rows = std::move(made);
       }},
      {"left_join", false,
       [](chain& c, std::int32_t) {
         c.free_order(c.q.left_join(c.others().where([](auto t) { return t.d > 0; }), key, key, [](auto l, auto r) {
           if (!r) return query::make<item>(l.k, l.o, l.d, "none");
           return query::make<item>(l.k, r->o, l.d + r->d, r->s);
         }));
         items made;
         for (const item& l : c.rows) {
           const auto found = kept(*c.other, [&](const item& r) { return r.d > 0 && r.k == l.k; });
           for (const item& r : found) made.push_back({l.k, r.o, l.d + r.d, r.s});
           if (found.empty()) made.push_back({l.k, l.o, l.d, "none"});
         }
         c.rows = std::move(made);
       }},
      {"semi_join", false,
       [](chain& c, std::int32_t) {
         const auto by = [](auto t) { return t.s; };
         c.free_order(c.q.semi_join(c.others(), by, by));
         c.rows = kept(c.rows, [&](const item& t) {
           return std::any_of(c.other->begin(), c.other->end(), [&](const item& x) { return x.s == t.s; });
         });
       }},
      {"anti_join", false,
       [](chain& c, std::int32_t) {
         const auto by = [](auto t) { return t.o; };
         c.free_order(c.q.anti_join(c.others(), by, by));
         c.rows = kept(c.rows, [&](const item& t) {
           return std::none_of(c.other->begin(), c.other->end(), [&](const item& x) { return same_key(t, x); });
         });
       }},
      {"group_by", true,
       [](chain& c, std::int32_t) {
         c.free_order(c.q.group_by(key).select([](auto g) {
           return query::make<item>(g.key(), g.max([](auto t) { return t.o; }), g.sum([](auto t) { return t.d; }),
                                    g.first([](auto t) { return t.s; }));
         }));
         items made;
         for (const auto& [k, rows] : grouped(c.rows, key)) {
           item one{k, {}, 0, rows.front().s};
           for (const item& t : rows) {
             one.d += t.d;
             if (t.o && (!one.o || *t.o > *one.o)) one.o = t.o;
           }
           made.push_back(one);
         }
         c.rows = std::move(made);
       }},
  };
  return all;
}

// Everything that may read a query reads it; min_by, element_at and sums go ways of their own through the planner.
void read(const chain& c) {
  const auto rows_are = [&](const items& got, const items& wanted) {
    if (c.ordered) {
      EXPECT_ROWS(got, wanted);
    } else {
      EXPECT_SAME_ROWS(got, wanted);
    }
  };
  const auto one = [](const std::optional<item>& t) { return t ? items{*t} : items{}; };
  const lazy& q = c.q;
  const items& rows = c.rows;
  rows_are(q.to_vector(), rows);
  items streamed;
  for (const item& t : q) streamed.push_back(t);
  rows_are(streamed, rows);
  EXPECT_EQ(q.count(), std::ssize(rows));
  EXPECT_EQ(q.count([](auto t) { return t.d > 0; }), std::count_if(rows.begin(), rows.end(), [](const item& t) { return t.d > 0; }));
  EXPECT_EQ(q.any([](auto t) { return t.s == "aa"; }), std::any_of(rows.begin(), rows.end(), [](const item& t) { return t.s == "aa"; }));
  std::int64_t sum = 0;
  std::map<std::string, std::int64_t> counts, counted;
  for (const item& t : rows) sum += t.k, ++counts[t.s];
  EXPECT_EQ(q.sum(key), sum);
  for (const auto& [s, n] : q.count_by([](auto t) { return t.s; }).to_vector()) counted[s] = n;
  EXPECT_EQ(counted, counts);
  if (!c.ordered) return;
  EXPECT_ROWS(one(q.first_or_none()), items(rows.begin(), rows.begin() + c.at_most(1)));
  EXPECT_ROWS(one(q.last_or_none()), items(rows.end() - c.at_most(1), rows.end()));
  EXPECT_ROWS(q.take(3).to_vector(), items(rows.begin(), rows.begin() + c.at_most(3)));
  const auto least = std::min_element(rows.begin(), rows.end(), less_d);
  EXPECT_ROWS(one(q.min_by([](auto t) { return t.d; })), least == rows.end() ? items{} : items{*least});
  if (rows.size() > 2) {
    EXPECT_ROWS(items{q.element_at(2)}, items{rows[2]});
  }
}

CONFORMS(random_chains, over_every_source_give_what_loops_give, "where", "select", "first_or_none", "last_or_none", "min_by", "element_at",
         "count_by", "any", "count", "sum") {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("query_random_chains_" + std::to_string(::getpid()) + ".csv");
  std::vector<const step*> steps;
  for (const auto* some : {&row_wise_steps(), &sequence_steps(), &keyed_steps()})
    for (const step& s : *some) steps.push_back(&s);
  // On the GPU each has kernels of its own to compile, and the rows of a stream that own memory go back to the CPU, which is told.
  const unsigned chains = rounds(e.accelerate ? 16 : in_processes(e) ? 60 : 240), kinds = e.accelerate ? 3 : 4;
  if (!e.accelerate)
    for (const step& s : further_steps()) steps.push_back(&s);
  for (unsigned i = 0; i < chains && !testing::Test::HasFailure(); ++i) {
    std::mt19937 g(static_cast<number>(seed()) + i);
    const bool large = i % 12 == 0, parts = !e.accelerate && i % 240 == 62;  // around the border of a part of the rows
    const items base = drawn(g, parts   ? 65535 + g() % 3
                                : large ? 1000 + g() % 3000
                                        : g() % 30),
                other = drawn(g, g() % 8 + (large ? 50 : 0));
    const columns_of_items columns(base);
    const char* sources[] = {"vector", "columns", "file", "generator"};
    std::string log = std::string("chain ") + std::to_string(i) + ": " + sources[i % kinds];
    lazy q = query::from(base);
    if (i % kinds == 1) q = query::from(query::columns<item>(columns.k, columns.o, columns.d, columns.s));
    if (i % kinds == 2) {
      query::from(base).write_csv(file.string());
      q = query::read_csv<item>(file.string());
    }
    if (i % kinds == 3)
      q = query::generate([&base, at = std::size_t{0}]() mutable -> std::optional<item> {
        if (at == base.size()) return std::nullopt;
        return base[at++];
      });
    chain c{on(e, q), base, &other};
    for (number n = 1 + g() % 6; n > 0; --n) {
      const step& s = *steps[g() % steps.size()];
      const auto a = static_cast<std::int32_t>(g() % 12);
      c.as_ordered = g() % 2 == 0;
      if ((s.reads_order && !c.ordered) || c.rows.size() > (parts ? 70000 : 20000)) continue;
      log += std::string(", ") + s.name + "(" + std::to_string(a) + ")" + (c.as_ordered ? "" : "'");
      s.apply(c, a);
    }
    SCOPED_TRACE(log);
    read(c);
  }
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace conformance
