// group_by over rows that lie on the device; groups stay there.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

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
struct Counted {
  std::uint32_t key;
  double sum;
  std::int64_t n;
};
QUERY_RECORD(Counted, key, sum, n);
struct Extent {
  std::uint32_t key;
  double sum;
  std::int64_t n;
  double least, most;
};
QUERY_RECORD(Extent, key, sum, n, least, most);

constexpr auto key = [](auto e) { return e.key; };
constexpr auto value = [](auto e) { return e.value; };

struct expected {
  double groups = 0, sum = 0, weighted = 0;
};

class grouping {
 public:
  grouping(const machine& m, const char* groups, std::uint32_t most) : m_(m), name_(groups), s_(m), n_(m.rows(27)), rows_(bring(most)) {}

  // Of `make(rows)`; the name of the case follows "group_by ".
  template <class Group, class Make> void output(const std::string& what, const Make& make, double must, bool fetched) {
    const std::string name = "group_by " + what + ", " + name_ + " groups, 2^27";
    if (!m_.wants(name)) return;
    const double n = static_cast<double>(n_), bytes = 12 + static_cast<double>(sizeof(Group)) * wanted_.groups / n;
    const auto of_rows = [&] { return make(rows_); };
    const double ms = materialised_ms(of_rows);
    const auto kept = materialised(of_rows);
    const double sum = kept.select([](auto g) { return g.sum; }).sum(),
                 weighted = kept.select([](auto g) { return query::cast<double>(g.key) * g.sum; }).sum();
    bool right = static_cast<double>(kept.count()) == wanted_.groups && near(sum, wanted_.sum) && near(weighted, wanted_.weighted);
    if constexpr (requires(Group g) { g.n; })
      right = right && kept.select([](auto g) { return g.n; }).sum() == static_cast<std::int64_t>(n_);
    if constexpr (requires(Group g) { g.least; })
      right = right && kept.where([](auto g) { return g.least > g.most || g.least < 0.0 || g.most > 1023.0; }).count() == 0;
    m_.line({name, ms, n, "Grow/s", m_.rates().copy / bytes, must * m_.scale(), right, s_.fell_back()});
    // A repeated query knows of these rows how many groups they have (src/gpu_engine/row_hints.hpp); of rows that were just brought it
    // does not.
    std::vector<double> times;
    for (int run = 0; run < 3; ++run) {
      const query::Query<Entry> fresh = brought();
      const auto begin = std::chrono::steady_clock::now();
      (void)make(fresh).cached().take(1).to_vector();
      times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(times.begin(), times.end());
    m_.line({"  the same, first query over its rows", times[1], n, "Grow/s", m_.rates().copy / bytes, must * m_.scale(), right,
             s_.fell_back()});
    if (fetched) {
      std::size_t groups = 0;
      const double with = median_ms([&] { groups = make(rows_).to_vector().size(); });
      m_.line({.name = "  the same, groups fetched",
               .ms = with,
               .amount = n,
               .unit = "Grow/s",
               .right = static_cast<double>(groups) == wanted_.groups,
               .note = s_.fell_back()});
    }
  }

 private:
  query::Query<Entry> bring(std::uint32_t most) {
    parallel(2, [&](std::size_t from, std::size_t to) {
      for (std::size_t c = from; c < to; ++c) c ? values_.resize(n_) : keys_.resize(n_);
    });
    std::vector<std::atomic<bool>> seen(most);
    std::atomic<std::uint32_t> distinct{0};
    parallel(n_, [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) {
        const std::uint64_t r = random_of(i);
        keys_[i] = static_cast<std::uint32_t>((r >> 32) * most >> 32);
        values_[i] = static_cast<double>(r & 1023);
        if (!seen[keys_[i]].load(std::memory_order_relaxed) && !seen[keys_[i]].exchange(true)) ++distinct;
      }
    });
    wanted_ = {static_cast<double>(distinct.load()), parallel_sum(n_, [&](std::size_t i) { return values_[i]; }),
               parallel_sum(n_, [&](std::size_t i) { return values_[i] * keys_[i]; })};
    return brought();
  }
  query::Query<Entry> brought() {
    const query::Query<Entry> rows = s_.on_gpu(query::from(query::columns<Entry>(keys_, values_)).as_query()).cached();
    (void)rows.count();
    return rows;
  }

  const machine& m_;
  const std::string name_;
  own_session s_;
  const std::size_t n_;
  std::vector<std::uint32_t> keys_;
  std::vector<double> values_;
  expected wanted_;
  const query::Query<Entry> rows_;
};

}  // namespace

void groups(const machine& m) {
  if (!m.concerns("group_by")) return;
  m.heading("group_by, u32 keys, f64 values");
  struct tier {
    const char* name;
    std::uint32_t groups;
    double sum, count, extent;  // Grow/s asked for on an H200
  };
  for (const tier t : {tier{"16", 16, 150, 0, 0}, tier{"1k", 1000, 120, 42, 35.7}, tier{"1M", 1000000, 35, 34, 28.9},
                       tier{"16M", 16000000, 30, 34, 28.9}}) {
    grouping g(m, t.name, static_cast<std::uint32_t>(t.groups > 1000 ? m.fewer(t.groups) : t.groups));
    g.output<Sum>(
        "sum", [](const auto& q) { return q.group_by(key).select([](auto g) { return query::make<Sum>(g.key(), g.sum(value)); }); }, t.sum,
        t.groups <= 1000000);
    if (t.groups < 1000) continue;
    g.output<Counted>(
        "sum+count",
        [](const auto& q) { return q.group_by(key).select([](auto g) { return query::make<Counted>(g.key(), g.sum(value), g.count()); }); },
        t.count, false);
    g.output<Extent>(
        "sum+count+min+max",
        [](const auto& q) {
          return q.group_by(key).select(
              [](auto g) { return query::make<Extent>(g.key(), g.sum(value), g.count(), g.min(value), g.max(value)); });
        },
        t.extent, false);
  }
}

}  // namespace bench::speed
