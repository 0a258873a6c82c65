// Each operator as a C++ programmer writes it by hand with oneTBB: plain loops over plain arrays, results in arrays.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_arena.h>

#include "operators/inputs.hpp"

namespace operators::by_hand {

using range = tbb::blocked_range<std::size_t>;

// Memory that is not written before it is used.
template <class T> class array {
 public:
  array() = default;
  explicit array(std::size_t n) : at_(std::make_unique_for_overwrite<T[]>(n)), n_(n) {}
  T* data() const { return at_.get(); }
  T& operator[](std::size_t i) const { return at_[i]; }
  std::size_t size() const { return n_; }

 private:
  std::unique_ptr<T[]> at_;
  std::size_t n_ = 0;
};

inline std::size_t threads() { return static_cast<std::size_t>(tbb::this_task_arena::max_concurrency()); }
inline std::uint32_t hash(std::int32_t k) {
  return static_cast<std::uint32_t>(static_cast<std::uint32_t>(k) * 0x9e3779b97f4a7c15ull >> 32);
}

inline double filter_sum(const std::vector<std::int32_t>& k, const std::vector<double>& d) {
  return tbb::parallel_reduce(
      range(0, k.size(), 1 << 16), 0.0,
      [&](const range& r, double sum) {
        for (std::size_t i = r.begin(); i < r.end(); ++i) sum += k[i] < 500'000'000 && d[i] > 50 ? d[i] : 0;
        return sum;
      },
      std::plus<>());
}

// Chunks are counted, then filled.
struct kept_rows {
  array<std::int32_t> k;
  array<double> d;
};
inline kept_rows filter(const std::vector<std::int32_t>& k, const std::vector<double>& d) {
  constexpr std::size_t chunk = 1 << 16;
  const std::size_t n = k.size(), chunks = (n + chunk - 1) / chunk;
  std::vector<std::size_t> begins(chunks + 1);
  tbb::parallel_for(std::size_t{0}, chunks, [&](std::size_t c) {
    std::size_t kept = 0;
    for (std::size_t i = c * chunk; i < std::min(n, (c + 1) * chunk); ++i) kept += d[i] > 50;
    begins[c + 1] = kept;
  });
  for (std::size_t c = 0; c < chunks; ++c) begins[c + 1] += begins[c];
  kept_rows out{array<std::int32_t>(begins[chunks]), array<double>(begins[chunks])};
  tbb::parallel_for(std::size_t{0}, chunks, [&](std::size_t c) {
    std::size_t to = begins[c];
    for (std::size_t i = c * chunk; i < std::min(n, (c + 1) * chunk); ++i) {
      if (!(d[i] > 50)) continue;
      out.k[to] = k[i];
      out.d[to++] = d[i];
    }
  });
  return out;
}

// Rows put apart by the hash of their keys, in two passes; then a table of linear probing for each partition.
struct parted {
  array<std::int32_t> keys;
  array<double> values;
  std::vector<std::size_t> begins;  // of partitions
};
inline parted part(const std::vector<std::int32_t>& k, const std::vector<double>& d, unsigned bits) {
  const std::size_t n = k.size(), parts = std::size_t{1} << bits, chunks = 4 * threads(), chunk = (n + chunks - 1) / chunks;
  std::vector<std::vector<std::size_t>> counts(chunks, std::vector<std::size_t>(parts));
  const auto part_of = [&](std::int32_t key) { return bits ? hash(key) >> (32 - bits) : 0; };
  tbb::parallel_for(std::size_t{0}, chunks, [&](std::size_t c) {
    for (std::size_t i = c * chunk; i < std::min(n, (c + 1) * chunk); ++i) ++counts[c][part_of(k[i])];
  });
  parted out{array<std::int32_t>(n), array<double>(n), std::vector<std::size_t>(parts + 1)};
  std::size_t at = 0;
  for (std::size_t p = 0; p < parts; ++p) {
    out.begins[p] = at;
    for (auto& of_chunk : counts) at += std::exchange(of_chunk[p], at);
  }
  out.begins[parts] = at;
  tbb::parallel_for(std::size_t{0}, chunks, [&](std::size_t c) {
    for (std::size_t i = c * chunk; i < std::min(n, (c + 1) * chunk); ++i) {
      const std::size_t to = counts[c][part_of(k[i])]++;
      out.keys[to] = k[i];
      out.values[to] = d[i];
    }
  });
  return out;
}

struct group {
  std::int32_t key;
  std::int64_t n;
  double sum;
};
class group_table {
 public:
  explicit group_table(std::size_t keys)
      : slots_(std::bit_ceil(std::max<std::size_t>(keys * 2, 16))), shift_(32 - std::countr_zero(slots_.size())) {}
  group& of(std::int32_t key) {
    for (std::size_t i = hash(key) << spread_ >> shift_;; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].n == 0) slots_[i].key = key;
      if (slots_[i].key == key) return slots_[i];
    }
  }
  void spread(unsigned bits) { spread_ = bits; }  // of the hash, which all keys of the partition have in common
  void add_to(std::vector<group>& all) const {
    for (const group& g : slots_)
      if (g.n) all.push_back(g);
  }

 private:
  std::vector<group> slots_;
  int shift_;
  unsigned spread_ = 0;
};
// A table a thread where there are few keys, which are merged; partitions otherwise.
inline std::vector<std::vector<group>> group_sums(const std::vector<std::int32_t>& k, const std::vector<double>& d, std::size_t keys) {
  if (keys <= 10'000) {
    tbb::enumerable_thread_specific<group_table> tables(keys);
    tbb::parallel_for(range(0, k.size(), 1 << 16), [&](const range& r) {
      group_table& t = tables.local();
      for (std::size_t i = r.begin(); i < r.end(); ++i) {
        group& g = t.of(k[i]);
        ++g.n;
        g.sum += d[i];
      }
    });
    group_table all(keys);
    std::vector<group> some;
    for (const group_table& t : tables) t.add_to(some);
    for (const group& s : some) {
      group& g = all.of(s.key);
      g.n += s.n;
      g.sum += s.sum;
    }
    std::vector<std::vector<group>> out(1);
    all.add_to(out[0]);
    return out;
  }
  const auto bits = static_cast<unsigned>(std::clamp<int>(static_cast<int>(std::bit_width(keys / 8'192)), 4, 10));
  const parted rows = part(k, d, bits);
  std::vector<std::vector<group>> out(std::size_t{1} << bits);
  tbb::parallel_for(std::size_t{0}, out.size(), [&](std::size_t p) {
    group_table t(std::min(2 * keys / out.size() + 16, rows.begins[p + 1] - rows.begins[p]));
    t.spread(bits);
    for (std::size_t i = rows.begins[p]; i < rows.begins[p + 1]; ++i) {
      group& g = t.of(rows.keys[i]);
      ++g.n;
      g.sum += rows.values[i];
    }
    t.add_to(out[p]);
  });
  return out;
}

// Rows of the right side by the hash of their keys, each slot's rows side by side; the left side is probed twice, to count and to fill.
struct joined {
  array<std::int32_t> k;
  array<double> d, v;
};
inline joined join(const std::vector<std::int32_t>& k, const std::vector<double>& d, const query::columns_of<Side>& side) {
  const auto& [key, v] = side.fields;
  const std::size_t slots = std::bit_ceil(std::max<std::size_t>(key.size(), 16));
  const int shift = 32 - std::countr_zero(slots);
  const auto slot = [&](std::int32_t x) { return static_cast<std::size_t>(hash(x)) >> shift; };
  std::vector<std::uint32_t> begins(slots + 1);
  tbb::parallel_for(range(0, key.size(), 1 << 16), [&](const range& r) {
    for (std::size_t i = r.begin(); i < r.end(); ++i)
      std::atomic_ref(begins[slot(key[i]) + 1]).fetch_add(1, std::memory_order_relaxed);
  });
  for (std::size_t s = 0; s < slots; ++s) begins[s + 1] += begins[s];
  std::vector<std::uint32_t> ends(begins.begin(), begins.end() - 1);
  array<std::int32_t> keys(key.size());
  array<double> values(key.size());
  tbb::parallel_for(range(0, key.size(), 1 << 16), [&](const range& r) {
    for (std::size_t i = r.begin(); i < r.end(); ++i) {
      const std::size_t to = std::atomic_ref(ends[slot(key[i])]).fetch_add(1, std::memory_order_relaxed);
      keys[to] = key[i];
      values[to] = v[i];
    }
  });
  constexpr std::size_t chunk = 1 << 14;
  const std::size_t n = k.size(), chunks = (n + chunk - 1) / chunk;
  std::vector<std::size_t> to(chunks + 1);
  const auto each_match = [&](std::size_t c, auto f) {
    for (std::size_t i = c * chunk; i < std::min(n, (c + 1) * chunk); ++i) {
      const std::size_t s = slot(k[i]);
      for (std::size_t j = begins[s]; j < begins[s + 1]; ++j)
        if (keys[j] == k[i]) f(i, j);
    }
  };
  tbb::parallel_for(std::size_t{0}, chunks, [&](std::size_t c) {
    std::size_t matches = 0;
    each_match(c, [&](std::size_t, std::size_t) { ++matches; });
    to[c + 1] = matches;
  });
  for (std::size_t c = 0; c < chunks; ++c) to[c + 1] += to[c];
  joined out{array<std::int32_t>(to[chunks]), array<double>(to[chunks]), array<double>(to[chunks])};
  tbb::parallel_for(std::size_t{0}, chunks, [&](std::size_t c) {
    std::size_t at = to[c];
    each_match(c, [&](std::size_t i, std::size_t j) {
      out.k[at] = k[i];
      out.d[at] = d[i];
      out.v[at++] = values[j];
    });
  });
  return out;
}

template <class V> std::vector<V> sorted(const std::vector<V>& values) {
  std::vector<V> out(values);
  tbb::parallel_sort(out);
  return out;
}
struct pair_row {
  std::int32_t k;
  double d;
};
inline std::vector<pair_row> sorted_rows(const std::vector<std::int32_t>& k, const std::vector<double>& d) {
  std::vector<pair_row> out(k.size());
  tbb::parallel_for(range(0, k.size(), 1 << 16), [&](const range& r) {
    for (std::size_t i = r.begin(); i < r.end(); ++i) out[i] = {k[i], d[i]};
  });
  tbb::parallel_sort(out, [](const pair_row& a, const pair_row& b) { return a.k < b.k; });
  return out;
}
struct three_keys {
  std::int32_t a, b, c;
  double d;
};
inline std::vector<three_keys> sorted_by_three(const query::columns_of<Row>& t) {
  const auto& a = std::get<0>(t.fields);
  const auto& b = std::get<1>(t.fields);
  const auto& c = std::get<7>(t.fields);
  const auto& d = std::get<8>(t.fields);
  std::vector<three_keys> out(a.size());
  tbb::parallel_for(range(0, a.size(), 1 << 16), [&](const range& r) {
    for (std::size_t i = r.begin(); i < r.end(); ++i) out[i] = {a[i], b[i], c[i], d[i]};
  });
  tbb::parallel_sort(out, [](const three_keys& x, const three_keys& y) { return std::tie(x.a, x.b, x.c) < std::tie(y.a, y.b, y.c); });
  return out;
}
// Numbers of the rows in the order of their texts.
inline std::vector<std::uint32_t> sorted_texts(const std::vector<std::string>& text) {
  std::vector<std::uint32_t> out(text.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint32_t>(i);
  tbb::parallel_sort(out, [&](std::uint32_t a, std::uint32_t b) { return text[a] < text[b]; });
  return out;
}

// The n largest of d.
inline std::vector<double> top(const std::vector<double>& d, std::size_t n) {
  using heap = std::vector<double>;
  const auto offer = [n](heap& h, double x) {
    if (h.size() < n) {
      h.push_back(x);
      std::push_heap(h.begin(), h.end(), std::greater<>());
    } else if (x > h.front()) {
      std::pop_heap(h.begin(), h.end(), std::greater<>());
      h.back() = x;
      std::push_heap(h.begin(), h.end(), std::greater<>());
    }
  };
  heap all = tbb::parallel_reduce(
      range(0, d.size(), 1 << 16), heap(),
      [&](const range& r, heap h) {
        for (std::size_t i = r.begin(); i < r.end(); ++i) offer(h, d[i]);
        return h;
      },
      [&](heap a, const heap& b) {
        for (const double x : b) offer(a, x);
        return a;
      });
  std::sort(all.begin(), all.end(), std::greater<>());
  return all;
}

struct middle {
  std::int32_t key;
  double median;
};
inline std::vector<std::vector<middle>> medians(const std::vector<std::int32_t>& k, const std::vector<double>& d, std::size_t keys) {
  constexpr unsigned bits = 6;
  const parted rows = part(k, d, bits);
  std::vector<std::vector<middle>> out(std::size_t{1} << bits);
  tbb::parallel_for(std::size_t{0}, out.size(), [&](std::size_t p) {
    const std::size_t first = rows.begins[p], n = rows.begins[p + 1] - first;
    group_table t(2 * keys / out.size() + 16);
    t.spread(bits);
    for (std::size_t i = 0; i < n; ++i) ++t.of(rows.keys[first + i]).n;
    std::vector<group> groups;
    t.add_to(groups);
    std::size_t at = 0;
    std::vector<std::pair<std::size_t, std::size_t>> places;
    for (const group& g : groups) {
      places.emplace_back(at, static_cast<std::size_t>(g.n));
      t.of(g.key).sum = static_cast<double>(at);  // where its next value goes
      at += static_cast<std::size_t>(g.n);
    }
    array<double> values(n);
    for (std::size_t i = 0; i < n; ++i) {
      double& next = t.of(rows.keys[first + i]).sum;
      values[static_cast<std::size_t>(next++)] = rows.values[first + i];
    }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      double* const begin = values.data() + places[g].first;
      const std::size_t size = places[g].second, half = size / 2;
      std::nth_element(begin, begin + half, begin + size);
      const double high = begin[half];
      out[p].push_back({groups[g].key, size % 2 ? high : (*std::max_element(begin, begin + half) + high) / 2});
    }
  });
  return out;
}

// Sums of each row and the 99 after it.
inline array<double> windows(const std::vector<double>& d) {
  constexpr std::size_t length = 100;
  if (d.size() < length) return {};
  array<double> out(d.size() - length + 1);
  tbb::parallel_for(range(0, out.size(), 1 << 14), [&](const range& r) {
    for (std::size_t i = r.begin(); i < r.end(); ++i) {
      double sum = 0;
      for (std::size_t j = i; j < i + length; ++j) sum += d[j];
      out[i] = sum;
    }
  });
  return out;
}

}  // namespace operators::by_hand
