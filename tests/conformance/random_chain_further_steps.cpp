// Steps of random chains that are drawn on the CPU only: the few chains of a GPU, whose kernels are compiled, go to the others.
#include <limits>
#include <span>

#include "conformance/random_chains.hpp"

namespace random_chains {

using namespace conformance;

namespace {

const auto by_o = [](auto t) { return t.o; };
const auto by_s = [](auto t) { return t.s; };

std::unordered_set<std::string> texts_of(const items& rows) {
  std::unordered_set<std::string> texts;
  for (const item& t : rows) texts.insert(t.s);
  return texts;
}

// The right rows that have no partner follow those that have one.
void outer_join(chain& c, bool keep_left) {
  const auto result = [](const std::optional<item>& l, const std::optional<item>& r) {
    return item{l ? l->k : 9, r ? r->o : std::nullopt, l ? l->d : r->d, r ? r->s : "none"};
  };
  const auto of_right = [result](const std::optional<item>& l, const item& r) { return result(l, r); };
  c.free_order(keep_left ? lazy(c.q.full_join(c.others(), by_o, by_o, result)) : lazy(c.q.right_join(c.others(), by_o, by_o, of_right)));
  items made;
  for (const item& l : c.rows) {
    const auto found = kept(*c.other, [&](const item& r) { return same_key(l, r); });
    for (const item& r : found) made.push_back(result(l, r));
    if (found.empty() && keep_left) made.push_back(result(l, {}));
  }
  for (const item& r : *c.other)
    if (std::none_of(c.rows.begin(), c.rows.end(), [&](const item& l) { return same_key(l, r); })) made.push_back(result({}, r));
  c.rows = std::move(made);
}

}  // namespace

const std::vector<step>& further_steps() {
  static const std::vector<step> all = {
      {"odd floats", false, [](chain& c, std::int32_t a) {
         const double nan = std::numeric_limits<double>::quiet_NaN();
         c.q = c.q.select([a, nan](auto t) {
           return query::make<item>(t.k, t.o, query::iff(t.k == a % 7, nan, query::iff(t.d == 0, -0.0, t.d)), t.s);
         });
         for (item& t : c.rows) t.d = t.k == a % 7 ? nan : t.d == 0 ? -0.0 : t.d;
       }},
      {"index", true, [](chain& c, std::int32_t a) {
         c.q = c.q.index().where([a](auto t) { return t.index % 5 != a % 5; }).select([](auto t) { return t.value; });
         std::int64_t i = 0;
         c.rows = kept(c.rows, [&](const item&) { return i++ % 5 != a % 5; });
       }},
      {"broadcast", false, [](chain& c, std::int32_t) {
         const auto others = query::broadcast(c.others());
         c.q = c.q.where([others](auto t) { return others.any(t, [](auto t, auto x) { return x.s == t.s; }); });
         c.rows = kept(c.rows, [texts = texts_of(*c.other)](const item& t) { return texts.contains(t.s); });
       }},
      {"apply", true, [](chain& c, std::int32_t a) {
         const auto f = [a](const item& t) { return t.k % 3 != a % 3; };
         c.q = c.q.apply([f](std::span<const item> rows) { return kept(items(rows.begin(), rows.end()), f); });
         c.rows = kept(c.rows, f);
       }},
      {"chunk", true, [](chain& c, std::int32_t a) {
         const auto ends = [](std::span<const item> rows) {
           return item{rows[0].k, rows.back().o, static_cast<double>(rows.size()), rows.back().s};
         };
         c.q = c.q.chunk(static_cast<std::uint64_t>(a + 1), ends);
         items made;
         for (std::span<const item> left = c.rows; !left.empty();) {
           const auto run = left.first(std::min<std::size_t>(left.size(), static_cast<std::size_t>(a + 1)));
           made.push_back(ends(run));
           left = left.subspan(run.size());
         }
         c.rows = std::move(made);
       }},
      {"window", true, [](chain& c, std::int32_t a) {
         const auto three = [](auto run) { return query::make<item>(run[0].k, run[1].o, run[2].d, run[2].s); };
         const auto apart = static_cast<std::size_t>(1 + a % 5);
         c.q = c.q.window(3, three, apart);
         items made;
         for (std::size_t i = 0; i + 3 <= c.rows.size(); i += apart)
           made.push_back({c.rows[i].k, c.rows[i + 1].o, c.rows[i + 2].d, c.rows[i + 2].s});
         c.rows = std::move(made);
       }},
      {"top", true, [](chain& c, std::int32_t a) {
         c.q = c.q.top(static_cast<std::uint64_t>(a), [](auto t) { return t.d; });
         std::stable_sort(c.rows.begin(), c.rows.end(), [](const item& x, const item& y) { return before(y.d, x.d); });
         c.rows.erase(c.rows.begin() + c.at_most(a), c.rows.end());
       }},
      {"order_by, skip and take of ties", true, [](chain& c, std::int32_t a) {
         c.q = c.q.order_by(by_s).skip(static_cast<std::uint64_t>(a)).take(20);
         std::stable_sort(c.rows.begin(), c.rows.end(), [](const item& x, const item& y) { return x.s < y.s; });
         c.rows.erase(c.rows.begin(), c.rows.begin() + c.at_most(a));
         c.rows.erase(c.rows.begin() + c.at_most(20), c.rows.end());
       }},
      {"loop in a loop", true, [](chain& c, std::int32_t a) {
         const auto inner = [](lazy now) { return lazy(now.skip(1)); };
         const auto outer = [&](lazy now) {
           return lazy(now.do_while(inner, query::times(2)).semi_join(c.others(), by_s, by_s).as_ordered());
         };
         c.q = c.q.do_while(outer, query::times(1 + a % 3));
         for (std::int32_t i = 0; i < 1 + a % 3; ++i) {
           c.rows.erase(c.rows.begin(), c.rows.begin() + c.at_most(2));
           c.rows = kept(c.rows, [texts = texts_of(*c.other)](const item& t) { return texts.contains(t.s); });
         }
       }},
      {"joined with a loop", false, [](chain& c, std::int32_t) {
         const auto raise = [](lazy now) { return lazy(now.select([](auto t) { return query::make<item>(t.k + 1, t.o, t.d, t.s); })); };
         const auto raised = c.others().do_while(raise, query::times(2)).distinct_by(key).as_ordered();
         c.free_order(c.q.join(raised, key, key, [](auto l, auto r) { return query::make<item>(l.k, r.o, l.d, r.s); }));
         const items right = first_of_each(*c.other, key);
         items made;
         for (const item& l : c.rows)
           for (const item& r : right)
             if (l.k == r.k + 2) made.push_back({l.k, r.o, l.d, r.s});
         c.rows = std::move(made);
       }},
      {"right_join", false, [](chain& c, std::int32_t) { outer_join(c, false); }},
      {"full_join", false, [](chain& c, std::int32_t) { outer_join(c, true); }},
      {"group_join", false, [](chain& c, std::int32_t) {
         c.q = c.q.group_join(c.others(), key, key, [](auto l, auto own) {
           return query::make<item>(l.k, l.o, l.d + query::cast<double>(own.size()), l.s);
         });
         for (item& t : c.rows)
           t.d += static_cast<double>(std::count_if(c.other->begin(), c.other->end(), [&](const item& x) { return x.k == t.k; }));
       }},
      {"cross_join", false, [](chain& c, std::int32_t) {
         c.free_order(c.q.cross_join(c.others().take(2), [](auto l, auto r) { return query::make<item>(l.k, r.o, l.d, r.s); }));
         items made;
         for (const item& l : c.rows)
           for (const item& r : std::span(*c.other).first(std::min<std::size_t>(2, c.other->size()))) made.push_back({l.k, r.o, l.d, r.s});
         c.rows = std::move(made);
       }},
      {"union_with_by", true, [](chain& c, std::int32_t) {
         c.free_order(c.q.union_with_by(c.others(), by_o));
         c.rows.insert(c.rows.end(), c.other->begin(), c.other->end());
         c.rows = first_of_each(c.rows, by_o);
       }},
      {"except_by", true, [](chain& c, std::int32_t) {
         c.free_order(c.q.except_by(c.others(), by_s));
         c.rows = kept(c.rows, [texts = texts_of(*c.other)](const item& t) { return !texts.contains(t.s); });
         c.rows = first_of_each(c.rows, by_s);
       }},
      {"intersect_by", true, [](chain& c, std::int32_t) {
         c.free_order(c.q.intersect_by(c.others(), by_s));
         c.rows = kept(c.rows, [texts = texts_of(*c.other)](const item& t) { return texts.contains(t.s); });
         c.rows = first_of_each(c.rows, by_s);
       }},
      {"group_by a float", true, [](chain& c, std::int32_t) {
         const auto d = [](auto t) { return t.d; };
         c.free_order(c.q.group_by(d).select([](auto g) {
           return query::make<item>(query::cast<std::int32_t>(g.count()), g.last(by_o), g.key(), g.first(by_s));
         }));
         items made;
         for (const auto& [k, rows] : grouped(c.rows, d))
           made.push_back({static_cast<std::int32_t>(rows.size()), rows.back().o, k, rows.front().s});
         c.rows = std::move(made);
       }},
      {"partitions", false, [](chain& c, std::int32_t a) {
         const auto count = [](std::span<const item> rows) {
           items made;
           for (const auto& [k, of_k] : grouped(items(rows.begin(), rows.end()), key))
             made.push_back({k, {}, static_cast<double>(of_k.size()), ""});
           return made;
         };
         c.q = c.q.hash_partitioned_by(key, static_cast<std::size_t>(1 + a % 4)).apply(count);
         c.rows = count(c.rows);
         c.ordered = false;
       }},
  };
  return all;
}

}  // namespace random_chains
