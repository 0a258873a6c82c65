// The parts of aggregates that need no user type: quantiles and counts of distinct values.
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include <query/detail/aggregate_kinds.hpp>
#include <query/detail/stop.hpp>
#include <query/lookup.hpp>

#include "cpu_engine/grouper.hpp"
#include "cpu_engine/key_column.hpp"
#include "cpu_engine/order_keys.hpp"

bool query::detail::value_less(const ir::type* t, const void* a, const void* b) { return cpu::compare_values(*t, a, b) < 0; }

namespace query::agg {

namespace {

constexpr std::size_t values_a_look = 1 << 14;  // a group may have all rows

// Puts those that pass in front, and returns how many they are. Without a branch on a value: half of them would be mispredicted.
template <class Test> std::size_t put_in_front(double* values, std::size_t n, const Test& passes) {
  std::size_t front = 0;
  detail::in_runs<values_a_look>(0, n, [&](std::size_t i, std::size_t end) {
    for (; i < end; ++i) {
      const double v = values[i];
      values[i] = values[front];
      values[front] = v;
      front += passes(v);
    }
  });
  return front;
}

// As std::nth_element of values without NaNs.
void select_nth(double* values, std::size_t nth, std::size_t n) {
  constexpr std::size_t few = 32;
  unsigned rounds = 2 * static_cast<unsigned>(std::bit_width(n));
  for (; n > few && rounds; --rounds) {
    double a = values[n / 4], b = values[n / 2], c = values[n - n / 4];
    if (b < a) std::swap(a, b);
    const double pivot = c < a ? a : std::min(b, c);  // the one in the middle
    const std::size_t less = put_in_front(values, n, [&](double v) { return v < pivot; });
    if (nth < less) {
      n = less;
      continue;
    }
    const std::size_t not_greater = less + put_in_front(values + less, n - less, [&](double v) { return v == pivot; });
    if (nth < not_greater) return;
    values += not_greater;
    nth -= not_greater;
    n -= not_greater;
  }
  std::nth_element(values, values + nth, values + n);
}

}  // namespace

double quantile_of(double* values, std::size_t n, double q) {
  const double rank = std::clamp(q, 0.0, 1.0) * static_cast<double>(n - 1);
  const std::size_t below = static_cast<std::size_t>(rank);
  const double part = rank - static_cast<double>(below);
  // NaNs last, as everywhere.
  std::size_t nans = 0;
  detail::in_runs<values_a_look>(0, n, [&](std::size_t i, std::size_t end) {
    for (; i < end; ++i) nans += values[i] != values[i];
  });
  const std::size_t numbers = nans ? put_in_front(values, n, [](double v) { return v == v; }) : n;
  if (below < numbers) select_nth(values, below, numbers);
  const double low = values[below];
  if (part == 0 || below + 1 == n) return low;
  const double high = below + 1 < numbers ? *std::min_element(values + below + 1, values + numbers) : values[below + 1];
  if (low == high) return low;  // infinities too
  const double apart = high - low;
  return std::isfinite(apart) ? low + part * apart : low * (1 - part) + high * part;
}

namespace {
// States of aggregates outlive operators; their small tables take no part in the session's limit. Never destroyed, as states of static
// objects may be there at the end.
runtime::buffer_pool& unlimited() {
  static runtime::buffer_pool& pool = *new runtime::buffer_pool(0);
  return pool;
}
}  // namespace

struct value_set_impl {
  value_set_impl(const ir::type* t, detail::key_calls k) : own(std::move(k)), groups(t, unlimited(), cpu::equality_of(own)) {
    groups.expect_sparse();  // there may be very many such tables
  }
  detail::key_calls own;  // of the user's, if it has functions
  cpu::grouper groups;
};

void value_set::insert(const void* value) { insert(value, {}); }
void value_set::insert(const void* value, const detail::key_calls& own) {
  if (!impl_) impl_ = std::make_shared<value_set_impl>(type_, own);
  std::uint32_t id;
  impl_->groups.find_or_insert(value, 1, &id);
}
void value_set::merge(const value_set& o) {
  if (!o.impl_) return;
  if (!impl_) {
    impl_ = o.impl_;
    return;
  }
  std::uint32_t ids[1024];
  const detail::stop_point stop;
  for (std::size_t from = 0; from < o.impl_->groups.size(); from += 1024) {
    stop.check();
    const std::size_t n = std::min<std::size_t>(1024, o.impl_->groups.size() - from);
    impl_->groups.find_or_insert(static_cast<const std::byte*>(o.impl_->groups.keys()) + from * type_->size, n, ids);
  }
}
std::size_t value_set::size() const { return impl_ ? impl_->groups.size() : 0; }

}  // namespace query::agg
