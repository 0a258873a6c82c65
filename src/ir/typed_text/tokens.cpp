#include "ir/typed_text/tokens.hpp"

#include <algorithm>
#include <array>

namespace query::ir::typed_text {

namespace {

constexpr std::size_t longest_text = std::size_t{1} << 16, most_tokens = 20'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
bool in_name(char c) { return begins_name(c) || is_digit(c); }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool same_word(std::string_view a, std::string_view lower_case) {
  return a.size() == lower_case.size() && std::equal(a.begin(), a.end(), lower_case.begin(), [](char x, char y) { return lower(x) == y; });
}

constexpr std::array<std::string_view, 15> keywords = {"and", "or",   "not",   "in",   "like", "between", "is",   "null",
                                                       "as",  "true", "false", "desc", "asc",  "nulls",   "group"};
constexpr std::array<std::string_view, 24> signs = {"<=", ">=", "<>", "!=", "==", "&&", "||", "=", "<", ">", "+", "-",
                                                    "*",  "/",  "%",  "(",  ")",  "[",  "]",  ",", ".", "!", "?", "$"};

class reader {
 public:
  explicit reader(std::string_view text) : text_(text) {
    if (text.size() > longest_text) throw fault{0, 0, "the text is longer than " + std::to_string(longest_text) + " bytes"};
  }
  std::vector<token> all() {
    std::vector<token> found;
    for (;;) {
      while (at_ < text_.size() && is_space(text_[at_])) ++at_;
      if (found.size() == most_tokens) throw fault{at_, 1, "the text has more than " + std::to_string(most_tokens) + " words"};
      found.push_back(next());
      if (found.back().what == token::kind::end) return found;
    }
  }

 private:
  bool more(std::size_t ahead = 0) const { return at_ + ahead < text_.size(); }

  token made(token::kind what, std::size_t from, std::string spelled) const { return {what, from, at_ - from, std::move(spelled)}; }

  token next() {
    const std::size_t from = at_;
    if (!more()) return {token::kind::end, text_.size(), 0, {}};
    const char c = text_[at_];
    if (begins_name(c)) {
      while (more() && in_name(text_[at_])) ++at_;
      return made(token::kind::name, from, std::string(text_.substr(from, at_ - from)));
    }
    if (is_digit(c) || (c == '.' && more(1) && is_digit(text_[at_ + 1]))) return number();
    if (c == '\'') return quoted('\'', token::kind::text, "a string");
    if (c == '"') return quoted('"', token::kind::quoted_name, "a name");
    if (c == '?' || c == '$') return parameter();
    for (const std::string_view s : signs)
      if (text_.substr(at_, s.size()) == s) {
        at_ += s.size();
        return made(token::kind::sign, from, std::string(s));
      }
    throw fault{from, 1, "this sign has no meaning here"};
  }

  token number() {
    const std::size_t from = at_;
    bool whole = true;
    const auto digits = [&] {
      while (more() && is_digit(text_[at_])) ++at_;
    };
    digits();
    if (more() && text_[at_] == '.') {
      whole = false;
      ++at_;
      digits();
    }
    if (more() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      const std::size_t sign = more(1) && (text_[at_ + 1] == '+' || text_[at_ + 1] == '-') ? 2 : 1;
      if (more(sign) && is_digit(text_[at_ + sign])) {
        whole = false;
        at_ += sign;
        digits();
      }
    }
    const std::size_t end = at_;
    while (more() && (in_name(text_[at_]) || text_[at_] == '.')) ++at_;
    if (at_ != end) throw fault{from, at_ - from, "this is neither a number nor a name: names begin with a letter"};
    return made(whole ? token::kind::integer : token::kind::floating, from, std::string(text_.substr(from, end - from)));
  }

  // A quote within is written twice.
  token quoted(char quote, token::kind what, std::string_view name) {
    const std::size_t from = at_++;
    std::string s;
    for (;;) {
      if (!more()) throw fault{from, 1, std::string(name) + " begins here and does not end: " + quote + " is missing"};
      const char c = text_[at_++];
      if (c == quote) {
        if (!more() || text_[at_] != quote) break;
        ++at_;
      }
      s += c;
    }
    return made(what, from, std::move(s));
  }

  // `?` has no number.
  token parameter() {
    const std::size_t from = at_++;
    while (text_[from] == '$' && more() && is_digit(text_[at_])) ++at_;
    if (text_[from] == '$' && at_ == from + 1) throw fault{from, 1, "a number is missing after $: $1 is the first value"};
    return made(token::kind::parameter, from, std::string(text_.substr(from + 1, at_ - from - 1)));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

bool token::is_word(std::string_view lower_case) const { return what == kind::name && same_word(spelled, lower_case); }

bool is_keyword(std::string_view name) {
  return std::any_of(keywords.begin(), keywords.end(), [&](std::string_view k) { return same_word(name, k); });
}

std::vector<token> tokens_of(std::string_view text) { return reader(text).all(); }

}  // namespace query::ir::typed_text
