// Sorts of rows that are more than their key: a key of 8 bytes and 4 more, and records of 100 bytes by the 10 with which they begin, as the
// sort benchmark has them. The rows lie on the device, and the sorted ones stay there.
#include <array>
#include <atomic>
#include <cstring>

#include "gpu_speed/materialised.hpp"

namespace bench::speed {

namespace {

struct Keyed {
  std::uint64_t key;
  std::uint32_t number;
};
QUERY_RECORD(Keyed, key, number);

struct Record {
  std::array<std::uint8_t, 10> key;
  std::array<std::uint8_t, 90> rest;  // begins with the record's number
};
static_assert(sizeof(Record) == 100);
QUERY_RECORD(Record, key, rest);

// Row i before the sort; whole rows are compared with it afterwards.
Keyed keyed(std::size_t i) { return {random_of(i), static_cast<std::uint32_t>(i)}; }
std::size_t number_of(const Keyed& r) { return r.number; }
bool same(const Keyed& a, const Keyed& b) { return a.key == b.key && a.number == b.number; }

Record record(std::size_t i) {
  Record r;
  std::uint64_t words[13];
  for (std::size_t k = 0; k < 13; ++k) words[k] = mix(i * 16 + k + 1);
  std::memcpy(&r, words, sizeof r);
  const std::uint64_t number = i;
  std::memcpy(r.rest.data(), &number, sizeof number);
  return r;
}
std::size_t number_of(const Record& r) {
  std::uint64_t number;
  std::memcpy(&number, r.rest.data(), sizeof number);
  return static_cast<std::size_t>(number);
}
bool same(const Record& a, const Record& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// Every row once, unchanged, none before a smaller one.
template <class Row, class Make> bool sorted_rows(const std::vector<Row>& sorted, std::size_t n, const Make& make) {
  if (sorted.size() != n) return false;
  std::atomic<bool> right = true;
  std::vector<std::atomic<bool>> seen(n);
  parallel(n, [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      const std::size_t number = number_of(sorted[i]);
      if (number >= n || seen[number].exchange(true) || !same(sorted[i], make(number))) right = false;
      if (i > 0 && sorted[i].key < sorted[i - 1].key) right = false;
    }
  });
  return right;
}

// `bytes`: of a row on the device, read and written once; `must`: 10^9 rows a second.
template <class Make> void sort_by_key(const machine& m, const char* name, std::size_t n, double bytes, double must, const Make& make) {
  if (!m.wants(name)) return;
  using Row = std::invoke_result_t<Make, std::size_t>;
  own_session s(m);
  const auto there = [&] {
    std::vector<Row, untouched<Row>> rows(n);
    parallel(n, [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) rows[i] = make(i);
    });
    const auto q = s.on_gpu(query::from(std::move(rows)).as_query()).cached();
    (void)q.count();
    return q;
  }();
  const auto ordered = [&] { return there.order_by([](auto r) { return r.key; }); };
  const double ms = materialised_ms(ordered);
  const bool right = sorted_rows(materialised(ordered).to_vector(), n, make);
  m.line({name, ms, static_cast<double>(n), "Grow/s", m.rates().copy / (2 * bytes), must * m.scale(), right, s.fell_back()});
}

}  // namespace

void record_sorts(const machine& m) {
  if (!m.concerns("sort of")) return;
  m.heading("order_by of whole rows by a key in them");
  sort_by_key(m, "sort of 12-byte rows, u64 key, u32 beside it, 2^27", m.rows(27), 12, 13.3, keyed);
  sort_by_key(m, "sort of 100-byte records by their first 10, 2^26", m.rows(26), 100, 2.5, record);
}

}  // namespace bench::speed
