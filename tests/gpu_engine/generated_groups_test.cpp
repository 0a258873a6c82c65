// The kernels of group_by and of aggregates compile, in every tier.
#include "gpu_engine/generated_kernels.hpp"
#include "gpu_engine/operators/aggregate_blocks.hpp"
#include "gpu_engine/operators/group_kernels.hpp"
#include "gpu_engine/out_of_core/group_stream.hpp"

namespace generated {
namespace {

TEST_F(generated_kernels, of_groups_with_their_rows) {
  const auto symbol = [](auto t) { return t.symbol; };
  compiles("numbers", query::from(symbols_).as_accelerated().group_by([](auto s) { return s.id; }).groups());
  compiles("strings, by a string, in order", trades().group_by([](auto t) { return t.name; }).groups().as_ordered());
  compiles("a part of them", trades().where([](auto t) { return t.hot; }).group_by(symbol).groups().skip(3));
  compiles("backwards", trades().group_by(symbol).groups().reverse());
}

// All tiers, whatever a sample would say.
template <class Q> void group_programs_compile(const char* what, const Q& q) {
  SCOPED_TRACE(what);
  const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
  for (const auto& v : g->vertices) {
    if (!v->node || v->node->what != query::detail::verb::group_by) continue;
    for (const group_program p : {group_program::sample, group_program::shared_thread, group_program::shared_warp,
                                  group_program::shared_block, group_program::partition_4, group_program::global}) {
      const group_kernels k = generate_group_kernels(*v, planned_layout(v->inputs.front(), group_fields(*v)), p);
      const bool atomics_only = p == group_program::shared_block || p == group_program::partition_4;
      if (atomics_only && !k.aggregates.atomic) continue;
      EXPECT_NO_THROW((void)compiler::find()->compile(k.source.text(), embedded_sources(), 90, {})) << "program " << static_cast<int>(p);
      // As devices exchange groups: by one tier, whose kernels are all others'.
      if (p != (k.aggregates.atomic ? group_program::partition_4 : group_program::shared_warp) || !k.key.bytes || k.aggregates.row_numbers)
        continue;
      const input_layout in = planned_layout(v->inputs.front(), group_fields(*v));
      const group_kernels pairs = generate_group_kernels(*v, in, p, group_output::pairs), merges = group_stream::generate(*v, in);
      EXPECT_EQ(pairs.source.text().find("finish_group"), std::string::npos);
      for (const group_kernels* g : {&pairs, &merges})
        EXPECT_NO_THROW((void)compiler::find()->compile(g->source.text(), embedded_sources(), 90, {}))
            << (g == &pairs ? "pairs" : "merges");
    }
  }
}

TEST_F(generated_kernels, of_groups) {
  group_programs_compile("sum", trades().group_by([](auto t) { return t.symbol; }).select([](auto g) {
    return std::make_tuple(g.key(), g.sum([](auto t) { return t.price; }));
  }));
  group_programs_compile(
      "all that atomics can", trades().where([](auto t) { return t.qty > 3; }).group_by([](auto t) { return t.lot; }).select([](auto g) {
        return std::make_tuple(g.key(), g.count(), g.mean([](auto t) { return t.weight; }), g.min([](auto t) { return t.price; }),
                               g.max([](auto t) { return t.level; }), g.min([](auto t) { return t.lot; }),
                               g.sum([](auto t) { return t.x; }), g.any([](auto t) { return t.hot; }), g.all([](auto t) { return t.hot; }));
      }));
  group_programs_compile("moments and firsts",
                         trades().group_by([](auto t) { return query::make<Triple>(t.symbol, t.price, t.qty); }).select([](auto g) {
                           return std::make_tuple(g.key(), g.stddev([](auto t) { return t.weight; }), g.first([](auto t) { return t.qty; }),
                                                  g.last([](auto t) { return t.qty; }));
                         }));
  group_programs_compile("fields of the best and the first row", trades().group_by([](auto t) { return t.symbol; }).select([](auto g) {
    const auto best = g.arg_max([](auto t) { return t.price; });
    return std::make_tuple(g.key(), best.qty * 2, best.x, g.arg_min([](auto t) { return t.weight; }).lot, g.first().level, g.last().hot);
  }));
  // Sums of long arrays that lie in the input, behind a projection.
  const std::vector<Place> rows(100), middles(10);
  const auto places = query::from(rows).as_accelerated();
  const auto c = query::broadcast(middles);
  const auto near = places.select([c](auto p) {
    return std::pair(c.arg_min(p, [](auto p, auto m) { return query::squared_distance(p.x, m.x); }), p.x);
  });
  group_programs_compile("nearest", near.group_by([](auto a) { return a.first; }).select([](auto g) {
    return std::make_tuple(g.key(), g.sum([](auto a) { return a.second; }), g.count());
  }));
  const auto name = [](auto t) { return t.name; };
  group_programs_compile("extremes of strings", trades().group_by([](auto t) { return t.lot; }).select([=](auto g) {
    return std::make_tuple(g.key(), g.min(name), g.max(name), g.arg_min(name), g.arg_max(name).qty);
  }));
  group_programs_compile("names", trades().group_by([](auto t) { return t.name; }).select([](auto g) { return g.count(); }));
}

// What views strings does not outlive the rows: neither the states of blocks nor those of other devices.
TEST_F(generated_kernels, of_states_that_view_strings_are_not_for_blocks) {
  const auto blocks = [](const auto& q) {
    const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
    const query::planner::vertex& v = *g->vertices.front();
    return v.node->what == query::detail::verb::aggregate ? aggregate_blocks::why_not(v).empty()
                                                          : group_stream::possible(v, planned_layout(v.inputs.front(), group_fields(v)));
  };
  const auto name = [](auto t) { return t.name; };
  const auto price = [](auto t) { return t.price; };
  const auto symbols = trades().group_by([](auto t) { return t.symbol; });
  EXPECT_TRUE(blocks(symbols.select([=](auto g) { return g.min(price) == g.max(price); })));
  EXPECT_FALSE(blocks(symbols.select([=](auto g) { return g.min(name) == g.max(name); })));
  EXPECT_TRUE(blocks(trades().aggregate([=](auto g) { return std::make_pair(g.count(), g.min(price) == g.max(price)); })));
  EXPECT_FALSE(blocks(trades().aggregate([=](auto g) { return std::make_pair(g.count(), g.min(name) == g.max(name)); })));
}

// The sum behind a mean of 64-bit integers is a double; other integers are added up as such.
TEST_F(generated_kernels, of_means_of_integers) {
  const auto qty = [](auto t) { return t.qty; };
  const auto q = trades().group_by([](auto t) { return t.symbol; }).select([qty](auto g) {
    return std::make_tuple(g.sum(qty), g.mean(qty), g.mean([](auto t) { return t.level; }), g.mean([](auto t) { return t.lot; }));
  });
  group_programs_compile("means of integers", q);
  const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
  const query::planner::vertex& v = *g->vertices.front();
  const group_kernels k = generate_group_kernels(v, planned_layout(v.inputs.front(), group_fields(v)), group_program::global);
  for (const char* state : {"    i64 s0;", "    double s1;", "    i64 s2;", "    i64 s3;"})
    EXPECT_NE(k.source.text().find(state), std::string::npos) << state << "\n" << k.source.text();
}

// Large enough for a search of its own; its answers are the key, or a value.
TEST_F(generated_kernels, of_searches_for_the_nearest_row) {
  const std::vector<Place> rows(5000), middles(40);
  const auto places = query::from(rows).as_accelerated();
  const auto c = query::broadcast(middles);
  const auto answer = [c](auto p) { return c.arg_min(p, [](auto p, auto m) { return query::squared_distance(p.x, m.x); }); };
  const auto means = places.select([answer](auto p) { return std::pair(answer(p), p.x); })
                         .group_by([](auto a) { return a.first; })
                         .select([](auto g) { return std::make_pair(g.key(), g.mean([](auto a) { return a.second; })); });
  EXPECT_NE(means.in(session_).explain().find("nearest rows by squared distance"), std::string::npos) << means.in(session_).explain();
  compiles("means by label", means);
  compiles("counts by hash", places.group_by(answer).select([](auto g) { return std::make_pair(g.key(), g.count()); }));
  compiles("answers", places.where([](auto p) { return p.tag >= 0; }).select(answer));
}

TEST_F(generated_kernels, of_aggregates_that_want_the_rows_of_a_group_in_order) {
  compiles("distinct values and quantiles", trades().group_by([](auto t) { return t.symbol; }).select([](auto g) {
    return std::make_tuple(g.key(), g.count_distinct([](auto t) { return t.qty; }), g.median([](auto t) { return t.price; }),
                           g.quantile([](auto t) { return t.lot; }, 0.25), g.count_distinct([](auto t) { return t.lot; }),
                           g.sum([](auto t) { return t.price; }), g.stddev([](auto t) { return t.weight; }),
                           g.last([](auto t) { return t.qty; }), g.count());
  }));
  compiles("lists", trades().where([](auto t) { return t.qty > 3; }).group_by([](auto t) { return t.name; }).select([](auto g) {
    return std::make_tuple(g.key(), g.collect([](auto t) { return t.qty; }), g.collect([](auto t) { return t.name; }));
  }));
  compiles("text of the best row", trades().group_by([](auto t) { return t.lot; }).select([](auto g) {
    return std::make_tuple(g.key(), g.arg_max([](auto t) { return t.price; }).name, g.median([](auto t) { return t.price; }));
  }));
  compiles("ordered lists", trades().group_by([](auto t) { return t.lot; }).select([](auto g) {
    return std::make_tuple(g.key(), g.collect([](auto t) { return t.lot; }), g.arg_max([](auto t) { return t.price; }));
  }).as_ordered());
  const std::int64_t seed = 7;
  compiles("a fold of one's own", trades().group_by([](auto t) { return t.symbol; }).select([seed](auto g) {
    const auto update = [](auto s, auto t) { return s * 31 + t.qty; };
    return std::make_tuple(g.key(), g.aggregate(seed, update, [](auto a, auto b) { return a + b; }));
  }));
  const auto update = [](auto s, auto t) { return query::make<Triple>(s.a, s.b + t.price, s.c + t.qty); };
  const auto combine = [](auto a, auto b) { return query::make<Triple>(a.a, a.b + b.b, a.c + b.c); };
  compiles("a state that is a record", trades().aggregate_by([](auto t) { return t.symbol; }, Triple{0, 0, 0}, update, combine));
}

TEST_F(generated_kernels, of_aggregates_of_all_rows) {
  // Rows that the double's kernels do not count: what it gives is the aggregate of nothing.
  compiles("sums", trades().where([](auto t) { return t.qty > 3; }).aggregate([](auto g) {
    return std::make_tuple(g.count(), g.sum([](auto t) { return t.price; }), g.mean([](auto t) { return t.weight; }));
  }));
  compiles("moments", trades().aggregate([](auto g) {
    return std::make_tuple(g.variance([](auto t) { return t.price; }), g.arg_min([](auto t) { return t.weight; }));
  }));
  compiles("in order", trades().aggregate([](auto g) {
    return std::make_tuple(g.median([](auto t) { return t.price; }), g.count_distinct([](auto t) { return t.lot; }));
  }));
  compiles("strings", trades().aggregate([](auto g) {
    return std::make_tuple(g.count(), g.min([](auto t) { return t.name; }), g.arg_max([](auto t) { return t.name; }));
  }));
  compiles("different strings", trades().aggregate([](auto g) { return g.count_distinct([](auto t) { return t.name; }); }));
}

TEST_F(generated_kernels, of_groups_in_the_order_of_first_appearance) {
  group_programs_compile(
      "ordered",
      trades().group_by([](auto t) { return t.symbol; }).select([](auto g) { return std::make_tuple(g.key(), g.count()); }).as_ordered());
  group_programs_compile(
      "ordered firsts",
      trades().group_by([](auto t) { return t.lot; }).select([](auto g) { return g.first([](auto t) { return t.qty; }); }).as_ordered());
  const auto q = trades().group_by([](auto t) { return t.symbol; }).select([](auto g) { return g.count(); }).as_ordered();
  const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
  const query::planner::vertex& v = *g->vertices.front();
  const group_kernels k = generate_group_kernels(v, planned_layout(v.inputs.front(), group_fields(v)), group_program::global);
  EXPECT_NE(k.source.text().find("[at] = s.first_row;"), std::string::npos) << k.source.text();
  query::runtime::cancel_flag cancel;
  query::runtime::run_context context{*session_.state()->scheduler, session_.state()->pool, cancel};
  vertex_run run(std::make_shared<gpu_session>(*pretended_, std::size_t{64} << 20, *kernels_), {}, context);
  const int before = compiled_;
  const device_buffer numbers = run.allocate(100 * 8);
  EXPECT_NO_THROW((void)rows_in_order(query::ir::describe<Pair>(), run.allocate(100 * sizeof(Pair)), numbers, 100, run));
  EXPECT_EQ(compiled_, before + 3);  // count_digits, sort_by_number, put_in_order
}

}  // namespace
}  // namespace generated
