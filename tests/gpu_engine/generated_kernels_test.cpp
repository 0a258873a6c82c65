// Every kernel that the operators generate compiles, for the forms of rows, keys and aggregates that change its text. Needs
// NVRTC and no GPU. This file: row-wise work, sets, sorts, folds and runs.
#include "gpu_engine/generated_kernels.hpp"
#include "runtime/executor.hpp"

namespace generated {
namespace {

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
  compiles("grouped",
           trades().select_many([](auto t) { return t.x; }).group_by([](auto x) { return query::cast<int>(x); }).select([](auto g) {
             return std::make_tuple(g.key(), g.count());
           }));
  compiles("arrays made of fields", trades().select_many([](auto t) { return std::array{t.price, t.price * 2}; }).order());
}

TEST_F(generated_kernels, of_functions_of_row_numbers) {
  compiles("index", trades().select([](auto t) { return t.qty; }).index());
  compiles("select", trades().select([](auto t, auto i) { return t.qty * i; }));
  compiles("where", trades().where([](auto t, auto i) { return i % 3 == 0 && t.hot; }).select([](auto t) { return t.price; }));
  compiles("behind a filter",
           trades().where([](auto t) { return t.hot; }).select([](auto t, auto i) { return std::make_tuple(i, t.price); }));
}

TEST_F(generated_kernels, of_orders) {
  const std::vector<Triple> rows(5000);
  const auto all = query::from(rows).as_accelerated();
  compiles("double", all.order_by([](auto t) { return t.b; }));
  compiles("descending, then by", all.order_by_descending([](auto t) { return t.a; }).then_by([](auto t) { return t.c; }));
  compiles("after where", all.where([](auto t) { return t.a > 1; }).order_by([](auto t) { return query::make<Pair>(t.a, t.b); }));
  compiles("top", all.order_by([](auto t) { return t.c * t.a; }).take(10));
  compiles("top of projected rows", all.where([](auto t) { return t.a > 1; })
                                        .select([](auto t) { return query::make<Pair>(t.a, t.b * 2.0); })
                                        .order_by_descending([](auto p) { return p.b; })
                                        .then_by([](auto p) { return p.a; })
                                        .take(10));
  compiles("top of numbered rows",
           all.where([](auto t, auto i) { return i % 3 == 0 && t.a > 1; }).order_by([](auto t) { return t.b > 3; }).take(10));
}

struct Boxed {
  std::array<float, 1> value;
};
QUERY_RECORD(Boxed, value);

TEST_F(generated_kernels, of_orders_of_numbers) {
  const std::vector<Trade> rows(3000);
  const auto all = query::from(rows).as_accelerated();
  const auto both = [&](const char* what, const auto& numbers) {
    compiles(what, numbers.order());
    compiles(what, numbers.order_descending());
  };
  const auto itself = [](auto x) { return x; };
  both("double", all.select([](auto t) { return t.price; }));
  both("float", all.select([](auto t) { return t.weight; }));
  both("bool", all.select([](auto t) { return t.hot; }));
  both("i16", all.select([](auto t) { return t.level; }));
  both("i64", all.select([](auto t) { return t.qty; }));
  both("u8", all.select([](auto t) { return query::cast<std::uint8_t>(t.level); }));
  const std::vector<Boxed> boxed(3000);
  compiles("records of one number, by it", query::from(boxed).as_accelerated().order_by([](auto b) { return b.value[0]; }));
  compiles("records of one number, by themselves", query::from(boxed).as_accelerated().order_by_descending(itself));
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

TEST_F(generated_kernels, of_strings_that_keys_and_results_make) {
  const auto notes = query::from(notes_).as_accelerated();
  const auto upper = [](auto n) { return query::to_upper(n.name); };
  const auto id = [](auto n) { return n.id; };
  compiles("groups", notes.where([](auto n) { return n.id > 0; }).group_by(upper).select([](auto g) {
    return std::make_tuple(g.key(), g.max([](auto n) { return n.name + "!"; }), g.arg_min([](auto n) { return "<" + n.name; }));
  }));
  compiles("groups with values side by side", notes.group_by(upper).select([](auto g) {
    return std::make_tuple(g.key() + "!", g.count_distinct([](auto n) { return query::to_lower(n.name); }));
  }));
  compiles("the first of an order", notes.order_by(upper).then_by([](auto n) { return (n.name + n.name).size(); }).take(10));
  compiles("sets", notes.union_with_by(notes.where([](auto n) { return n.id > 3; }), upper));
  compiles("joins", notes.join(notes, upper, upper, [](auto a, auto b) { return a.name + b.name; }));
  compiles("outer joins", notes.full_join(notes, id, id, [](auto a, auto b) {
    return query::iff(a.has_value(), a->name, "none") + query::iff(b.has_value(), b->name, "none");
  }));
  compiles("lists of matches", notes.group_join(notes, upper, upper, [](auto a, auto own) { return std::make_tuple(a.id, own); }));
}

TEST_F(generated_kernels, of_functions_of_strings_are_made_for_length_alone) {
  const auto notes = query::from(notes_).as_accelerated();
  compiles("length", notes.where([](auto n) { return query::length(n.name) > 3; }));
  const auto reason = [&](auto key) {
    const auto groups = notes.group_by(key).select([](auto g) { return g.count(); });
    const auto g = query::planner::make_machine_graph(groups.to_pipe(), "", {.gpu_status = ""});
    return engine_->accepts(*g->vertices.back()).why;
  };
  const auto why_not = [](const std::string& f) { return "the function " + f + " has no form on the GPU"; };
  EXPECT_EQ(reason([](auto n) { return query::trim(n.name); }), why_not("trim"));
  EXPECT_EQ(reason([](auto n) { return query::lower(n.name); }), why_not("lower"));
  EXPECT_EQ(reason([](auto n) { return query::parse<int>(n.name); }), why_not("parse<i32>"));
  EXPECT_EQ(reason([](auto n) { return query::to_string(n.id); }), why_not("to_string"));
  EXPECT_EQ(reason([](auto n) { return query::split(n.name, ",").size(); }), why_not("split"));
}

TEST_F(generated_kernels, are_not_made_for_tests_of_slices_that_make_strings) {
  const auto notes = query::from(notes_).as_accelerated();
  const auto reason = [&](const auto& q) {
    const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
    return engine_->accepts(*g->vertices.back()).why;
  };
  const std::string wanted = "new strings are made by where, select, keys, arguments and results only; select them before";
  EXPECT_EQ(reason(notes.take_while([](auto n) { return query::to_upper(n.name) == "A"; })), wanted);
}

TEST_F(generated_kernels, of_orders_by_strings) {
  const auto notes = query::from(notes_).as_accelerated();
  compiles("names", notes.order_by([](auto n) { return n.name; }));
  compiles("the first names", notes.order_by_descending([](auto n) { return n.name; }).take(10));
  compiles("the first of several", notes.order_by([](auto n) { return n.text; }, query::nulls::first)
                                       .then_by([](auto n) { return query::sum(n.marks); })
                                       .then_by([](auto n) { return n.name; })
                                       .take(10));
  compiles("several", notes.order_by_descending([](auto n) { return n.text; }).then_by([](auto n) { return n.id; }).then_by([](auto n) {
    return std::make_tuple(n.name, n.id);
  }));
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

struct Wide {
  std::int64_t id;
  std::array<double, 12> x;
};
QUERY_RECORD(Wide, id, x);

TEST_F(generated_kernels, of_partitions) {
  const auto notes = query::from(notes_).as_accelerated();
  const auto hashed = [&](const char* what, const auto& rows, auto key) { compiles(what, rows.hash_partitioned_by(key, 7)); };
  const auto ranged = [&](const char* what, const auto& rows, auto key) { compiles(what, rows.range_partitioned_by(key, 300)); };
  const auto both = [&](const char* what, const auto& rows, auto key) { hashed(what, rows, key), ranged(what, rows, key); };
  both("an integer", trades(), [](auto t) { return t.symbol; });
  both("a double", trades(), [](auto t) { return t.price; });
  both("a float that is computed", trades(), [](auto t) { return t.weight * 2; });
  both("a small integer", trades(), [](auto t) { return t.level; });
  both("a bool", trades(), [](auto t) { return t.hot; });
  both("an optional", trades(), [](auto t) { return t.lot; });
  both("an array", trades(), [](auto t) { return t.x; });
  both("a record", trades(), [](auto t) { return query::make<Pair>(t.symbol, t.price); });
  both("a tuple of one", trades(), [](auto t) { return std::make_tuple(t.qty); });
  both("a record in a record", trades(), [](auto t) { return std::make_tuple(query::make<Pair>(t.symbol, t.price), t.lot, t.x); });
  both("strings", notes, [](auto n) { return n.name; });
  both("optional strings", notes, [](auto n) { return n.text; });
  both("strings beside numbers", notes, [](auto n) { return std::make_tuple(n.name, n.id); });
  hashed("lists", notes, [](auto n) { return n.marks; });
  hashed("lists of strings", notes, [](auto n) { return n.words; });
  const std::vector<Wide> wide(3000);
  both("wide rows", query::from(wide).as_accelerated(), [](auto w) { return w.id; });
  compiles("more partitions than a byte", trades().hash_partitioned_by([](auto t) { return t.qty / 1; }, 1000));
  compiles("runs of rows that were selected", trades().select([](auto t) { return t.qty * 3; }).partitioned(3));
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

TEST_F(generated_kernels, of_tests_that_may_fail_behind_the_border) {
  const std::vector<Triple> rows(5000);
  compiles("take_while", query::from(rows).as_accelerated().take_while([](auto t) { return 4 / t.a > 0; }));
  compiles("skip_while", query::from(rows).as_accelerated().skip_while([](auto t) { return 4 % t.a > 0; }));
}

TEST_F(generated_kernels, of_functions_of_runs) {
  const auto notes = query::from(notes_).as_accelerated();
  compiles("a sum",
           trades().chunk(3, [](auto run) { return query::sum(run, [](auto t) { return t.price; }) / query::cast<double>(run.size()); }));
  compiles("elements", trades().window(
                           3, [](auto run) { return query::make<Pair>(run[0].symbol, run.back().price - run.front().price); }, 2));
  compiles("strings and lists", notes.chunk(5, [](auto run) {
    return std::make_pair(run.front().name, query::sum(run, [](auto n) { return n.marks.size(); }));
  }));
  compiles("captured rows", trades().window(2, [limits = query::broadcast(std::vector<double>{1, 2})](auto run) {
    return query::any(run, [&](auto t) { return t.price > limits[0]; });
  }));
  const auto here = [this](const auto& q) { return q.in(session_).explain(); };
  const std::string typed = here(trades().chunk(3, [](std::span<const Trade> run) { return run.size(); }));
  EXPECT_NE(typed.find("opaque: its parameter is not generic"), std::string::npos) << typed;
  const std::string many = here(trades().chunk(3, [](auto run) { return std::vector<std::size_t>(1, run.size()); }));
  EXPECT_NE(many.find("opaque: functions of this verb are not traced"), std::string::npos) << many;
  const std::string parts = here(trades().chunk(3, [](auto run) { return run.first(1).size(); }));
  EXPECT_NE(parts.find("a part of a run, or its memory"), std::string::npos) << parts;
}

TEST_F(generated_kernels, of_folds) {
  const auto q = trades().select([](auto t) { return t.price; });
  const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
  query::runtime::cancel_flag cancel;
  query::runtime::run_context context{*session_.state()->scheduler, session_.state()->pool, cancel};
  using query::detail::fold_kind;
  for (const fold_kind kind : {fold_kind::count, fold_kind::sum, fold_kind::min, fold_kind::max}) {
    const auto v = query::planner::fold_vertex(*g, kind);
    ASSERT_TRUE(engine_->accepts(v));
    EXPECT_NO_THROW((void)query::runtime::run_on(*engine_, v, *session_.state()->cpu, context));
  }
  EXPECT_EQ(compiled_, 4);
  // The sum behind a mean of 64-bit integers is no integer.
  const auto wide = trades().select([](auto t) { return t.qty; });
  const auto of_wide = query::planner::make_machine_graph(wide.to_pipe(), "", {.gpu_status = ""});
  for (const fold_kind kind : {fold_kind::sum, fold_kind::average}) {
    const auto v = query::planner::fold_vertex(*of_wide, kind);
    EXPECT_NO_THROW((void)query::runtime::run_on(*engine_, v, *session_.state()->cpu, context));
  }
  EXPECT_EQ(compiled_, 6);
}

}  // namespace
}  // namespace generated
