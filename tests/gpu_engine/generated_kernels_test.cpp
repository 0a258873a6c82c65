// Every kernel that the operators generate compiles, for the forms of rows, keys and aggregates that change its text. Needs
// NVRTC and no GPU: the engine runs on the driver double, whose kernels do nothing, so that results mean nothing either.
#include <gtest/gtest.h>

#include <cstring>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/operators/group_kernels.hpp"
#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

struct Trade {
  std::int32_t symbol;
  double price;
  std::int64_t qty;
  float weight;
  std::optional<int> lot;
  std::array<float, 4> x;
  bool hot;
  std::int16_t level;
  std::string name;
};
QUERY_RECORD(Trade, symbol, price, qty, weight, lot, x, hot, level, name);
struct Pair {
  int a;
  double b;
};
QUERY_RECORD(Pair, a, b);
struct Triple {
  int a;
  double b;
  std::int64_t c;
};
QUERY_RECORD(Triple, a, b, c);
struct Symbol {
  std::int32_t id;
  double rate;
};
QUERY_RECORD(Symbol, id, rate);
struct Note {
  std::int32_t id;
  std::string name;
  std::optional<std::string> text;
  std::vector<double> marks;
  std::vector<std::string> words;
};
QUERY_RECORD(Note, id, name, text, marks, words);

struct Place {
  std::int32_t tag;
  std::array<float, 20> x;
};
QUERY_RECORD(Place, tag, x);

class generated_kernels : public testing::Test {
 protected:
  void SetUp() override {
    if (!compiler::find()) GTEST_SKIP() << "SKIPPED: no NVRTC: " << compiler::why_not();
    for (const char* entry : {"collect_rows", "fold_rows", "sample_groups", "init_table", "grow_table", "aggregate_rows", "emit_table",
                              "aggregate_shared_rows", "merge_partials", "gather_rows", "build_rows", "probe_rows", "add_unmatched",
                              "pair_all", "first_rows_of_keys", "more_rows_of_keys", "mark_keys", "flag_first_rows", "keep_flagged",
                              "find_first_failing", "count_rows", "count_digits", "sort_by_number", "put_in_order", "map_build",
                              "lookup_probe", "keep_rows", "count_build", "shuffle_build", "scan_sizes", "count_output", "scan_output",
                              "list_output", "expand_output", "count_ranks", "sweep_ranks", "count_text_0", "sweep_text_0",
                              "rank_text_0", "count_text_1", "sweep_text_1", "rank_text_1", "map_rows", "number_rows", "number_groups",
                              "fold_segments", "fold_level", "place_lists", "take_elements", "prepare_table", "find_nearest_rows",
                              "find_candidates", "compare_candidates", "init_labels", "sum_labels", "emit_labels"})
      fake_.add_kernel(entry, [](void**) {});
    // Fetched strings and lists are empty.
    fake_.add_kernel("measure_heap", [](void** arguments) { argument<std::uint64_t*>(arguments, 3)[argument<std::uint64_t>(arguments, 1)] = 0; });
    fake_.add_kernel("pack_heap", [this](void** arguments) {
      std::memset(argument<void*>(arguments, 4), 0, argument<std::uint64_t>(arguments, 1) * packed_bytes_);
    });
    for (int i = 0; i < 8; ++i)
      for (const char* pass : {"count_", "sweep_", "value_words_", "group_words_"}) fake_.add_kernel(pass + std::to_string(i), [](void**) {});
    pretended_.emplace(fake_.calls(), 0);
    // What compiles is checked; the double does not look at the code.
    kernels_.emplace(
        kernel_cache::settings{.headers = embedded_sources(), .options = {}, .folder = "", .compile = [this](std::string_view source, int) {
                                 ++compiled_;
                                 compiled result = compiler::find()->compile(source, embedded_sources(), 90, {});
                                 // The double takes an image that lists its entries.
                                 const std::string image = "image:" + std::string(source);
                                 result.cubin.assign(reinterpret_cast<const std::byte*>(image.data()),
                                                     reinterpret_cast<const std::byte*>(image.data() + image.size() + 1));
                                 return result;
                               }});
    engine_ = make_engine(*pretended_, {std::size_t{64} << 20, 0}, *kernels_);
    session_.add_engine(engine_);
  }

  template <class T> static T argument(void** arguments, int i) {
    T value;
    std::memcpy(&value, arguments[i], sizeof value);
    return value;
  }

