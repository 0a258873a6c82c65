// New strings where a key, an argument of an aggregate or a result makes them: with empty ones, ones that are equal once they are
// lowered, nulls, and more characters than the room that is guessed for them.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "planned_there.hpp"

namespace conformance {
namespace {

struct word {
  std::int32_t id;
  std::string name;
  std::optional<std::string> also;
  std::int64_t hits;
};
QUERY_RECORD(word, id, name, also, hits);
struct family {
  std::string name;
  std::int32_t rank;
};
QUERY_RECORD(family, name, rank);

std::string some_word(std::mt19937& g) {
  switch (g() % 6) {
    case 0: return "";
    case 1: return g() % 2 ? "Alpha" : "aLPHA";
    case 2: return std::string("\0Z", 2) + static_cast<char>(g() % 2 ? 'q' : 'Q');
    case 3: return "A Beginning That Many Have In Common " + std::to_string(g() % 5);
    case 4: return "a beginning that many have in common " + std::to_string(g() % 5);
    default: return std::string(g() % 3, g() % 2 ? 'X' : 'x');
  }
}
std::vector<word> words(std::size_t n) {
  std::mt19937 g(static_cast<unsigned>(seed()) + static_cast<unsigned>(n));
  std::vector<word> all(n);
  for (std::size_t i = 0; i < n; ++i) {
    all[i] = {static_cast<std::int32_t>(i), some_word(g), std::nullopt, static_cast<std::int64_t>(g() % 100)};
    if (g() % 3) all[i].also = some_word(g);
  }
  return all;
}
const std::vector<std::vector<word>>& all_words() {
  static const std::vector<std::vector<word>> all = {words(0), words(1), words(40), words(1500), words(9000)};
  return all;
}
const std::vector<family>& families() {
  static const std::vector<family> all = {{"ALPHA", 1}, {"alpha", 2}, {"", 3}, {"xX", 4}, {"nobody", 5}};
  return all;
}
#define EACH_WORDS(rows)                     \
  for (const auto& rows : all_words())       \
    if (SCOPED_TRACE(rows.size()); true)

std::string lower(std::string s) {
  for (char& c : s)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return s;
}

// An engine that claims these forms must not hand them to another one.
template <class Q> auto rows_of(const engine_config& e, const Q& q) {
  if (e.accelerate) {
    EXPECT_TRUE(planned_there(q.explain()));
  }
  return q.to_vector();
}

CONFORMS(made_strings, are_keys_of_groups, "group_by", "count_by", "as_ordered") {
  EACH_WORDS(rows) {
    const auto by_name = grouped(rows, [](const word& w) { return lower(w.name); });
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by([](auto w) { return query::to_lower(w.name); }).select([](auto g) {
      return std::make_tuple(g.key(), g.count(), g.sum([](auto w) { return w.hits; }));
    })),
                     selected(by_name, [](const auto& g) {
                       std::int64_t sum = 0;
                       for (const word& w : g.second) sum += w.hits;
                       return std::make_tuple(g.first, std::ssize(g.second), sum);
                     }));
    EXPECT_ROWS(rows_of(e, source(e, rows)
                               .where([](auto w) { return w.hits > 20; })
                               .as_ordered()
                               .group_by([](auto w) { return std::make_tuple(w.hits % 3, "<" + w.name + ">"); })
                               .select([](auto g) { return std::make_tuple(g.key(), g.count()); })),
                selected(grouped(kept(rows, [](const word& w) { return w.hits > 20; }),
                                 [](const word& w) { return std::make_tuple(w.hits % 3, "<" + w.name + ">"); }),
                         [](const auto& g) { return std::make_tuple(g.first, static_cast<std::int64_t>(g.second.size())); }));
    // More characters than rows promise.
    const std::string wide(200, 'W');
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows)
                                    .select([](auto w) { return std::make_tuple(w.id, w.name + "!"); })
                                    .group_by([wide](auto t) { return query::to_lower(wide + std::get<1>(t)); })
                                    .select([](auto g) { return std::make_tuple(g.key(), g.min([](auto t) { return std::get<0>(t); })); })),
                     selected(grouped(rows, [&](const word& w) { return lower(wide + w.name + "!"); }),
                              [](const auto& g) { return std::make_tuple(g.first, g.second.front().id); }));
    // A number that is made of a string that is made.
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by([](auto w) { return (w.name + w.name).size(); }).select([](auto g) {
      return std::make_tuple(g.key(), g.count());
    })),
                     selected(grouped(rows, [](const word& w) { return 2 * w.name.size(); }),
                              [](const auto& g) { return std::make_tuple(g.first, static_cast<std::int64_t>(g.second.size())); }));
  }
}

