#include "cpu_engine/asof_times.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "cpu_engine/scalar_order.hpp"

namespace query::cpu {

namespace {

template <class T> auto widened(T time) {
  if constexpr (std::is_floating_point_v<T>) return static_cast<double>(time);
  else if constexpr (std::is_signed_v<T>) return static_cast<std::int64_t>(time);
  else return static_cast<std::uint64_t>(time);
}
template <class T> std::uint64_t word_of(const void* at) { return ordered(widened(load<T>(at))); }

double real(std::uint64_t word) {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  return std::bit_cast<double>((word & sign) != 0 ? word ^ sign : ~word);
}
// Of infinities that are equal, too.
double real_distance(std::uint64_t a, std::uint64_t b) { return a == b ? 0.0 : std::abs(real(a) - real(b)); }
std::uint64_t distance(std::uint64_t a, std::uint64_t b) { return a < b ? b - a : a - b; }

}  // namespace

asof_time::asof_time(const ir::type* type)
    : type_(type), optional_(type->k == ir::kind::optional), kind_(optional_ ? type->element->k : type->k) {}

// Where it lies; null: it is null or NaN.
template <class T> const void* asof_time::value(const void* time) const {
  if (optional_) time = type_->get.value(time);
  if constexpr (std::is_floating_point_v<T>)
    if (time && std::isnan(load<T>(time))) return nullptr;
  return time;
}

bool asof_time::words(const void* times, std::size_t stride, std::size_t n, std::uint64_t* out, std::uint8_t* timeless) const {
  const auto* const base = static_cast<const std::byte*>(times);
  std::size_t timed = 0;
  if (!may_be_timeless()) {
    with_type(kind_, [&]<class T>(T) {
      for (std::size_t i = 0; i < n; ++i) out[i] = word_of<T>(base + i * stride);
    });
    std::fill_n(timeless, n, std::uint8_t{0});
    return true;
  }
  with_type(kind_, [&]<class T>(T) {
    for (std::size_t i = 0; i < n; ++i) {
      const void* const at = value<T>(base + i * stride);
      out[i] = at ? word_of<T>(at) : 0;
      timeless[i] = at == nullptr;
      timed += at != nullptr;
    }
  });
  return timed == n;
}

std::size_t asof_time::words_of(const void* times, std::size_t stride, const std::uint64_t* rows, std::size_t n,
                                std::uint64_t* out) const {
  constexpr std::size_t ahead = 32;
  const auto* const base = static_cast<const std::byte*>(times);
  std::size_t timed = 0;
  with_type(kind_, [&]<class T>(T) {
    for (std::size_t i = 0; i < n; ++i) {
      if (i + ahead < n) __builtin_prefetch(base + rows[i + ahead] * stride);
      const void* const at = value<T>(base + rows[i] * stride);
      out[i] = at ? word_of<T>(at) : 0;
      timed += at != nullptr;
    }
  });
  return timed;
}

std::uint64_t asof_time::word(const void* time) const {
  if (optional_) time = type_->get.value(time);
  return with_type(kind_, [&]<class T>(T) { return word_of<T>(time); });
}

bool asof_time::allows(const asof_tolerance& t, std::uint64_t a, std::uint64_t b) const {
  return ir::is_floating(kind_) ? t.allows(real_distance(a, b)) : t.allows(distance(a, b));
}
bool asof_time::nearer(std::uint64_t from, std::uint64_t a, std::uint64_t b) const {
  return ir::is_floating(kind_) ? real_distance(from, a) < real_distance(from, b) : distance(from, a) < distance(from, b);
}

}  // namespace query::cpu
