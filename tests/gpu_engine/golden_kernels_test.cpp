// The whole text of generated programs, compared with golden/*.cu: what code generation changes is seen as it is. It needs neither a
// GPU nor NVRTC; where there is NVRTC, the files are compiled as well.
#include <algorithm>
#include <filesystem>
#include <set>

#include "golden_text.hpp"
#include "gpu_engine/generated_kernels.hpp"
#include "gpu_engine/operators/group_kernels.hpp"
#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_engine/out_of_core/group_stream.hpp"
#include "gpu_engine/out_of_core/state_stream.hpp"
#include "source_folder.hpp"

namespace generated {
namespace {

struct Order {
  std::int32_t symbol;
  double price;
  std::int64_t qty;
  std::optional<std::int32_t> lot;
  std::array<float, 4> x;
  std::string name;
};
QUERY_RECORD(Order, symbol, price, qty, lot, x, name);

// Records rather than tuples, whose fields lie as the standard library has it.
struct Corner {
  float area, sum;
  std::array<float, 4> x;
};
QUERY_RECORD(Corner, area, sum, x);
struct Lot {
  std::optional<std::int32_t> number;
  std::string name;
};
QUERY_RECORD(Lot, number, name);
struct Total {
  std::int32_t symbol;
  double price;
  std::int64_t n, most;
};
QUERY_RECORD(Total, symbol, price, n, most);
struct Names {
  std::int32_t symbol;
  std::string least;
  std::int64_t qty;
};
QUERY_RECORD(Names, symbol, least, qty);
struct Lots {
  std::uint32_t id;
  std::int64_t n;
};
QUERY_RECORD(Lots, id, n);
struct Marks {
  std::int32_t id;
  std::vector<double> marks;
};
QUERY_RECORD(Marks, id, marks);
struct Spot {
  std::array<float, 20> x;
};
QUERY_RECORD(Spot, x);
struct Far {
  std::array<float, 100> x, y;
};
QUERY_RECORD(Far, x, y);
struct Spread {
  double low, high;
};
QUERY_RECORD(Spread, low, high);

const std::vector<Order> orders(3000);
const std::vector<Symbol> symbols(100);
const std::vector<Marks> lists(3000);
const std::vector<Spot> spots(3000), middles(30);
auto few_fields() { return query::from(symbols).as_accelerated(); }
auto rows() { return query::from(orders).as_accelerated(); }

template <class Q> auto graph_of(const Q& q) { return query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""}); }

// Compilers ask for the words of one expression in orders of their own.
// The sixty-fourth i would be the type i64.
TEST(kernel_source, gives_no_names_of_types) {
  kernel_source k;
  EXPECT_THROW(k.fresh("i"), query::internal_error);
  EXPECT_THROW(k.fresh("u"), query::internal_error);
  EXPECT_EQ(k.fresh("v"), "v1");
}

TEST(kernel_source, numbers_words_by_where_the_program_reads_them) {
  const auto program = [](bool backwards) {
    kernel_source k;
    std::string in, out;
    if (backwards) out = k.argument(1, "u64*"), in = k.argument(0, "const u64*");
    else in = k.argument(0, "const u64*"), out = k.argument(1, "u64*");
    (void)k.argument(7, "u64");  // in no program
    k.add("*" + out + " = *" + in + " + " + k.literal(query::ir::kind::u64, 3) + ";\n");
    k.add("*" + in + " = 0;\n");
    return k;
  };
  const kernel_source k = program(false);
  EXPECT_EQ(k.text(), program(true).text());
  EXPECT_EQ(k.words(), program(true).words());
  EXPECT_NE(k.text().find("*((u64*)p.w[0]) = *((const u64*)p.w[1]) + (u64)p.w[2];\n*((const u64*)p.w[1]) = 0;"), std::string::npos)
      << k.text();
  ASSERT_EQ(k.words().size(), 3u);
  EXPECT_EQ(k.words()[0].index, 1u);
}

std::set<std::string> golden_files() {
  std::set<std::string> found;
  for (const auto& f : std::filesystem::directory_iterator(QUERY_TEST_SOURCE_DIR "/gpu_engine/golden"))
    found.insert(f.path().filename().string());
  return found;
}

