// As stored_views_test.cpp, with rows that are made while a file is read, or that a cached() query keeps: their texts lie in the bytes of
// the file, in a buffer of the reader, in columns of Arrow or in pages.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <query/arrow.hpp>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "temp_folder.hpp"

namespace conformance {
namespace {

struct place_in_book {
  std::string book;
  std::int32_t page;
};
QUERY_RECORD(place_in_book, book, page);

struct quotation {
  std::int64_t id;
  std::string text;
  std::optional<std::string> author;
  std::array<double, 2> marks;
  place_in_book from;
};
QUERY_RECORD(quotation, id, text, author, marks, from);

constexpr int different = 40, kinds = 7;

// Texts that fit into the string itself, that do not, and that files write with quotes and escapes.
const std::vector<quotation>& quotations() {
  static const std::vector<quotation> rows = [] {
    constexpr std::array<std::string_view, 4> beginnings = {"short ", "a text that is too long to lie in the string itself: ",
                                                            "a \"quoted\" text, with a comma, ", "two lines:\nthe \\ second \t is "};
    std::vector<quotation> all;
    for (int i = 0; i < 3000; ++i) {
      const std::string number = std::to_string(i % different);
      const auto x = static_cast<double>(i);
      all.push_back({i % kinds, std::string(beginnings[static_cast<std::size_t>(i % 4)]) + number,
                     i % 3 ? std::optional("an author with a name that is long enough: " + number) : std::nullopt, {x, x + 0.5},
                     {"a book with a title that is long enough: " + number, i}});
    }
    return all;
  }();
  return rows;
}
template <class F> auto expected(F f) { return selected(quotations(), f); }

constexpr auto text_of_row = [](const quotation& q) { return std::string_view(q.text); };
constexpr auto book_of_row = [](const quotation& q) { return std::string_view(q.from.book); };
using row = const quotation&;

// Calls check(query) with the rows of a CSV file, of JSON lines, of Arrow, and of what is cached of each kind of them.
template <class Check> void over_each_source(const engine_config& e, Check check) {
  const query::tests::temp_folder folder("stored_views");
  const auto checked = [&](const char* name, const query::Query<quotation>& q) {
    SCOPED_TRACE(name);
    check(q);
  };
  const std::string csv = folder.name() + "/rows.csv", json = folder.name() + "/rows.jsonl";
  query::from(quotations()).write_csv(csv);
  query::from(quotations()).write_json_lines(json);
  checked("CSV", on(e, query::read_csv<quotation>(csv)));
  checked("JSON lines", on(e, query::read_json_lines<quotation>(json)));
  {
    ArrowArrayStream stream{};
    query::to_arrow(query::from(quotations()), &stream);
    checked("Arrow", on(e, query::from_arrow<quotation>(&stream)));
  }
  checked("cached rows", source(e, quotations()).cached());
  checked("cached CSV", on(e, query::read_csv<quotation>(csv)).cached());
  checked("cached rows of a function", source(e, quotations()).select([](row q) { return q; }).cached());
}

CONFORMS(stored_views_of_files, of_text_are_strings, "select", "read_csv", "read_json_lines", "cached") {
  const auto texts = expected([](row q) { return q.text; }), books = expected([](row q) { return q.from.book; });
  over_each_source(e, [&](const query::Query<quotation>& q) {
    EXPECT_ROWS(q.select(text_of_row).to_vector(), texts);
    EXPECT_ROWS(q.select([](row r) -> const std::string& { return r.text; }).to_vector(), texts);
    EXPECT_ROWS(q.select([](row r) { return r.text.c_str(); }).to_vector(), texts);
    EXPECT_ROWS(q.select([](row r) { return std::cref(r.text); }).to_vector(), texts);
    EXPECT_ROWS(q.select([](row r, std::int64_t) { return std::string_view(r.text); }).to_vector(), texts);
    EXPECT_ROWS(q.select([](const auto& r) -> const auto& { return r.text; }).to_vector(), texts);
    EXPECT_ROWS(q.select(book_of_row).to_vector(), books);
    EXPECT_ROWS(q.select([](row r) -> const place_in_book& { return r.from; })
                    .select([](const place_in_book& p) { return p.book.data(); })
                    .to_vector(),
                books);
    EXPECT_ROWS(q.select([](row r) { return std::string_view(r.text).substr(0, 3); }).to_vector(),
                expected([](row r) { return r.text.substr(0, 3); }));
  });
}

CONFORMS(stored_views_of_files, in_rows_of_several_values_are_values, "select", "read_csv", "read_json_lines", "cached") {
  const auto pairs = expected([](row q) { return std::pair(q.text, q.id); });
  const auto tied = expected([](row q) { return std::tuple(q.id, q.text, q.author, q.from); });
  const auto marks = expected([](row q) { return std::vector<double>(q.marks.begin(), q.marks.end()); });
  const auto twice = expected([](row q) { return std::array<std::string, 2>{q.text, q.from.book}; });
  const auto authors = expected([](row q) { return q.author; });
  over_each_source(e, [&](const query::Query<quotation>& q) {
    EXPECT_ROWS(q.select([](row r) { return std::pair(std::string_view(r.text), r.id); }).to_vector(), pairs);
    EXPECT_ROWS(q.select([](row r) { return std::pair<const std::string&, const std::int64_t&>(r.text, r.id); }).to_vector(), pairs);
    EXPECT_ROWS(q.select([](row r) { return std::tie(r.id, r.text, r.author, r.from); }).to_vector(), tied);
    EXPECT_ROWS(q.select([](row r) { return std::span<const double>(r.marks); }).to_vector(), marks);
    EXPECT_ROWS(q.select([](row r) { return std::array<std::string_view, 2>{r.text, r.from.book}; }).to_vector(), twice);
    EXPECT_ROWS(q.select([](row r) { return r.author ? std::optional<std::string_view>(*r.author) : std::nullopt; }).to_vector(), authors);
    EXPECT_ROWS(q.select([](row r) -> const std::optional<std::string>& { return r.author; }).to_vector(), authors);
    EXPECT_ROWS(q.select([](row r) -> row { return r; }).to_vector(), quotations());
    EXPECT_ROWS(q.select([](row r) { return std::pair<row, int>(r, 1); }).to_vector(),
                expected([](row r) { return std::pair(r, 1); }));
  });
}

CONFORMS(stored_views_of_files, of_a_range_are_read_while_the_row_lives, "select_many", "read_csv", "read_json_lines", "cached") {
  std::vector<double> marks;
  std::vector<std::string> twice;
  std::vector<char> letters;
  std::vector<std::pair<std::string, std::int64_t>> pairs;
  for (row q : quotations()) {
    marks.insert(marks.end(), q.marks.begin(), q.marks.end());
    twice.insert(twice.end(), {q.text, q.from.book});
    letters.insert(letters.end(), q.text.begin(), q.text.end());
    pairs.emplace_back(q.text, q.id);
  }
  over_each_source(e, [&](const query::Query<quotation>& q) {
    EXPECT_ROWS(q.select_many([](row r) -> const std::array<double, 2>& { return r.marks; }).to_vector(), marks);
    EXPECT_ROWS(q.select_many([](row r) { return std::span<const double>(r.marks); }).to_vector(), marks);
    EXPECT_ROWS(q.select_many([](row r) { return std::array<std::string_view, 2>{r.text, r.from.book}; }).to_vector(), twice);
    EXPECT_ROWS(q.select_many(text_of_row).to_vector(), letters);
    EXPECT_ROWS(q.select_many([](row r) { return std::array<std::string_view, 1>{r.text}; },
                              [](row r, std::string_view v) { return std::pair(v, r.id); })
                    .to_vector(),
                pairs);
  });
}

CONFORMS(stored_views_of_files, go_on_into_other_verbs, "where", "order_by", "distinct", "distinct_by", "group_by", "min", "max", "to_map",
         "to_set", "to_lookup", "count_by") {
  const auto ends_with_seven = [](const auto& s) { return s.ends_with('7'); };
  const auto texts = expected([](row q) { return q.text; });
  const auto sevens = kept(texts, ends_with_seven);
  auto sorted = texts, unique = texts;
  std::stable_sort(sorted.begin(), sorted.end());
  std::sort(unique.begin(), unique.end());
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  const std::string text = quotations()[3].text, book = quotations()[3].from.book;
  const auto same_text = std::count(texts.begin(), texts.end(), text);
  over_each_source(e, [&](const query::Query<quotation>& q) {
    EXPECT_ROWS(q.select(text_of_row).where(ends_with_seven).to_vector(), sevens);
    EXPECT_ROWS(q.select(text_of_row).select([](std::string_view s) { return s; }).where(ends_with_seven).to_vector(), sevens);
    EXPECT_ROWS(q.order_by(text_of_row).select(text_of_row).to_vector(), sorted);
    EXPECT_SAME_ROWS(q.select(text_of_row).distinct().to_vector(), unique);
    EXPECT_SAME_ROWS(q.distinct_by(text_of_row).select(text_of_row).to_vector(), unique);
    EXPECT_SAME_ROWS(q.group_by(text_of_row).select([](auto g) { return g.key(); }).to_vector(), unique);
    EXPECT_SAME_ROWS(q.count_by(text_of_row).select([](const auto& t) { return std::string_view(std::get<0>(t)); }).to_vector(), unique);
    EXPECT_EQ(*q.min(text_of_row), unique.front());
    EXPECT_EQ(*q.max(text_of_row), unique.back());
    EXPECT_EQ(q.take(different).to_map(text_of_row, book_of_row).at(text), book);
    EXPECT_EQ(std::ssize(q.to_lookup(text_of_row)[text]), same_text);
    EXPECT_EQ(q.select(text_of_row).to_set().size(), unique.size());
  });
}

CONFORMS(stored_views_of_files, as_one_value_outlive_the_run, "first", "last", "single", "element_at", "min_by", "max_by", "reduce",
         "aggregate", "begin", "for_each") {
  const auto texts = expected([](row q) { return q.text; });
  const std::string least = *std::min_element(texts.begin(), texts.end()), greatest = *std::max_element(texts.begin(), texts.end());
  const auto later = [](std::string_view a, std::string_view b) { return std::max(a, b); };
  over_each_source(e, [&](const query::Query<quotation>& q) {
    const auto views = q.select(text_of_row);
    EXPECT_EQ(views.first(), texts.front());
    EXPECT_EQ(views.last(), texts.back());
    EXPECT_EQ(views.element_at(7), texts[7]);
    EXPECT_EQ(views.take(1).single(), texts.front());
    EXPECT_EQ(q.min_by(text_of_row)->text, least);
    EXPECT_EQ(q.max_by(text_of_row)->text, greatest);
    EXPECT_EQ(q.reduce([](auto g) { return g.max(text_of_row); }), greatest);
    EXPECT_EQ(q.aggregate(std::string_view(), [=](auto state, row r) { return later(state, r.text); }, later), greatest);
    // What a loop reads stays good until the next row.
    std::vector<std::string> one_by_one;
    for (const auto& s : views) one_by_one.emplace_back(s);
    EXPECT_ROWS(one_by_one, texts);
    if (in_partitions(e)) return;  // rows come from several at once, some in processes
    std::vector<std::string> seen;
    views.take(50).for_each([&](const auto& s) { seen.emplace_back(s); });
    std::sort(seen.begin(), seen.end());
    std::vector<std::string> wanted(texts.begin(), texts.begin() + 50);
    std::sort(wanted.begin(), wanted.end());
    EXPECT_ROWS(seen, wanted);
  });
}

CONFORMS(stored_views_of_files, of_joined_rows_are_values, "join", "left_join", "zip", "asof_join", "join_where", "group_join") {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::size_t i = 0; i < different; ++i) pairs.emplace_back(quotations()[i].text, quotations()[i].from.book);
  const auto both = [](row a, row b) { return std::pair(std::string_view(a.text), std::string_view(b.from.book)); };
  const auto nearest = [](row a, const std::optional<quotation>& b) {
    return std::pair(std::string_view(a.text), std::string_view(b->from.book));
  };
  const auto page = [](row q) { return q.from.page; };
  over_each_source(e, [&](const query::Query<quotation>& q) {
    const query::Query<quotation> few = q.take(different);
    EXPECT_SAME_ROWS(few.join(few, text_of_row, text_of_row, both).to_vector(), pairs);
    EXPECT_SAME_ROWS(few.join(few, book_of_row, book_of_row, both).to_vector(), pairs);
    EXPECT_SAME_ROWS(few.left_join(few, text_of_row, text_of_row, nearest).to_vector(), pairs);
    EXPECT_ROWS(few.zip(few, both).to_vector(), pairs);
    EXPECT_ROWS(few.asof_join(few, page, page, nearest).to_vector(), pairs);
    EXPECT_ROWS(few.join_where(few, [](row a, row b) { return text_of_row(a) == text_of_row(b); }, both).to_vector(), pairs);
    EXPECT_SAME_ROWS(few.group_join(few, text_of_row, text_of_row,
                                    [](row a, const std::vector<quotation>& of) {
                                      return std::pair(std::string_view(a.text), std::string_view(of[0].from.book));
                                    })
                         .to_vector(),
                     pairs);
  });
}

CONFORMS(stored_views_of_files, of_windows_and_runs_are_values, "over", "group_by.top", "chunk", "window", "apply_all", "partitioned") {
  using run = std::span<const quotation>;
  const auto texts = expected([](row q) { return q.text; });
  std::vector<std::tuple<std::optional<std::string>, std::string>> wanted;
  std::vector<std::string> firsts;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::string most = texts[i];
    for (std::size_t j = i % kinds; j < i; j += kinds) most = std::max(most, texts[j]);
    wanted.emplace_back(i < kinds ? std::nullopt : std::optional(texts[i - kinds]), most);
    if (i % 10 == 0) firsts.push_back(texts[i]);
  }
  over_each_source(e, [&](const query::Query<quotation>& q) {
    const auto by_id = q.over([](row r) { return r.id; });
    EXPECT_ROWS(by_id.select([](row r, const auto&) -> const std::string& { return r.text; }).to_vector(), texts);
    EXPECT_ROWS(by_id.select([](row, const auto& w) { return std::tuple(w.lag(text_of_row), w.cum_max(text_of_row)); }).to_vector(),
                wanted);
    EXPECT_ROWS(q.over(text_of_row).select([](row, const auto& w) { return w.first(text_of_row); }).to_vector(), texts);
    EXPECT_ROWS(q.group_by(text_of_row).top(75, text_of_row).select(text_of_row).to_vector(), texts);
    EXPECT_ROWS(q.chunk(10, [](run r) { return std::string_view(r[0].text); }).to_vector(), firsts);
    EXPECT_ROWS(q.chunk(10, [](run r) { return r[0].text.c_str(); }).to_vector(), firsts);
    EXPECT_ROWS(q.window(10, [](run r) -> const std::string& { return r[0].text; }, 10).to_vector(), firsts);
    EXPECT_ROWS(q.apply_all([](run r) { return std::string_view(r[7].text); }).to_vector(), std::vector{texts[7]});
    EXPECT_ROWS(q.apply_all([](run r) { return std::vector<std::string_view>{r[7].text, r[8].text}; }).to_vector(),
                (std::vector{texts[7], texts[8]}));
    EXPECT_ROWS(q.partitioned(1).apply([](run r) { return r[7].text.data(); }).to_vector(), std::vector{texts[7]});
  });
}

