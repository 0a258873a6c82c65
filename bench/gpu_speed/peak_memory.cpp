// The most device memory that a query holds at a time, over what its inputs and its result take: counted by the session's pool, the
// cached inputs among it. Blocks are rounded up to size classes; blocks kept for reuse are not counted.
#include <cstdio>

#include "gpu_speed/materialised.hpp"

namespace bench::speed {

namespace {

struct Entry {
  std::uint32_t key;
  double value;
};
QUERY_RECORD(Entry, key, value);
struct Sum {
  std::uint32_t key;
  double sum;
};
QUERY_RECORD(Sum, key, sum);
struct Pair {
  std::uint64_t key, value;
};
QUERY_RECORD(Pair, key, value);
struct Joined {
  std::uint64_t key, left, right;
};
QUERY_RECORD(Joined, key, left, right);

// The inputs lie there, and nothing else does.
template <class Make>
void peak(const machine& m, own_session& s, const std::string& name, double inputs, double row_bytes, const Make& make) {
  if (!m.wants(name)) return;
  s.forget();
  query::gpu_engine::device_memory& memory = s.gpu()->memory();
  memory.reset_peak();
  const double before = static_cast<double>(memory.counters().used);
  const auto kept = materialised(make);
  const double most = static_cast<double>(memory.counters().peak), needed = inputs + row_bytes * static_cast<double>(kept.count());
  char text[128];
  std::snprintf(text, sizeof text, "peak %.0f MB, inputs %.0f MB (held: %.0f), with output %.0f MB  %s", most * 1e-6, inputs * 1e-6,
                before * 1e-6, needed * 1e-6, s.fell_back().c_str());
  m.ratio(name, most / needed, 1.5, text);
}

// Every row finds `each` of the build side, whose numbers lie in order.
void joins(const machine& m, int build_log2, int probe_log2, std::size_t each, const char* name) {
  if (!m.wants(name)) return;
  const std::size_t n = m.rows(probe_log2), built = m.rows(build_log2);
  own_session s(m);
  const auto bring = [&](std::size_t size, const auto& number) {
    std::vector<Pair, untouched<Pair>> rows(size);
    parallel(size, [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) rows[i] = {mix(number(i)), i};
    });
    const auto q = s.on_gpu(query::from(std::move(rows)).as_query()).cached();
    (void)q.count();
    return q;
  };
  const auto build = bring(built, [&](std::size_t i) { return i / each; });
  const auto probe = bring(n, [&](std::size_t i) { return random_of(i) & (built / each - 1); });
  peak(m, s, name, 16 * static_cast<double>(n + built), sizeof(Joined), [&] {
    return probe.join(
        build, [](auto a) { return a.key; }, [](auto b) { return b.key; },
        [](auto a, auto b) { return query::make<Joined>(a.key, a.value, b.value); });
  });
}

}  // namespace

void peak_memory(const machine& m) {
  if (!m.on() || !m.concerns("peak memory")) return;
  m.heading("peak device memory over inputs and outputs");
  const std::size_t n = m.rows(27);
  const double rows = static_cast<double>(n);
  if (m.concerns("peak memory: filter+map+collect") || m.concerns("peak memory: group_by, 1M") || m.concerns("peak memory: order_by")) {
    std::vector<Entry, untouched<Entry>> entries(n);
    parallel(n, [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) {
        const std::uint64_t r = random_of(i);
        entries[i] = {static_cast<std::uint32_t>((r >> 32) * m.fewer(1000000) >> 32), unit_of(mix(r))};
      }
    });
    {
      own_session s(m);
      const auto there = s.on_gpu(query::from(entries).as_query()).cached();
      (void)there.count();
      peak(m, s, "peak memory: filter+map+collect, 2^27, half stay", 12 * rows, 8,
           [&] { return there.where([](auto e) { return e.value > 0.5 && e.key != 0u; }).select([](auto e) { return e.value * 2.0; }); });
      peak(m, s, "peak memory: group_by, 1M groups, 2^27", 12 * rows, sizeof(Sum), [&] {
        return there.group_by([](auto e) { return e.key; }).select([](auto g) {
          return query::make<Sum>(g.key(), g.sum([](auto e) { return e.value; }));
        });
      });
      peak(m, s, "peak memory: order_by, 2^27 rows of 12 bytes", 12 * rows, sizeof(Entry),
           [&] { return there.order_by([](auto e) { return e.value; }); });
    }
    std::vector<double> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = entries[i].value;
    own_session s(m);
    const auto there = s.on_gpu(query::from(values).as_query()).cached();
    (void)there.count();
    peak(m, s, "peak memory: order_by, 2^27 f64", 8 * rows, 8, [&] { return there.order_by([](auto v) { return v; }); });
  }
  if (m.concerns("peak memory: group_by, 16M")) {
    const std::uint64_t groups = m.fewer(std::size_t{1} << 24);
    std::vector<Entry, untouched<Entry>> entries(n);
    parallel(n, [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) {
        const std::uint64_t r = random_of(i);
        entries[i] = {static_cast<std::uint32_t>((r >> 32) * groups >> 32), unit_of(mix(r))};
      }
    });
    own_session s(m);
    const auto there = s.on_gpu(query::from(std::move(entries)).as_query()).cached();
    (void)there.count();
    peak(m, s, "peak memory: group_by, 16M groups, 2^27", 12 * rows, sizeof(Sum), [&] {
      return there.group_by([](auto e) { return e.key; }).select([](auto g) {
        return query::make<Sum>(g.key(), g.sum([](auto e) { return e.value; }));
      });
    });
  }
  joins(m, 24, 27, 1, "peak memory: join, 2^24 build, 2^27 probe");
  joins(m, 27, 27, 1, "peak memory: join, 2^27 build, 2^27 probe");
  joins(m, 25, 25, 4, "peak memory: join of four rows each, 2^25 build, 2^25 probe");
}

}  // namespace bench::speed