// Plans on a device that is only pretended: planning generates the programs that a run would compile.
class golden_kernels : public testing::Test {
 protected:
  static void expect_golden(const std::string& file, const std::string& text) {
    expect_golden_text("gpu_engine/golden/" + file, text);
    compared_.insert(file);
  }
  // All tests have run, and each said which files are its own.
  static void TearDownTestSuite() {
    const testing::TestSuite& suite = *testing::UnitTest::GetInstance()->current_test_suite();
    if (suite.test_to_run_count() != suite.total_test_count()) return;  // a filter left some out
    for (const std::string& file : golden_files())
      EXPECT_TRUE(compared_.contains(file)) << "no test makes tests/gpu_engine/golden/" << file << ": remove it";
  }

  // The programs of the query's vertices, one file each: NAME.cu, NAME_2.cu...
  template <class Q> void check(const std::string& name, const Q& q) {
    SCOPED_TRACE(name);
    const auto g = graph_of(q);
    const kernel_source::witness seen(true);
    for (const auto& v : g->vertices) expect_accepted(engine_->accepts(*v));
    if (!g->result.stages.empty()) {  // row-wise work that no breaker follows
      query::planner::vertex last;
      last.inputs = {g->result};
      last.captures = g->captures;
      last.accelerated = true;
      expect_accepted(engine_->accepts(last));
    }
    compare(name, seen.texts());
  }
  template <class Q> void check_fold(const std::string& name, const Q& q, query::detail::fold_kind kind) {
    SCOPED_TRACE(name);
    const auto g = graph_of(q);
    const kernel_source::witness seen(true);
    expect_accepted(engine_->accepts(query::planner::fold_vertex(*g, kind)));
    compare(name, seen.texts());
  }

 private:
  static void expect_accepted(const query::runtime::verdict& v) { EXPECT_TRUE(static_cast<bool>(v)) << v.why; }
  static void compare(const std::string& name, const std::vector<std::string>& texts) {
    EXPECT_FALSE(texts.empty());
    for (std::size_t i = 0; i < texts.size(); ++i)
      expect_golden(name + (i ? "_" + std::to_string(i + 1) : "") + ".cu", texts[i]);
  }

  inline static std::set<std::string> compared_;
  driver_double fake_;
  device pretended_{fake_.calls(), 0};
  kernel_cache kernels_{{.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view, int) { return compiled{}; }}};
  std::shared_ptr<query::runtime::engine> engine_ = make_engine(pretended_, {std::size_t{64} << 20, 0}, kernels_);
};

TEST_F(golden_kernels, filter_map_and_sum_are_one_pass) {
  const auto values = rows().where([](auto t) { return t.qty > 100; }).select([](auto t) { return t.price * query::cast<double>(t.qty); });
  check_fold("filter_map_sum", values, query::detail::fold_kind::sum);
}

TEST_F(golden_kernels, kept_rows_are_put_side_by_side) {
  check("where_select", rows().where([](auto t) { return t.price > 1.5 && t.qty < 7; }).select([](auto t) {
    return query::make<Pair>(t.symbol, t.price);
  }));
}

TEST_F(golden_kernels, branches) {
  check("branches", rows().select([](auto t) {
    if (t.qty > 100) return t.price * 2;
    if (t.symbol == 3 || t.price < 0) return -t.price;
    return t.price;
  }));
}

// Their values are words.
TEST_F(golden_kernels, captured_constants) {
  const double rate = 0.25;
  const std::int32_t least = 7;
  check("captured_constants", rows().where([least](auto t) { return t.symbol >= least; }).select([rate, least](auto t) {
    return t.price * rate + query::cast<double>(t.qty - least);
  }));
}

TEST_F(golden_kernels, captured_collections) {
  const auto table = query::broadcast(symbols);
  const auto known = [table](auto t) { return table.any(t, [](auto t, auto s) { return s.id == t.symbol && s.rate < t.price; }); };
  check("captured_collection", rows().where(known).select([table](auto t) {
    return table.sum(t, [](auto t, auto s) { return query::iff(s.id < t.symbol, s.rate, 0.0); });
  }));
}