  // The query's vertices run on the double; it has kernels to compile.
  template <class Q> void compiles(const char* what, const Q& q) {
    SCOPED_TRACE(what);
    const auto here = q.in(session_);
    EXPECT_NE(here.explain().find("gpu: "), std::string::npos) << here.explain();
    const int before = compiled_;
    packed_bytes_ = device_layout(query::ir::describe<typename decltype(here.to_vector())::value_type>()).size;
    EXPECT_NO_THROW((void)here.to_vector());
    EXPECT_GT(compiled_, before) << "the same kernels as before";
    EXPECT_EQ(here.explain().find("the last run went to the cpu"), std::string::npos) << here.explain();
  }
  auto trades() { return query::from(trades_).as_accelerated(); }

  std::vector<Trade> trades_ = std::vector<Trade>(3000);
  std::vector<Symbol> symbols_ = std::vector<Symbol>(100);
  std::vector<Note> notes_ = std::vector<Note>(3000);
  driver_double fake_;
  std::optional<device> pretended_;
  std::optional<kernel_cache> kernels_;
  std::shared_ptr<query::runtime::engine> engine_;
  query::Session session_{{.threads = 2, .gpu = query::gpu_use::off}};
  int compiled_ = 0;
  std::size_t packed_bytes_ = 0;  // of a fetched row
};

TEST_F(generated_kernels, of_row_wise_verbs) {
  compiles("select", trades().select([](auto t) { return t.price * query::cast<double>(t.qty); }));
  compiles("where, select", trades().where([](auto t) { return t.qty > 3 && t.name == "IBM"; }).select([](auto t) {
    return query::make<Pair>(t.symbol, t.price);
  }));
  compiles("an optional", trades().where([](auto t) { return t.lot.has_value(); }).select([](auto t) { return t.lot; }));
  compiles("an array", trades().select([](auto t) { return t.x; }));
}

TEST_F(generated_kernels, of_select_many) {
  const auto notes = query::from(notes_).as_accelerated();
  compiles("arrays", trades().select_many([](auto t) { return t.x; }));
  compiles("arrays, filtered before and behind", trades()
                                                     .where([](auto t) { return t.qty > 1; })
                                                     .select_many([](auto t) { return t.x; })
                                                     .where([](auto x) { return x > 0; })
                                                     .select([](auto x) { return x * 2; }));
  compiles("lists", notes.select_many([](auto n) { return n.marks; }));
  compiles("lists of strings", notes.where([](auto n) { return n.id > 0; }).select_many([](auto n) { return n.words; }));
  compiles("grouped", trades().select_many([](auto t) { return t.x; }).group_by([](auto x) { return query::cast<int>(x); }).select([](auto g) {
    return std::make_tuple(g.key(), g.count());
  }));
  compiles("arrays made of fields", trades().select_many([](auto t) { return std::array{t.price, t.price * 2}; }).order());
}

TEST_F(generated_kernels, of_functions_of_row_numbers) {
  compiles("index", trades().select([](auto t) { return t.qty; }).index());
  compiles("select", trades().select([](auto t, auto i) { return t.qty * i; }));
  compiles("where", trades().where([](auto t, auto i) { return i % 3 == 0 && t.hot; }).select([](auto t) { return t.price; }));
  compiles("behind a filter", trades().where([](auto t) { return t.hot; }).select([](auto t, auto i) { return std::make_tuple(i, t.price); }));
}

TEST_F(generated_kernels, of_orders) {
  const std::vector<Triple> rows(5000);
  const auto all = query::from(rows).as_accelerated();
  compiles("double", all.order_by([](auto t) { return t.b; }));
  compiles("descending, then by", all.order_by_descending([](auto t) { return t.a; }).then_by([](auto t) { return t.c; }));
  compiles("after where", all.where([](auto t) { return t.a > 1; }).order_by([](auto t) { return query::make<Pair>(t.a, t.b); }));
  compiles("top", all.order_by([](auto t) { return t.c; }).take(10));
}

TEST_F(generated_kernels, of_rows_that_hold_strings_and_lists) {
  const auto notes = query::from(notes_).as_accelerated();
  compiles("strings", notes.select([](auto n) { return n.name; }));
  compiles("whole rows", notes.where([](auto n) { return n.id > 1; }));
  compiles("optional strings", notes.where([](auto n) { return n.text.has_value(); }).select([](auto n) { return n.text; }));
  compiles("lists", notes.select([](auto n) { return n.marks; }));
  compiles("a literal", notes.select([](auto n) { return std::make_tuple(query::iff(n.id > 3, n.name, "none"), n.id); }));
  compiles("a part", notes.select([](auto n) { return n.name.substr(0, 3); }));
  compiles("sorted", notes.order_by([](auto n) { return n.id; }));
  compiles("groups by name", notes.group_by([](auto n) { return n.name; }).select([](auto g) {
    return std::make_tuple(g.key(), g.count());
  }));
  compiles("groups by lists", notes.group_by([](auto n) { return n.words; }).select([](auto g) { return g.count(); }));
  compiles("firsts", notes.group_by([](auto n) { return n.id; }).select([](auto g) {
    return std::make_tuple(g.key(), g.first([](auto n) { return n.name; }), g.last([](auto n) { return n.text; }));
  }));
}

