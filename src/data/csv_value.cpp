#include "data/csv_value.hpp"

#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>
#include <type_traits>

#include "ir/number_text.hpp"
#include "ir/time_text.hpp"

namespace query::data {
namespace {

// Up to this many digits cannot overflow the type: no check a digit.
template <class I> constexpr std::ptrdiff_t safe_digits = std::numeric_limits<I>::digits10;

template <class I> parsed parse_integer(const char* b, const char* e, I& out) {
  const char* p = b;
  const bool negative = p != e && *p == '-';
  if (p != e && (*p == '+' || (std::is_signed_v<I> && *p == '-'))) ++p;
  if (e - p > 0 && e - p <= safe_digits<I>) {
    std::uint64_t value = 0;
    for (; p != e; ++p) {
      const auto digit = static_cast<unsigned>(static_cast<unsigned char>(*p)) - '0';
      if (digit > 9) return parsed::malformed;
      value = value * 10 + digit;
    }
    out = static_cast<I>(negative ? 0 - value : value);
    return parsed::ok;
  }
  if (p == e || *p < '0' || *p > '9') return parsed::malformed;  // from_chars would take "+-5"
  const auto [end, error] = std::from_chars(negative ? b : p, e, out);
  if (end != e || error == std::errc::invalid_argument) return parsed::malformed;
  return error == std::errc::result_out_of_range ? parsed::out_of_range : parsed::ok;
}

template <class F> parsed parse_floating(const char* b, const char* e, F& out) {
  const char* p = b;
  if (p != e && *p == '+') {
    ++p;
    if (p != e && (*p == '-' || *p == '+')) return parsed::malformed;
  }
  const auto [end, error] = std::from_chars(p, e, out);
  if (end != e || error == std::errc::invalid_argument) return parsed::malformed;
  if (error != std::errc::result_out_of_range) return parsed::ok;
  const std::string_view text(p, static_cast<std::size_t>(e - p));
  if (!ir::underflows(text)) return parsed::out_of_range;
  out = text.starts_with('-') ? -F{0} : F{0};
  return parsed::ok;
}

bool equals_any_case(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((text[i] | 0x20) != lower[i]) return false;
  return true;
}

parsed parse_bool(std::string_view text, bool& out) {
  if (text == "1" || equals_any_case(text, "true") || equals_any_case(text, "t")) return out = true, parsed::ok;
  if (text == "0" || equals_any_case(text, "false") || equals_any_case(text, "f")) return out = false, parsed::ok;
  return parsed::malformed;
}

// By memcpy: the object may be an enum, or a `long long` where std::int64_t is `long`.
template <class T> parsed parse_at(std::string_view text, void* to) {
  T value{};
  parsed result;
  if constexpr (std::is_same_v<T, bool>) result = parse_bool(text, value);
  else if constexpr (std::is_integral_v<T>) result = parse_integer(text.data(), text.data() + text.size(), value);
  else result = parse_floating(text.data(), text.data() + text.size(), value);
  if (result == parsed::ok) std::memcpy(to, &value, sizeof value);
  return result;
}

parsed parse_letter(std::string_view text, void* to) {
  if (text.size() != 1) return parsed::malformed;
  *static_cast<char*>(to) = text.front();
  return parsed::ok;
}

template <class T> void append_number(std::string& out, const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  if (error == std::errc{}) out.append(digits, end);
}

}  // namespace

parsed parse_scalar(const ir::type* type, std::string_view text, void* to, std::string_view time_format) {
  if (ir::is_time_text(type)) {
    switch (ir::parse_counted(type, text, time_format, to)) {
      case ir::text_of_time::ok: return parsed::ok;
      case ir::text_of_time::malformed: return parsed::malformed;
      case ir::text_of_time::out_of_range: return parsed::out_of_range;
    }
  }
  if (is_letter(type)) return parse_letter(text, to);
  switch (type->k) {
    case ir::kind::boolean: return parse_at<bool>(text, to);
    case ir::kind::i8: return parse_at<std::int8_t>(text, to);
    case ir::kind::i16: return parse_at<std::int16_t>(text, to);
    case ir::kind::i32: return parse_at<std::int32_t>(text, to);
    case ir::kind::i64: return parse_at<std::int64_t>(text, to);
    case ir::kind::u8: return parse_at<std::uint8_t>(text, to);
    case ir::kind::u16: return parse_at<std::uint16_t>(text, to);
    case ir::kind::u32: return parse_at<std::uint32_t>(text, to);
    case ir::kind::u64: return parse_at<std::uint64_t>(text, to);
    case ir::kind::f32: return parse_at<float>(text, to);
    case ir::kind::f64: return parse_at<double>(text, to);
    case ir::kind::string: static_cast<std::string*>(to)->assign(text); return parsed::ok;
    default: return parsed::malformed;
  }
}

void append_scalar(std::string& out, const ir::type* type, const void* from, std::string_view time_format) {
  if (ir::is_time_text(type)) return ir::append_counted(out, type, from, time_format);
  if (is_letter(type)) {
    out += *static_cast<const char*>(from);
    return;
  }
  switch (type->k) {
    case ir::kind::boolean: out += *static_cast<const bool*>(from) ? "true" : "false"; break;
    case ir::kind::i8: append_number<std::int8_t>(out, from); break;
    case ir::kind::i16: append_number<std::int16_t>(out, from); break;
    case ir::kind::i32: append_number<std::int32_t>(out, from); break;
    case ir::kind::i64: append_number<std::int64_t>(out, from); break;
    case ir::kind::u8: append_number<std::uint8_t>(out, from); break;
    case ir::kind::u16: append_number<std::uint16_t>(out, from); break;
    case ir::kind::u32: append_number<std::uint32_t>(out, from); break;
    case ir::kind::u64: append_number<std::uint64_t>(out, from); break;
    case ir::kind::f32: append_number<float>(out, from); break;
    case ir::kind::f64: append_number<double>(out, from); break;
    default: break;
  }
}

}  // namespace query::data