TEST_F(golden_kernels, loops_whose_length_the_row_decides) {
  check("loop", rows().select([](auto t) {
    return query::loop(
        t.price, [&](auto x) { return query::abs(x * x - t.price) > 1e-9; }, [&](auto x) { return (x + t.price / x) / 2; });
  }));
}

TEST_F(golden_kernels, fixed_arrays) {
  check("fixed_arrays", rows().select([](auto t) { return query::make<Corner>(t.x[0] * t.x[3] - t.x[1] * t.x[2], query::sum(t.x), t.x); }));
}

TEST_F(golden_kernels, optionals) {
  check("optionals", rows().where([](auto t) { return t.lot.value_or(1) > 0; }).select([](auto t) {
    return std::make_pair(t.lot, *t.lot + 1);
  }));
}

TEST_F(golden_kernels, list_fields) {
  check("list_field", query::from(lists).as_accelerated().where([](auto t) { return query::any(t.marks, [](auto m) { return m > 2.5; }); })
                          .select([](auto t) { return query::make<Symbol>(t.id, query::sum(t.marks) / t.marks[0]); }));
}

TEST_F(golden_kernels, rows_of_elements) {
  check("select_many_of_array", query::from(spots).as_accelerated().select_many([](auto s) { return s.x; }));
  check("select_many_of_list", query::from(lists).as_accelerated().select_many([](auto t) { return t.marks; }));
}

// Loops over it go round.
TEST_F(golden_kernels, long_arrays) {
  const std::vector<Far> far(100);
  check("long_array", query::from(far).as_accelerated().select([](auto t) { return query::dot(t.x, t.y); }));
}

TEST_F(golden_kernels, integer_quotients_and_their_errors) {
  check("quotients", rows().select([](auto t) { return std::make_pair(t.qty / t.symbol, t.qty % 10); }));
}

TEST_F(golden_kernels, strings_that_are_made) {
  check("made_strings", rows().where([](auto t) { return t.name != "none"; }).select([](auto t) {
    return "<" + query::to_upper(t.name) + ">";
  }));
}

TEST_F(golden_kernels, partitions) {
  check("partition_by_hash", rows().hash_partitioned_by([](auto t) { return query::make<Lot>(t.lot, t.name); }, 8));
  check("partition_by_range", rows().range_partitioned_by([](auto t) { return t.price; }, 8));
}

// One group_by in the tiers that a sample of its keys chooses from.
TEST_F(golden_kernels, groups_in_every_tier) {
  const auto g = graph_of(rows().where([](auto t) { return t.qty > 3; }).group_by([](auto t) { return t.symbol; }).select([](auto g) {
    return query::make<Total>(g.key(), g.sum([](auto t) { return t.price; }), g.count(), g.max([](auto t) { return t.qty; }));
  }));
  const query::planner::vertex& v = *g->vertices.front();
  const std::pair<const char*, group_program> programs[] = {{"sample", group_program::sample},
                                                           {"shared_thread", group_program::shared_thread},
                                                           {"shared_warp", group_program::shared_warp},
                                                           {"shared_block", group_program::shared_block},
                                                           {"partition", group_program::partition_4},
                                                           {"global", group_program::global}};
  for (const auto& [name, program] : programs)
    expect_golden("group_by_" + std::string(name) + ".cu",
                  generate_group_kernels(v, planned_layout(v.inputs.front(), group_fields(v)), program).source.text());
}

// The same over blocks of rows that one table takes: it grows, and spills its groups.
TEST_F(golden_kernels, groups_of_blocks_of_rows) {
  const auto g = graph_of(few_fields().group_by([](auto s) { return s.id; }).select([](auto g) {
    return query::make<Symbol>(g.key(), g.sum([](auto s) { return s.rate; }));
  }));
  const query::planner::vertex& v = *g->vertices.front();
  expect_golden("group_by_blocks.cu", group_stream::generate(v, planned_layout(v.inputs.front(), group_fields(v))).source.text());
}