CONFORMS(made_strings, are_arguments_of_aggregates, "group_by", "aggregate", "min_by", "max_by") {
  EACH_WORDS(rows) {
    const auto by_hits = grouped(rows, [](const word& w) { return w.hits % 7; });
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by([](auto w) { return w.hits % 7; }).select([](auto g) {
      return std::make_tuple(g.key(), g.min([](auto w) { return query::to_lower(w.name); }), g.max([](auto w) { return w.name + "!"; }),
                             g.count([](auto w) { return query::to_upper(w.name) == "ALPHA"; }),
                             g.count_distinct([](auto w) { return query::to_lower(w.name); }));
    })),
                     selected(by_hits, [](const auto& g) {
                       auto least = lower(g.second.front().name), most = g.second.front().name + "!";
                       std::int64_t alphas = 0;
                       for (const word& w : g.second) {
                         least = std::min(least, lower(w.name));
                         most = std::max(most, w.name + "!");
                         alphas += lower(w.name) == "alpha";
                       }
                       const auto distinct = grouped(g.second, [](const word& w) { return lower(w.name); }).size();
                       return std::make_tuple(g.first, least, most, alphas, static_cast<std::int64_t>(distinct));
                     }));
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by([](auto w) { return query::to_lower(w.name); }).select([](auto g) {
      return std::make_tuple(g.key(), g.first([](auto w) { return w.name + "?"; }), g.arg_min([](auto w) { return w.name + "."; }));
    })),
                     selected(grouped(rows, [](const word& w) { return lower(w.name); }), [](const auto& g) {
                       const word* least = &g.second.front();
                       for (const word& w : g.second)
                         if (w.name + "." < least->name + ".") least = &w;
                       return std::make_tuple(g.first, g.second.front().name + "?", *least);
                     }));
    const auto less = [](const word& a, const word& b) { return lower(a.name) < lower(b.name); };
    const auto least = std::min_element(rows.begin(), rows.end(), less);
    const std::optional<word> found = source(e, rows).min_by([](auto w) { return query::to_lower(w.name); });
    ASSERT_EQ(found.has_value(), !rows.empty());
    if (found) {
      EXPECT_EQ(found->id, least->id);
    }
  }
}

CONFORMS(made_strings, are_results_of_groups, "group_by") {
  EACH_WORDS(rows) {
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by([](auto w) { return query::to_upper(w.name); }).select([](auto g) {
      return std::make_tuple("<" + query::to_lower(g.key()) + ">", g.count());
    })),
                     selected(grouped(rows, [](const word& w) { return "<" + lower(w.name) + ">"; }),
                              [](const auto& g) { return std::make_tuple(g.first, static_cast<std::int64_t>(g.second.size())); }));
  }
}

