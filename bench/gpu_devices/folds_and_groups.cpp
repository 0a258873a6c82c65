// A filtered sum, and groups of few and of many keys.
#include "gpu_devices/devices.hpp"

namespace bench::devices {

namespace {

struct Keyed {
  std::uint32_t few, many, most;  // of a thousand, a million and 16 million
  float weight;
  double value;
};
QUERY_RECORD(Keyed, few, many, most, weight, value);
struct Total {
  std::uint32_t key;
  double sum;
  std::int64_t n;
};
QUERY_RECORD(Total, key, sum, n);

template <class Q> auto positive_sum(const Q& q) {
  return q.where([](auto v) { return v > 0.25; }).sum();
}
template <class Q, class Key> auto totals(const Q& q, Key key) {
  return q.group_by(key).select([](auto g) { return query::make<Total>(g.key(), g.sum([](auto r) { return r.value; }), g.count()); });
}

// The groups stay on the devices, and are looked at there: sums of all of them that depend on which key has what.
template <class Q, class Key> contestant grouped(const Q& q, Key key) {
  return {[q, key] {
            return totals(q, key)
                .select([](auto t) {
                  return t.sum * query::cast<double>(t.key % 7u + 1u) + query::cast<double>(t.n * query::cast<std::int64_t>(t.key % 5u));
                })
                .sum();
          },
          [q, key] { (void)totals(q, key).cached().count(); }, [q, key] { return totals(q, key).explain(); }};
}

}  // namespace

void folds(machine& m) {
  if (!m.wants("filtered sum, 2^31 f64, resident") && !m.wants("filtered sum, 2^30 f64, from the host")) return;
  const std::size_t n = m.rows(31), fewer = m.rows(30);
  auto rows = filled<double>(n, [](std::size_t i) { return unit_of(random_of(i)); });
  const double bytes = 8 * static_cast<double>(n), sent = 8 * static_cast<double>(fewer);
  m.race({"filtered sum, 2^31 f64, resident", 3.4, {.device = bytes}}, [&](const side& s) {
    const auto there = s.kept(query::from(rows).as_query());
    return contestant{[there] { return positive_sum(there); }, {}, {}};
  });
  rows.resize(fewer);
  m.race({"filtered sum, 2^30 f64, from the host", 0, {.sent = sent, .host = sent}}, [&](const side& s) {
    const auto here = s.on(query::from(rows).as_query());
    return contestant{[here] { return positive_sum(here); }, {}, {}};
  });
}

void groups(machine& m) {
  if (!m.wants("group_by")) return;
  const std::size_t n = m.rows(29);
  const std::uint32_t keys = static_cast<std::uint32_t>(m.rows(24) < n / 8 ? m.rows(24) : n / 8);
  const auto rows = filled<Keyed>(n, [&](std::size_t i) {
    const std::uint64_t x = random_of(i);
    const auto key = static_cast<std::uint32_t>(x >> 40) % keys;
    return Keyed{key % 1000, key % (keys / 16), key, 1, unit_of(x)};
  });
  const auto few = [](auto r) { return r.few; };
  const auto many = [](auto r) { return r.many; };
  const auto most = [](auto r) { return r.most; };
  const double read = 12 * static_cast<double>(n);
  const auto exchanged = [](double groups, double devices) { return 24 * groups * devices; };
  const double devices = static_cast<double>(m.devices());
  const auto race = [&](const char* where, const auto& rows_of, case_bytes bytes, double wanted_of_few, double wanted_of_many) {
    const auto name = [&](const char* what) { return "group_by, " + std::string(what) + " keys, 2^29, " + where; };
    m.race({name("1k"), wanted_of_few, bytes}, [&](const side& s) { return grouped(rows_of(s), few); });
    case_bytes more = bytes;
    more.exchanged = exchanged(keys / 16.0, devices);
    m.race({name("1M"), wanted_of_many, more}, [&](const side& s) { return grouped(rows_of(s), many); });
    more.exchanged = exchanged(keys, devices);
    m.race({name("16M"), wanted_of_many, more}, [&](const side& s) { return grouped(rows_of(s), most); });
  };
  race(
      "resident", [&](const side& s) { return s.kept(query::from(rows).as_query()); }, {.device = read}, 3.4, 2.6);
  race(
      "from the host", [&](const side& s) { return s.on(query::from(rows).as_query()); },
      {.device = read, .sent = read, .host = static_cast<double>(n * sizeof(Keyed))}, 0, 0);
}

}  // namespace bench::devices
