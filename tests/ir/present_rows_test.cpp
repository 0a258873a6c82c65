// Functions of a row that may be missing, as functions of the row and of whether it is there.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include <query/query.hpp>

#include "ir/present_rows.hpp"

namespace {

struct At { float x, y; };
QUERY_RECORD(At, x, y);
struct Left { std::int32_t id; std::string name; };
QUERY_RECORD(Left, id, name);
struct Right { std::int32_t id; std::string name; std::optional<double> worth; At at; };
QUERY_RECORD(Right, id, name, worth, at);

template <class F> std::string rewritten(F f) {
  const query::ir::traced t = query::trace<Left, std::optional<Right>>(f);
  if (!t) return query::ir::show(t);
  return query::ir::show(query::ir::over_present_rows(*t.owner, t.root, 1, query::ir::describe<Right>()));
}

TEST(present_rows, fields_are_read_where_the_row_is_there) {
  EXPECT_EQ(rewritten([](auto l, auto r) { return r ? r->name : l.name; }), "iff(r.present, r.name, name)");
  EXPECT_EQ(rewritten([](auto l, auto r) { return !r ? l.name : r->name; }), "iff(r.present, r.name, name)");
  EXPECT_EQ(rewritten([](auto, auto r) { return query::iff(r.has_value(), r->at.y * 2, 0.5f); }), "iff(r.present, (r.at.y * 2.0f), 0.5f)");
}

TEST(present_rows, a_null_of_the_row_is_not_a_missing_row) {
  EXPECT_EQ(rewritten([](auto, auto r) { return query::iff(r.has_value(), r->worth.value_or(1.0), 2.0); }),
            "iff(r.present, iff(has_value(r.worth), value(r.worth), 1.0), 2.0)");
}

TEST(present_rows, conditions_are_decided_where_the_answer_is_known) {
  EXPECT_EQ(rewritten([](auto l, auto r) {
    if (!r) return l.id;
    return r.has_value() && r->id > l.id ? r->id : l.id;
  }), "iff(r.present, iff((r.id > id), r.id, id), id)");
  EXPECT_EQ(rewritten([](auto, auto r) { return r.has_value(); }), "r.present");
}

TEST(present_rows, the_value_of_a_missing_row_still_throws) {
  const std::string s = rewritten([](auto, auto r) { return r->id; });
  EXPECT_EQ(s, "iff(r.present, r.id, value(null).id)");
}

TEST(present_rows, of_a_full_join_one_is_there) {
  const query::ir::traced t = query::trace<std::optional<Left>, std::optional<Right>>([](auto l, auto r) {
    if (!l) return r->name;
    return l->name;
  });
  ASSERT_TRUE(t) << t.reason;
  const auto *left = query::ir::describe<Left>(), *right = query::ir::describe<Right>();
  const auto* once = query::ir::over_present_rows(*t.owner, t.root, 0, left, right);
  EXPECT_EQ(query::ir::show(query::ir::over_present_rows(*t.owner, once, 1, right, left)), "iff(present, name, r.name)");
}

TEST(present_rows, the_row_as_a_whole) {
  EXPECT_EQ(rewritten([](auto l, auto r) { return std::pair(l.id, r); }), "tuple{id, iff(r.present, some(r), null)}");
}

}  // namespace
