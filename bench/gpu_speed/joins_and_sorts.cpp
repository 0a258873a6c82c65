// Joins with distinct keys and sorts, of rows that lie on the device; what they give stays there.
#include <atomic>
#include <bit>

#include "gpu_speed/materialised.hpp"

namespace bench::speed {

namespace {

struct Pair {
  std::uint64_t key, value;
};
QUERY_RECORD(Pair, key, value);
struct Joined {
  std::uint64_t key, left, right;
};
QUERY_RECORD(Joined, key, left, right);

using pairs = std::vector<Pair, untouched<Pair>>;

template <class F> pairs make_pairs(std::size_t n, const F& number) {
  pairs rows(n);
  parallel(n, [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) rows[i] = {mix(number(i) + 1), number(i)};
  });
  return rows;
}

void join(const machine& m, const char* name, int log2, double must) {
  if (!m.wants(name)) return;
  const std::size_t built = m.rows(log2), probed = m.rows(27);
  own_session s(m);
  const auto bring = [&](pairs rows) {
    const auto q = s.on_gpu(query::from(std::move(rows)).as_query()).cached();
    (void)q.count();
    return q;
  };
  // Every build row once, in no order; the numbers of a power of two are permuted by an odd factor.
  const auto build = bring(make_pairs(built, [&](std::size_t i) { return (i * 0x9E3779B1u) & (built - 1); }));
  const auto probe = bring(make_pairs(probed, [&](std::size_t i) { return random_of(i) & (built - 1); }));
  const auto make = [&] {
    return probe.join(
        build, [](auto a) { return a.key; }, [](auto b) { return b.key; },
        [](auto a, auto b) { return query::make<Joined>(a.key, a.value, b.value); });
  };
  const double ms = materialised_ms(make), rows = static_cast<double>(built + probed);
  const auto kept = materialised(make);
  const bool right = kept.count() == static_cast<std::int64_t>(probed) && kept.where([](auto j) { return j.left != j.right; }).count() == 0;
  const double bytes = 16 + 24 * static_cast<double>(probed) / rows;
  m.line({name, ms, rows, "Grow/s", m.rates().copy / bytes, must * m.scale(), right, s.fell_back()});
}

void sort(const machine& m) {
  const char* name = "order_by, 2^27 f64";
  if (!m.wants(name)) return;
  const std::size_t n = m.rows(27);
  std::vector<double> rows(n);
  parallel(n, [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) rows[i] = 2 * unit_of(random_of(i)) - 1;
  });
  own_session s(m);
  const auto there = s.on_gpu(query::from(rows).as_query()).cached();
  (void)there.count();
  const auto make = [&] { return there.order_by([](auto v) { return v; }); };
  const double ms = materialised_ms(make);
  const std::vector<double> sorted = materialised(make).to_vector();
  std::atomic<bool> right = sorted.size() == n;
  if (right)
    parallel(n, [&](std::size_t from, std::size_t to) {
      for (std::size_t i = std::max<std::size_t>(from, 1); i < to; ++i)
        if (sorted[i] < sorted[i - 1]) right = false;
    });
  // As sets: by sums of what each number's bits are mixed to.
  const auto digest = [&](const std::vector<double>& v) {
    std::atomic<std::uint64_t> all{0};
    parallel(v.size(), [&](std::size_t from, std::size_t to) {
      std::uint64_t sum = 0;
      for (std::size_t i = from; i < to; ++i) sum += mix(std::bit_cast<std::uint64_t>(v[i]));
      all += sum;
    });
    return all.load();
  };
  m.line({name, ms, static_cast<double>(n), "Grow/s", m.rates().copy / 16, 16.2 * m.scale(), right && digest(rows) == digest(sorted),
          s.fell_back()});
}

struct Entry {
  std::uint32_t part;
  std::int32_t amount;
  double price;
};
QUERY_RECORD(Entry, part, amount, price);

// Rows by keys as they lie and by keys that are computed. `number` of a row is what it is sorted by, as the host computes it; rows whose
// keys are equal keep their order, which `part` tells: it is the row's number.
template <class Query, class Number>
void sort_rows(const machine& m, const own_session& s, const char* name, std::size_t n, const Query& query, Number number) {
  if (!m.wants(name)) return;
  const double ms = materialised_ms(query);
  const std::vector<Entry> sorted = materialised(query).to_vector();
  std::atomic<bool> right = sorted.size() == n;
  std::vector<std::atomic<bool>> seen(right ? n : 0);
  if (right)
    parallel(n, [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) {
        if (sorted[i].part >= n || seen[sorted[i].part].exchange(true)) right = false;
        if (i == 0) continue;
        const auto a = number(sorted[i - 1]), b = number(sorted[i]);
        if (b < a || (a == b && sorted[i].part < sorted[i - 1].part)) right = false;
      }
    });
  m.line({name, ms, static_cast<double>(n), "Grow/s", 0, 0, right, const_cast<own_session&>(s).fell_back()});
}

void sorts_of_rows(const machine& m) {
  if (!m.concerns("order_by rows")) return;
  const std::size_t n = m.rows(26);
  std::vector<Entry, untouched<Entry>> rows(n);
  parallel(n, [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      const std::uint64_t x = random_of(i);
      rows[i] = {static_cast<std::uint32_t>(i), static_cast<std::int32_t>(x >> 32) >> 8, unit_of(x) - 0.5};
    }
  });
  own_session s(m);
  const auto there = s.on_gpu(query::from(std::move(rows)).as_query()).cached();
  (void)there.count();
  sort_rows(m, s, "order_by rows, 2^26, f64", n, [&] { return there.order_by([](auto e) { return e.price; }); },
            [](const Entry& e) { return e.price; });
  sort_rows(m, s, "order_by rows, 2^26, f64 descending", n, [&] { return there.order_by_descending([](auto e) { return e.price; }); },
            [](const Entry& e) { return -e.price; });
  sort_rows(m, s, "order_by rows, 2^26, i32", n, [&] { return there.order_by([](auto e) { return e.amount; }); },
            [](const Entry& e) { return e.amount; });
  sort_rows(m, s, "order_by rows, 2^26, computed f64", n, [&] { return there.order_by([](auto e) { return e.price * -3.0; }); },
            [](const Entry& e) { return e.price * -3.0; });
  sort_rows(m, s, "order_by rows, 2^26, computed i32", n, [&] { return there.order_by([](auto e) { return e.amount / 1000; }); },
            [](const Entry& e) { return e.amount / 1000; });
  sort_rows(m, s, "order_by rows, 2^26, i32 then f64", n,
            [&] { return there.order_by([](auto e) { return e.amount / 65536; }).then_by([](auto e) { return e.price; }); },
            [](const Entry& e) { return std::pair(e.amount / 65536, e.price); });
}

}  // namespace

void joins_and_sorts(const machine& m) {
  if (!m.concerns("join") && !m.concerns("order_by")) return;
  m.heading("join (rows are those of both sides), order_by");
  join(m, "join, 2^24 build, 2^27 probe", 24, 19.7);
  join(m, "join, 2^27 build, 2^27 probe", 27, 14.2);
  repeated_joins(m);
  sort(m);
  sorts_of_rows(m);
}

}  // namespace bench::speed
