// What the tests of generated kernels share: rows, and an engine on the driver double that compiles with NVRTC what it is given. Its
// kernels do nothing, so results mean nothing either.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "planned_there.hpp"
#include "runtime/session_state.hpp"

namespace generated {

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
                              "lookup_probe", "keep_rows", "find_offsets", "shuffle_build", "count_output", "scan_output",
                              "expand_output", "count_words", "sweep_words", "words_text_0", "rank_text_0",
                              "words_text_1", "rank_text_1", "map_rows", "number_rows", "number_groups",
                              "fold_segments", "fold_level", "place_lists", "take_elements", "prepare_table", "find_nearest_rows",
                              "find_candidates", "compare_candidates", "count_groups_of_rows", "sort_rows", "gather_build", "join_lists",
                              "init_labels", "sum_labels", "emit_labels", "count_keys", "sweep_keys", "sample_first", "bound_first",
                              "keep_first", "number_parts", "starts_of_hashes", "starts_of_ranges", "number_ranges", "gather_parts"})
      fake_.add_kernel(entry, [](void**) {});
    // Fetched strings and lists are empty.
    fake_.add_kernel("measure_heap", [](void** arguments) {
      argument<std::uint64_t*>(arguments, 3)[argument<std::uint64_t>(arguments, 1)] = 0;
    });
    fake_.add_kernel("pack_heap", [this](void** arguments) {
      std::memset(argument<void*>(arguments, 4), 0, argument<std::uint64_t>(arguments, 1) * packed_bytes_);
    });
    for (int i = 0; i < 8; ++i)
      for (const char* pass : {"words_", "count_", "sweep_", "value_words_", "group_words_", "map_values_"})
        fake_.add_kernel(pass + std::to_string(i), [](void**) {});
    pretended_.emplace(fake_.calls(), 0);
    // What compiles is checked; the double does not look at the code.
    kernels_.emplace(
        kernel_cache::settings{.headers = embedded_sources(), .options = {}, .folder = "", .compile = [this](std::string_view source, int) {
                                 ++compiled_;
                                 return image_of(source, compiler::find()->compile(source, embedded_sources(), 90, {}));
                               }});
    engine_ = make_engine(*pretended_, {std::size_t{64} << 20, 0}, *kernels_);
    session_of(*engine_).select_from(1);  // tops of few rows have all of their kernels
    session_of(*engine_).carry_from(1);
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
    EXPECT_TRUE(planned_there(here.explain()));
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

}  // namespace generated
