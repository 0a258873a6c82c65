// What the functions of query/strings.hpp compute, but for cases (letter_cases.cpp) and regular expressions (regular_expressions.cpp).
#include <algorithm>
#include <charconv>
#include <system_error>

#include <ir/number_text.hpp>
#include <ir/utf8.hpp>
#include <query/strings.hpp>

namespace query::detail {
namespace {

using view = std::string_view;

// Bytes of the first `count` code points.
std::size_t bytes_of(view s, std::size_t count) {
  std::size_t at = 0;
  for (; count > 0 && at < s.size(); --count) at += ir::character_bytes(s.substr(at));
  return at;
}

bool is_one_of(view character, view characters) {
  while (!characters.empty()) {
    const std::size_t n = ir::character_bytes(characters);
    if (characters.substr(0, n) == character) return true;
    characters.remove_prefix(n);
  }
  return false;
}

}  // namespace

std::size_t length_fn::native(view s) {
  if (s.empty()) return 0;
  return static_cast<std::size_t>(std::count_if(s.begin() + 1, s.end(), [](char c) { return !ir::is_continuation(c); })) + 1;
}

view substring_fn::native(view s, std::size_t first, std::size_t count) {
  s.remove_prefix(bytes_of(s, first));
  return s.substr(0, bytes_of(s, count));
}

view trim_start_fn::native(view s, view characters) {
  while (!s.empty()) {
    const std::size_t n = ir::character_bytes(s);
    if (!is_one_of(s.substr(0, n), characters)) break;
    s.remove_prefix(n);
  }
  return s;
}
view trim_end_fn::native(view s, view characters) {
  while (!s.empty()) {
    std::size_t n = 1;
    while (n < s.size() && ir::is_continuation(s[s.size() - n])) ++n;
    if (!is_one_of(s.substr(s.size() - n), characters)) break;
    s.remove_suffix(n);
  }
  return s;
}
view trim_fn::native(view s, view characters) { return trim_end_fn::native(trim_start_fn::native(s, characters), characters); }

std::string replace_fn::native(view s, view from, view to) {
  if (from.empty()) return std::string(s);
  std::string all;
  std::size_t at = 0;
  for (std::size_t next = s.find(from); next != view::npos; next = s.find(from, at)) {
    all.append(s, at, next - at).append(to);
    at = next + from.size();
  }
  return all.append(s, at);
}

std::vector<std::string> split_fn::native(view s, view separator) {
  std::vector<std::string> parts;
  if (separator.empty()) {
    for (; !s.empty(); s.remove_prefix(parts.back().size())) parts.emplace_back(s.substr(0, ir::character_bytes(s)));
    return parts;
  }
  std::size_t at = 0;
  for (std::size_t next = s.find(separator); next != view::npos; next = s.find(separator, at)) {
    parts.emplace_back(s.substr(at, next - at));
    at = next + separator.size();
  }
  parts.emplace_back(s.substr(at));
  return parts;
}

// What stands after the last % is tried at each code point in turn: an earlier % needs no other try (greedy matching of wildcards).
bool like_fn::native(view s, view pattern) {
  std::size_t at = 0, p = 0, after_percent = view::npos, tried = 0;
  while (at < s.size()) {
    if (p < pattern.size() && pattern[p] == '%') {
      after_percent = ++p;
      tried = at;
    } else if (p < pattern.size() && pattern[p] == '_') {
      ++p;
      at += ir::character_bytes(s.substr(at));
    } else if (p < pattern.size() && pattern[p] == s[at]) {
      ++p;
      ++at;
    } else if (after_percent != view::npos) {
      p = after_percent;
      at = tried += ir::character_bytes(s.substr(tried));
    } else {
      return false;
    }
  }
  return pattern.substr(p).find_first_not_of('%') == view::npos;
}

template <class T> std::string number_text_fn<T>::native(T x) {
  if constexpr (std::is_same_v<T, bool>) {
    return x ? "true" : "false";
  } else {
    char text[32];
    return std::string(text, std::to_chars(std::begin(text), std::end(text), x).ptr);
  }
}
template struct number_text_fn<bool>;
template struct number_text_fn<std::int64_t>;
template struct number_text_fn<std::uint64_t>;
template struct number_text_fn<float>;
template struct number_text_fn<double>;

template <class T> std::optional<T> parse_fn<T>::native(view s) {
  T x{};
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), x);
  if (end != s.data() + s.size()) return std::nullopt;
  if (error == std::errc()) return x;
  if constexpr (std::is_floating_point_v<T>)  // as files read it: too small is 0, too large is no number
    if (error == std::errc::result_out_of_range && ir::underflows(s)) return s.starts_with('-') ? -T{0} : T{0};
  return std::nullopt;
}
template struct parse_fn<signed char>;
template struct parse_fn<unsigned char>;
template struct parse_fn<short>;
template struct parse_fn<unsigned short>;
template struct parse_fn<int>;
template struct parse_fn<unsigned>;
template struct parse_fn<long>;
template struct parse_fn<unsigned long>;
template struct parse_fn<long long>;
template struct parse_fn<unsigned long long>;
template struct parse_fn<float>;
template struct parse_fn<double>;

}  // namespace query::detail
