// Scans of rows in the host's pageable memory: 8 GiB of structs of which one field in four is used, 8 GiB of columns that are all used.
#include <cstdio>

#include "gpu_speed/speed.hpp"

namespace bench::speed {

namespace {

struct Wide {
  std::int64_t id;
  double a, b;
  std::int64_t c;
};
QUERY_RECORD(Wide, id, a, b, c);
struct Four {
  double a, b, c, d;
};
QUERY_RECORD(Four, a, b, c, d);

// Where a sum runs, by its plan.
std::string place_of(const std::string& plan) {
  const std::size_t at = plan.find("sum: ");
  return at == plan.npos ? plan : plan.substr(at, plan.find('\n', at) - at);
}

double number(std::size_t i) { return unit_of(random_of(i)); }

// The same scan where the GPU has to do it, with less memory than the rows take, and where the library chooses.
template <class Q, class Scan, class Where>
void scans(const machine& m, const std::string& name, const Q& rows, double bytes, double limit, double must, double wanted,
           const Scan& scan, const Where& where) {
  const auto one = [&](const std::string& how, std::size_t memory) {
    if (!m.wants(name + how)) return;
    own_session s(m, memory);
    const auto there = s.on_gpu(rows);
    double answer = 0;
    const double ms = median_ms([&] { answer = scan(there); }, 2);
    m.line({name + how, ms, bytes, "GB/s", limit, must * limit, near(answer, wanted), s.fell_back()});
  };
  one("", 0);
  one(", 2 GiB of the device", std::size_t{2} << 30);
  if (!m.real() || !m.wants(name + ", as chosen")) return;
  const query::Session session;
  const auto open = rows.in(session).as_accelerated();
  double answer = 0;
  for (int i = 0; i < 4; ++i) answer = scan(open);
  const double ms = median_ms([&] { answer = scan(open); }, 2);
  m.line({name + ", as chosen", ms, bytes, "GB/s", limit, must * limit, near(answer, wanted), where(open)});
}

}  // namespace

void host_rows(const machine& m) {
  if (!m.concerns("host scan")) return;
  m.heading("rows of the host, pageable (limits: structs: the host's memory as it is read; columns: pinned copies)");
  const std::size_t n = m.rows(28);
  const double bytes = 32 * static_cast<double>(n);
  if (m.concerns("host scan, structs, 1 of 4 fields")) {
    std::vector<Wide, untouched<Wide>> rows(n);
    parallel(n, [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) rows[i] = {static_cast<std::int64_t>(i), number(i), 0.5, 7};
    });
    const double wanted = parallel_sum(n, [&](std::size_t i) { return rows[i].a > 0.25 ? rows[i].a * 0.5 + 1.0 : 0; });
    const auto passed = [](const auto& q) {
      return q.where([](auto r) { return r.a > 0.25; }).select([](auto r) { return r.a * 0.5 + 1.0; });
    };
    scans(
        m, "host scan, structs, 1 of 4 fields", query::from(rows).as_query(), bytes, m.rates().host_read, 0.6, wanted,
        [&](const auto& q) { return passed(q).sum(); }, [&](const auto& q) { return place_of(passed(q).explain("sum")); });
  }
  if (m.concerns("host scan, columns")) {
    std::vector<double> columns[4];
    parallel(4, [&](std::size_t from, std::size_t to) {
      for (std::size_t c = from; c < to; ++c) columns[c].resize(n);
    });
    parallel(n, [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) {
        const double v = number(i);
        columns[0][i] = v, columns[1][i] = 1 - v, columns[2][i] = 0.5 * v, columns[3][i] = 3;
      }
    });
    const auto& [a, b, c, d] = columns;
    const double wanted =
        parallel_sum(n, [&, &a = a, &b = b, &c = c, &d = d](std::size_t i) { return a[i] > 0.25 ? a[i] * b[i] + c[i] * d[i] : 0; });
    const auto passed = [](const auto& q) {
      return q.where([](auto r) { return r.a > 0.25; }).select([](auto r) { return r.a * r.b + r.c * r.d; });
    };
    scans(
        m, "host scan, columns", query::from(query::columns<Four>(a, b, c, d)).as_query(), bytes, m.rates().pinned_up, 0.8, wanted,
        [&](const auto& q) { return passed(q).sum(); }, [&](const auto& q) { return place_of(passed(q).explain("sum")); });
    std::printf("   pinned columns of the caller's: left out, the library knows no such memory and copies them as it copies others\n");
  }
}

}  // namespace bench::speed
