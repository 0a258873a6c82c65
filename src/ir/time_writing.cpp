#include <charconv>
#include <limits>

#include <query/detail/calendar.hpp>
#include <query/detail/failure.hpp>
#include <query/times.hpp>

#include <ir/civil_time.hpp>

namespace query::ir {
namespace {

namespace calendar = detail::calendar;

// How many digits of a second the unit has.
int digits_of(const type* t) {
  if (is_floating(t->k)) return t->counts.den == 1 && t->counts.num >= day_seconds ? 0 : 9;
  int digits = 0;
  for (std::int64_t d = t->counts.den; d > 1 && digits < 9; d /= 10) {
    if (d % 10 != 0) return 9;
    ++digits;
  }
  return digits;
}

void append_padded(std::string& out, std::uint64_t n, int width, char fill = '0') {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, n).ptr;
  for (auto size = end - text; size < width; ++size) out += fill;
  out.append(text, end);
}
std::uint64_t magnitude(std::int64_t n) { return n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n); }
void append_year(std::string& out, std::int64_t y) {
  if (y < 0) out += '-';
  else if (y > 9999) out += '+';
  append_padded(out, magnitude(y), 4);
}
void append_date(std::string& out, const civil& c) {
  append_year(out, c.year);
  out += '-';
  append_padded(out, static_cast<std::uint64_t>(c.month), 2);
  out += '-';
  append_padded(out, static_cast<std::uint64_t>(c.day), 2);
}
void append_fraction(std::string& out, std::int64_t nano, int digits) {
  if (digits == 0) return;
  out += '.';
  for (int d = digits; d < 9; ++d) nano /= 10;
  append_padded(out, static_cast<std::uint64_t>(nano), digits);
}
void append_two(std::string& out, std::int64_t n) { append_padded(out, static_cast<std::uint64_t>(n), 2); }
void append_clock(std::string& out, const civil& c, bool seconds, int digits) {
  append_two(out, c.second / 3600);
  out += ':';
  append_two(out, c.second / 60 % 60);
  if (!seconds) return;
  out += ':';
  append_two(out, c.second % 60);
  append_fraction(out, c.nano, digits);
}

std::int64_t weekday(std::int64_t days) { return calendar::floor_modulo(calendar::floor_modulo(days, 7) + 3, 7); }  // 0: Monday

void append_formatted(std::string& out, const civil& c, int digits, std::string_view format) {
  const std::int64_t days = days_of(c);
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    const auto month = static_cast<std::size_t>(c.month - 1), day = static_cast<std::size_t>(weekday(days));
    const std::int64_t hour = c.second / 3600;
    switch (format[++i]) {
      case 'Y': append_year(out, c.year); break;
      case 'y': append_two(out, calendar::floor_modulo(c.year, 100)); break;
      case 'm': append_two(out, c.month); break;
      case 'd': append_two(out, c.day); break;
      case 'e': append_padded(out, static_cast<std::uint64_t>(c.day), 2, ' '); break;
      case 'j':
        append_padded(out, static_cast<std::uint64_t>(days) - static_cast<std::uint64_t>(calendar::days_of_month(c.year * 12)) + 1, 3);
        break;
      case 'H': append_two(out, hour); break;
      case 'I': append_two(out, (hour + 11) % 12 + 1); break;
      case 'p': out += hour < 12 ? "AM" : "PM"; break;
      case 'M': append_two(out, c.second / 60 % 60); break;
      case 'S':
        append_two(out, c.second % 60);
        append_fraction(out, c.nano, digits);
        break;
      case 'F': append_date(out, c); break;
      case 'T': append_clock(out, c, true, digits); break;
      case 'R': append_clock(out, c, false, 0); break;
      case 'b': out += months[month].substr(0, 3); break;
      case 'B': out += months[month]; break;
      case 'a': out += weekdays[day].substr(0, 3); break;
      case 'A': out += weekdays[day]; break;
      case 'u': out += static_cast<char>('1' + day); break;
      case 'z': out += "+0000"; break;
      default: out += format[i];  // %%
    }
  }
}

void append_floating(std::string& out, double x) {
  char text[400];
  const auto [end, error] = std::to_chars(text, text + sizeof text, x, std::chars_format::fixed);
  if (error == std::errc()) out.append(text, end);
}

const period_letter* letter_of(const unit& u) {
  for (const period_letter& p : letters)
    if (u.den == 1 && u.num == p.seconds) return &p;
  return nullptr;
}

void append_duration(std::string& out, const type* t, const void* from) {
  if (is_floating(t->k)) {
    const double x = floating_at(t->k, from) * static_cast<double>(t->counts.num) / static_cast<double>(t->counts.den);
    if (!std::isfinite(x)) {
      out += std::isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
      return;
    }
    if (std::signbit(x)) out += '-';
    out += "PT";
    append_floating(out, std::abs(x));
    out += 'S';
    return;
  }
  wide n = number_at(t->k, from);
  if (n < 0) out += '-';
  if (n < 0) n = -n;
  if (const period_letter* const p = letter_of(t->counts)) {
    out += p->clock ? "PT" : "P";
    append_padded(out, static_cast<std::uint64_t>(n), 1);
    out += p->letter;
    return;
  }
  const wide length = nanos * t->counts.num;
  wide scaled;
  // What nanoseconds cannot hold is written as the plain count, which is read too.
  if (length % t->counts.den != 0 || __builtin_mul_overflow(n, length, &scaled) ||
      scaled / t->counts.den / nanos > std::numeric_limits<std::int64_t>::max())
    return append_padded(out, static_cast<std::uint64_t>(n), 1);
  scaled /= t->counts.den;
  out += "PT";
  append_padded(out, static_cast<std::uint64_t>(scaled / nanos), 1);
  append_fraction(out, static_cast<std::int64_t>(scaled % nanos), digits_of(t));
  out += 'S';
}

}  // namespace

void append_counted(std::string& out, const type* t, const void* from, std::string_view format) {
  if (t->counts.what == unit::of::duration) return append_duration(out, t, from);
  civil c;
  int digits = 0;
  bool clock = false, seconds = true;
  if (is_date(t)) {
    c = date_at(from);
    // Not every year_month_day is a date: its parts are written as they are.
    if (!exists(c)) return append_date(out, c);
  } else {
    const std::optional<wide> n = nanos_at(t, from);
    const wide days = n ? floor_divided(*n, nanos * day_seconds) : 0;
    if (!n || days < std::numeric_limits<std::int64_t>::min() || days > std::numeric_limits<std::int64_t>::max()) {
      out += "out of range";
      return;
    }
    const wide rest = *n - days * nanos * day_seconds;
    c = civil_of_days(static_cast<std::int64_t>(days));
    c.second = static_cast<std::int64_t>(rest / nanos);
    c.nano = static_cast<std::int64_t>(rest % nanos);
    digits = digits_of(t);
    clock = t->counts.den != 1 || t->counts.num % day_seconds != 0 || is_floating(t->k);
    seconds = t->counts.den != 1 || t->counts.num % 60 != 0 || is_floating(t->k);
  }
  if (!format.empty()) return append_formatted(out, c, digits, format);
  append_date(out, c);
  if (!clock) return;
  out += 'T';
  append_clock(out, c, seconds, digits);
}

}  // namespace query::ir

namespace query::detail {

std::string format_time_text(const ir::type* t, const void* value, std::string_view format) {
  if (const std::string wrong = ir::wrong_format(format); !wrong.empty())
    throw unplaced_error("format_time: the format '" + std::string(format) + "': " + wrong);
  std::string out;
  ir::append_counted(out, t, value, format);
  return out;
}

}  // namespace query::detail
