// Joins whose keys repeat on both sides, of rows that lie on the device; what they give stays there. The data is that of
// bench/gpu/hashing_joins_repeats.cu, where the primitives do the same; asked for is half the speed at which the output is written.
#include <cmath>
#include <numeric>

#include "gpu_speed/materialised.hpp"

namespace bench::speed {

namespace {

struct Row {
  std::uint64_t key, value;
};
QUERY_RECORD(Row, key, value);
struct Pairing {
  std::uint64_t key, left, right;
};
QUERY_RECORD(Pairing, key, left, right);

using rows_of_side = std::vector<Row, untouched<Row>>;

// Of one side, by the number of the key: how many rows, and the sum of their values.
struct share {
  std::uint64_t rows = 0, sum = 0;
};

// Row i has key number id(i); its value tells both.
template <class Id> rows_of_side make_side(std::size_t n, std::size_t distinct, const Id& id) {
  rows_of_side rows(n);
  parallel(n, [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      const std::uint64_t number = id(i);
      rows[i] = {mix(number + 1), i * distinct + number};
    }
  });
  return rows;
}
std::vector<share> shares(const rows_of_side& rows, std::size_t distinct) {
  std::vector<share> all(distinct);
  for (const Row& r : rows) {
    share& s = all[r.value % distinct];
    ++s.rows;
    s.sum += r.value;
  }
  return all;
}

std::uint64_t draw(std::uint64_t i, std::uint64_t seed) { return random_of(i + (seed << 40)); }
// Density 1 / rank.
std::uint64_t zipf(std::uint64_t i, std::uint64_t seed, std::size_t distinct) {
  return static_cast<std::uint64_t>(std::pow(static_cast<double>(distinct), unit_of(draw(i, seed)))) - 1;
}

void join(const machine& m, const std::string& name, std::size_t distinct, rows_of_side left, rows_of_side right, bool ordered = false) {
  std::uint64_t outputs = 0, left_sum = 0, right_sum = 0;
  {
    const auto of_left = shares(left, distinct), of_right = shares(right, distinct);
    for (std::size_t k = 0; k < distinct; ++k) {
      outputs += of_left[k].rows * of_right[k].rows;
      left_sum += of_left[k].sum * of_right[k].rows;
      right_sum += of_right[k].sum * of_left[k].rows;
    }
  }
  own_session s(m);
  const auto bring = [&](rows_of_side rows) {
    const auto q = s.on_gpu(query::from(std::move(rows)).as_query()).cached();
    (void)q.count();
    return q;
  };
  const auto a = bring(std::move(left)), b = bring(std::move(right));
  const auto key = [](auto r) { return r.key; };
  const auto pair = [](auto x, auto y) { return query::make<Pairing>(x.key, x.value, y.value); };
  const auto report = [&](const auto& make) {
    const double ms = materialised_ms(make), rows = static_cast<double>(outputs), write = m.rates().fill / sizeof(Pairing);
    const auto kept = materialised(make);
    const std::uint64_t numbers = distinct;
    const bool right_rows = kept.count() == static_cast<std::int64_t>(outputs) &&
                            kept.where([numbers](auto p) { return p.left % numbers != p.right % numbers; }).count() == 0 &&
                            kept.select([](auto p) { return p.left; }).sum() == left_sum &&
                            kept.select([](auto p) { return p.right; }).sum() == right_sum;
    m.line({name, ms, rows, "Grow/s", write, 0.5 * write, right_rows, s.fell_back()});
  };
  if (ordered) report([&] { return a.join(b, key, key, pair).as_ordered(); });
  else report([&] { return a.join(b, key, key, pair); });
}

// Every key has 1 to 50,000 rows of the larger side, scattered over it.
void many_partners(const machine& m, const char* name, bool ordered) {
  if (!m.wants(name)) return;
  const std::size_t n = m.rows(27), distinct = std::max<std::size_t>(n / 100'000, 2), probes = std::max<std::size_t>(n / 12'500, 1);
  std::vector<std::uint64_t> ends(distinct);
  for (std::size_t d = 0; d < distinct; ++d) ends[d] = 1 + draw(d, 11) % 50'000;
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  const std::uint64_t builds = ends.back(), stride = builds % 1'000'003 ? 1'000'003 : 999'983;
  join(m, name, distinct, make_side(probes, distinct, [&](std::size_t i) { return draw(i, 12) % distinct; }),
       make_side(builds, distinct,
                 [&](std::size_t i) {
                   return static_cast<std::uint64_t>(std::upper_bound(ends.begin(), ends.end(), i * stride % builds) - ends.begin());
                 }),
       ordered);
}

}  // namespace

void repeated_joins(const machine& m) {
  if (!m.concerns("join")) return;
  m.heading("join with repeated keys (rows are those of the output; must: half of what a fill writes)");
  many_partners(m, "join, multiplicity 1..50,000", false);
  many_partners(m, "join, multiplicity 1..50,000, as_ordered", true);
  const std::size_t n = m.rows(27), distinct = n / 128;
  if (const char* name = "join, Zipf build keys"; m.wants(name))
    join(m, name, distinct, make_side(n / 8, distinct, [&](std::size_t i) { return draw(i, 14) % distinct; }),
         make_side(n / 8, distinct, [&](std::size_t i) { return zipf(i, 13, distinct); }));
  if (const char* name = "join, Zipf probe keys, 4 build rows each"; m.wants(name))
    join(m, name, distinct, make_side(n / 2, distinct, [&](std::size_t i) { return zipf(i, 16, distinct); }),
         make_side(n / 32, distinct, [&](std::size_t i) { return draw(i, 15) % distinct; }));
}

}  // namespace bench::speed
