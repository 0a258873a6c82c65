// The kernels of joins compile, whatever form their keys take.
#include "gpu_engine/generated_kernels.hpp"
#include "gpu_engine/operators/join_kernels.hpp"

namespace generated {
namespace {

TEST_F(generated_kernels, of_joins) {
  const auto symbols = query::from(symbols_);
  const auto id = [](auto s) { return s.id; };
  const auto symbol = [](auto t) { return t.symbol; };
  compiles("inner", trades().join(symbols, symbol, id, [](auto t, auto s) { return t.price * s.rate; }));
  compiles("left", trades().left_join(symbols, symbol, id,
                                      [](auto t, auto s) { return query::make<Pair>(t.symbol, s.has_value() ? s->rate : t.price); }));
  // A pair's row is read field by field and made whole again; its last element comes first in memory.
  const auto counts = trades().count_by(symbol);
  const auto first = [](const auto& r) { return std::get<0>(r); };
  compiles("of tuples, whole", counts.join(counts, first, first));
  compiles("grouped", trades()
                          .join(symbols, symbol, id, [](auto t, auto s) { return query::make<Pair>(t.symbol, s.rate); })
                          .group_by([](auto p) { return p.a; })
                          .select([](auto g) { return g.sum([](auto p) { return p.b; }); }));
}

TEST_F(generated_kernels, of_joins_that_keep_rows_without_a_partner) {
  const auto symbols = query::from(symbols_);
  const auto id = [](auto s) { return s.id; };
  const auto symbol = [](auto t) { return t.symbol; };
  const auto either = [](auto t, auto s) {
    return query::make<Pair>(t.has_value() ? t->symbol : decltype(t->symbol)(-1), s.has_value() ? s->rate : decltype(s->rate)(0.0));
  };
  compiles("right", trades().right_join(symbols, symbol, id,
                                        [](auto t, auto s) { return query::make<Pair>(t.has_value() ? t->symbol : s.id, s.rate); }));
  compiles("full", trades().full_join(symbols, symbol, id, either));
  const std::vector<Triple> rows(4000);
  const auto few = query::from(rows).as_accelerated().where([](auto t) { return t.c > 2; });
  compiles("full, of filtered rows", few.full_join(
                                         symbols.where([](auto s) { return s.rate > 0; }), [](auto t) { return t.a; }, id,
                                         [](auto t, auto s) {
                                           return query::make<Pair>(t.has_value() ? t->a : decltype(t->a)(-1),
                                                                    s.has_value() ? s->rate : decltype(s->rate)(0.0));
                                         }));
  compiles("left, ordered", trades()
                                .left_join(symbols, symbol, id,
                                           [](auto t, auto s) { return query::make<Pair>(t.symbol, s.has_value() ? s->rate : t.price); })
                                .as_ordered());
}

TEST_F(generated_kernels, of_joins_that_test) {
  const std::vector<Triple> rows(5000), others(4000);
  const auto a = query::from(rows).as_accelerated(), b = query::from(others).as_accelerated();
  compiles("semi", a.semi_join(
                       b, [](auto t) { return t.a; }, [](auto t) { return t.a; }));
  compiles("anti, composite",
           a.anti_join(
               b, [](auto t) { return query::make<Pair>(t.a, t.b); }, [](auto t) { return query::make<Pair>(t.a, t.b); }));
  compiles("semi, wide keys", a.semi_join(
                                  b, [](auto t) { return t; }, [](auto t) { return t; }));
}

TEST_F(generated_kernels, of_cross_joins) {
  const std::vector<Triple> rows(300);
  const auto a = query::from(rows).as_accelerated();
  compiles("all pairs", a.cross_join(query::from(symbols_), [](auto t, auto s) { return query::make<Pair>(t.a, s.rate); }));
}

// All ways of joining, whatever the keys turn out to be.
template <class Q> void join_programs_compile(const char* what, const Q& q) {
  SCOPED_TRACE(what);
  const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
  const auto check = [](const join_sides& j, const query::ir::type* probe, const query::ir::type* build) {
    for (const bool wide : {false, true}) {
      if (wide && !j.keeps_build()) continue;
      for (const join_program p : {join_program::unique, join_program::general, join_program::side_by_side, join_program::presence}) {
        if (j.tests() != (p == join_program::presence)) continue;
        const join_kernels k = generate_join_kernels(j, whole_rows(probe), whole_rows(build), p, wide);
        EXPECT_NO_THROW((void)compiler::find()->compile(k.source.text(), embedded_sources(), 90, {})) << "program " << static_cast<int>(p);
        if (p != join_program::unique || (k.key_bytes != 4 && k.key_bytes != 8)) continue;
        const join_kernels s = generate_join_kernels(j, whole_rows(probe), whole_rows(build), join_program::scattered, wide);
        EXPECT_NO_THROW((void)compiler::find()->compile(s.source.text(), embedded_sources(), 90, {})) << "scattered";
      }
    }
  };
  int joins = 0;
  for (const query::planner::stage& s : g->result.stages)
    if (s.join) check({s.join, s.build_left}, s.in, s.build->row()), ++joins;
  for (const auto& v : g->vertices)
    if (v->node && v->node->what == query::detail::verb::join) check({v->node, false}, v->inputs[0].row, v->inputs[1].row), ++joins;
  EXPECT_EQ(joins, 1);
}

TEST_F(generated_kernels, of_all_ways_to_join) {
  const auto symbols = query::from(symbols_);
  const auto id = [](auto s) { return s.id; };
  const auto symbol = [](auto t) { return t.symbol; };
  const auto either = [](auto t, auto s) {
    return query::make<Pair>(t.has_value() ? t->symbol : decltype(t->symbol)(-1), s.has_value() ? s->rate : decltype(s->rate)(0.0));
  };
  join_programs_compile("inner, built on the left side",
                        symbols.join(trades(), id, symbol, [](auto s, auto t) { return t.price * s.rate; }));
  join_programs_compile("inner", trades().join(symbols, symbol, id, [](auto t, auto s) { return t.price * s.rate; }));
  join_programs_compile("nulls", trades().left_join(
                                     trades(), [](auto t) { return t.lot; }, [](auto t) { return t.lot; },
                                     [](auto t, auto s) { return query::make<Pair>(t.symbol, s.has_value() ? s->price : t.price); }));
  join_programs_compile("full", trades().full_join(symbols, symbol, id, either));
  join_programs_compile("anti", symbols.anti_join(trades(), id, symbol));
  const std::vector<Triple> rows(10);
  const auto a = query::from(rows);
  const auto itself = [](auto t) { return t; };
  join_programs_compile("wide keys", a.full_join(a, itself, itself, [](auto s, auto t) {
    return query::make<Pair>(s.has_value() ? s->a : decltype(s->a)(0), t.has_value() ? t->b : decltype(t->b)(0));
  }));
  join_programs_compile("strings", trades().left_join(
                                       trades(), [](auto t) { return t.name; }, [](auto t) { return t.name; },
                                       [](auto t, auto s) { return query::make<Pair>(t.symbol, s.has_value() ? s->price : t.price); }));
  join_programs_compile("wide keys with nulls", trades().join(
                                                    trades(), [](auto t) { return std::make_tuple(t.lot, t.price, t.qty); },
                                                    [](auto t) { return std::make_tuple(t.lot, t.price, t.qty); },
                                                    [](auto s, auto t) { return s.price * t.price; }));
  join_programs_compile("numbers of different types",
                        trades().join(
                            symbols, [](auto t) { return t.qty; }, id, [](auto t, auto s) { return t.price * s.rate; }));
}

TEST_F(generated_kernels, of_group_joins) {
  const auto symbols = query::from(symbols_).as_accelerated();
  const auto notes = query::from(notes_).as_accelerated();
  const auto id = [](auto s) { return s.id; };
  const auto symbol = [](auto t) { return t.symbol; };
  compiles("a count", symbols.group_join(trades(), id, symbol, [](auto s, auto own) { return std::make_pair(s.id, own.size()); }));
  compiles("sums and extremes", symbols.group_join(trades(), id, symbol, [](auto s, auto own) {
    return query::make<Pair>(
        s.id, own.empty() ? s.rate : query::max(own, [](auto t) { return t.price; }) + query::sum(own, [](auto t) { return t.price; }));
  }));
  compiles("the matches themselves", symbols.group_join(symbols, id, id, [](auto s, auto own) { return std::make_pair(s, own); }));
  compiles("matches with strings", symbols.group_join(notes, id, id, [](auto s, auto own) { return std::make_tuple(s.id, own); }));
  compiles("keys that are strings",
           notes.group_join(
               trades(), [](auto n) { return n.name; }, [](auto t) { return t.name; },
               [](auto n, auto own) { return query::sum(own, [&](auto t) { return t.qty + query::cast<std::int64_t>(n.id); }); }));
  compiles("new strings", notes.group_join(
                              symbols, id, id, [](auto n, auto own) { return std::make_pair(query::to_upper(n.name), own.size()); }));
  compiles("filtered sides", symbols.where([](auto s) { return s.rate > 1; })
                                 .group_join(trades().where([](auto t) { return t.hot; }), id, symbol,
                                             [](auto s, auto own) { return query::count(own, [&](auto t) { return t.price > s.rate; }); }));
  // The function names the type of its list: it is the host's.
  const auto q =
      symbols.group_join(trades(), id, symbol, [](auto s, const std::vector<Trade>& own) { return std::make_pair(s.id, own.size()); });
  EXPECT_NE(q.in(session_).explain().find("cpu: not on gpu: the result of group_join is opaque"), std::string::npos)
      << q.in(session_).explain();
}

TEST(fields_of_joins, are_those_that_keys_and_result_read) {
  const std::vector<Triple> rows(3), others(3);
  const auto a = [](auto t) { return t.a; };
  const auto fields = [](const auto& q, bool build_side) {
    const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
    const query::planner::stage& s = g->result.stages.front();
    return fields_joined({s.join, s.build_left}, build_side);
  };
  using flags = std::vector<bool>;
  const auto inner = query::from(rows).join(query::from(others), a, a, [](auto l, auto r) { return l.b + query::cast<double>(r.c); });
  EXPECT_EQ(fields(inner, false), (flags{true, true, false}));
  EXPECT_EQ(fields(inner, true), (flags{true, false, true}));
  // A row that may be missing is made as a whole; tested rows are handed on.
  const auto left = query::from(rows).left_join(query::from(others), a, a, [](auto l, auto r) { return r.has_value() ? r->b : l.b; });
  EXPECT_EQ(fields(left, false), (flags{true, true, false}));
  EXPECT_EQ(fields(left, true), (flags{true, true, true}));
  const auto semi = query::from(rows).semi_join(query::from(others), a, a);
  EXPECT_EQ(fields(semi, false), (flags{true, true, true}));
  EXPECT_EQ(fields(semi, true), (flags{true, false, false}));
}

}  // namespace
}  // namespace generated