CONFORMS(stored_views_of_files, of_rows_of_a_group_are_values, "group_by", "group_by.groups") {
  using group = query::Group<std::int64_t, quotation>;
  const auto mark = [](row r) { return r.marks[0]; };
  std::vector<std::tuple<std::int64_t, std::string, std::string, std::vector<double>>> wanted;
  for (std::size_t k = 0; k < kinds; ++k) {
    std::size_t last = k;
    while (last + kinds < quotations().size()) last += kinds;
    const quotation& a = quotations()[k], &z = quotations()[last];
    wanted.emplace_back(a.id, a.text, z.from.book, std::vector<double>(z.marks.begin(), z.marks.end()));
  }
  over_each_source(e, [&](const query::Query<quotation>& q) {
    const auto by_id = q.group_by([](row r) { return r.id; });
    EXPECT_SAME_ROWS(by_id.select([=](const group& g) {
                            return std::tuple(g.key(), std::string_view(g.arg_min(mark).text), std::string_view(g.last().from.book),
                                              std::span<const double>(g.arg_max(mark).marks));
                          })
                         .to_vector(),
                     wanted);
    EXPECT_SAME_ROWS(by_id.select([](auto g) { return g.first(text_of_row); }).to_vector(), selected(wanted, [](const auto& t) {
                       return std::get<1>(t);
                     }));
    EXPECT_SAME_ROWS(by_id.groups().select([](const group& g) { return g[0].text.c_str(); }).to_vector(),
                     selected(wanted, [](const auto& t) { return std::get<1>(t); }));
  });
}

}  // namespace
}  // namespace conformance
