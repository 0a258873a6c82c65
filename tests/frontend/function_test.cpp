#include <gtest/gtest.h>

#include <list>
#include <stdexcept>
#include <string>
#include <thread>

#include <query/broadcast.hpp>
#include <query/function.hpp>
#include <query/functions.hpp>
#include <query/group.hpp>

namespace rows_of_function {

struct Row {
  int q;
  double p;
};
QUERY_RECORD(Row, q, p);
struct Named {
  std::string name;
  int q;
};
QUERY_RECORD(Named, name, q);
struct Bare {
  int q;
};
using Holder = std::pair<int, Bare>;
enum class Colour { red, green };

}  // namespace rows_of_function

namespace {

using namespace rows_of_function;

struct limits_restored {
  query::ir::trace_limits before = query::ir::limits();
  ~limits_restored() { query::ir::limits() = before; }
};

template <class Lambda, class T> using result = query::result_t<Lambda, T>;
template <class A, class B> constexpr bool same = std::is_same_v<A, B>;

TEST(result_type, is_an_owning_value) {
  auto view = [](const Named& n) { return std::string_view(n.name); };
  auto reference = [](const Named& n) -> const std::string& { return n.name; };
  auto text = [](auto) { return "text"; };
  auto row = [](auto n) { return n; };
  auto pair = [](const auto& n) { return std::pair<const std::string&, int>(n.name, n.q); };
  static_assert(same<result<decltype(view), Named>, std::string> && same<result<decltype(reference), Named>, std::string>);
  static_assert(same<result<decltype(text), Named>, std::string> && same<result<decltype(row), Named>, Named>);
  static_assert(same<result<decltype(pair), Named>, std::pair<std::string, int>>);
}

TEST(trace, says_which_type_lacks_a_record) {
  EXPECT_NE(query::trace<Bare>([](auto b) { return b.q; }).reason.find("no QUERY_RECORD for "), std::string::npos);
  EXPECT_NE(query::trace<Bare>([](auto b) { return b.q; }).reason.find("Bare"), std::string::npos);
  EXPECT_NE(query::trace<Holder>([](auto b) { return b.first; }).reason.find("Bare"), std::string::npos);
}

TEST(trace, asks_for_no_record_of_what_none_describes) {
  const auto reason = [](const query::ir::traced& t) { return t.reason; };
  const std::string wanted = "its rows are, or hold, values that are not traced: ";
  EXPECT_EQ(reason(query::trace<long double>([](auto x) { return x > 1; })), wanted + "long double");
  EXPECT_EQ(reason(query::trace<std::pair<int, long double>>([](auto p) { return p.first; })), wanted + "long double");
  const std::string pointer = reason(query::trace<int*>([](auto p) { return p == nullptr; }));
  EXPECT_TRUE(pointer == wanted + "int*" || pointer == wanted + "int *") << pointer;  // g++ and clang++ spell it in their own ways
  EXPECT_EQ(reason(query::trace<std::list<int>>([](const auto& l) { return l.empty(); })).rfind(wanted + "std::", 0), 0u);
}

TEST(trace, takes_groups_with_their_rows_but_nothing_that_holds_one) {
  const auto t = query::trace<query::Group<int, Row>>([](auto g) { return g.key() + 1; });
  EXPECT_EQ(query::ir::show(t), "(key + 1)");
  const std::string undescribed = query::trace<query::Group<int, Bare>>([](auto g) { return g.size(); }).reason;
  EXPECT_NE(undescribed.find("no QUERY_RECORD for "), std::string::npos) << undescribed;
  const std::string reason = query::trace<std::optional<query::Group<int, Row>>>([](auto g) { return g.has_value(); }).reason;
  EXPECT_EQ(reason.find("QUERY_RECORD"), std::string::npos) << reason;
  EXPECT_NE(reason.find("group_by(key).select([](auto g) {...})"), std::string::npos) << reason;
}

TEST(trace, takes_rows_that_are_no_records) {
  EXPECT_EQ(query::ir::show(query::trace<int>([](auto i) { return i * 2; })),
            query::ir::show(query::trace<int>([](const auto& i) { return i * 2; })));
  EXPECT_TRUE(query::trace<std::string>([](auto s) { return s.size(); }));
  EXPECT_TRUE((query::trace<std::pair<int, double>>([](auto p) { return p.first * p.second; })));
  EXPECT_TRUE((query::trace<std::tuple<int, double>>([](auto p) { return std::get<1>(p); })));
  EXPECT_TRUE((query::trace<std::array<float, 4>>([](auto a) { return a[0] + a[3]; })));
  EXPECT_TRUE((query::trace<std::optional<int>>([](auto o) { return o.value_or(1); })));
}

TEST(trace, takes_two_rows) {
  auto t = query::trace<Row, Named>([](auto l, auto r) { return l.q == r.q; });
  EXPECT_EQ(query::ir::show(t), "(q == r.q)");
}

TEST(trace, calls_no_function_that_is_noexcept) {
  bool called = false;
  auto t = query::trace<Row>([&called](auto r) noexcept {
    called = true;
    return r.q;
  });
  EXPECT_FALSE(called);
  EXPECT_EQ(t.reason, "it is noexcept, and a trace gives up by throwing");
}

TEST(trace, sees_captures_as_they_are_when_it_runs) {
  double k = 1;
  auto f = [&k](auto r) { return r.p > k; };
  EXPECT_EQ(query::ir::show(query::trace<Row>(f)), "(p > 1.0)");
  k = 5;
  EXPECT_EQ(query::ir::show(query::trace<Row>(f)), "(p > 5.0)");
}

TEST(trace, is_the_same_on_every_thread) {
  auto f = [](auto r) { return r.q > 3 && r.p < 2 ? r.p : r.p * 2; };
  const auto here = query::trace<Row>(f);
  std::uint64_t there = 0;
  std::thread([&] { there = query::trace<Row>(f).root->shape; }).join();
  EXPECT_EQ(here.root->shape, there);
}

TEST(trace, gives_up_beyond_its_limits) {
  limits_restored restore;
  query::ir::limits() = {.decisions = 64, .paths = 8, .nodes = 100};
  auto ifs = [](auto r) { int n = 0; for (int i = 0; i < 4; ++i) if (r.q == i * i) ++n; else if (r.q > 50 + i) --n; return n; };
  EXPECT_TRUE(query::trace<Row>(ifs).reason.starts_with("more than 8 paths")) << query::trace<Row>(ifs).reason;
  query::ir::limits().decisions = 5;
  EXPECT_TRUE(query::trace<Row>([](auto r) {
                int i = 0;
                while (i < r.q) ++i;
                return i;
              }).reason.starts_with("more than 5 data-dependent decisions"));
  EXPECT_TRUE(query::trace<Row>([](auto r) {
                auto s = r.q;
                for (int i = 0; i < 1000; ++i) s += i;
                return s;
              }).reason.starts_with("the expression has more than 100 nodes"));
}

TEST(trace, is_not_fooled_by_catch_all) {
  auto f = [](auto r) {
    try {
      double p = r.p;
      return p > 0;
    } catch (...) {
      return r.q > 0;
    }
  };
  EXPECT_TRUE(query::trace<Row>(f).reason.starts_with("a traced value became a plain C++ value: double"));
}

// Needs arena::put (src/ir/node.cpp) to end a trace by give_up, which poisons it, instead of a throw.
TEST(trace, is_not_fooled_by_catch_all_at_the_node_limit) {
  limits_restored restore;
  query::ir::limits().nodes = 100;
  auto f = [](auto r) {
    auto s = r.p;
    try {
      for (int i = 0; i < 1000; ++i) s += i;
    } catch (...) {
      return r.p;
    }
    return s;
  };
  EXPECT_FALSE(query::trace<Row>(f));
}

TEST(trace, does_not_survive_in_values_that_outlive_it) {
  query::expr<double> kept;
  auto keep = [&kept](auto r) {
    kept = r.p;
    return r.p;
  };
  EXPECT_TRUE(query::trace<Row>(keep));
  EXPECT_THROW((void)(kept + 1), query::untraceable);
}

TEST(trace, may_happen_inside_a_function_that_is_traced) {
  auto t = query::trace<Row>([](auto r) {
    const auto inner = query::trace<Row>([](auto s) { return s.q > 1; });
    return inner ? r.p * 2 : r.p;
  });
  EXPECT_EQ(query::ir::show(t), "(p * 2.0)");
}

TEST(opaque, runs_and_is_never_traced) {
  auto f = query::opaque([](auto r) { return r.q * 2; });
  EXPECT_EQ(f(Row{4, 0}), 8);
  EXPECT_EQ(query::trace<Row>(f).reason, "query::opaque");
}

TEST(must_trace, says_why_a_function_cannot_be_traced) {
  auto good = query::must_trace([](auto r) { return r.q * 2; });
  EXPECT_EQ(good(Row{4, 0}), 8);
  EXPECT_TRUE(query::trace<Row>(good));
  auto bad = query::must_trace([](auto r) { double p = r.p; return p; });
  try {
    query::trace<Row>(bad);
    FAIL();
  } catch (const query::user_error& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("query::must_trace: the function cannot be traced: a traced value became")) << e.what();
  }
  EXPECT_THROW(query::trace<Row>(query::must_trace([](const Row& r) { return r.q; })), query::user_error);
  EXPECT_THROW(query::trace<Row>(query::must_trace(query::opaque([](auto r) { return r.q; }))), query::user_error);
}

TEST(with, hands_the_captures_to_the_function) {
  auto f =
      query::with([](auto r, double k, const std::string& s) { return r.p * k + static_cast<double>(s.size()); }, 2.0, std::string("abc"));
  EXPECT_EQ(f(Row{0, 4}), 11.0);
  EXPECT_EQ(std::get<0>(f.captures()), 2.0);
  EXPECT_EQ(query::ir::show(query::trace<Row>(f)), "((p * 2.0) + 3.0)");
  EXPECT_FALSE(query::trace<Row>(query::with([](const Row& r, int k) { return r.q + k; }, 3)));
  EXPECT_TRUE(query::trace<Row>(query::must_trace(query::with([](auto r, int k) { return r.q + k; }, 3))));
}

TEST(enums, become_plain_only_by_giving_up) {
  EXPECT_FALSE(query::trace<Colour>([](auto c) { return static_cast<int>(c); }));
  EXPECT_TRUE(query::trace<Colour>([](auto c) { return query::cast<int>(c); }));
}

}  // namespace
