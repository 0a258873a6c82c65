#include <charconv>
#include <cmath>

#include <query/detail/calendar.hpp>
#include <query/detail/failure.hpp>
#include <query/times.hpp>

#include <ir/civil_time.hpp>

namespace query::ir {
namespace {

namespace calendar = detail::calendar;

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
void bucket_without_width() { throw unplaced_error("floor_to: the width of a bucket must be positive"); }

}  // namespace query::detail
