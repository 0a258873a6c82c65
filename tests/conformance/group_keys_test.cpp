// group_by over every kind of key, custom equality, materialised groups.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

struct way_and_lot {
  side way;
  std::optional<std::int32_t> lot;
};
QUERY_RECORD(way_and_lot, way, lot);

// Key, rows and their ids in order, for one key function given natively and to the library.
template <class Native, class F> void check_key(const engine_config& e, const char* what, Native native, F f) {
  SCOPED_TRACE(what);
  using K = std::decay_t<decltype(native(std::declval<const trade&>()))>;
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<std::pair<K, std::int64_t>> wanted;
    for (const auto& [k, rows] : grouped(d.rows, native)) {
      std::int64_t ids = 0;
      for (const trade& t : rows) ids += t.id;
      wanted.emplace_back(k, ids);
    }
    const auto q = source(e, d.rows).group_by(f).aggregate([](auto g) { return g.sum([](auto t) { return t.id; }); });
    EXPECT_SAME_ROWS(selected(q.to_vector(), [](const auto& r) { return std::pair<K, std::int64_t>(std::get<0>(r), std::get<1>(r)); }), wanted);
    EXPECT_ROWS(selected(q.as_ordered().to_vector(), [](const auto& r) { return std::pair<K, std::int64_t>(std::get<0>(r), std::get<1>(r)); }), wanted);
  }
}

CONFORMS(group_keys, numbers_and_enums, "group_by") {
  check_key(e, "int32", [](const trade& t) { return t.key; }, [](auto t) { return t.key; });
  check_key(e, "int64", [](const trade& t) { return t.amount; }, [](auto t) { return t.amount; });
  check_key(e, "bool", [](const trade& t) { return t.hot; }, [](auto t) { return t.hot; });
  check_key(e, "enum", [](const trade& t) { return t.way; }, [](auto t) { return t.way; });
}
CONFORMS(group_keys, all_nans_are_one_key_and_zeros_are_equal, "group_by") {
  check_key(e, "double", [](const trade& t) { return t.price; }, [](auto t) { return t.price; });
}
CONFORMS(group_keys, strings_and_nulls, "group_by") {
  check_key(e, "string", [](const trade& t) { return t.name; }, [](auto t) { return t.name; });
  check_key(e, "optional int", [](const trade& t) { return t.lot; }, [](auto t) { return t.lot; });
  check_key(e, "optional string", [](const trade& t) { return t.note; }, [](auto t) { return t.note; });
}
CONFORMS(group_keys, composite_keys, "group_by") {
  check_key(e, "array", [](const trade& t) { return t.legs; }, [](auto t) { return t.legs; });
  check_key(e, "tuple", [](const trade& t) { return std::tuple(t.key, t.name); }, [](const trade& t) { return std::tuple(t.key, t.name); });
  check_key(e, "record", [](const trade& t) { return way_and_lot{t.way, t.lot}; }, [](auto t) { return query::make<way_and_lot>(t.way, t.lot); });
  check_key(e, "computed", [](const trade& t) { return t.amount % 3 == 0 ? t.key : -t.id % 7; }, [](auto t) { return query::iff(t.amount % 3 == 0, t.key, -t.id % 7); });
}

CONFORMS(group_keys, equality_of_the_user, "group_by", "distinct_by") {
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

CONFORMS(group_keys, materialised_groups_hold_their_rows_in_source_order, "group_by.groups", "group_by.select", "to_lookup") {
  using row = std::pair<std::int32_t, std::vector<std::int32_t>>;
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    std::vector<row> wanted;
    for (const auto& [k, rows] : grouped(d.rows, [](const tick& t) { return t.key; })) wanted.emplace_back(k, selected(rows, [](const tick& t) { return t.id; }));
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

CONFORMS(group_keys, groups_of_groups, "group_by") {
  const std::vector<tick>& rows = many_ticks();
  std::map<std::int64_t, std::int64_t> sizes;
  for (const auto& g : grouped(rows, [](const tick& t) { return t.amount; })) ++sizes[static_cast<std::int64_t>(g.second.size())];
  const auto got = source(e, rows).count_by([](auto t) { return t.amount; }).count_by([](auto r) { return std::get<1>(r); }).to_vector();
  std::vector<std::pair<std::int64_t, std::int64_t>> wanted(sizes.begin(), sizes.end());
  EXPECT_SAME_ROWS(selected(got, [](const auto& r) { return std::pair<std::int64_t, std::int64_t>(std::get<0>(r), std::get<1>(r)); }), wanted);
}

}  // namespace
}  // namespace conformance