CONFORMS(made_strings, order_rows, "order_by", "order_by_descending", "then_by", "top") {
  EACH_WORDS(rows) {
    std::vector<word> wanted = rows;
    std::stable_sort(wanted.begin(), wanted.end(), [](const word& a, const word& b) {
      return lower(a.name) != lower(b.name) ? lower(a.name) < lower(b.name) : a.hits > b.hits;
    });
    const auto sorted = source(e, rows).order_by([](auto w) { return query::to_lower(w.name); }).then_by_descending([](auto w) {
      return w.hits;
    });
    EXPECT_ROWS(rows_of(e, sorted), wanted);
    EXPECT_ROWS(rows_of(e, sorted.select([](auto w) { return w.id; })), selected(wanted, [](const word& w) { return w.id; }));
    wanted.resize(std::min<std::size_t>(wanted.size(), 9));
    EXPECT_ROWS(rows_of(e, sorted.take(9)), wanted);
    // Made in front of the order.
    auto named = selected(rows, [](const word& w) { return std::make_tuple(w.name + "/", w.id); });
    std::stable_sort(named.begin(), named.end(), [](const auto& a, const auto& b) { return std::get<0>(b) < std::get<0>(a); });
    named.resize(std::min<std::size_t>(named.size(), 9));
    EXPECT_ROWS(rows_of(e, source(e, rows)
                               .select([](auto w) { return std::make_tuple(w.name + "/", w.id); })
                               .order_by_descending([](auto t) { return std::get<0>(t); })
                               .take(9)),
                named);
  }
}

CONFORMS(made_strings, tell_rows_apart, "distinct_by", "union_with_by", "intersect_by", "except_by") {
  EACH_WORDS(rows) {
    const auto key = [](auto w) { return query::to_lower(w.name); };
    const auto plain = [](const word& w) { return lower(w.name); };
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).as_ordered().distinct_by(key)), first_of_each(rows, plain));
    const std::vector<word> others = {{-1, "ALPHA", std::nullopt, 0}, {-2, "new", "New", 1}, {-3, "NEW", std::nullopt, 2}};
    std::vector<word> both = rows;
    both.insert(both.end(), others.begin(), others.end());
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).union_with_by(source(e, others), key)), first_of_each(both, plain));
    const auto in_others = [](const word& w) { return lower(w.name) == "alpha" || lower(w.name) == "new"; };
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).intersect_by(source(e, others), key)), first_of_each(kept(rows, in_others), plain));
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).except_by(source(e, others), key)),
                     first_of_each(kept(rows, [&](const word& w) { return !in_others(w); }), plain));
  }
}

CONFORMS(made_strings, join_rows, "join", "left_join", "right_join", "full_join", "semi_join", "anti_join", "group_join") {
  EACH_WORDS(rows) {
    const auto left_key = [](auto w) { return query::to_lower(w.name); };
    const auto right_key = [](auto f) { return query::to_lower(f.name); };
    const auto right = source(e, families());
    const auto found = matches(
        rows, families(), [](const word& w) { return lower(w.name); }, [](const family& f) { return lower(f.name); });
    std::vector<std::tuple<std::int32_t, std::int32_t>> pairs, left;
    std::vector<std::tuple<std::int32_t, std::int64_t, std::int64_t>> lists;
    std::vector<word> with, without;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (const family& f : found[i]) pairs.emplace_back(rows[i].id, f.rank);
      for (const family& f : found[i]) left.emplace_back(rows[i].id, f.rank);
      if (found[i].empty()) left.emplace_back(rows[i].id, 0);
      (found[i].empty() ? without : with).push_back(rows[i]);
      std::int64_t ranks = 0;
      for (const family& f : found[i]) ranks += f.rank;
      lists.emplace_back(rows[i].id, std::ssize(found[i]), ranks);
    }
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).join(right, left_key, right_key, [](auto w, auto f) {
      return std::make_tuple(w.id, f.rank);
    })),
                     pairs);
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).left_join(right, left_key, right_key, [](auto w, auto f) {
      return std::make_tuple(w.id, query::iff(f.has_value(), f->rank, 0));
    })),
                     left);
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).semi_join(right, left_key, right_key)), with);
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).anti_join(right, left_key, right_key)), without);
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_join(right, left_key, right_key, [](auto w, auto own) {
      return std::make_tuple(w.id, query::cast<std::int64_t>(own.size()), query::sum(own, [](auto f) { return f.rank; }));
    })),
                     lists);
    // One side's keys are made, and rows go on behind the join.
    std::vector<std::tuple<std::int32_t, std::string>> shouted;
    for (const word& w : rows)
      for (const family& f : families())
        if (query::to_upper(w.name) == f.name && w.hits > 10) shouted.emplace_back(w.id, w.name + "-" + f.name);
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows)
                                    .join(right, [](auto w) { return query::to_upper(w.name); }, [](auto f) { return f.name; },
                                          [](auto w, auto f) { return std::make_tuple(w, f); })
                                    .where([](auto p) { return std::get<0>(p).hits > 10; })
                                    .select([](auto p) {
                                      return std::make_tuple(std::get<0>(p).id, std::get<0>(p).name + "-" + std::get<1>(p).name);
                                    })),
                     shouted);
    // Rows of both sides may be missing.
    std::vector<std::tuple<std::int32_t, std::int32_t>> all = left;
    for (const family& f : families())
      if (std::none_of(rows.begin(), rows.end(), [&](const word& w) { return lower(w.name) == lower(f.name); }))
        all.emplace_back(-1, f.rank);
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).full_join(right, left_key, right_key, [](auto w, auto f) {
      return std::make_tuple(query::iff(w.has_value(), w->id, -1), query::iff(f.has_value(), f->rank, 0));
    })),
                     all);
  }
}

