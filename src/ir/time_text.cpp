#include <ir/time_text.hpp>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include <query/detail/calendar.hpp>
#include <query/detail/failure.hpp>
#include <query/times.hpp>

namespace query::ir {
namespace {

namespace calendar = detail::calendar;
__extension__ using wide = __int128;  // nanoseconds of any 64-bit count of days

constexpr wide nanos = 1'000'000'000;
constexpr std::int64_t day_seconds = 86'400;
constexpr std::int64_t most_year = 25'252'734'927'768'524;  // of the last day that 64 bits count
constexpr std::string_view months[] = {"January", "February", "March",     "April",   "May",      "June",
                                       "July",    "August",   "September", "October", "November", "December"};
constexpr std::string_view weekdays[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};

wide floor_divided(wide a, wide b) { return a / b - (a % b < 0); }

// A time in parts.
struct civil {
  std::int64_t year = 1970, month = 1, day = 1;
  std::int64_t second = 0;  // of the day
  std::int64_t nano = 0;    // of the second
  std::int64_t offset = 0;  // of the zone, in seconds
};

std::int64_t days_in(std::int64_t year, std::int64_t month) {
  const std::int64_t m = year * 12 + month - 1;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(calendar::days_of_month(m + 1)) -
                                   static_cast<std::uint64_t>(calendar::days_of_month(m)));
}
bool exists(const civil& c) {
  return c.year >= -most_year && c.year <= most_year && c.month >= 1 && c.month <= 12 && c.day >= 1 && c.day <= days_in(c.year, c.month);
}
// Wraps beyond 64 bits.
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

// ---------------------------------------------------------------- counts
template <class T> bool stored(wide n, void* to) {
  if (n < std::numeric_limits<T>::min() || n > std::numeric_limits<T>::max()) return false;
  const auto value = static_cast<T>(n);
  std::memcpy(to, &value, sizeof value);
  return true;
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
template <class T> T loaded(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
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

// Nanoseconds as a count of the type's unit.
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
// The other way, rounded down to nanoseconds; none: not a finite number of them.
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

// ---------------------------------------------------------------- writing
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
// The letter of the unit, and whether it stands among the hours; 0: its durations are written in seconds.
struct period_letter {
  std::int64_t seconds;
  char letter;
  bool clock;
};
constexpr period_letter letters[] = {{31'556'952, 'Y', false}, {2'629'746, 'M', false}, {604'800, 'W', false}, {86'400, 'D', false},
                                     {3'600, 'H', true},       {60, 'M', true},         {1, 'S', true}};
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

// ---------------------------------------------------------------- reading
class reader {
 public:
  explicit reader(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}
  bool done() const { return at_ == end_; }
  char peek() const { return done() ? '\0' : *at_; }
  bool skip(char c) {
    if (peek() != c || done()) return false;
    ++at_;
    return true;
  }
  void blanks() {
    while (peek() == ' ' || peek() == '\t') ++at_;
  }
  // From `least` to `most` digits.
  bool digits(int least, int most, std::int64_t& n) {
    n = 0;
    int seen = 0;
    for (; seen < most && peek() >= '0' && peek() <= '9'; ++seen) n = n * 10 + (*at_++ - '0');
    return seen >= least;
  }
  bool sign(bool& negative) {
    negative = peek() == '-';
    return skip('-') || skip('+');
  }
  bool year(std::int64_t& y) {
    bool negative = false;
    const bool expanded = sign(negative);
    if (!digits(4, expanded ? 17 : 4, y)) return false;
    if (negative) y = -y;
    return true;
  }
  // ".5": nine digits count, further ones must be zeros.
  bool fraction(std::int64_t& nano) {
    nano = 0;
    if (!skip('.') && !skip(',')) return true;
    int seen = 0;
    for (; peek() >= '0' && peek() <= '9'; ++seen) {
      const std::int64_t digit = *at_++ - '0';
      if (seen < 9) nano = nano * 10 + digit;
      else if (digit != 0) return false;
    }
    for (int d = seen; d < 9; ++d) nano *= 10;
    return seen > 0;
  }
  // One of the names, or the first three letters of it, in any case.
  template <std::size_t N> bool name(const std::string_view (&names)[N], std::size_t& found) {
    const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
    for (std::size_t i = 0; i < N; ++i) {
      for (const std::size_t size : {names[i].size(), std::size_t{3}}) {
        if (!same_letters(rest.substr(0, size), names[i].substr(0, size))) continue;
        at_ += size;
        found = i;
        return true;
      }
    }
    return false;
  }
  // Z, +01, +01:30, -0130
  bool zone(std::int64_t& offset) {
    offset = 0;
    if (skip('Z') || skip('z')) return true;
    bool negative = false;
    std::int64_t hours = 0, minutes = 0;
    if (!sign(negative) || !digits(2, 2, hours)) return false;
    if (skip(':') || (peek() >= '0' && peek() <= '9'))
      if (!digits(2, 2, minutes)) return false;
    if (hours > 23 || minutes > 59) return false;
    offset = (hours * 60 + minutes) * (negative ? -60 : 60);
    return true;
  }

 private:
  static bool same_letters(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if ((a[i] | 0x20) != (b[i] | 0x20)) return false;
    return true;
  }
  const char *at_, *end_;
};

bool read_clock(reader& r, civil& c) {
  std::int64_t hour, minute, second = 0;
  if (!r.digits(2, 2, hour) || !r.skip(':') || !r.digits(2, 2, minute)) return false;
  if (r.skip(':') && (!r.digits(2, 2, second) || !r.fraction(c.nano))) return false;
  c.second = hour * 3600 + minute * 60 + second;
  return hour < 24 && minute < 60 && second < 60;
}
bool read_iso_date(reader& r, civil& c) {
  return r.year(c.year) && r.skip('-') && r.digits(2, 2, c.month) && r.skip('-') && r.digits(2, 2, c.day);
}
bool read_iso(reader& r, civil& c) {
  if (!read_iso_date(r, c)) return false;
  if (r.done()) return true;
  if (!r.skip('T') && !r.skip(' ') && !r.skip('t')) return false;
  return read_clock(r, c) && (r.done() || r.zone(c.offset)) && r.done();
}

// By a format that is not wrong.
bool read_formatted(reader& r, std::string_view format, civil& c) {
  std::int64_t hour = -1, minute = 0, second = 0, of_year = 0;
  bool afternoon = false, halved = false;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] == ' ' || format[i] == '\t') {
      r.blanks();
      continue;
    }
    if (format[i] != '%') {
      if (!r.skip(format[i])) return false;
      continue;
    }
    std::size_t found = 0;
    std::int64_t n = 0;
    civil clock;
    bool good = true;
    switch (format[++i]) {
      case 'Y': good = r.year(c.year); break;
      case 'y':
        good = r.digits(2, 2, n);
        c.year = n < 69 ? 2000 + n : 1900 + n;  // as POSIX has it
        break;
      case 'm': good = r.digits(1, 2, c.month); break;
      case 'e': r.blanks(); [[fallthrough]];
      case 'd': good = r.digits(1, 2, c.day); break;
      case 'j': good = r.digits(1, 3, of_year) && of_year > 0; break;
      case 'H': good = r.digits(1, 2, hour) && hour < 24; break;
      case 'I':
        good = r.digits(1, 2, hour) && hour >= 1 && hour <= 12;
        halved = true;
        break;
      case 'p':
        afternoon = r.peek() == 'P' || r.peek() == 'p';
        good = (afternoon || r.skip('A') || r.skip('a')) && (!afternoon || r.skip('P') || r.skip('p')) && (r.skip('M') || r.skip('m'));
        break;
      case 'M': good = r.digits(1, 2, minute) && minute < 60; break;
      case 'S': good = r.digits(1, 2, second) && second < 60 && r.fraction(c.nano); break;
      case 'F': good = read_iso_date(r, c); break;
      case 'T':
      case 'R':
        good = read_clock(r, clock);
        hour = clock.second / 3600;
        minute = clock.second / 60 % 60;
        second = clock.second % 60;
        if (good) c.nano = clock.nano;
        break;
      case 'b':
      case 'B':
        good = r.name(months, found);
        c.month = static_cast<std::int64_t>(found) + 1;
        break;
      case 'a':
      case 'A': good = r.name(weekdays, found); break;
      case 'u': good = r.digits(1, 1, n) && n >= 1 && n <= 7; break;
      case 'z': good = r.zone(c.offset); break;
      default: good = r.skip('%');
    }
    if (!good) return false;
  }
  if (halved) hour = hour % 12 + (afternoon ? 12 : 0);
  c.second = (hour < 0 ? 0 : hour) * 3600 + minute * 60 + second;
  if (of_year > 0) {
    // Wraps for years that no day has; whoever makes days of the date finds that.
    const auto first = static_cast<std::uint64_t>(calendar::days_of_month(c.year * 12));
    const auto days = static_cast<std::uint64_t>(calendar::days_of_month(c.year * 12 + 12)) - first;
    if (static_cast<std::uint64_t>(of_year) > days) return false;
    const civil day = civil_of_days(static_cast<std::int64_t>(first + static_cast<std::uint64_t>(of_year) - 1));
    c.month = day.month;
    c.day = day.day;
  }
  return r.done();
}

// "PT1H30M", "P2D", "-PT0.5S"; or the plain count.
text_of_time read_duration(const type* t, std::string_view text, void* to) {
  reader r(text);
  bool negative = false;
  r.sign(negative);
  const unit& u = t->counts;
  if (!r.skip('P')) {
    const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
    const char* const end = text.data() + text.size();
    if (is_floating(t->k)) {
      double x;
      const auto [stop, error] = std::from_chars(begin, end, x);
      if (stop != end || error != std::errc()) return text_of_time::malformed;
      store_floating(t->k, x, to);
      return text_of_time::ok;
    }
    std::int64_t n;
    const auto [stop, error] = std::from_chars(begin, end, n);
    if (stop != end || error == std::errc::invalid_argument) return text_of_time::malformed;
    return error == std::errc() && store_number(t->k, n, to) ? text_of_time::ok : text_of_time::out_of_range;
  }
  wide sum = 0;
  bool clock = false, any = false;
  for (const period_letter* p = letters; !r.done();) {
    if (!clock && r.skip('T')) {
      clock = true;
      any = false;
      continue;
    }
    std::int64_t first, last, nano = 0;
    if (r.peek() < '0' || r.peek() > '9' || !r.digits(1, 18, first)) return text_of_time::malformed;
    wide n = first;
    if (r.digits(1, 1, last)) n = n * 10 + last;  // the last count that 64 bits hold has 19 digits
    if (r.digits(1, 1, last)) return text_of_time::out_of_range;
    if (!r.fraction(nano)) return text_of_time::malformed;
    const char letter = r.peek();
    while (p != std::end(letters) && (p->letter != letter || p->clock != clock)) ++p;
    if (p == std::end(letters) || !r.skip(letter)) return text_of_time::malformed;
    if (p->seconds >= 2'629'746 && (u.den != 1 || u.num % 2'629'746 != 0)) return text_of_time::malformed;  // no month has a fixed length
    sum += (nanos * n + nano) * p->seconds;
    ++p;
    any = true;
  }
  if (!any) return text_of_time::malformed;
  return store_nanos(t, negative ? -sum : sum, to);
}

bool is_date(const type* t) { return t->counts.what == unit::of::date; }
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

}  // namespace

text_of_time parse_counted(const type* t, std::string_view text, std::string_view format, void* to) {
  if (t->counts.what == unit::of::duration) return read_duration(t, text, to);
  reader r(text);
  civil c;
  if (!(format.empty() ? read_iso(r, c) : read_formatted(r, format, c))) return text_of_time::malformed;
  if (!exists(c)) return c.year < -most_year || c.year > most_year ? text_of_time::out_of_range : text_of_time::malformed;
  if (is_date(t)) return store_date(c, to);
  if (civil_of_days(days_of(c)).year != c.year) return text_of_time::out_of_range;
  return store_nanos(t, (wide{days_of(c)} * day_seconds + c.second - c.offset) * nanos + c.nano, to);
}

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

bool days_of_date(const void* from, std::int64_t& days) {
  const civil c = date_at(from);
  if (!exists(c)) return false;
  days = days_of(c);
  return true;
}
bool date_of_days(std::int64_t days, void* to) { return store_date(civil_of_days(days), to) == text_of_time::ok; }

std::string wrong_format(std::string_view format) {
  constexpr std::string_view known = "YymdejHIpMSFTRbBaAuz%";
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') continue;
    if (++i == format.size()) return "it ends with a %; a percent sign is %%";
    if (known.find(format[i]) == known.npos)
      return "it does not take %" + std::string(1, format[i]) + ", but %Y %y %m %d %e %j %b %B %a %A %u %H %I %p %M %S %F %T %R %z %%";
  }
  return {};
}

}  // namespace query::ir

namespace query::detail {

bool parse_time_text(const ir::type* t, std::string_view text, std::string_view format, void* to) {
  if (const std::string wrong = ir::wrong_format(format); !wrong.empty())
    throw unplaced_error("parse_time: the format '" + std::string(format) + "': " + wrong);
  return ir::parse_counted(t, text, format, to) == ir::text_of_time::ok;
}
std::string format_time_text(const ir::type* t, const void* value, std::string_view format) {
  if (const std::string wrong = ir::wrong_format(format); !wrong.empty())
    throw unplaced_error("format_time: the format '" + std::string(format) + "': " + wrong);
  std::string out;
  ir::append_counted(out, t, value, format);
  return out;
}
void bucket_without_width() { throw unplaced_error("floor_to: the width of a bucket must be positive"); }

}  // namespace query::detail
