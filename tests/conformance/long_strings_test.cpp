// Sorts of strings that differ only behind their first characters, or not at all.
#include <algorithm>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"

namespace conformance {
namespace {

struct Text {
  std::string text;
  std::int64_t k = 0, id = 0;
};
QUERY_RECORD(Text, text, k, id);

// Of few letters, NUL among them, that often have a long beginning in common, or are another's beginning.
std::vector<Text> texts(std::size_t n, std::size_t kinds) {
  std::uint64_t state = 88172645463325252u;
  const auto draw = [&](std::uint64_t below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % below;
  };
  std::vector<std::string> known;
  for (std::size_t i = 0; i < kinds; ++i) {
    std::string s = known.empty() || draw(4) == 0 ? std::string("https://example.org/a/folder/") : known[draw(known.size())];
    if (s.size() > 200) s.resize(draw(200));
    for (std::uint64_t more = draw(40); more > 0; --more) s.push_back(std::string_view("ab\0\xff", 4)[draw(4)]);
    known.push_back(s);
  }
  std::vector<Text> rows;
  for (std::size_t i = 0; i < n; ++i)
    rows.push_back({known[draw(known.size())], static_cast<std::int64_t>(draw(3)), static_cast<std::int64_t>(i)});
  return rows;
}

CONFORMS(long_strings, are_sorted_by_all_of_their_characters, "order_by", "order_by_descending", "then_by", "order") {
  const auto text = [](auto t) { return t.text; };
  for (const auto& [n, kinds] : {std::pair<std::size_t, std::size_t>{3'000, 500}, {3'000, 20}, {80'000, 20'000}, {80'000, 3}}) {
    const std::vector<Text> rows = texts(n, kinds);
    const auto q = source(e, rows);
    auto wanted = rows;
    std::stable_sort(wanted.begin(), wanted.end(), [](const Text& a, const Text& b) { return a.text < b.text; });
    EXPECT_ROWS(q.order_by(text).to_vector(), wanted);
    wanted = rows;
    std::stable_sort(wanted.begin(), wanted.end(), [](const Text& a, const Text& b) { return a.text > b.text; });
    EXPECT_ROWS(q.order_by_descending(text).to_vector(), wanted);
    wanted = rows;
    std::stable_sort(wanted.begin(), wanted.end(), [](const Text& a, const Text& b) {
      return a.k != b.k ? a.k < b.k : a.text != b.text ? a.text > b.text : a.id > b.id;
    });
    EXPECT_ROWS(q.order_by([](auto t) { return t.k; }).then_by_descending(text).then_by_descending([](auto t) { return t.id; }).to_vector(),
                wanted);
  }
}

// Alike but for where they end.
CONFORMS(long_strings, of_great_length, "order") {
  std::vector<std::string> rows(100, std::string(300'000, 'x'));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].resize(300'000 - i % 7);
  auto wanted = rows;
  std::stable_sort(wanted.begin(), wanted.end());
  EXPECT_EQ(source(e, rows).order().to_vector(), wanted);
}

// One value with the strings of many rows, beside others with one: on a GPU, a block copies the former, a thread the latter.
CONFORMS(long_strings, in_lists_of_many_rows, "reduce", "group_by") {
  const std::vector<Text> rows = texts(20'000, 5'000);
  const auto q = source(e, rows);
  const auto text = [](auto t) { return t.text; };
  std::vector<std::string> all;
  std::vector<std::vector<std::string>> wanted(1);
  for (const Text& t : rows) {
    all.push_back(t.text);
    if (t.id < 15'000) wanted[0].push_back(t.text);
    else wanted.push_back({t.text});
  }
  EXPECT_EQ(q.reduce([&](auto g) { return g.collect(text); }), all);
  const auto key = [](auto t) { return query::iff(t.id < 15'000, std::int64_t{-1}, t.id); };
  EXPECT_EQ(q.group_by(key).select([&](auto g) { return g.collect(text); }).as_ordered().to_vector(), wanted);
}

}  // namespace
}  // namespace conformance
