// The first rows of an order of rows that lie on the device; beside each, the sort of all rows that gives the same. The rate counts each
// key once, and the limit is a copy's: who only reads may be faster than that.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "gpu_speed/materialised.hpp"

namespace bench::speed {

namespace {

struct Offer {
  std::uint32_t part;  // the row's number
  std::uint32_t amount;
  double price;
};
QUERY_RECORD(Offer, part, amount, price);

template <class T> bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// make(k): the query of the first k. `before` counts the rows of the input that surely come before a row of the result.
template <class Make, class Before>
void first(const machine& m, own_session& s, const std::string& name, double key_bytes, std::size_t n, const Make& make,
           const Before& before) {
  for (const std::size_t k : {std::size_t{10}, std::size_t{1000}, std::size_t{100000}}) {
    const std::string line = name + ", first " + std::to_string(k);
    if (!m.wants(line)) continue;
    const auto query = [&] { return make(k); };
    const auto peak = [&](auto& rows) {
      s.forget();
      if (!s.gpu()) {
        rows = materialised(query).to_vector();
        return 0.0;
      }
      s.gpu()->memory().reset_peak();
      const auto used = static_cast<double>(s.gpu()->memory().counters().used);
      rows = materialised(query).to_vector();
      return (static_cast<double>(s.gpu()->memory().counters().peak) - used) * 1e-6;
    };
    decltype(materialised(query).to_vector()) selected, sorted;
    double all_ms = 0, all_mb = 0;
    const std::uint64_t least = s.gpu() ? s.gpu()->least_selected() : 0;
    if (s.gpu()) {
      s.gpu()->select_from(~0ull);
      all_ms = materialised_ms(query);
      all_mb = peak(sorted);
      s.gpu()->select_from(m.real() ? least : 1);
    }
    const double ms = materialised_ms(query), mb = peak(selected);
    if (s.gpu()) s.gpu()->select_from(least);
    bool right = !m.real() || same(selected, sorted);
    if (m.how() != rehearsal::driver_double) right = right && !selected.empty() && selected.size() <= k && before(selected.back()) < k;
    char note[160];
    std::snprintf(note, sizeof note, "all sorted: %.3f ms, x%.1f; memory %.1f MB, of the sort %.1f MB  %s", all_ms,
                  ms > 0 ? all_ms / ms : 0, mb, all_mb, s.fell_back().c_str());
    m.line({line, ms, key_bytes * static_cast<double>(n), "GB/s", m.rates().copy, 0, right, note});
  }
}

}  // namespace

void first_of_order(const machine& m) {
  if (!m.concerns("top")) return;
  m.heading("first rows of an order (top, order_by and take)");
  const std::size_t n = m.rows(27);
  const auto count = [&](const auto& rows, const auto& test) {
    return static_cast<std::size_t>(parallel_sum(rows.size(), [&](std::size_t i) { return test(rows[i]) ? 1.0 : 0.0; }));
  };
  const auto numbers = [&](const char* name, auto zero, const auto& value) {
    if (!m.concerns(name)) return;
    using T = decltype(zero);
    std::vector<T> rows(n);
    parallel(n, [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) rows[i] = value(i);
    });
    own_session s(m);
    const auto there = s.on_gpu(query::from(rows).as_query()).cached();
    (void)there.count();
    first(m, s, name, sizeof(T), n, [&](std::size_t k) { return there.order_descending().take(k); },
          [&](T last) { return count(rows, [&](T v) { return v > last; }); });
  };
  numbers("top of 2^27 f64", 0.0, [](std::size_t i) { return 2 * unit_of(random_of(i)) - 1; });
  numbers("top of 2^27 u32", std::uint32_t{0}, [](std::size_t i) { return static_cast<std::uint32_t>(random_of(i) >> 32); });
  numbers("top of 2^27 u32 of 5 values", std::uint32_t{0}, [](std::size_t i) { return static_cast<std::uint32_t>(random_of(i) % 5); });
  numbers("top of 2^27 ascending f64", 0.0, [](std::size_t i) { return static_cast<double>(i); });
  if (!m.concerns("top rows")) return;
  std::vector<Offer, untouched<Offer>> rows(n);
  parallel(n, [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      const std::uint64_t x = random_of(i);
      rows[i] = {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(x >> 54), unit_of(mix(x))};
    }
  });
  own_session s(m);
  const auto there = s.on_gpu(query::from(rows).as_query()).cached();
  (void)there.count();
  first(m, s, "top rows, 2^27, f64", 8, n, [&](std::size_t k) { return there.order_by([](auto o) { return o.price; }).take(k); },
        [&](const Offer& last) { return count(rows, [&](const Offer& o) { return o.price < last.price; }); });
  first(m, s, "top rows, 2^27, u32 then f64", 12, n,
        [&](std::size_t k) { return there.order_by([](auto o) { return o.amount; }).then_by([](auto o) { return o.price; }).take(k); },
        [&](const Offer& last) {
          return count(rows, [&](const Offer& o) { return o.amount < last.amount || (o.amount == last.amount && o.price < last.price); });
        });
  first(m, s, "top rows, 2^27, a tenth, f64", 12, n,
        [&](std::size_t k) {
          return there.where([](auto o) { return o.amount % 10u == 3u; }).order_by([](auto o) { return o.price; }).take(k);
        },
        [&](const Offer& last) {
          return count(rows, [&](const Offer& o) { return o.amount % 10 == 3 && o.price < last.price; });
        });
}

}  // namespace bench::speed