TEST_F(generated_kernels, of_new_strings) {
  const auto notes = query::from(notes_).as_accelerated();
  compiles("joined", notes.select([](auto n) { return "<" + n.name + ">"; }));
  compiles("kept", notes.where([](auto n) { return query::to_upper(n.name) == "A"; }).select([](auto n) {
    return std::make_tuple(n.id, query::to_lower(n.name));
  }));
  compiles("then grouped", notes.select([](auto n) { return n.name + "!"; }).group_by([](auto n) { return n; }).select([](auto g) {
    return std::make_tuple(g.key(), g.count());
  }));
}

TEST_F(generated_kernels, are_not_made_for_keys_that_make_strings) {
  const auto notes = query::from(notes_).as_accelerated();
  const auto upper = [](auto n) { return query::to_upper(n.name); };
  const auto reason = [&](const auto& q) {
    const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
    return engine_->accepts(*g->vertices.back()).why;
  };
  const std::string wanted = "new strings are made by where and select only; select them before";
  EXPECT_EQ(reason(notes.order_by(upper)), wanted);
  EXPECT_EQ(reason(notes.group_by(upper).select([](auto g) { return g.count(); })), wanted);
}

TEST_F(generated_kernels, of_orders_by_strings) {
  const auto notes = query::from(notes_).as_accelerated();
  compiles("names", notes.order_by([](auto n) { return n.name; }));
  compiles("several", notes.order_by_descending([](auto n) { return n.text; }).then_by([](auto n) { return n.id; }).then_by([](auto n) {
    return std::make_tuple(n.name, n.id);
  }));
}