// A range's numbers, which lie in no memory, in blocks with tables of their own.
TEST_F(golden_kernels, groups_of_blocks_of_numbers_that_are_computed) {
  const auto g = graph_of(query::range(std::uint32_t{5}, 1000).as_accelerated().group_by([](auto i) { return i >> 3u; }).select([](auto g) {
    return query::make<Lots>(g.key(), g.count());
  }));
  const query::planner::vertex& v = *g->vertices.front();
  const input_layout numbers{v.inputs.front().source->row, {{0, v.inputs.front().source->row, true}}};
  expect_golden("group_by_computed_blocks.cu",
                generate_group_kernels(v, numbers, group_program::shared_thread, group_output::pairs).source.text());
}

// What branches has a name here: in which order a compiler evaluates the parts of an expression is its own affair, and a lambda is
// traced as it runs.
TEST_F(golden_kernels, aggregates_of_the_users) {
  const auto update = [](auto s, auto t) {
    const auto low = query::iff(t.rate < s.low, t.rate, s.low), high = query::iff(t.rate > s.high, t.rate, s.high);
    return query::make<Spread>(low, high);
  };
  const auto combine = [](auto a, auto b) {
    const auto low = query::iff(b.low < a.low, b.low, a.low), high = query::iff(b.high > a.high, b.high, a.high);
    return query::make<Spread>(low, high);
  };
  const auto own = few_fields().aggregate_by([](auto s) { return s.id; }, Spread{0, 0}, update, combine);
  check("aggregate_of_ones_own", own);
  const auto g = graph_of(own);
  const query::planner::vertex& v = *g->vertices.front();
  const input_layout in = planned_layout(v.inputs.front(), group_fields(v));
  EXPECT_TRUE(state_stream::possible(v));
  expect_golden("aggregate_of_ones_own_blocks.cu", in_order::generate(v, in, in_order::output::states_of_block).source.text());
}

// Candidates by tensor cores, those that are near each other compared as the function is written.
TEST_F(golden_kernels, nearest_rows_of_a_table) {
  const auto c = query::broadcast(middles);
  const auto nearest = [c](auto p) { return c.arg_min(p, [](auto p, auto m) { return query::squared_distance(p.x, m.x); }); };
  check("nearest", query::from(spots).as_accelerated().select(nearest));
}

// Aggregates that sort the rows of each group first.
TEST_F(golden_kernels, groups_whose_rows_lie_side_by_side) {
  check("group_by_in_order", rows().group_by([](auto t) { return t.symbol; }).select([](auto g) {
    return std::make_pair(g.key(), g.median([](auto t) { return t.price; }));
  }));
}

// States that view strings; and values that get numbers before they are sorted.
TEST_F(golden_kernels, aggregates_of_strings) {
  const auto g = graph_of(rows().group_by([](auto t) { return t.symbol; }).select([](auto g) {
    return query::make<Names>(g.key(), g.min([](auto t) { return t.name; }), g.arg_max([](auto t) { return t.name; }).qty);
  }));
  const query::planner::vertex& v = *g->vertices.front();
  expect_golden("group_by_min_of_strings.cu",
                generate_group_kernels(v, planned_layout(v.inputs.front(), group_fields(v)), group_program::global).source.text());
  check("group_by_distinct_strings", rows().group_by([](auto t) { return t.symbol; }).select([](auto g) {
    return std::make_pair(g.key(), g.count_distinct([](auto t) { return t.name; }));
  }));
}

