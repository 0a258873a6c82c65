// Rows that hold strings and lists: through row-wise verbs, sorts, groups, loops and cached(), as keys and as payload.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "planned_there.hpp"

namespace conformance {
namespace {

struct page {
  std::int32_t id;
  std::string name;
  std::optional<std::string> title;
  std::vector<double> marks;
  std::vector<std::string> words;
  std::int64_t hits;
};
QUERY_RECORD(page, id, name, title, marks, words, hits);

// Short and long, empty, with zeros and bytes beyond ASCII, with long common beginnings, each many times.
std::string some_name(std::mt19937& g) {
  const std::string stem = "a beginning that many names have in common, ";
  switch (g() % 8) {
    case 0: return "";
    case 1: return std::string(g() % 4, '\0');
    case 2: return std::string("a\0b", 3) + std::string(g() % 12, '\0');
    case 3: return "\xc3\xa4\xff" + std::to_string(g() % 3);
    case 4: return stem + std::to_string(g() % 40);
    case 5: return stem + std::string(g() % 3, 'x');
    case 6: return std::to_string(g() % 500);
    default: return std::string(g() % 20, static_cast<char>('a' + g() % 3));
  }
}

std::vector<page> pages(std::size_t n) {
  std::mt19937 g(static_cast<unsigned>(seed()));
  std::vector<page> all(n);
  for (std::size_t i = 0; i < n; ++i) {
    page& p = all[i];
    p.id = static_cast<std::int32_t>(i);
    p.name = some_name(g);
    if (g() % 3) p.title = some_name(g);
    for (std::size_t m = g() % 4; m > 0; --m) p.marks.push_back(static_cast<double>(g() % 100) / 8);
    for (std::size_t m = g() % 3; m > 0; --m) p.words.push_back(some_name(g));
    p.hits = static_cast<std::int64_t>(g() % 1000);
  }
  return all;
}
const std::vector<std::vector<page>>& all_pages() {
  static const std::vector<std::vector<page>> all = {pages(0), pages(1), pages(33), pages(1500), pages(12'000)};
  return all;
}
#define EACH_PAGES(rows)                     \
  for (const auto& rows : all_pages())       \
    if (SCOPED_TRACE(rows.size()); true)

// An engine that claims these rows must not hand them to another one.
template <class Q> void runs_there(const engine_config& e, const Q& q) {
  if (e.accelerate) {
    EXPECT_TRUE(planned_there(q.explain()));
  }
}
template <class Q> auto rows_of(const engine_config& e, const Q& q) {
  runs_there(e, q);
  return q.to_vector();
}

CONFORMS(strings, rows_that_hold_them_are_kept_and_made, "where", "select") {
  EACH_PAGES(rows) {
    EXPECT_ROWS(rows_of(e, source(e, rows).where([](auto p) { return p.hits > 300; })),
                kept(rows, [](const page& p) { return p.hits > 300; }));
    EXPECT_ROWS(rows_of(e, source(e, rows).where([](auto p) { return p.name.size() > 5; }).select([](auto p) { return p.name; })),
                selected(kept(rows, [](const page& p) { return p.name.size() > 5; }), [](const page& p) { return p.name; }));
    EXPECT_ROWS(rows_of(e, source(e, rows).select([](auto p) { return p.title; })), selected(rows, [](const page& p) { return p.title; }));
    EXPECT_ROWS(rows_of(e, source(e, rows).select([](auto p) { return p.marks; })), selected(rows, [](const page& p) { return p.marks; }));
    EXPECT_ROWS(rows_of(e, source(e, rows).select([](auto p) { return p.words; })), selected(rows, [](const page& p) { return p.words; }));
    EXPECT_ROWS(
        rows_of(e, source(e, rows).select([](auto p) { return std::make_tuple(p.id, query::iff(p.hits > 500, p.name, "none"), p.hits); })),
        selected(rows, [](const page& p) { return std::make_tuple(p.id, p.hits > 500 ? p.name : "none", p.hits); }));
    const std::string captured = "what was captured";
    EXPECT_ROWS(rows_of(e, source(e, rows).select(
                               [captured](auto p) { return query::iff(p.hits > 500, captured, p.name.substr(p.name.size() / 2)); })),
                selected(rows, [&](const page& p) { return p.hits > 500 ? captured : p.name.substr(p.name.size() / 2); }));
  }
}

std::string lower(std::string s) {
  for (char& c : s)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return s;
}

CONFORMS(strings, are_made_by_functions, "where", "select", "group_by", "count") {
  EACH_PAGES(rows) {
    EXPECT_ROWS(rows_of(e, source(e, rows).select([](auto p) { return p.name + "/" + p.name; })),
                selected(rows, [](const page& p) { return p.name + "/" + p.name; }));
    EXPECT_ROWS(rows_of(e, source(e, rows).where([](auto p) { return query::to_upper(p.name).starts_with("A"); }).select([](auto p) {
                  return query::make<page>(p.id, query::to_upper(p.name), p.title, p.marks, p.words, p.hits);
                })),
                selected(kept(rows, [](const page& p) { return p.name.starts_with('a') || p.name.starts_with('A'); }), [](page p) {
                  p.name = query::to_upper(p.name);
                  return p;
                }));
    // More characters than rows promise: the room is found to be too small.
    const std::string wide(300, 'W');
    EXPECT_ROWS(
        rows_of(e, source(e, rows).select([wide](auto p) { return std::make_tuple(query::to_lower(wide + p.name).substr(299), p.id); })),
        selected(rows, [&](const page& p) { return std::make_tuple(lower(wide + p.name).substr(299), p.id); }));
    const auto named = source(e, rows).select([](auto p) { return std::make_tuple("<" + p.name + ">", p.hits); });
    EXPECT_SAME_ROWS(rows_of(e, named.group_by([](auto p) { return std::get<0>(p); }).select([](auto g) {
                       return std::make_tuple(g.key(), g.count());
                     })),
                     selected(grouped(rows, [](const page& p) { return "<" + p.name + ">"; }),
                              [](const auto& g) { return std::make_tuple(g.first, static_cast<std::int64_t>(g.second.size())); }));
    EXPECT_EQ(source(e, rows).where([](auto p) { return p.name + p.name == "77"; }).count(),
              std::ssize(kept(rows, [](const page& p) { return p.name + p.name == "77"; })));
  }
}

CONFORMS(strings, travel_through_sorts, "order_by", "order_by_descending", "top") {
  EACH_PAGES(rows) {
    std::vector<page> wanted = rows;
    std::stable_sort(wanted.begin(), wanted.end(), [](const page& a, const page& b) { return a.hits < b.hits; });
    EXPECT_ROWS(rows_of(e, source(e, rows).order_by([](auto p) { return p.hits; })), wanted);
    wanted.resize(std::min<std::size_t>(wanted.size(), 10));
    EXPECT_ROWS(rows_of(e, source(e, rows).order_by([](auto p) { return p.hits; }).take(10)), wanted);
  }
}

CONFORMS(strings, order_rows, "order_by", "order_by_descending", "then_by", "top") {
  EACH_PAGES(rows) {
    std::vector<page> wanted = rows;
    std::stable_sort(wanted.begin(), wanted.end(), [](const page& a, const page& b) { return a.name < b.name; });
    EXPECT_ROWS(rows_of(e, source(e, rows).order_by([](auto p) { return p.name; })), wanted);
    wanted.resize(std::min<std::size_t>(wanted.size(), 100));
    EXPECT_ROWS(rows_of(e, source(e, rows).order_by([](auto p) { return p.name; }).take(100)), wanted);
    wanted = rows;
    std::stable_sort(wanted.begin(), wanted.end(), [](const page& a, const page& b) { return b.name < a.name; });
    EXPECT_ROWS(rows_of(e, source(e, rows).order_by_descending([](auto p) { return p.name; })), wanted);
    wanted = rows;
    std::stable_sort(wanted.begin(), wanted.end(), [](const page& a, const page& b) {
      if (a.title.has_value() != b.title.has_value()) return a.title.has_value();
      return a.title != b.title ? a.title < b.title : a.hits % 5 != b.hits % 5 ? a.hits % 5 < b.hits % 5 : b.name < a.name;
    });
    EXPECT_ROWS(rows_of(e, source(e, rows)
                               .order_by([](auto p) { return p.title; })
                               .then_by([](auto p) { return p.hits % 5; })
                               .then_by_descending([](auto p) { return p.name; })),
                wanted);
  }
}

CONFORMS(strings, are_keys_of_groups_and_in_their_results, "group_by") {
  EACH_PAGES(rows) {
    const auto groups = grouped(rows, [](const page& p) { return p.name; });
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by([](auto p) { return p.name; }).select([](auto g) {
      return std::make_tuple(g.key(), g.count(), g.first([](auto p) { return p.title; }), g.last([](auto p) { return p.marks; }));
    })),
                     selected(groups, [](const auto& g) {
                       return std::make_tuple(g.first, std::ssize(g.second), g.second.front().title, g.second.back().marks);
                     }));
    const auto by_title = grouped(rows, [](const page& p) { return std::make_tuple(p.title, p.hits % 3); });
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by([](auto p) { return std::make_tuple(p.title, p.hits % 3); }).select([](auto g) {
      return std::make_tuple(g.key(), g.sum([](auto p) { return p.hits; }));
    })),
                     selected(by_title, [](const auto& g) {
                       std::int64_t sum = 0;
                       for (const page& p : g.second) sum += p.hits;
                       return std::make_tuple(g.first, sum);
                     }));
    const auto by_lists = grouped(rows, [](const page& p) { return std::make_tuple(p.words, p.hits % 2); });
    EXPECT_SAME_ROWS(
        rows_of(e, source(e, rows).group_by([](auto p) { return std::make_tuple(p.words, p.hits % 2); }).select([](auto g) {
          return std::make_tuple(g.key(), g.count());
        })),
        selected(by_lists, [](const auto& g) { return std::make_tuple(g.first, static_cast<std::int64_t>(g.second.size())); }));
    const auto by_number = grouped(rows, [](const page& p) { return p.hits % 7; });
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by([](auto p) { return p.hits % 7; }).select([](auto g) {
                       return std::make_tuple(g.key(), g.first([](auto p) { return p.name; }), g.last([](auto p) { return p.words; }),
                                              g.arg_max([](auto p) { return p.id; }));
                     })),
                     selected(by_number, [](const auto& g) {
                       return std::make_tuple(g.first, g.second.front().name, g.second.back().words, g.second.back());
                     }));
  }
}

