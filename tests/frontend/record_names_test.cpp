// Fields may have any name: QUERY_RECORD's own names are out of their way.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <query/query.hpp>

namespace rows_of_any_name {

struct Color {
  int r, g, b;
};
QUERY_RECORD(Color, r, g, b);
struct Letters {
  int R, QW, T, n, i, x, self, f, m, I;
};
QUERY_RECORD(Letters, R, QW, T, n, i, x, self, f, m, I);
struct Words {
  std::string name, row;
  int size, types, names, offsets, shape, fields, meta, type, index, value;
};
QUERY_RECORD(Words, name, row, size, types, names, offsets, shape, fields, meta, type, index, value);

struct Inner_words {
  int facts, faults, description, plain, named, held, more, sound, in_order, query;
  QUERY_RECORD_MEMBERS(Inner_words, (facts, faults, description, plain, named, held, more, sound, in_order, query),
    auto all() const { return facts + faults + description + plain + named + held + more + sound + in_order + query; }
  )
};
namespace {
struct Hidden {
  int a;
  std::string b;
  QUERY_RECORD_MEMBERS(Hidden, (a, b),
    auto length() const { return b.size(); }
  )
};
}  // namespace

TEST(record_names, fields_called_as_parts_of_the_description_of_a_record_with_members) {
  const std::vector<Inner_words> rows{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}};
  const auto q = query::from(rows).select([](auto w) { return w.all(); });
  EXPECT_EQ(q.to_vector(), std::vector<int>{55});
  EXPECT_EQ(q.explain().find("opaque"), std::string::npos);
}
TEST(record_names, records_with_members_in_an_unnamed_namespace) {
  const std::vector<Hidden> rows{{1, "abc"}};
  EXPECT_EQ(query::from(rows).select([](auto h) { return h.length(); }).sum(), 3u);
}
TEST(record_names, fields_called_r_g_b) {
  const std::vector<Color> colors{{1, 2, 3}, {4, 5, 6}};
  EXPECT_EQ(query::from(colors).select([](auto c) { return c.r + c.b; }).to_vector(), (std::vector<int>{4, 10}));
}
TEST(record_names, fields_called_as_parameters_of_templates) {
  const std::vector<Letters> rows{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}};
  const auto q = query::from(rows).select([](auto l) { return l.R + l.QW + l.T + l.n + l.i + l.x + l.self + l.f + l.m + l.I; });
  EXPECT_EQ(q.to_vector(), std::vector<int>{55});
  EXPECT_EQ(q.explain().find("opaque"), std::string::npos);
}
TEST(record_names, fields_called_as_members_of_the_description) {
  const std::vector<Words> rows{{"a", "b", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}};
  const auto named = query::from(rows).where([](auto w) { return w.name == "a"; });
  EXPECT_EQ(named.select([](auto w) { return w.size + w.value; }).to_vector(), std::vector<int>{11});
}

TEST(sources, a_c_array_is_read_in_place) {
  int numbers[] = {1, 2, 3};
  const Color colors[] = {{1, 2, 3}, {4, 5, 6}};
  const auto q = query::from(numbers);
  numbers[0] = 7;
  EXPECT_EQ(q.to_vector(), (std::vector<int>{7, 2, 3}));
  EXPECT_EQ(query::from(colors).select([](auto c) { return c.g; }).sum(), 7);
  EXPECT_EQ(query::from({1, 2, 3}).sum(), 6);
}

}  // namespace rows_of_any_name
