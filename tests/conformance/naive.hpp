// References: what verbs mean, by loops over std::vector that are slow and obviously right.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "conformance/compare.hpp"

namespace conformance {

// Equal for keys that the library calls equal: all NaNs are one, -0.0 is 0.0.
std::string key_text_of(const void* value, const query::ir::type* t);
template <class K> std::string key_text(const K& k) { return key_text_of(&k, query::ir::describe<K>()); }

template <class K> bool is_null(const K&) { return false; }
template <class K> bool is_null(const std::optional<K>& k) { return !k; }
template <class... K> bool is_null(const std::tuple<K...>& k) {
  return std::apply([](const auto&... part) { return (is_null(part) || ...); }, k);
}

template <class T, class F> auto selected(const std::vector<T>& rows, F f) {
  std::vector<std::decay_t<decltype(f(rows[0]))>> r;
  for (const T& t : rows) r.push_back(f(t));
  return r;
}
template <class T, class F> std::vector<T> kept(const std::vector<T>& rows, F f) {
  std::vector<T> r;
  for (const T& t : rows)
    if (f(t)) r.push_back(t);
  return r;
}

// (key, rows) in the order of first appearance.
template <class T, class F> auto grouped(const std::vector<T>& rows, F key) {
  using K = std::decay_t<decltype(key(rows[0]))>;
  std::vector<std::pair<K, std::vector<T>>> groups;
  std::unordered_map<std::string, std::size_t> at;
  for (const T& t : rows) {
    const K k = key(t);
    const auto [it, fresh] = at.try_emplace(key_text(k), groups.size());
    if (fresh) groups.push_back({k, {}});
    groups[it->second].second.push_back(t);
  }
  return groups;
}
template <class T, class F> std::vector<T> first_of_each(const std::vector<T>& rows, F key) {
  std::unordered_set<std::string> seen;
  return kept(rows, [&](const T& t) { return seen.insert(key_text(key(t))).second; });
}

// For every left row, the right rows with an equal key, in order.
template <class L, class R, class LF, class RF>
std::vector<std::vector<R>> matches(const std::vector<L>& left, const std::vector<R>& right, LF lf, RF rf) {
  std::unordered_map<std::string, std::vector<R>> by_key;
  for (const R& r : right) {
    const auto k = rf(r);
    if (!is_null(k)) by_key[key_text(k)].push_back(r);
  }
  std::vector<std::vector<R>> m;
  for (const L& l : left) {
    const auto k = lf(l);
    m.emplace_back();
    if (is_null(k)) continue;
    if (const auto it = by_key.find(key_text(k)); it != by_key.end()) m.back() = it->second;
  }
  return m;
}

// The library's order: NaNs after all numbers; nulls by `nulls_first`, whatever the direction.
template <class K> bool before(const K& a, const K& b) { return a < b; }
inline bool before(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }
template <class K> bool before(const K& a, const K& b, bool descending, bool) { return descending ? before(b, a) : before(a, b); }
template <class K> bool before(const std::optional<K>& a, const std::optional<K>& b, bool descending, bool nulls_first) {
  if (!a || !b) return nulls_first ? !a && b : a && !b;
  return descending ? before(*b, *a) : before(*a, *b);
}

// The value at rank q * (n - 1), interpolated.
inline double quantile(std::vector<double> v, double q) {
  std::sort(v.begin(), v.end());
  const double rank = q * static_cast<double>(v.size() - 1), below = std::floor(rank);
  const auto i = static_cast<std::size_t>(below);
  return i + 1 == v.size() ? v[i] : v[i] + (v[i + 1] - v[i]) * (rank - below);
}
inline double sample_variance(const std::vector<double>& v) {
  double mean = 0, squares = 0;
  for (const double x : v) mean += x / static_cast<double>(v.size());
  for (const double x : v) squares += (x - mean) * (x - mean);
  return squares / static_cast<double>(v.size() - 1);
}

}  // namespace conformance