TEST_F(golden_kernels, joins_with_unique_and_with_repeated_keys) {
  const auto check_join = [](const std::string& name, const auto& q, join_program program) {
    const auto g = graph_of(q);
    const query::planner::stage& s = g->result.stages.front();
    const join_kernels k = generate_join_kernels({s.join, s.build_left}, whole_rows(s.in), whole_rows(s.build->row()), program, false);
    expect_golden("join_" + name + ".cu", k.source.text());
  };
  const auto value = [](auto t, auto s) { return t.price * s.rate; };
  const auto by_symbol = rows().join(query::from(symbols), [](auto t) { return t.symbol; }, [](auto s) { return s.id; }, value);
  check_join("unique", by_symbol, join_program::unique);
  check_join("general", by_symbol, join_program::general);
  check_join("side_by_side", by_symbol, join_program::side_by_side);
  // A slot with a key of 8 bytes has room for the rate.
  const auto wide_id = [](auto s) { return query::cast<std::int64_t>(s.id); };
  const auto by_number = rows().join(query::from(symbols), [](auto t) { return t.qty; }, wide_id, value);
  check_join("carried", by_number, join_program::unique);
  check_join("scattered", by_number, join_program::scattered);
  // Rows of several words are written by warps.
  check_join("wide_rows", rows().left_join(query::from(symbols), [](auto t) { return t.qty; }, wide_id,
                                           [](auto t, auto s) {
                                             return query::make<Triple>(t.symbol, query::iff(s.has_value(), s->rate, 0.0), t.qty);
                                           }),
             join_program::unique);
}

TEST_F(golden_kernels, joins_that_keep_both_sides) {
  const auto id = [](auto s) { return s.id; };
  const auto either = [](auto a, auto b) {
    const auto first = query::iff(a.has_value(), a->rate, 0.5), second = query::iff(b.has_value(), b->rate, 0.25);
    return first + second;
  };
  check("join_right", few_fields().right_join(query::from(symbols), id, id, [](auto a, auto b) {
    return b.rate + query::iff(a.has_value(), a->rate, 0.5);
  }));
  check("join_full", few_fields().full_join(query::from(symbols), id, id, either));
}

TEST_F(golden_kernels, joins_of_all_pairs_and_of_groups) {
  check("cross_join", few_fields().cross_join(query::from(symbols), [](auto a, auto b) { return a.rate * b.rate; }));
  const auto id = [](auto s) { return s.id; };
  check("group_join", few_fields().group_join(query::from(symbols), id, id, [](auto a, auto own) {
    return query::make<Symbol>(a.id, query::sum(own, [](auto b) { return b.rate; }));
  }));
}

TEST_F(golden_kernels, set_verbs) {
  const auto ids = few_fields().select([](auto s) { return s.id; });
  const auto others = query::from(symbols).select([](auto s) { return s.id; });
  check("union_with", ids.union_with(others));
  check("intersect", ids.intersect(others));
  check("except", ids.except(others));
}

TEST_F(golden_kernels, sorts_by_two_keys) {
  check("order_by_two_keys", rows().select([](auto t) { return query::make<Triple>(t.symbol, t.price, t.qty); })
                                 .order_by([](auto t) { return t.a; })
                                 .then_by_descending([](auto t) { return t.b; }));
}

TEST_F(golden_kernels, sorts_numbers_without_their_places) {
  const std::vector<double> numbers(3000);
  check("order_of_numbers", query::from(numbers).as_accelerated().order_by_descending([](auto x) { return x; }));
}

TEST_F(golden_kernels, the_first_of_filtered_rows) {
  check("top", rows().where([](auto t) { return t.qty > 3; }).order_by_descending([](auto t) { return t.lot; }).take(10));
}

TEST_F(golden_kernels, distinct_rows) { check("distinct", rows().distinct_by([](auto t) { return std::make_pair(t.symbol, t.qty); })); }

TEST_F(golden_kernels, windows_with_a_function) {
  check("window", rows().select([](auto t) { return t.price; }).window(5, [](auto run) {
    return query::sum(run) / query::cast<double>(run.size()) - run[0];
  }));
}

TEST_F(generated_kernels, that_are_golden) {
  const std::set<std::string> files = golden_files();
  EXPECT_GE(files.size(), 50u);
  for (const std::string& file : files) {
    std::ostringstream text;
    text << std::ifstream(QUERY_TEST_SOURCE_DIR "/gpu_engine/golden/" + file).rdbuf();
    EXPECT_NO_THROW((void)compiler::find()->compile(text.str(), embedded_sources(), 90, {})) << file;
  }
}

}  // namespace
}  // namespace generated