TEST_F(generated_kernels, of_joins) {
  const auto symbols = query::from(symbols_);
  const auto id = [](auto s) { return s.id; };
  const auto symbol = [](auto t) { return t.symbol; };
  compiles("inner", trades().join(symbols, symbol, id, [](auto t, auto s) { return t.price * s.rate; }));
  compiles("left", trades().left_join(symbols, symbol, id,
                                      [](auto t, auto s) { return query::make<Pair>(t.symbol, s.has_value() ? s->rate : t.price); }));
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

TEST_F(generated_kernels, of_sets) {
  const std::vector<Triple> rows(5000), others(4000);
  const std::vector<int> numbers(3000);
  const auto a = query::from(rows).as_accelerated(), b = query::from(others).as_accelerated();
  compiles("distinct numbers", query::from(numbers).as_accelerated().distinct());
  compiles("distinct rows", a.distinct());
  compiles("distinct_by", a.where([](auto t) { return t.c > 0; }).distinct_by([](auto t) { return t.b; }));
  compiles("union", a.union_with(b));
  compiles("union_by", a.union_with_by(b, [](auto t) { return t.a; }));
  compiles("intersect", a.intersect(b));
  compiles("except_by", a.except_by(b, [](auto t) { return query::make<Pair>(t.a, t.b); }));
}

TEST_F(generated_kernels, of_rows_by_their_place) {
  const std::vector<Triple> rows(5000), others(4000);
  const auto a = query::from(rows).as_accelerated(), b = query::from(others).as_accelerated();
  const auto notes = query::from(notes_).as_accelerated();
  compiles("take, behind a filter", a.where([](auto t) { return t.c > 3; }).take(10));
  compiles("take_while", a.take_while([](auto t) { return t.c < 3; }));
  compiles("skip_while, strings", notes.skip_while([](auto n) { return n.name.size() < 3; }));
  compiles("reverse", a.reverse());
  compiles("reverse, strings and lists", notes.reverse());
  compiles("sample", a.sample(100));
  compiles("concat of columns", notes.concat(notes.where([](auto n) { return n.id > 3; })));
  compiles("zip", a.zip(b, [](auto x, auto y) { return query::make<Pair>(x.a, y.b); }));
  compiles("zip with strings", a.zip(notes, [](auto x, auto y) { return std::make_tuple(x.a, y.name); }));
  compiles("chunks", a.chunk(7));
  compiles("chunks of rows that hold strings and lists", notes.chunk(7));
  compiles("windows of projected rows", a.select([](auto t) { return t.b; }).window(7));
  compiles("range", query::range(std::int64_t{5}, 5000).as_accelerated().where([](auto x) { return x % 7 == 0; }));
  compiles("repeat", query::repeat(Pair{1, 2}, 5000).as_accelerated().select([](auto p) { return p.b; }));
}

// Pairs of joins and zip without a function, and the records of index(): rows that the library describes itself.
TEST_F(generated_kernels, of_pairs_and_numbered_rows) {
  const std::vector<Triple> rows(5000), others(4000);
  const auto a = query::from(rows).as_accelerated(), b = query::from(others).as_accelerated();
  const auto notes = query::from(notes_).as_accelerated();
  const auto symbols = query::from(symbols_);
  const auto id = [](auto r) { return r.id; };
  compiles("zip", a.zip(b));
  compiles("zip with strings", a.zip(notes));
  compiles("join", notes.join(symbols, id, id));
  const std::vector<query::indexed<Triple>> numbered(5000);
  const std::vector<query::indexed<Note>> numbered_notes(3000);
  compiles("numbered rows", query::from(numbered).as_accelerated().where([](auto r) { return r.index > 7 && r.value.b < 3; }));
  compiles("numbered rows that hold strings", query::from(numbered_notes).as_accelerated().order_by([](auto r) { return r.value.name; }));
  compiles("groups of numbered rows", query::from(numbered).as_accelerated().group_by([](auto r) { return r.value.a; }).select([](auto g) {
    return std::make_pair(g.key(), g.max([](auto r) { return r.index; }));
  }));
}

TEST_F(generated_kernels, of_results_that_hold_strings) {
  const auto notes = query::from(notes_).as_accelerated();
  const auto symbols = query::from(symbols_);
  const auto id = [](auto n) { return n.id; };
  const auto both = [](auto n, auto s) { return std::make_tuple(n.name, s.rate, n.words); };
  compiles("join", notes.join(symbols, id, id, both));
  compiles("join by strings", notes.join(notes, [](auto n) { return n.name; }, [](auto n) { return n.name; },
                                         [](auto a, auto b) { return std::make_tuple(a.text, b.name); }));
  compiles("semi_join", notes.semi_join(symbols, id, id));
  compiles("full_join", notes.full_join(symbols, id, id, [](auto n, auto s) {
    return std::make_tuple(query::iff(n.has_value(), n->name, "none"), s.has_value());
  }));
  compiles("cross_join", notes.cross_join(symbols, both));
  compiles("distinct_by", notes.distinct_by([](auto n) { return n.name; }));
  compiles("union", notes.union_with_by(notes.where([](auto n) { return n.id > 3; }), id));
  compiles("distinct strings", notes.select([](auto n) { return n.name; }).distinct());
}

TEST_F(generated_kernels, are_not_made_for_rows_that_the_cpu_hands_on) {
  const std::vector<Triple> rows(5000);
  const auto sums = query::from(rows).as_accelerated().chunk(7, [](std::span<const Triple> r) { return r.front().c; });
  EXPECT_EQ(sums.skip(3).in(session_).explain().find("  gpu: "), std::string::npos) << sums.skip(3).in(session_).explain();
  EXPECT_NE(sums.reverse().in(session_).explain().find("  gpu: "), std::string::npos);
}

TEST_F(generated_kernels, are_not_made_for_tests_that_may_fail_behind_the_border) {
  const std::vector<Triple> rows(5000);
  const auto q = query::from(rows).as_accelerated().take_while([](auto t) { return 4 / t.a > 0; });
  const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
  EXPECT_EQ(engine_->accepts(*g->vertices.back()).why, "its test may fail with an error, behind the first row that it rejects");
}

// All ways of joining, whatever the keys turn out to be.
template <class Q> void join_programs_compile(const char* what, const Q& q) {
  SCOPED_TRACE(what);
  const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
  const auto check = [](const join_sides& j, const query::ir::type* probe, const query::ir::type* build) {
    for (const bool wide : {false, true}) {
      if (wide && !j.keeps_build()) continue;
      for (const join_program p : {join_program::unique, join_program::general, join_program::presence}) {
        if (j.tests() != (p == join_program::presence)) continue;
        const join_kernels k = generate_join_kernels(j, whole_rows(probe), whole_rows(build), p, wide);
        EXPECT_NO_THROW((void)compiler::find()->compile(k.source.text(), embedded_sources(), 90, {})) << "program " << static_cast<int>(p);
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

TEST_F(generated_kernels, of_folds) {
  const auto q = trades().select([](auto t) { return t.price; });
  const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
  query::runtime::cancel_flag cancel;
  query::runtime::run_context context{*session_.state()->scheduler, session_.state()->pool, cancel};
  using query::detail::fold_kind;
  for (const fold_kind kind : {fold_kind::count, fold_kind::sum, fold_kind::min, fold_kind::max}) {
    ASSERT_TRUE(engine_->accepts_fold(g->result, g->captures, kind));
    query::detail::fold_state state;
    EXPECT_NO_THROW(engine_->fold(g->result, g->captures, kind, state, context));
  }
  EXPECT_EQ(compiled_, 4);
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
  group_programs_compile("names", trades().group_by([](auto t) { return t.name; }).select([](auto g) { return g.count(); }));
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
