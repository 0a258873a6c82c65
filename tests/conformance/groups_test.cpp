// group_by with the user's equality, materialised groups, groups of groups.
#include <stop_token>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

CONFORMS(groups, equality_of_the_user, "group_by", "distinct_by") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto equal = [](const std::string& a, const std::string& b) { return a.size() == b.size(); };
    const auto hash = [](const std::string& a) { return a.size(); };
    std::vector<std::pair<std::string, std::int64_t>> wanted;
    std::vector<trade> firsts;
    for (const auto& [k, rows] : grouped(d.rows, [](const trade& t) { return t.name.size(); })) {
      wanted.emplace_back(rows.front().name, rows.size());
      firsts.push_back(rows.front());
    }
    const auto got = source(e, d.rows).group_by([](auto t) { return t.name; }, equal, hash).count().as_ordered().to_vector();
    EXPECT_ROWS(selected(got, [](const auto& r) { return std::pair<std::string, std::int64_t>(std::get<0>(r), std::get<1>(r)); }), wanted);
    EXPECT_ROWS(source(e, d.rows).distinct_by([](auto t) { return t.name; }, equal, hash).as_ordered().to_vector(), firsts);
  }
}

CONFORMS(groups, materialised_groups_hold_their_rows_in_source_order, "group_by.groups", "group_by.select", "to_lookup") {
  using row = std::pair<std::int32_t, std::vector<std::int32_t>>;
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    std::vector<row> wanted;
    for (const auto& [k, rows] : grouped(d.rows, [](const tick& t) { return t.key; }))
      wanted.emplace_back(k, selected(rows, [](const tick& t) { return t.id; }));
    const auto key = [](auto t) { return t.key; };
    const auto ids = [](const query::Group<std::int32_t, tick>& g) {
      std::vector<std::int32_t> v;
      for (const tick& t : g) v.push_back(t.id);
      return row(g.key(), v);
    };
    EXPECT_ROWS(selected(source(e, d.rows).group_by(key).groups().as_ordered().to_vector(), ids), wanted);
    EXPECT_ROWS(source(e, d.rows).group_by(key).select(ids).as_ordered().to_vector(), wanted);
    EXPECT_SAME_ROWS(source(e, d.rows).group_by(key).select(ids).to_vector(), wanted);
    const auto lookup = source(e, d.rows).to_lookup(key);
    EXPECT_EQ(lookup.size(), wanted.size());
    for (const row& w : wanted) EXPECT_EQ(lookup[w.first].size(), w.second.size());
    EXPECT_TRUE(lookup[-77].empty());
  }
}

CONFORMS(groups, are_a_sequence_straight_after_group_by, "group_by.groups") {
  using row = std::pair<std::int32_t, std::int64_t>;
  using group = query::Group<std::int32_t, tick>;
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto key = [](auto t) { return t.key; };
    const auto counted = [](const group& g) { return row(g.key(), g.count()); };
    std::vector<row> wanted, large;
    const std::vector<tick> rows(d.rows.begin(), d.rows.begin() + std::min<std::ptrdiff_t>(2000, std::ssize(d.rows)));
    for (const auto& [k, members] : grouped(rows, [](const tick& t) { return t.key; })) {
      wanted.emplace_back(k, std::ssize(members));
      if (members.size() > 2) large.push_back(wanted.back());
    }
    const auto groups = source(e, rows).group_by(key);
    EXPECT_SAME_ROWS(selected(groups.to_vector(), counted), wanted);
    std::vector<row> seen, visited;
    for (const auto& g : groups) seen.push_back(counted(g));
    EXPECT_SAME_ROWS(seen, wanted);
    groups.for_each([&](const group& g) { visited.push_back(counted(g)); });
    EXPECT_SAME_ROWS(visited, wanted);
    const query::Query<group> named = groups;
    EXPECT_EQ(named.count(), std::ssize(wanted));
    const auto is_large = [](const auto& g) { return g.count() > 2; };
    EXPECT_SAME_ROWS(groups.where(is_large).select([](const auto& g) { return std::pair(g.key(), g.count()); }).to_vector(), large);
    EXPECT_EQ(groups.any(is_large), !large.empty());
    EXPECT_EQ(groups.all(is_large), large.size() == wanted.size());
    EXPECT_EQ(groups.take(2).count(), std::min<std::int64_t>(2, std::ssize(wanted)));
    EXPECT_EQ(groups.skip(2).count(), std::max<std::int64_t>(0, std::ssize(wanted) - 2));
    EXPECT_EQ(groups.select_many([](const group& g) { return g.rows(); }).count(), std::ssize(rows));
    std::vector<row> by_key = wanted;
    std::sort(by_key.begin(), by_key.end());
    EXPECT_ROWS(selected(groups.order_by([](const auto& g) { return g.key(); }).to_vector(), counted), by_key);
    std::reverse(by_key.begin(), by_key.end());
    EXPECT_ROWS(selected(groups.order_by_descending([](const auto& g) { return g.key(); }).to_vector(), counted), by_key);
    if (!wanted.empty()) {
      const auto greatest = groups.order_by_descending([](const auto& g) { return g.key(); });
      EXPECT_EQ(greatest.first().key(), by_key[0].first);
      // Rows of a group that ends with the statement are values.
      const group kept = greatest.first();
      const tick &first = greatest.first().first(), &last = greatest.first().last();
      const tick &most = greatest.first().arg_max(key), &least = greatest.first().arg_min(key);
      EXPECT_EQ(text(first), text(kept.first()));
      EXPECT_EQ(text(last), text(kept.last()));
      EXPECT_EQ(text(most), text(kept.arg_max(key)));
      EXPECT_EQ(text(least), text(kept.arg_min(key)));
      EXPECT_ROWS(greatest.first().rows(), kept.rows());
    }
    EXPECT_THROW(source(e, std::vector<tick>{}).group_by(key).first(), query::user_error);
  }
}

