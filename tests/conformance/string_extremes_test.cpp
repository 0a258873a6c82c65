// The least and the greatest of strings, the rows that have them, and how many different ones there are: of groups, few and many, and of
// all rows; with nulls, empty strings, equal ones, and long common beginnings.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "planned_there.hpp"

namespace conformance {
namespace {

struct entry {
  std::int32_t id;
  std::int32_t few, many;
  std::string name;
  std::optional<std::string> title;
  std::optional<std::string> nothing;
  std::int64_t hits;
};
QUERY_RECORD(entry, id, few, many, name, title, nothing, hits);

using text = std::optional<std::string>;

// What differs, differs at a length, at a byte above 127, at the last byte of a long string, or by a zero byte.
std::string some_name(std::mt19937& g) {
  static const std::string beginning(70, 'b');
  switch (g() % 9) {
    case 0:
      return "";
    case 1:
      return std::string(1 + g() % 3, '\0');
    case 2:
      return "equal";
    case 3:
      return std::string(g() % 2 ? "\xff" : "\x7f") + std::to_string(g() % 5);
    case 4:
      return beginning + std::to_string(g() % 100);
    case 5:
      return beginning + std::string(g() % 9, 'b');
    case 6:
      return beginning + std::string(g() % 3, '\0');
    case 7:
      return std::to_string(g() % 1000);
    default:
      return std::string(g() % 24, static_cast<char>('a' + g() % 3));
  }
}
std::vector<entry> entries(std::size_t n, bool equal = false) {
  std::mt19937 g(static_cast<unsigned>(seed()));
  std::vector<entry> all(n);
  for (std::size_t i = 0; i < n; ++i) {
    entry& x = all[i];
    x.id = static_cast<std::int32_t>(i);
    x.few = static_cast<std::int32_t>(g() % 5);
    x.many = static_cast<std::int32_t>(g() % (n / 3 + 1));
    x.name = equal ? std::string(40, 'e') : some_name(g);
    if (x.few != 3 && g() % 3) x.title = equal ? std::string() : some_name(g);  // group 3 has none
    x.hits = static_cast<std::int64_t>(g() % 1000);
  }
  return all;
}
const std::vector<std::vector<entry>>& all_entries() {
  static const std::vector<std::vector<entry>> all = {entries(1), entries(40), entries(700, true), entries(1500), entries(40'000)};
  return all;
}
#define EACH_ENTRIES(rows)               \
  for (const auto& rows : all_entries()) \
    if (SCOPED_TRACE(rows.size()); true)

// An engine that claims these rows must not hand them to another one.
template <class Q> auto rows_of(const engine_config& e, const Q& q) {
  if (e.accelerate) {
    EXPECT_TRUE(planned_there(q.explain()));
  }
  return q.to_vector();
}

const text& value_of(const text& v) { return v; }
text value_of(const std::string& v) { return v; }

// The first row whose value is the least or the greatest of those that are there.
template <class F> std::optional<entry> best_row(const std::vector<entry>& rows, F f, bool largest) {
  std::optional<entry> best;
  for (const entry& x : rows) {
    const text v = value_of(f(x));
    if (!v) continue;
    if (best) {
      const text before = value_of(f(*best));
      if (largest ? !(*before < *v) : !(*v < *before)) continue;
    }
    best = x;
  }
  return best;
}
template <class F> text best(const std::vector<entry>& rows, F f, bool largest) {
  const std::optional<entry> row = best_row(rows, f, largest);
  return row ? value_of(f(*row)) : text();
}
template <class F> std::int64_t distinct_values(const std::vector<entry>& rows, F f) {
  std::unordered_set<std::string> seen;
  for (const entry& x : rows)
    if (const text v = value_of(f(x))) seen.insert(*v);
  return std::ssize(seen);
}

constexpr auto name = [](const auto& x) { return x.name; };
constexpr auto title = [](const auto& x) { return x.title; };
constexpr auto nothing = [](const auto& x) { return x.nothing; };

CONFORMS(string_extremes, of_groups, "group_by") {
  EACH_ENTRIES(rows) {
    const auto wanted = [&](const auto& groups) {
      return selected(groups, [](const auto& g) {
        return std::make_tuple(g.first, *best(g.second, name, false), *best(g.second, name, true), best(g.second, title, false),
                               best(g.second, title, true), best(g.second, nothing, true));
      });
    };
    const auto extremes = [](auto g) {
      return std::make_tuple(g.key(), g.min([](auto x) { return x.name; }), g.max([](auto x) { return x.name; }),
                             g.min([](auto x) { return x.title; }), g.max([](auto x) { return x.title; }),
                             g.max([](auto x) { return x.nothing; }));
    };
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by([](auto x) { return x.few; }).select(extremes)),
                     wanted(grouped(rows, [](const entry& x) { return x.few; })));
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by([](auto x) { return x.many; }).select(extremes)),
                     wanted(grouped(rows, [](const entry& x) { return x.many; })));
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by([](auto x) { return x.id % 1; }).select(extremes)),
                     wanted(grouped(rows, [](const entry& x) { return x.id % 1; })));
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by([](auto x) { return x.title; }).select(extremes)),
                     wanted(grouped(rows, [](const entry& x) { return x.title; })));
    EXPECT_ROWS(rows_of(e, source(e, rows).as_ordered().group_by([](auto x) { return x.few; }).select(extremes)),
                wanted(grouped(rows, [](const entry& x) { return x.few; })));
  }
}

