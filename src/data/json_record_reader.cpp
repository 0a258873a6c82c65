#include "data/json_record_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <utility>

#include "data/csv_advice.hpp"
#include "data/csv_cursor.hpp"
#include "data/csv_value.hpp"
#include "data/format_value.hpp"
#include "data/leaf_columns.hpp"
#include "ir/time_text.hpp"

namespace query::data {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& to, unsigned code) {
  const auto put = [&](unsigned byte) { to += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xE0 | code >> 12);
    } else {
      put(0xF0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3F));
    }
    put(0x80 | (code >> 6 & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

// As a reader of the error would name it.
std::string expected_of(const ir::type* t) {
  switch (t->k) {
    case ir::kind::string: return "a string";
    case ir::kind::record: return "an object for " + type_name(t);
    case ir::kind::array: return "an array of " + std::to_string(t->count) + " values";
    case ir::kind::list: return "an array";
    case ir::kind::boolean: return "true or false";
    default: return is_letter(t) ? "a string of one letter" : type_name(t);
  }
}

}  // namespace

bool json_record_reader::read(void* row) {
  while (next_ != end_ && blank_line(next_, end_)) next_ = next_record(next_, end_, '\0', false);
  const auto* const found = static_cast<const char*>(std::memchr(next_, '\n', static_cast<std::size_t>(end_ - next_)));
  at_ = next_;
  line_end_ = found != nullptr ? found : end_;
  next_ = found != nullptr ? found + 1 : end_;
  if (line_end_ != at_ && line_end_[-1] == '\r') --line_end_;
  line_ = {at_, static_cast<std::size_t>(line_end_ - at_)};
  seen_.clear();
  if (line(row)) return true;
  if (!error_.column.empty()) error_.what.insert(0, "field '" + error_.column + "': ");
  return false;
}

bool json_record_reader::line(void* row) {
  blanks();
  const bool is_record = shape_.of->k == ir::kind::record && !ir::is_time_text(shape_.of);
  if (is_record && at_ != line_end_ && *at_ == '[')
    return wrong(at_, "expected an object, found an array: each row is one line with an object; from a file that is one array, "
                      "jq -c '.[]' makes such lines");
  if (is_record ? !object(shape_, row, true) : !value(shape_, row)) return false;
  blanks();
  return at_ == line_end_ || wrong(at_, "text after the value: each line holds one");
}

bool json_record_reader::value(const json_shape& shape, void* to) {
  const ir::type* const t = shape.of;
  if (ir::is_time_text(t)) return time(t, to);
  switch (t->k) {
    case ir::kind::optional:
      if (takes("null")) return t->get.reset(to), true;
      return value(shape.parts.front(), t->get.emplace(to));
    case ir::kind::string: {
      auto& text = *static_cast<std::string*>(to);
      text.clear();
      return string(text);
    }
    case ir::kind::record: return object(shape, to, false);
    case ir::kind::array: return array(shape, to);
    case ir::kind::list: return list(shape, to);
    case ir::kind::boolean: return boolean(to);
    default: return is_letter(t) ? letter(to) : number(t, to);
  }
}

bool json_record_reader::object(const json_shape& shape, void* to, bool is_row) {
  if (!takes('{')) {
    (void)expected(expected_of(shape.of));
    if (is_row) error_.what += "; each line must be a JSON object; query::read_csv reads a CSV file";
    return false;
  }
  const std::size_t seen = seen_.size();
  seen_.resize(seen + shape.keys.size(), 0);
  if (!members(shape, to, is_row, seen)) return false;
  for (std::size_t i = 0; i < shape.keys.size(); ++i) {
    if (seen_[seen + i] != 0 || skips(i, is_row)) continue;
    if (const ir::type* const f = shape.parts[i].of; f->k == ir::kind::optional) {
      f->get.reset(static_cast<std::byte*>(to) + shape.of->fields()[i].offset);  // an object before, with the same key, may have had it
      continue;
    }
    (void)wrong(at_ - 1, "it is missing: make it std::optional to allow that");
    return wrong_in(shape.keys[i], true);
  }
  seen_.resize(seen);
  return true;
}

bool json_record_reader::members(const json_shape& shape, void* to, bool is_row, std::size_t seen) {
  blanks();
  if (takes('}')) return true;
  // Lines mostly have their keys in the same order, so the next member is the first one to compare.
  for (std::size_t guess = 0;;) {
    blanks();
    key_.clear();
    const char* const key_at = at_;
    if (at_ == line_end_ || *at_ != '"') return expected("a key in quotes");
    if (!string(key_)) return false;
    blanks();
    if (!takes(':')) return expected("':' after a key");
    blanks();
    std::size_t i = guess;
    if (i >= shape.keys.size() || shape.keys[i] != key_)
      for (i = 0; i < shape.keys.size() && shape.keys[i] != key_;) ++i;
    if (i == shape.keys.size()) {
      if (unknown_ == unknown_fields::refuse)
        return wrong(key_at, "no field of " + type_name(shape.of) + " has the key '" + cut_text(printable(key_), 40) +
                                 "': .columns names the key of a field, and .unknown = query::unknown_fields::ignore passes over "
                                 "others");
      if (!skip_value(0)) return false;
    } else {
      guess = i + 1;
      seen_[seen + i] = 1;
      void* const field = static_cast<std::byte*>(to) + shape.of->fields()[i].offset;
      if (skips(i, is_row) ? !skip_value(0) : !value(shape.parts[i], field)) return wrong_in(shape.keys[i], true);
    }
    blanks();
    if (takes('}')) return true;
    if (!takes(',')) return expected("',' or '}'");
  }
}

bool json_record_reader::array(const json_shape& shape, void* to) {
  const ir::type* const t = shape.of;
  if (!takes('[')) return expected(expected_of(t));
  const char* const begin = at_;
  for (std::size_t i = 0; i < t->count; ++i) {
    blanks();
    if (i != 0 ? !takes(',') : at_ != line_end_ && *at_ == ']')
      return at_ != line_end_ && *at_ == ']' ? wrong(begin, "the array has " + std::to_string(i) + " values, and the field takes " +
                                                                std::to_string(t->count) + "; make it a std::vector")
                                             : expected("',' or ']'");
    blanks();
    if (!value(shape.parts.front(), static_cast<std::byte*>(to) + i * t->element->size)) return wrong_in(std::to_string(i), false);
  }
  blanks();
  if (takes(']')) return true;
  if (at_ == line_end_ || *at_ != ',') return expected("']'");
  return wrong(begin, "the array has more than " + std::to_string(t->count) + " values; make the field a std::vector");
}

bool json_record_reader::list(const json_shape& shape, void* to) {
  const ir::type* const t = shape.of;
  if (!takes('[')) return expected(expected_of(t));
  t->get.resize(to, 0);
  blanks();
  if (takes(']')) return true;
  std::size_t n = 0;
  for (std::size_t room = 0;; ++n) {
    blanks();
    if (n == room) t->get.resize(to, room = room == 0 ? 4 : 2 * room);
    auto* const first = static_cast<std::byte*>(const_cast<void*>(t->get.data(to)));
    if (!value(shape.parts.front(), first + n * t->element->size)) return wrong_in(std::to_string(n), false);
    blanks();
    if (takes(']')) break;
    if (!takes(',')) return expected("',' or ']'");
  }
  t->get.resize(to, n + 1);
  return true;
}

bool json_record_reader::number(const ir::type* type, void* to) {
  const char* const begin = at_;
  const std::string_view text = number_text();
  if (text.empty()) return expected(expected_of(type));
  const parsed result = parse_scalar(type, text, to);
  if (result == parsed::ok) return true;
  const std::string found = "'" + cut_text(std::string(text.substr(0, 400)), 40) + "'";
  if (result == parsed::out_of_range)
    return wrong(begin, "out of range of " + type_name(type) + ": " + found + "; " + advice_for_large_number(text));
  return wrong(begin, "expected " + type_name(type) + ", found " + found + "; " + advice_for_value(type, text));
}

// ISO 8601 in a string; a duration also as the count of its unit.
bool json_record_reader::time(const ir::type* type, void* to) {
  const char* const begin = at_;
  if (at_ == line_end_ || *at_ != '"') {
    if (type->counts.what == ir::unit::of::duration) return number(type, to);
    return expected("a string with a " + type_name(type));
  }
  scratch_.clear();
  if (!string(scratch_)) return false;
  const parsed result = parse_scalar(type, scratch_, to);
  if (result == parsed::ok) return true;
  return wrong(begin, (result == parsed::out_of_range ? "out of range of " : "expected ") + type_name(type) + ", found '" +
                          cut_text(printable(scratch_), 40) + "'");
}

// The number at at_, as JSON spells it; empty if there is none.
std::string_view json_record_reader::number_text() {
  const char* p = at_;
  const auto digits = [&] {
    const char* const begin = p;
    while (p != line_end_ && is_digit(*p)) ++p;
    return p != begin;
  };
  if (p != line_end_ && *p == '-') ++p;
  const char* const first = p;
  if (!digits() || (*first == '0' && p - first > 1)) return {};
  if (p != line_end_ && *p == '.' && (++p, !digits())) return {};
  if (p != line_end_ && (*p == 'e' || *p == 'E')) {
    ++p;
    if (p != line_end_ && (*p == '+' || *p == '-')) ++p;
    if (!digits()) return {};
  }
  const std::string_view text(at_, static_cast<std::size_t>(p - at_));
  at_ = p;
  return text;
}

bool json_record_reader::letter(void* to) {
  const char* const begin = at_;
  scratch_.clear();
  if (at_ == line_end_ || *at_ != '"') return expected("a string of one letter");
  if (!string(scratch_)) return false;
  if (scratch_.size() != 1) return wrong(begin, "a char is one letter: read it as a std::string");
  *static_cast<char*>(to) = scratch_.front();
  return true;
}

bool json_record_reader::boolean(void* to) {
  auto& b = *static_cast<bool*>(to);
  if (takes("true")) return b = true, true;
  if (takes("false")) return b = false, true;
  return expected("true or false");
}

bool json_record_reader::string(std::string& to) {
  const char* const begin = at_;
  if (!takes('"')) return expected("a string");
  for (;;) {
    const char* p = at_;
    while (p != line_end_ && *p != '"' && *p != '\\' && static_cast<unsigned char>(*p) >= 0x20) ++p;
    to.append(at_, p);
    at_ = p;
    if (p == line_end_) return wrong(begin, "the string that begins here does not end in its line");
    if (*p == '"') return ++at_, true;
    if (*p != '\\') return wrong(p, "a control character in a string: it is written as \\n, \\t or \\u00..");
    if (!escape(to)) return false;
  }
}

// A backslash is at at_.
bool json_record_reader::escape(std::string& to) {
  static constexpr std::string_view letters = "\"\\/bfnrt", values = "\"\\/\b\f\n\r\t";
  const char* const begin = at_++;
  if (at_ == line_end_) return wrong(begin, "the line ends within a string");
  if (const std::size_t i = letters.find(*at_); i != std::string_view::npos) return to += values[i], ++at_, true;
  unsigned code;
  if (!takes('u') || !code_unit(code))
    return wrong(begin, "a backslash in a string is followed by one of \"\\/bfnrt, or by u and four hex digits");
  if (code >= 0xD800 && code < 0xE000) {
    unsigned low;
    if (code >= 0xDC00 || !takes("\\u") || !code_unit(low) || low < 0xDC00 || low >= 0xE000)
      return wrong(begin, "half of a surrogate pair: characters beyond \\uffff are two such escapes, as in \\ud83d\\ude00");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  append_utf8(to, code);
  return true;
}

bool json_record_reader::code_unit(unsigned& to) {
  if (line_end_ - at_ < 4) return false;
  const auto [end, error] = std::from_chars(at_, at_ + 4, to, 16);
  if (error != std::errc() || end != at_ + 4) return false;
  at_ += 4;
  return true;
}

bool json_record_reader::skip_value(int depth) {
  if (depth > deepest) return wrong(at_, "a value is nested more than " + std::to_string(deepest) + " levels deep");
  blanks();
  if (at_ == line_end_) return expected("a value");
  if (*at_ == '{' || *at_ == '[') return skip_list(depth);
  if (*at_ == '"') {
    scratch_.clear();
    return string(scratch_);
  }
  return takes("true") || takes("false") || takes("null") || !number_text().empty() || expected("a value");
}

// The values of an object or of an array.
bool json_record_reader::skip_list(int depth) {
  const bool object = *at_++ == '{';
  const char close = object ? '}' : ']';
  blanks();
  if (takes(close)) return true;
  for (;;) {
    if (object) {
      blanks();
      if (at_ == line_end_ || *at_ != '"') return expected("a key in quotes");
      scratch_.clear();
      if (!string(scratch_)) return false;
      blanks();
      if (!takes(':')) return expected("':' after a key");
    }
    if (!skip_value(depth + 1)) return false;
    blanks();
    if (takes(close)) return true;
    if (!takes(',')) return expected(std::string("',' or '") + close + "'");
  }
}

void json_record_reader::blanks() {
  while (at_ != line_end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
}

bool json_record_reader::takes(char c) {
  if (at_ == line_end_ || *at_ != c) return false;
  ++at_;
  return true;
}

bool json_record_reader::takes(std::string_view literal) {
  if (!std::string_view(at_, static_cast<std::size_t>(line_end_ - at_)).starts_with(literal)) return false;
  at_ += literal.size();
  return true;
}

bool json_record_reader::expected(const std::string& what) {
  if (at_ == line_end_) return wrong(at_, "expected " + what + ", and the line ends: each value is on one line");
  if (std::string_view(at_, static_cast<std::size_t>(line_end_ - at_)).starts_with("null"))
    return wrong(at_, "expected " + what + ", found null: make the field std::optional to allow nulls");
  const char* end = std::find_if(at_ + 1, line_end_, [](char c) { return c == ',' || c == '}' || c == ']' || c == ':' || c == ' '; });
  const std::string_view found(at_, std::min<std::size_t>(static_cast<std::size_t>(end - at_), 400));
  return wrong(at_, "expected " + what + ", found " + cut_text(printable(found), 40));
}

bool json_record_reader::wrong(const char* at, std::string what) {
  error_ = {at, false, std::move(what), {}};
  return false;
}

bool json_record_reader::wrong_in(std::string_view part, bool is_key) {
  std::string& path = error_.column;
  const bool joins = !path.empty() && path.front() != '[';
  path = (is_key ? std::string(part) : "[" + std::string(part) + "]") + (joins ? "." : "") + path;
  return false;
}

}  // namespace query::data