// Words about how and where, said before it is known what becomes of the groups.
CONFORMS(groups, words_right_behind_group_by, "group_by", "as_ordered", "named", "in", "timeout", "stop_on", "as_accelerated", "verify") {
  using row = std::pair<std::int32_t, std::int64_t>;
  const std::vector<tick>& rows = many_ticks();
  const auto key = [](auto t) { return t.key; };
  const auto counted = [](const auto& r) { return row(std::get<0>(r), std::get<1>(r)); };
  std::vector<row> wanted;  // in order of first appearance
  for (const auto& [k, of] : grouped(rows, [](const tick& t) { return t.key; })) wanted.emplace_back(k, std::ssize(of));
  const auto groups = source(e, rows).group_by(key).named("the groups").in(e.session).timeout(600).on_progress([](double) {});
  EXPECT_SAME_ROWS(selected(groups.count().to_vector(), counted), wanted);
  EXPECT_SAME_ROWS(selected(groups.verify().count().to_vector(), counted), wanted);
  EXPECT_ROWS(selected(groups.as_ordered().count().to_vector(), counted), wanted);
  EXPECT_ROWS(selected(groups.as_accelerated().as_ordered().aggregate(query::aggregates::count()).to_vector(), counted), wanted);
  EXPECT_ROWS(groups.as_ordered().select([](auto g) { return std::pair(g.key(), g.count()); }).where([](auto) { return true; }).to_vector(),
              wanted);
  EXPECT_ROWS(selected(groups.as_ordered().groups().to_vector(), [](const auto& g) { return row(g.key(), g.count()); }), wanted);
  EXPECT_ROWS(selected(groups.as_ordered().to_vector(), [](const auto& g) { return row(g.key(), g.count()); }), wanted);
  EXPECT_NE(groups.count().explain().find("\"the groups\""), std::string::npos);
  EXPECT_NE(source(e, rows).group_by(key).on(query::engine::cpu).count().explain().find("on the CPU"), std::string::npos);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(groups.stop_on(stop.get_token()).count().to_vector(), query::cancelled);
  EXPECT_THROW(groups.timeout(0).to_vector(), query::cancelled);
}
// as_ordered() right before a verb whose order is free is as good as right behind it.
CONFORMS(groups, as_ordered_right_before_a_verb, "as_ordered", "group_by", "count_by", "distinct", "join") {
  const std::vector<tick>& rows = many_ticks();
  const auto key = [](auto t) { return t.amount * 64 + t.id % 64; };  // so many groups that their partitions show
  const auto q = source(e, rows).where([](auto t) { return t.amount > -900; });
  EXPECT_ROWS(q.as_ordered().group_by(key).count().to_vector(), q.group_by(key).count().as_ordered().to_vector());
  EXPECT_ROWS(q.as_ordered().count_by(key).to_vector(), q.count_by(key).as_ordered().to_vector());
  EXPECT_ROWS(q.select(key).as_ordered().distinct().to_vector(), q.select(key).distinct().as_ordered().to_vector());
  const auto few = q.take(500);
  const auto other = source(e, rows).take(700);
  EXPECT_ROWS(few.as_ordered().join(other, key, key).to_vector(), few.join(other, key, key).as_ordered().to_vector());
  EXPECT_NE(q.as_ordered().group_by(key).count().explain().find("group_by, as ordered"), std::string::npos);
}