CONFORMS(string_extremes, name_the_rows_of_groups, "group_by") {
  EACH_ENTRIES(rows) {
    const auto wanted = [&](const auto& groups) {
      return selected(groups, [](const auto& g) {
        return std::make_tuple(g.first, *best_row(g.second, name, false), *best_row(g.second, name, true), best_row(g.second, title, false),
                               best_row(g.second, title, true), best_row(g.second, nothing, false), best_row(g.second, name, true)->id);
      });
    };
    const auto extremes = [](auto g) {
      return std::make_tuple(g.key(), g.arg_min([](auto x) { return x.name; }), g.arg_max([](auto x) { return x.name; }),
                             g.arg_min([](auto x) { return x.title; }), g.arg_max([](auto x) { return x.title; }),
                             g.arg_min([](auto x) { return x.nothing; }), g.arg_max([](auto x) { return x.name; }).id);
    };
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by([](auto x) { return x.few; }).select(extremes)),
                     wanted(grouped(rows, [](const entry& x) { return x.few; })));
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by([](auto x) { return x.many; }).select(extremes)),
                     wanted(grouped(rows, [](const entry& x) { return x.many; })));
  }
}

// Results that own nothing, of states that view strings: what is put together from parts must not take them for numbers.
CONFORMS(string_extremes, beside_numbers_and_without_strings_in_the_result, "group_by") {
  EACH_ENTRIES(rows) {
    const auto groups = grouped(rows, [](const entry& x) { return x.many % 100; });
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows)
                                    .where([](auto x) { return x.name.size() < 90; })
                                    .group_by([](auto x) { return x.many % 100; })
                                    .select([](auto g) {
                                      return std::make_tuple(g.key(), g.count(), g.sum([](auto x) { return x.hits; }),
                                                             g.min([](auto x) { return x.name; }) == g.max([](auto x) { return x.name; }),
                                                             g.arg_min([](auto x) { return x.name.substr(x.name.size() / 2); }).id,
                                                             g.max([](auto x) { return x.hits; }));
                                    })),
                     selected(groups, [](const auto& g) {
                       std::int64_t sum = 0, most = g.second.front().hits;
                       for (const entry& x : g.second) sum += x.hits, most = std::max(most, x.hits);
                       return std::make_tuple(g.first, std::ssize(g.second), sum, best(g.second, name, false) == best(g.second, name, true),
                                              best_row(
                                                  g.second, [](const entry& x) { return x.name.substr(x.name.size() / 2); }, false)
                                                  ->id,
                                              most);
                     }));
  }
}

