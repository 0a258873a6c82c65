// Results that are views of the row, or refer to it: what is stored owns its values, whether the rows lie in a vector or are made for
// the call, as those of columns and generators are. Texts are longer than what a std::string holds in itself.
#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"

namespace conformance {
namespace {

struct document {
  std::int64_t id;
  std::string text;
  std::vector<double> marks;
};
QUERY_RECORD(document, id, text, marks);

const std::vector<document>& documents() {
  static const std::vector<document> rows = [] {
    std::vector<document> all;
    for (int i = 0; i < 3000; ++i) {
      const auto x = static_cast<double>(i);
      all.push_back({i % 7, "a text that is too long to lie in the string itself: " + std::to_string(i % 40), {x, x + 0.5, -x}});
    }
    return all;
  }();
  return rows;
}

// Calls check(query) with rows of a vector, of columns, and of a generator.
template <class Check> void over_each_source(const engine_config& e, Check check) {
  {
    SCOPED_TRACE("vector");
    check(source(e, documents()).as_query());
  }
  {
    SCOPED_TRACE("columns");
    static const auto columns = query::from(documents()).to_vectors();
    check(source(e, query::columns<document>(columns)));
  }
  {
    SCOPED_TRACE("generator");
    const auto next = [i = std::size_t{0}]() mutable {
      return i < documents().size() ? std::optional(documents()[i++]) : std::nullopt;
    };
    check(on(e, query::generate(next)).as_query());
  }
}
template <class F> auto expected(F f) {
  std::vector<std::invoke_result_t<F, const document&>> all;
  for (const document& d : documents()) all.push_back(f(d));
  return all;
}

CONFORMS(stored_views, of_text_are_strings, "select") {
  const auto texts = expected([](const document& d) { return d.text; });
  over_each_source(e, [&](const auto& q) {
    EXPECT_ROWS(q.select([](const document& d) { return std::string_view(d.text); }).to_vector(), texts);
    EXPECT_ROWS(q.select([](const document& d) -> const std::string& { return d.text; }).to_vector(), texts);
    EXPECT_ROWS(q.select([](const document& d) { return d.text.c_str(); }).to_vector(), texts);
    EXPECT_ROWS(q.select([](document d) { return d.text; }).to_vector(), texts);
    EXPECT_ROWS(q.select([](const document& d) { return std::cref(d.text); }).to_vector(), texts);
    EXPECT_ROWS(q.select([](const document& d, std::int64_t) { return std::string_view(d.text); }).to_vector(), texts);
    EXPECT_ROWS(q.select(query::opaque([](const auto& d) { return std::string_view(d.text); })).to_vector(), texts);
  });
}

CONFORMS(stored_views, in_pairs_tuples_optionals_and_arrays_are_values, "select") {
  over_each_source(e, [&](const auto& q) {
    const auto pairs = expected([](const document& d) { return std::pair(d.text, d.id); });
    EXPECT_ROWS(q.select([](const document& d) { return std::pair(std::string_view(d.text), d.id); }).to_vector(), pairs);
    EXPECT_ROWS(q.select([](const document& d) { return std::pair<const std::string&, const std::int64_t&>(d.text, d.id); }).to_vector(),
                pairs);
    const auto tuples = expected([](const document& d) { return std::tuple(d.id, d.text, d.marks); });
    EXPECT_ROWS(q.select([](const document& d) { return std::tie(d.id, d.text, d.marks); }).to_vector(), tuples);
    EXPECT_ROWS(q.select([](const document& d) { return std::tuple(d.id, std::string_view(d.text), std::span(d.marks)); }).to_vector(),
                tuples);
    EXPECT_ROWS(q.select([](const document& d) {
                   return d.id > 2 ? std::optional<std::string_view>(d.text) : std::nullopt;
                 }).to_vector(),
                expected([](const document& d) { return d.id > 2 ? std::optional(d.text) : std::nullopt; }));
    EXPECT_ROWS(q.select([](const document& d) { return std::array<std::string_view, 2>{d.text, "x"}; }).to_vector(),
                expected([](const document& d) { return std::array<std::string, 2>{d.text, "x"}; }));
    EXPECT_ROWS(q.select([](const document& d) { return std::vector<std::string_view>{d.text, d.text}; }).to_vector(),
                expected([](const document& d) { return std::vector<std::string>{d.text, d.text}; }));
  });
}

CONFORMS(stored_views, of_lists_and_rows_are_values, "select") {
  over_each_source(e, [&](const auto& q) {
    const auto marks = expected([](const document& d) { return d.marks; });
    EXPECT_ROWS(q.select([](const document& d) { return std::span<const double>(d.marks); }).to_vector(), marks);
    EXPECT_ROWS(q.select([](const document& d) -> const std::vector<double>& { return d.marks; }).to_vector(), marks);
    EXPECT_ROWS(q.select([](const document& d) -> const document& { return d; }).to_vector(), documents());
    EXPECT_ROWS(q.select([](const auto& d) -> const auto& { return d; }).to_vector(), documents());
    const auto with_number = expected([](const document& d) { return std::pair(d, 1); });
    EXPECT_ROWS(q.select([](const auto& d) { return std::pair<decltype(d), int>(d, 1); }).to_vector(), with_number);
    EXPECT_ROWS(q.select([](const document& d) { return std::pair<const document&, int>(d, 1); }).to_vector(), with_number);
  });
}

CONFORMS(stored_views, of_a_range_are_read_while_the_row_lives, "select_many") {
  std::vector<double> marks;
  std::vector<std::string> twice;
  std::vector<char> letters;
  for (const document& d : documents()) {
    marks.insert(marks.end(), d.marks.begin(), d.marks.end());
    twice.insert(twice.end(), 2, d.text);
    letters.insert(letters.end(), d.text.begin(), d.text.end());
  }
  over_each_source(e, [&](const auto& q) {
    EXPECT_ROWS(q.select_many([](const document& d) -> const std::vector<double>& { return d.marks; }).to_vector(), marks);
    EXPECT_ROWS(q.select_many([](const document& d) { return std::span<const double>(d.marks); }).to_vector(), marks);
    EXPECT_ROWS(q.select_many([](const document& d) { return d.marks; }).to_vector(), marks);
    EXPECT_ROWS(q.select_many([](const document& d) { return std::array<std::string_view, 2>{d.text, d.text}; }).to_vector(), twice);
    EXPECT_ROWS(q.select_many([](const document& d) { return std::string_view(d.text); }).to_vector(), letters);
  });
}

CONFORMS(stored_views, go_on_into_other_verbs, "where", "order_by", "distinct", "group_by", "min", "max", "to_map", "to_lookup") {
  const auto ends_with_seven = [](const auto& s) { return s.ends_with('7'); };
  std::vector<std::string> kept, sorted = expected([](const document& d) { return d.text; });
  for (const document& d : documents())
    if (ends_with_seven(d.text)) kept.push_back(d.text);
  std::sort(sorted.begin(), sorted.end());
  over_each_source(e, [&](const auto& q) {
    const auto view = [](const document& d) { return std::string_view(d.text); };
    EXPECT_ROWS(q.select(view).where(ends_with_seven).to_vector(), kept);
    EXPECT_ROWS(q.select(view).select([](std::string_view s) { return s; }).where(ends_with_seven).to_vector(), kept);
    EXPECT_ROWS(q.order_by(view).select([](const document& d) { return d.text; }).to_vector(), sorted);
    EXPECT_EQ(q.select(view).distinct().count(), 40);
    EXPECT_EQ(q.group_by(view).select([](auto g) { return g.key(); }).distinct().count(), 40);
    EXPECT_EQ(*q.min(view), sorted.front());
    EXPECT_EQ(*q.max(view), sorted.back());
    EXPECT_EQ(q.take(40).to_map(view, view).at(documents()[3].text), documents()[3].text);
    EXPECT_EQ(q.to_lookup(view)[documents()[3].text].size(), 75u);
  });
}

CONFORMS(stored_views, decide_extremes, "min_by", "max_by", "reduce", "group_by.select", "aggregate", "value_of") {
  const auto texts = expected([](const document& d) { return d.text; });
  const std::string least = *std::min_element(texts.begin(), texts.end()), greatest = *std::max_element(texts.begin(), texts.end());
  const auto view = [](const document& d) { return std::string_view(d.text); };
  over_each_source(e, [&](const auto& q) {
    EXPECT_EQ(q.min_by(view)->text, least);
    EXPECT_EQ(q.max_by(view)->text, greatest);
    EXPECT_EQ(q.reduce([view](auto g) { return g.max(view); }), greatest);
    EXPECT_EQ(query::value_of(q).min(view).get(), least);
    EXPECT_ROWS(q.group_by([](const document&) { return 1; }).select([view](auto g) { return g.max(view); }).to_vector(),
                std::vector<std::string>{greatest});
  });
}

CONFORMS(stored_views, of_joined_rows_are_values, "join", "zip", "left_join") {
  over_each_source(e, [&](const auto& q) {
    const auto few = q.take(40);
    const auto view = [](const document& d) { return std::string_view(d.text); };
    const auto both = [](const document& a, const document& b) { return std::pair(std::string_view(a.text), std::string_view(b.text)); };
    std::vector<std::pair<std::string, std::string>> pairs;
    std::vector<std::pair<document, document>> rows;
    for (std::size_t i = 0; i < 40; ++i) {
      pairs.emplace_back(documents()[i].text, documents()[i].text);
      rows.emplace_back(documents()[i], documents()[i]);
    }
    EXPECT_SAME_ROWS(few.join(few, view, view, both).to_vector(), pairs);
    EXPECT_ROWS(few.zip(few, both).to_vector(), pairs);
    EXPECT_ROWS(few.zip(few, [](const auto& a, const auto& b) { return std::tie(a, b); })
                    .select([](const auto& t) { return std::pair(std::get<0>(t), std::get<1>(t)); })
                    .to_vector(),
                rows);
    EXPECT_SAME_ROWS(few.left_join(few, view, view,
                                   [](const document& a, const std::optional<document>& b) {
                                     return std::pair(std::string_view(a.text), std::string_view(b->text));
                                   })
                         .to_vector(),
                     pairs);
  });
}

CONFORMS(stored_views, of_groups_are_values, "group_by", "aggregate", "reduce") {
  std::string longest;
  for (const document& d : documents())
    if (d.text.size() > longest.size() || (d.text.size() == longest.size() && d.text > longest)) longest = d.text;
  const auto longer = [](std::string_view a, std::string_view b) { return a.size() > b.size() || (a.size() == b.size() && a > b) ? a : b; };
  const auto update = [=](auto state, const document& d) { return longer(state, d.text); };
  over_each_source(e, [&](const auto& q) {
    // A state that is a view of a row is kept when the row is gone.
    EXPECT_EQ(q.aggregate(std::string_view(), update, longer), longest);
    EXPECT_EQ(q.aggregate(std::string(), [=](std::string s, const document& d) { return std::string(longer(s, d.text)); },
                          [=](std::string a, std::string b) { return std::string(longer(a, b)); },
                          [](const std::string& s) { return std::string_view(s).substr(2); }),
              longest.substr(2));
    const auto firsts = q.where([](const document& d) { return d.id == 3; }).group_by([](const document& d) { return d.id; });
    EXPECT_ROWS(firsts.select([](const query::Group<std::int64_t, document>& g) { return std::string_view(g[0].text); }).to_vector(),
                std::vector{documents()[3].text});
    EXPECT_ROWS(firsts.select([](auto g) { return g.first([](const document& d) { return std::string_view(d.text); }); }).to_vector(),
                std::vector{documents()[3].text});
  });
}

CONFORMS(stored_views, of_windows_are_values, "over", "group_by.top") {
  const auto view = [](const document& d) { return std::string_view(d.text); };
  const auto odd = [](const document& d) { return d.marks[0] > 20 ? std::optional<std::string_view>(d.text) : std::nullopt; };
  const auto texts = expected([](const document& d) { return d.text; });
  std::vector<std::tuple<std::optional<std::string>, std::string, std::optional<std::string>>> wanted;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::string most = texts[i];
    for (std::size_t j = i % 7; j < i; j += 7) most = std::max(most, texts[j]);
    wanted.emplace_back(i < 7 ? std::nullopt : std::optional(texts[i - 7]), most, i > 20 ? std::optional(texts[i]) : std::nullopt);
  }
  over_each_source(e, [&](const query::Query<document>& q) {
    const auto by_id = q.over([](const document& d) { return d.id; });
    EXPECT_ROWS(by_id.select([](const document& d, const auto&) -> const std::string& { return d.text; }).to_vector(), texts);
    EXPECT_ROWS(by_id.select([=](const document&, const auto& w) {
                       return std::tuple(w.lag(view), w.cum_max(view), w.fill_forward(odd));
                     }).to_vector(),
                wanted);
    EXPECT_ROWS(q.over(view).order_by(view).select([=](const document&, const auto& w) { return w.first(view); }).to_vector(), texts);
    EXPECT_ROWS(q.group_by(view).top(75, view).select(view).to_vector(), texts);
  });
}

CONFORMS(stored_views, of_rows_beside_each_other_are_values, "asof_join", "join_where", "zip", "select_many", "of_type") {
  const auto view = [](const document& d) { return std::string_view(d.text); };
  const auto id = [](const document& d) { return d.id; };
  std::vector<std::string> texts;
  std::vector<std::pair<std::string, std::int64_t>> pairs;
  for (std::size_t i = 0; i < 40; ++i) pairs.emplace_back(texts.emplace_back(documents()[i].text), documents()[i].id);
  using row = const document&;
  const auto of = [](row d) { return std::pair(std::string_view(d.text), d.id); };
  over_each_source(e, [&](const query::Query<document>& all) {
    const query::Query<document> q = all.take(40);
    using other = const std::optional<document>&;
    const auto nearest = [](row a, other b) { return std::pair(std::string_view(b->text), a.id); };
    EXPECT_ROWS(q.asof_join(q, view, view, id, id, nearest).to_vector(), pairs);
    EXPECT_ROWS(q.asof_join(q, id, id, [](row a, other) -> const std::string& { return a.text; }).to_vector(), texts);
    const auto same_text = [](const auto& a, const auto& b) { return a.text == b.text; };
    EXPECT_ROWS(q.join_where(q, same_text, [=](row, row b) { return of(b); }).to_vector(), pairs);
    EXPECT_ROWS(q.join_where(q, [=](const document& a, const document& b) { return view(a) == view(b); },
                             [](const document&, const document& b) { return b.text.c_str(); }).to_vector(),
                texts);
    EXPECT_ROWS(q.zip(q, q, [=](row, row, row c) { return of(c); }).to_vector(), pairs);
    EXPECT_ROWS(q.zip(q, q, q, [=](row, row, row, row d) { return of(d); }).to_vector(), pairs);
    EXPECT_ROWS(q.zip(q, q).select([](const auto& t) { return std::string_view(std::get<2>(t).text); }).to_vector(), texts);
    EXPECT_ROWS(q.select_many([](const document& d) { return std::array<std::string_view, 1>{d.text}; },
                              [](const document& d, std::string_view v) { return std::pair(v, d.id); }).to_vector(),
                pairs);
    const auto either = q.select([](const document& d) { return std::variant<std::int64_t, std::string>(d.text); });
    EXPECT_ROWS(either.of_type<std::string>().select([](const std::string& s) { return std::string_view(s); }).to_vector(), texts);
  });
}

// A generator may give views of what it holds itself, which the next call overwrites.
CONFORMS(stored_views, that_a_generator_gives_are_strings, "generate") {
  const auto lines = [line = std::string(), i = 0]() mutable -> std::optional<std::string_view> {
    if (i == 3000) return std::nullopt;
    line = "a line that is too long to lie in the string itself: " + std::to_string(i++);
    return line;
  };
  const auto rows = on(e, query::generate(lines)).to_vector();
  ASSERT_EQ(rows.size(), 3000u);
  EXPECT_EQ(rows[0], "a line that is too long to lie in the string itself: 0");
  EXPECT_EQ(rows[2999], "a line that is too long to lie in the string itself: 2999");
}

// Text is one value, not a range of letters.
CONFORMS(stored_views, of_text_that_functions_of_runs_give_are_rows, "chunk", "window", "apply", "apply_all") {
  std::vector<std::string> firsts;
  for (std::size_t i = 0; i < documents().size(); i += 10) firsts.push_back(documents()[i].text);
  using run = std::span<const document>;
  over_each_source(e, [&](const auto& q) {
    EXPECT_ROWS(q.chunk(10, [](run r) { return std::string_view(r[0].text); }).to_vector(), firsts);
    EXPECT_ROWS(q.chunk(10, [](run r) { return r[0].text.c_str(); }).to_vector(), firsts);
    EXPECT_ROWS(q.chunk(10, [](run r) -> const std::string& { return r[0].text; }).to_vector(), firsts);
    EXPECT_ROWS(q.window(10, [](run r) { return std::string_view(r[0].text); }, 10).to_vector(), firsts);
    EXPECT_ROWS(q.window(10, [](run r) { return r[0].text.data(); }, 10).to_vector(), firsts);
    EXPECT_ROWS(q.window(10, [](run r) { return std::pair(std::string_view(r[0].text), r[0].id); }, 10)
                    .select([](const auto& p) { return p.first; })
                    .to_vector(),
                firsts);
    EXPECT_ROWS(q.apply_all([](run r) { return std::string_view(r[7].text); }).to_vector(), std::vector{documents()[7].text});
    EXPECT_ROWS(q.apply_all([](run r) { return r[7].text.c_str(); }).to_vector(), std::vector{documents()[7].text});
    EXPECT_ROWS(q.partitioned(1).apply([](run r) { return std::string_view(r[7].text); }).to_vector(), std::vector{documents()[7].text});
    EXPECT_ROWS(q.apply_all([](run r) { return std::vector<std::string_view>{r[7].text, r[8].text}; }).to_vector(),
                std::vector{documents()[7].text, documents()[8].text});
  });
}

// Proxies of a std::vector<bool> are values, too.
CONFORMS(stored_views, of_bits_are_values, "select_many") {
  const std::vector<std::vector<bool>> rows(2000, {true, false, true});
  std::vector<bool> all;
  for (const auto& r : rows) all.insert(all.end(), r.begin(), r.end());
  EXPECT_ROWS(source(e, rows).select_many([](const std::vector<bool>& r) { return r; }).to_vector(), all);
}

// Rows of a group are given by reference: a view of one is good until the function has returned.
CONFORMS(stored_views, of_rows_of_a_group, "group_by") {
  over_each_source(e, [](const auto& q) {
    const auto by_id = q.group_by([](auto d) { return d.id; });
    using group = query::Group<std::int64_t, document>;
    const auto mark = [](const auto& d) { return d.marks[0]; };
    const auto later = [](double a, double b) { return a > b; };
    const auto texts = by_id.select([=](const group& g) {
      return std::tuple(g.key(), std::string_view(g.first().text), std::string_view(g.last().text), std::string_view(g.arg_min(mark).text),
                        std::span<const double>(g.arg_max(mark).marks), std::string_view(g.arg_min(mark, later).text));
    });
    std::vector<std::tuple<std::int64_t, std::string, std::string, std::string, std::vector<double>, std::string>> right;
    for (std::size_t k = 0; k < 7; ++k) {
      const document& first = documents()[k];
      std::size_t at = k;
      while (at + 7 < documents().size()) at += 7;
      const document& last = documents()[at];
      right.emplace_back(first.id, first.text, last.text, first.text, last.marks, last.text);
    }
    auto given = texts.to_vector();
    std::sort(given.begin(), given.end());
    EXPECT_EQ(given, right);
    EXPECT_EQ(by_id.select([=](const group& g) { return g.first(mark) + g.last(mark); }).count(), 7);
  });
  static_assert(std::is_same_v<decltype(std::declval<const query::Group<int, document>&>().first()), const document&>);
  EXPECT_THROW((query::Group<int, document>().last()), query::user_error);
}

}  // namespace
}  // namespace conformance
