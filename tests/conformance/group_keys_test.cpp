// group_by over every kind of key.
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
    EXPECT_SAME_ROWS(selected(q.to_vector(), [](const auto& r) { return std::pair<K, std::int64_t>(std::get<0>(r), std::get<1>(r)); }),
                     wanted);
    EXPECT_ROWS(
        selected(q.as_ordered().to_vector(), [](const auto& r) { return std::pair<K, std::int64_t>(std::get<0>(r), std::get<1>(r)); }),
        wanted);
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
  check_key(
      e, "record",
      [](const trade& t) {
        return way_and_lot{t.way, t.lot};
      },
      [](auto t) { return query::make<way_and_lot>(t.way, t.lot); });
  check_key(
      e, "computed", [](const trade& t) { return t.amount % 3 == 0 ? t.key : -t.id % 7; },
      [](auto t) { return query::iff(t.amount % 3 == 0, t.key, -t.id % 7); });
}

}  // namespace
}  // namespace conformance
