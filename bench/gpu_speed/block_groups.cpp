// group_by over blocks of rows: of a range that is longer than the device's memory would hold, whose numbers are computed on the way.
#include "gpu_speed/speed.hpp"

namespace bench::speed {

namespace {

struct Counted {
  std::uint64_t key, sum;
  std::int64_t n;
};
QUERY_RECORD(Counted, key, sum, n);

constexpr std::uint64_t golden = 0x9E3779B97F4A7C15u, low_bits = 0xFFFF;

// `key(x)` of x = i * golden, modulo 2^64, of which the values are 16 bits.
template <class Key> void groups_of(const machine& m, own_session& s, const std::string& keys, double groups, double must, const Key& key) {
  const std::string name = "group_by over blocks, " + keys + " groups, 2^32";
  if (!m.wants(name)) return;
  const std::size_t n = m.rows(32);
  const double sum = parallel_sum(n, [](std::size_t i) { return static_cast<double>((i * golden) & low_bits); });
  const auto rows = s.on_gpu(query::range(std::uint64_t{0}, n)
                                 .as_accelerated()
                                 .select([](auto i) { return i * golden; })
                                 .group_by(key)
                                 .select([](auto g) {
                                   return query::make<Counted>(g.key(), g.sum([](auto x) { return x & low_bits; }), g.count());
                                 }));
  std::vector<Counted> found;
  const double ms = median_ms([&] { found = rows.to_vector(); });
  double all = 0, count = 0;
  for (const Counted& c : found) all += static_cast<double>(c.sum), count += static_cast<double>(c.n);
  const bool right = all == sum && count == static_cast<double>(n) && (groups == 0 || static_cast<double>(found.size()) == groups);
  m.line({.name = name,
          .ms = ms,
          .amount = static_cast<double>(n),
          .unit = "Grow/s",
          .must = must * m.scale(),
          .right = right,
          .note = s.fell_back()});
}

}  // namespace

void block_groups(const machine& m) {
  if (!m.concerns("group_by over blocks")) return;
  m.heading("group_by over blocks of a range of u64, sum and count");
  own_session s(m, std::size_t{4} << 30);
  groups_of(m, s, "16", 16, 0, [](auto x) { return x >> 60u; });
  groups_of(m, s, "1k", 1024, 0, [](auto x) { return x >> 54u; });
  // Of so many numbers as a rehearsal has not every key is one.
  groups_of(m, s, "1M", m.real() ? 1 << 20 : 0, 0, [](auto x) { return x >> 44u; });
  // 31 of 32 rows are of one group, the others of a quarter of a million.
  groups_of(m, s, "skewed", 0, 0, [](auto x) { return query::iff((x >> 20u & 31u) == 7u, x >> 46u, std::uint64_t{0}); });
}

}  // namespace bench::speed
