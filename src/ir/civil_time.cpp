#include <ir/civil_time.hpp>

#include <cmath>
#include <cstring>
#include <limits>

#include <query/detail/calendar.hpp>

namespace query::ir {
namespace {

namespace calendar = detail::calendar;

std::int64_t days_in(std::int64_t year, std::int64_t month) {
  const std::int64_t m = year * 12 + month - 1;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(calendar::days_of_month(m + 1)) -
                                   static_cast<std::uint64_t>(calendar::days_of_month(m)));
}
template <class T> bool stored(wide n, void* to) {
  if (n < std::numeric_limits<T>::min() || n > std::numeric_limits<T>::max()) return false;
  const auto value = static_cast<T>(n);
  std::memcpy(to, &value, sizeof value);
  return true;
}
template <class T> T loaded(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

bool exists(const civil& c) {
  return c.year >= -most_year && c.year <= most_year && c.month >= 1 && c.month <= 12 && c.day >= 1 && c.day <= days_in(c.year, c.month);
}
std::int64_t days_of(const civil& c) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(calendar::days_of_month(c.year * 12 + c.month - 1)) +
                                   static_cast<std::uint64_t>(c.day - 1));
}
civil civil_of_days(std::int64_t days) {
  const std::int64_t m = calendar::month_of_days(days);
  civil c;
  c.year = calendar::floor_divide(m, 12);
  c.month = calendar::floor_modulo(m, 12) + 1;
  c.day = calendar::day_of_days(days);
  return c;
}

bool store_number(kind k, wide n, void* to) {
  switch (k) {
    case kind::i8: return stored<std::int8_t>(n, to);
    case kind::i16: return stored<std::int16_t>(n, to);
    case kind::i32: return stored<std::int32_t>(n, to);
    case kind::i64: return stored<std::int64_t>(n, to);
    case kind::u8: return stored<std::uint8_t>(n, to);
    case kind::u16: return stored<std::uint16_t>(n, to);
    case kind::u32: return stored<std::uint32_t>(n, to);
    default: return stored<std::uint64_t>(n, to);
  }
}
wide number_at(kind k, const void* from) {
  switch (k) {
    case kind::i8: return loaded<std::int8_t>(from);
    case kind::i16: return loaded<std::int16_t>(from);
    case kind::i32: return loaded<std::int32_t>(from);
    case kind::i64: return loaded<std::int64_t>(from);
    case kind::u8: return loaded<std::uint8_t>(from);
    case kind::u16: return loaded<std::uint16_t>(from);
    case kind::u32: return loaded<std::uint32_t>(from);
    default: return loaded<std::uint64_t>(from);
  }
}
double floating_at(kind k, const void* from) { return k == kind::f32 ? static_cast<double>(loaded<float>(from)) : loaded<double>(from); }
void store_floating(kind k, double x, void* to) {
  const auto narrow = static_cast<float>(x);
  if (k == kind::f32) std::memcpy(to, &narrow, sizeof narrow);
  else std::memcpy(to, &x, sizeof x);
}

text_of_time store_nanos(const type* t, wide n, void* to) {
  const unit& u = t->counts;
  if (is_floating(t->k)) {
    store_floating(t->k, static_cast<double>(n) / 1e9 * static_cast<double>(u.den) / static_cast<double>(u.num), to);
    return text_of_time::ok;
  }
  wide scaled, length = nanos * u.num;
  if (__builtin_mul_overflow(n, static_cast<wide>(u.den), &scaled)) return text_of_time::out_of_range;
  if (scaled % length != 0) return text_of_time::malformed;
  return store_number(t->k, scaled / length, to) ? text_of_time::ok : text_of_time::out_of_range;
}
std::optional<wide> nanos_at(const type* t, const void* from) {
  const unit& u = t->counts;
  if (is_floating(t->k)) {
    const double n = floating_at(t->k, from) * static_cast<double>(u.num) / static_cast<double>(u.den) * 1e9;
    if (!(std::abs(n) < 1e36)) return std::nullopt;
    return static_cast<wide>(std::floor(n));
  }
  wide scaled;
  if (__builtin_mul_overflow(number_at(t->k, from), nanos * u.num, &scaled)) return std::nullopt;
  return floor_divided(scaled, u.den);
}

text_of_time store_date(const civil& c, void* to) {
  if (c.second != 0 || c.nano != 0 || c.offset != 0) return text_of_time::malformed;
  if (c.year < -32'767 || c.year > 32'767) return text_of_time::out_of_range;
  const auto year = static_cast<std::int16_t>(c.year);
  const auto month = static_cast<std::uint8_t>(c.month), day = static_cast<std::uint8_t>(c.day);
  auto* const at = static_cast<std::byte*>(to);
  std::memcpy(at, &year, 2);
  std::memcpy(at + 2, &month, 1);
  std::memcpy(at + 3, &day, 1);
  return text_of_time::ok;
}
civil date_at(const void* from) {
  const auto* const at = static_cast<const std::byte*>(from);
  civil c;
  c.year = loaded<std::int16_t>(at);
  c.month = loaded<std::uint8_t>(at + 2);
  c.day = loaded<std::uint8_t>(at + 3);
  return c;
}

bool days_of_date(const void* from, std::int64_t& days) {
  const civil c = date_at(from);
  if (!exists(c)) return false;
  days = days_of(c);
  return true;
}
bool date_of_days(std::int64_t days, void* to) { return store_date(civil_of_days(days), to) == text_of_time::ok; }

}  // namespace query::ir