// A key that is a pair stays one; its parts may be put together anew.
CONFORMS(groups, parts_of_keys_are_exchanged, "group_by", "group_by.keys") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const std::vector<tick> rows(d.rows.begin(), d.rows.begin() + std::min<std::ptrdiff_t>(500, std::ssize(d.rows)));
    const auto text = [](const tick& t) { return std::to_string(t.key % 7); };
    std::vector<std::pair<std::string, std::int32_t>> pairs, of_views;
    std::vector<std::pair<std::int32_t, std::int32_t>> turned;
    std::vector<std::pair<std::pair<std::int32_t, std::int32_t>, std::int64_t>> counted;
    std::vector<std::pair<std::tuple<std::int32_t, std::int32_t>, std::int64_t>> of_tuples;
    for (const auto& [k, of] : grouped(rows, [&](const tick& t) { return std::pair(text(t), t.key); })) pairs.push_back(k);
    for (const auto& [k, of] : grouped(rows, [](const tick& t) { return std::pair(t.key % 3, t.key % 5); })) {
      turned.emplace_back(k.second, k.first);
      counted.emplace_back(turned.back(), std::ssize(of));
      of_tuples.emplace_back(std::tuple(k.second, k.first), std::ssize(of));
    }
    const auto of_pairs = source(e, rows).group_by([](auto t) { return std::pair(t.key % 3, t.key % 5); }).as_ordered();
    const auto tuples = source(e, rows).group_by([](auto t) { return std::tuple(t.key % 3, t.key % 5); }).as_ordered();
    of_views = source(e, rows).group_by([&](const tick& t) { return std::pair(text(t), t.key); }).as_ordered().keys().to_vector();
    EXPECT_ROWS(of_views, pairs);
    EXPECT_ROWS(of_pairs.select([](auto g) { return std::pair(g.key().second, g.key().first); }).to_vector(), turned);
    EXPECT_ROWS(of_pairs.select([](auto g) {
      return std::pair(std::pair(g.key().second, g.key().first), g.count());
    }).to_vector(), counted);
    EXPECT_ROWS(tuples.select([](auto g) {
      return std::pair(std::tuple(std::get<1>(g.key()), std::get<0>(g.key())), g.count());
    }).to_vector(), of_tuples);
    const auto nested = tuples.select([](auto g) {
      return std::pair(std::tuple(std::get<1>(g.key()), g.count()), std::pair(std::pair(1, std::get<0>(g.key())), g.key()));
    }).to_vector();
    EXPECT_ROWS(selected(nested, [](const auto& r) {
      const auto& [of, key] = r;
      return std::pair(std::pair(std::get<0>(of), key.first.second), std::get<1>(of));
    }), counted);
    EXPECT_TRUE(std::all_of(nested.begin(), nested.end(), [](const auto& r) {
      const auto& [ones, key] = r.second;
      return ones.first == 1 && std::get<0>(key) == ones.second && std::get<1>(key) == std::get<0>(r.first);
    }));
  }
}

CONFORMS(groups, groups_of_groups, "group_by") {
  const std::vector<tick>& rows = many_ticks();
  std::map<std::int64_t, std::int64_t> sizes;
  for (const auto& g : grouped(rows, [](const tick& t) { return t.amount; })) ++sizes[static_cast<std::int64_t>(g.second.size())];
  const auto got = source(e, rows).count_by([](auto t) { return t.amount; }).count_by([](auto r) { return std::get<1>(r); }).to_vector();
  std::vector<std::pair<std::int64_t, std::int64_t>> wanted(sizes.begin(), sizes.end());
  EXPECT_SAME_ROWS(selected(got, [](const auto& r) { return std::pair<std::int64_t, std::int64_t>(std::get<0>(r), std::get<1>(r)); }),
                   wanted);
}

}  // namespace
}  // namespace conformance
