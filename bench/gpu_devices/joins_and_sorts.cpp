// Joins of as many rows with as many, and sorts; what they give stays on the devices.
#include <array>
#include <atomic>
#include <bit>
#include <cstring>

#include "gpu_devices/devices.hpp"

namespace bench::devices {

namespace {

struct Pair {
  std::uint64_t key, value;
};
QUERY_RECORD(Pair, key, value);
struct Joined {
  std::uint64_t key, left, right;
};
QUERY_RECORD(Joined, key, left, right);
struct Record {
  std::array<std::uint8_t, 10> key;
  std::array<std::uint8_t, 90> rest;  // begins with the record's number
};
static_assert(sizeof(Record) == 100);
QUERY_RECORD(Record, key, rest);

template <class Q> auto joined(const Q& probe, const Q& build) {
  return probe.join(
      build, [](auto a) { return a.key; }, [](auto b) { return b.key; },
      [](auto a, auto b) { return query::make<Joined>(a.key, a.value, b.value); });
}
template <class Q> contestant join_of(const side& s, const Q& probe, const Q& build) {
  const auto rows = s.demanded(joined(probe, build));
  return {[rows] {
            return rows.select([](auto j) { return query::cast<double>((j.left ^ j.key) % 1021u) + query::cast<double>(j.right % 509u); })
                .sum();
          },
          [rows] { (void)rows.cached().count(); }, [rows] { return rows.explain(); }};
}

template <class Q> auto ordered(const Q& q) {
  if constexpr (std::is_same_v<Q, query::Query<Record>>)
    return q.order_by([](auto r) { return r.key; });
  else
    return q.order_by([](auto v) { return v; });
}
std::uint64_t word_of(double v) { return std::bit_cast<std::uint64_t>(v); }
std::uint64_t word_of(const Record& r) {
  std::uint64_t word, number;
  std::memcpy(&word, r.key.data(), 8);
  std::memcpy(&number, r.rest.data(), 8);
  return word ^ random_of(number);
}
// Of rows and the places where they lie.
template <class Rows> double digest(const Rows& rows) {
  std::atomic<std::uint64_t> all{0};
  parallel(rows.size(), [&](std::size_t from, std::size_t to) {
    std::uint64_t sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += random_of(word_of(rows[i]) + i);
    all += sum;
  });
  return static_cast<double>(all.load() >> 12);
}
template <class Q> contestant sort_of(const Q& q) {
  return {[q] { return digest(ordered(q).to_vector()); }, [q] { (void)ordered(q).cached().count(); }, [q] { return ordered(q).explain(); }};
}

}  // namespace

void joins(machine& m) {
  if (!m.wants("join, 2^27 x 2^27, resident") && !m.wants("join, 2^27 x 2^27, from the host")) return;
  const std::size_t n = m.rows(27);
  const auto key_of = [](std::uint64_t number) { return random_of(number); };
  // Every build row once, in no order; the numbers of a power of two are permuted by an odd factor.
  const auto build = filled<Pair>(n, [&](std::size_t i) {
    const std::uint64_t number = (i * 0x9E3779B1u) & (n - 1);
    return Pair{key_of(number), number};
  });
  const auto probe = filled<Pair>(n, [&](std::size_t i) {
    const std::uint64_t number = random_of(i ^ 0x5555) & (n - 1);
    return Pair{key_of(number), number};
  });
  const double both = 32 * static_cast<double>(n), out = 24 * static_cast<double>(n);
  m.race({"join, 2^27 x 2^27, resident", 2.6, {.device = both + out, .exchanged = both}},
         [&](const side& s) { return join_of(s, s.kept(query::from(probe).as_query()), s.kept(query::from(build).as_query())); });
  m.race({"join, 2^27 x 2^27, from the host", 0, {.device = both + out, .sent = both, .host = both}}, [&](const side& s) {
    using rows = query::Query<Pair>;
    return join_of(s, rows(query::from(probe).in(s.session)), rows(query::from(build).in(s.session)));
  });
}

void sorts(machine& m) {
  const auto race = [&](const std::string& name, const auto& rows) {
    const double bytes = static_cast<double>(rows.size() * sizeof(rows[0]));
    m.race({name + ", resident", 2.6, {.device = 2 * bytes, .exchanged = bytes}},
           [&](const side& s) { return sort_of(s.kept(query::from(rows).as_query())); });
    m.race({name + ", from the host", 0, {.device = 2 * bytes, .sent = bytes, .host = bytes}},
           [&](const side& s) { return sort_of(s.on(query::from(rows).as_query())); });
  };
  if (m.wants("sort, 2^28 f64, resident") || m.wants("sort, 2^28 f64, from the host"))
    race("sort, 2^28 f64", filled<double>(m.rows(28), [](std::size_t i) { return 2 * unit_of(random_of(i)) - 1; }));
  if (m.wants("sort, 2^26 records of 100 bytes, resident") || m.wants("sort, 2^26 records of 100 bytes, from the host"))
    race("sort, 2^26 records of 100 bytes", filled<Record>(m.rows(26), [](std::size_t i) {
           Record r{};
           const std::uint64_t words[2] = {random_of(i), random_of(~i)};
           std::memcpy(r.key.data(), words, 10);
           std::memcpy(r.rest.data(), &i, 8);
           return r;
         }));
}

}  // namespace bench::devices