CONFORMS(strings, are_keys_and_payload_of_joins, "join", "left_join", "semi_join", "distinct") {
  const std::vector<page> others = pages(300);
  EACH_PAGES(rows) {
    if (rows.size() > 2000) continue;  // names repeat: the pairs are many
    std::vector<std::tuple<std::int32_t, std::string, std::optional<std::string>>> pairs, left;
    std::vector<page> matched;
    for (const page& a : rows) {
      const std::size_t before = pairs.size();
      for (const page& b : others)
        if (a.name == b.name) pairs.emplace_back(a.id, b.name, b.title);
      left.insert(left.end(), pairs.begin() + static_cast<std::ptrdiff_t>(before), pairs.end());
      if (pairs.size() == before) left.emplace_back(a.id, "none", std::nullopt);
      else matched.push_back(a);
    }
    const auto name = [](auto p) { return p.name; };
    const auto right = source(e, others);
    EXPECT_SAME_ROWS(
        rows_of(e, source(e, rows).join(right, name, name, [](auto a, auto b) { return std::make_tuple(a.id, b.name, b.title); })), pairs);
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).left_join(right, name, name, [](auto a, auto b) {
      return std::make_tuple(a.id, query::iff(b.has_value(), b->name, "none"), query::iff(b.has_value(), b->title, std::nullopt));
    })), left);
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).semi_join(right, name, name)), matched);
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).select(name).distinct()),
                     first_of_each(selected(rows, [](const page& p) { return p.name; }), [](const std::string& n) { return n; }));
  }
}