CONFORMS(string_extremes, of_all_rows, "min", "max", "aggregate", "reduce", "group_by") {
  EACH_ENTRIES(rows) {
    EXPECT_EQ(source(e, rows).min([](auto x) { return x.name; }), best(rows, name, false));
    EXPECT_EQ(source(e, rows).max([](auto x) { return x.name; }), best(rows, name, true));
    EXPECT_EQ(source(e, rows).select([](auto x) { return x.name; }).max(), best(rows, name, true));
    EXPECT_EQ(source(e, rows).min([](auto x) { return x.title; }), best(rows, title, false));
    EXPECT_EQ(source(e, rows).max([](auto x) { return x.nothing; }), text());
    const auto kept_rows = kept(rows, [](const entry& x) { return x.hits > 500; });
    EXPECT_EQ(source(e, rows).where([](auto x) { return x.hits > 500; }).max([](auto x) { return x.title; }), best(kept_rows, title, true));
    EXPECT_EQ(source(e, rows).where([](auto x) { return x.hits < 0; }).max([](auto x) { return x.name; }), text());
    EXPECT_ROWS(rows_of(e, source(e, rows).aggregate([](auto g) {
                  return std::make_tuple(g.count(), g.min([](auto x) { return x.name; }), g.max([](auto x) { return x.title; }));
                })),
                (std::vector{std::make_tuple(std::ssize(rows), best(rows, name, false), best(rows, title, true))}));
  }
  const std::vector<entry> none;
  EXPECT_EQ(source(e, none).min([](auto x) { return x.name; }), text());
}

CONFORMS(string_extremes, name_rows_of_all, "min_by", "max_by") {
  EACH_ENTRIES(rows) {
    EXPECT_ROWS((std::vector{*source(e, rows).min_by([](auto x) { return x.name; })}), (std::vector{*best_row(rows, name, false)}));
    EXPECT_ROWS((std::vector{*source(e, rows).max_by([](auto x) { return x.name; })}), (std::vector{*best_row(rows, name, true)}));
    const auto there = kept(rows, [](const entry& x) { return x.title.has_value(); });
    if (there.empty()) continue;
    EXPECT_ROWS((std::vector{*source(e, there).min_by([](auto x) { return x.title.value(); })}),
                (std::vector{*best_row(there, title, false)}));
  }
}

CONFORMS(string_extremes, different_values_are_counted, "group_by", "aggregate", "reduce") {
  EACH_ENTRIES(rows) {
    const auto wanted = [&](const auto& groups) {
      return selected(groups, [](const auto& g) {
        return std::make_tuple(g.first, distinct_values(g.second, name), distinct_values(g.second, title),
                               distinct_values(g.second, nothing));
      });
    };
    const auto counts = [](auto g) {
      return std::make_tuple(g.key(), g.count_distinct([](auto x) { return x.name; }), g.count_distinct([](auto x) { return x.title; }),
                             g.count_distinct([](auto x) { return x.nothing; }));
    };
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by([](auto x) { return x.few; }).select(counts)),
                     wanted(grouped(rows, [](const entry& x) { return x.few; })));
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by([](auto x) { return x.many; }).select(counts)),
                     wanted(grouped(rows, [](const entry& x) { return x.many; })));
    EXPECT_SAME_ROWS(rows_of(e, source(e, rows).group_by([](auto x) { return x.name; }).select([](auto g) {
                       return std::make_tuple(g.key(), g.count_distinct([](auto x) { return std::make_pair(x.few, x.title); }),
                                              g.min([](auto x) { return x.title; }));
                     })),
                     selected(grouped(rows, [](const entry& x) { return x.name; }), [](const auto& g) {
                       const auto pairs = first_of_each(g.second, [](const entry& x) { return std::make_pair(x.few, x.title); });
                       return std::make_tuple(g.first, std::ssize(pairs), best(g.second, title, false));
                     }));
    EXPECT_ROWS(
        rows_of(e, source(e, rows).aggregate([](auto g) {
          return std::make_tuple(g.count_distinct([](auto x) { return x.name; }), g.count_distinct([](auto x) { return x.title; }),
                                 g.count_distinct([](auto x) { return std::make_pair(x.few, x.hits); }));
        })),
        (std::vector{std::make_tuple(distinct_values(rows, name), distinct_values(rows, title),
                                     std::ssize(first_of_each(rows, [](const entry& x) { return std::make_pair(x.few, x.hits); })))}));
  }
}

}  // namespace
}  // namespace conformance