CONFORMS(made_strings, are_results_of_joins, "join", "left_join", "right_join", "cross_join") {
  EACH_WORDS(rows) {
    const auto right = source(e, families());
    std::vector<std::tuple<std::int32_t, std::string>> pairs, left, mirrored, crossed;
    for (const word& w : rows) {
      bool any = false;
      for (const family& f : families()) {
        if (w.hits % 7 != f.rank) continue;
        any = true;
        pairs.emplace_back(w.id, w.name + "&" + f.name);
        left.emplace_back(w.id, w.name + "&" + f.name);
        mirrored.emplace_back(f.rank, w.name + "&" + f.name);
      }
      if (!any) left.emplace_back(w.id, w.name + "&none");
    }
    for (const family& f : families())
      if (std::none_of(rows.begin(), rows.end(), [&](const word& w) { return w.hits % 7 == f.rank; }))
        mirrored.emplace_back(f.rank, "none&" + f.name);
    const auto by_hits = [](auto w) { return query::cast<std::int32_t>(w.hits % 7); };
    const auto by_rank = [](auto f) { return f.rank; };
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).join(right, by_hits, by_rank, [](auto w, auto f) {
      return std::make_tuple(w.id, w.name + "&" + f.name);
    })),
                     pairs);
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).left_join(right, by_hits, by_rank, [](auto w, auto f) {
      return std::make_tuple(w.id, w.name + "&" + query::iff(f.has_value(), f->name, "none"));
    })),
                     left);
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).right_join(right, by_hits, by_rank, [](auto w, auto f) {
      return std::make_tuple(f.rank, query::iff(w.has_value(), w->name, "none") + "&" + f.name);
    })),
                     mirrored);
    if (rows.size() > 1500) continue;
    for (const word& w : rows)
      for (const family& f : families()) crossed.emplace_back(w.id, w.name + f.name);
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).cross_join(right, [](auto w, auto f) { return std::make_tuple(w.id, w.name + f.name); })),
                     crossed);
  }
}

CONFORMS(made_strings, keep_nulls_apart, "group_by", "join") {
  EACH_WORDS(rows) {
    const auto key = [](auto w) { return query::iff(w.also.has_value(), "<" + w.also.value_or("") + ">", "none"); };
    const auto plain = [](const word& w) { return w.also ? "<" + *w.also + ">" : std::string("none"); };
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by(key).select([](auto g) { return std::make_tuple(g.key(), g.count()); })),
                     selected(grouped(rows, plain),
                              [](const auto& g) { return std::make_tuple(g.first, static_cast<std::int64_t>(g.second.size())); }));
  }
}

}  // namespace
}  // namespace conformance