CONFORMS(strings, stay_in_loops, "do_while") {
  EACH_PAGES(rows) {
    const auto q = source(e, rows)
                       .where([](auto p) { return p.hits % 41 != 0 || p.name.size() < 3; })
                       .select([](auto p) { return std::make_tuple(p.hits, p.name); })
                       .do_while(
                           [](auto x) {
                             return x.select([](auto p) {
                               return std::make_tuple(std::get<0>(p) + 1, query::iff(std::get<0>(p) + 1 > 500, std::get<1>(p), "low"));
                             });
                           },
                           query::times(40));
    std::vector<std::tuple<std::int64_t, std::string>> expected;
    for (const page& p : kept(rows, [](const page& x) { return x.hits % 41 != 0 || x.name.size() < 3; })) {
      std::tuple<std::int64_t, std::string> row(p.hits, p.name);
      for (int round = 0; round < 40; ++round) {
        std::get<0>(row) += 1;
        if (std::get<0>(row) <= 500) std::get<1>(row) = "low";
      }
      expected.push_back(row);
    }
    EXPECT_ROWS(rows_of(e, q), expected);
  }
}

CONFORMS(strings, stay_where_rows_are_cached, "cached") {
  EACH_PAGES(rows) {
    const auto q = source(e, rows).cached();
    EXPECT_ROWS(rows_of(e, q.select([](auto p) { return p.name; })), selected(rows, [](const page& p) { return p.name; }));
    EXPECT_ROWS(q.to_vector(), rows);
    const auto few = source(e, rows).where([](auto p) { return p.hits < 100; }).cached();
    EXPECT_ROWS(few.to_vector(), kept(rows, [](const page& p) { return p.hits < 100; }));
  }
}

}  // namespace
}  // namespace conformance
