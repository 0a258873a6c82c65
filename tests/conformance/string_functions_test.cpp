// Functions of strings (query/strings.hpp) in traced lambdas and in texts, over strings that are empty, long, broken or null: on every
// engine what they answer for plain strings, which tests/frontend/string_functions_test.cpp checks.
#include <tuple>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "regular_expressions.hpp"

namespace conformance {
namespace {

struct note {
  std::int32_t id;
  std::string text;
  std::optional<std::string> also;
  double value;
};
QUERY_RECORD(note, id, text, also, value);

std::string some_text(std::mt19937& g) {
  using namespace std::string_literals;
  switch (g() % 12) {
    case 0: return "";
    case 1: return "  a, b ,c\t";
    case 2: return "a\0b,"s + std::string(g() % 3, '\0');
    case 3: return "\xff\xc3,\x80z";  // no UTF-8
    case 4: return "\u00c9t\u00e9, \u20ac 5";
    case 5: return std::string(2'000, g() % 2 ? 'x' : ',');
    case 6: return std::to_string(static_cast<std::int64_t>(g()) - 2'000'000'000);
    case 7: return std::to_string(g() % 100) + ".5";
    case 8: return "key" + std::to_string(g() % 5) + "=" + std::to_string(g() % 9);
    case 9: return ",";
    default: return std::string(g() % 20, static_cast<char>('a' + g() % 3));
  }
}
std::vector<note> notes(std::size_t n) {
  std::mt19937 g(static_cast<unsigned>(seed()) + static_cast<unsigned>(n));
  std::vector<note> all(n);
  for (std::size_t i = 0; i < n; ++i) {
    all[i] = {static_cast<std::int32_t>(i), some_text(g), std::nullopt, static_cast<double>(g() % 1000) / 8};
    if (g() % 3) all[i].also = some_text(g);
  }
  return all;
}
const std::vector<std::vector<note>>& all_notes() {
  static const std::vector<std::vector<note>> all = {notes(0), notes(1), notes(50), notes(5'000)};
  return all;
}
#define EACH_NOTES(rows)                     \
  for (const auto& rows : all_notes())       \
    if (SCOPED_TRACE(rows.size()); true)

// f as it is traced and as it runs on plain rows.
template <class F> void answers_as_natively(const engine_config& e, F f) {
  EACH_NOTES(rows) { EXPECT_ROWS(source(e, rows).select(f).to_vector(), selected(rows, f)); }
}

CONFORMS(string_functions, make_strings, "select") {
  answers_as_natively(e, [](const auto& t) { return std::make_tuple(t.id, query::trim(t.text), query::trim_end(t.text, ", ")); });
  answers_as_natively(e, [](const auto& t) { return query::trim_start(t.text, "a\u00c9"); });
  answers_as_natively(e, [](const auto& t) { return query::replace(t.text, ",", "<,>") + query::replace(t.text, t.text, "all"); });
  answers_as_natively(e, [](const auto& t) { return query::lower(t.text) + query::upper(t.text); });
  answers_as_natively(e, [](const auto& t) { return query::substring(t.text, 1, 3) + query::substring(t.text, t.id % 7); });
  answers_as_natively(e, [](const auto& t) { return query::to_string(t.id) + ":" + query::to_string(t.value); });
}
CONFORMS(string_functions, read_strings, "select", "where", "count") {
  answers_as_natively(e, [](const auto& t) { return std::make_tuple(query::length(t.text), t.text.size()); });
  answers_as_natively(e, [](const auto& t) { return query::parse<std::int32_t>(t.text); });
  answers_as_natively(e, [](const auto& t) { return query::parse<double>(query::trim(t.text)).value_or(t.value); });
  EACH_NOTES(rows) {
    const auto is_like = [](const auto& t) { return query::like(t.text, "%_,_%") && !query::like(t.text, "a%"); };
    EXPECT_ROWS(source(e, rows).where(is_like).to_vector(), kept(rows, is_like));
    const auto null_or_long = [](const auto& t) { return !t.also || query::length(query::trim(*t.also)) > 3; };
    EXPECT_ROWS(source(e, rows).where(null_or_long).to_vector(), kept(rows, null_or_long));
  }
}
CONFORMS(string_functions, split_into_lists, "select", "select_many") {
  answers_as_natively(e, [](const auto& t) { return query::split(t.text, ","); });
  answers_as_natively(e, [](const auto& t) { return std::make_tuple(query::split(t.text, "").size(), query::split(t.text, "=").front()); });
  EACH_NOTES(rows) {
    std::vector<std::string> parts;
    for (const note& t : rows)
      for (std::string& part : query::split(t.text, ',')) parts.push_back(std::move(part));
    EXPECT_ROWS(source(e, rows).select_many([](const auto& t) { return query::split(t.text, ','); }).to_vector(), parts);
  }
}
CONFORMS(string_functions, are_keys, "group_by", "order_by", "as_ordered") {
  EACH_NOTES(rows) {
    const auto key = [](const auto& t) { return query::upper(query::trim(t.text)); };
    EXPECT_ROWS(source(e, rows).as_ordered().group_by(key).select([](auto g) { return std::make_tuple(g.key(), g.count()); }).to_vector(),
                selected(grouped(rows, key), [](const auto& g) { return std::make_tuple(g.first, std::ssize(g.second)); }));
    const auto length = [](const auto& t) { return query::length(t.text); };
    std::vector<note> sorted = rows;
    std::stable_sort(sorted.begin(), sorted.end(), [&](const note& a, const note& b) { return length(a) < length(b); });
    EXPECT_ROWS(source(e, rows).order_by(length).to_vector(), sorted);
  }
}
CONFORMS(string_functions, apply_to_aggregates, "group_by") {
  EACH_NOTES(rows) {
    const auto key = [](const auto& t) { return t.id % 3; };
    EXPECT_SAME_ROWS(source(e, rows)
                         .group_by(key)
                         .select([](auto g) { return std::make_tuple(g.key(), query::to_string(g.count()) + "!"); })
                         .to_vector(),
                     selected(grouped(rows, key), [](const auto& g) {
                       return std::make_tuple(g.first, query::to_string(std::ssize(g.second)) + "!");
                     }));
  }
}
CONFORMS(string_functions, regular_expressions, "select", "where") {
  QUERY_SKIP_WITHOUT_REGULAR_EXPRESSIONS();
  answers_as_natively(e, [](const auto& t) { return query::regex_extract(t.text, "key([0-9])=([0-9])", 2); });
  answers_as_natively(e, [](const auto& t) { return query::regex_replace(t.text, "[a-c]+|,", "<\\0>"); });
  answers_as_natively(e, [](const auto& t) { return query::regex_extract(t.text, "^-?[0-9]+").value_or(t.text); });
  // A computed text that is empty, before any other was made, is no text that was not found.
  answers_as_natively(e, [](const auto& t) { return query::regex_extract(query::replace(t.text, t.text, ""), "^[a-z]*"); });
  EACH_NOTES(rows) {
    const auto is_number = [](const auto& t) { return query::matches(t.text, "^-?[0-9]+(\\.[0-9]+)?$"); };
    EXPECT_ROWS(source(e, rows).where(is_number).to_vector(), kept(rows, is_number));
  }
}
CONFORMS(string_functions, wrong_regular_expressions_are_errors, "where") {
  QUERY_SKIP_WITHOUT_REGULAR_EXPRESSIONS();
  const std::vector<note> rows = notes(3);
  try {
    (void)source(e, rows).where([](const auto& t) { return query::matches(t.text, "a(b"); }).to_vector();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const query::user_error& x) {
    EXPECT_NE(std::string(x.what()).find("matches: the regular expression `a(b` is wrong: missing )"), std::string::npos) << x.what();
    EXPECT_NE(std::string(x.what()).find("string_functions_test.cpp:"), std::string::npos) << x.what();
  }
}
CONFORMS(string_functions, are_in_texts, "where", "order_by") {
  const auto same = [&](const char* text, auto f) {
    SCOPED_TRACE(text);
    EACH_NOTES(rows) { EXPECT_ROWS(source(e, rows).where(text).to_vector(), kept(rows, f)); }
  };
  same("length(text) > 3", [](const note& t) { return query::length(t.text) > 3; });
  same("size(text) > 3", [](const note& t) { return t.text.size() > 3; });
  same("trim(text) = 'a, b ,c'", [](const note& t) { return query::trim(t.text) == "a, b ,c"; });
  same("rtrim(text, ', ') <> text", [](const note& t) { return query::trim_end(t.text, ", ") != t.text; });
  same("lower(text) like '%\u00e9t_%'", [](const note& t) { return query::like(query::lower(t.text), "%\u00e9t_%"); });
  same("text like '%a%b%c%' or text like '_'", [](const note& t) { return query::like(t.text, "%a%b%c%") || query::like(t.text, "_"); });
  same("replace(text, ',', '') = ''", [](const note& t) { return query::replace(t.text, ",", "").empty(); });
  QUERY_SKIP_WITHOUT_REGULAR_EXPRESSIONS();
  same("matches(also, '^[0-9]')", [](const note& t) { return t.also && query::matches(*t.also, "^[0-9]"); });
  same("regex_replace(text, '[0-9]', '') = 'key='", [](const note& t) { return query::regex_replace(t.text, "[0-9]", "") == "key="; });
}

}  // namespace
}  // namespace conformance
