#include "conformance/engines.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "conformance/compiled_kernels.hpp"
#include "conformance/cpu_reasons.hpp"
#include "conformance/placements.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/several/gpu_set.hpp"
#include "runtime/session_state.hpp"
#include "sanitized.hpp"

namespace conformance {

namespace {

// What the GPU engine runs, where functions trace; all else runs on the CPU in the same session. Words about how and where, and plans,
// run nowhere: they hold there as elsewhere.
constexpr std::array gpu_verbs = {
    "where", "select", "group_by", "order_by", "order_by_descending", "then_by", "then_by_descending", "order", "order_descending", "top",
    "do_while", "broadcast", "count", "sum", "min", "max", "average", "to_vector", "count_by", "as_accelerated", "as_ordered",
    "cached", "checkpoint", "named", "from", "Query", "join", "left_join", "right_join", "full_join",
    "semi_join", "anti_join", "cross_join", "group_join", "distinct", "distinct_by", "union_with", "union_with_by", "intersect",
    "intersect_by", "except", "except_by", "group_by.select", "group_by.count", "accelerated", "on",
    "take", "skip", "take_last", "skip_last", "take_while", "skip_while", "default_if_empty", "concat", "append", "prepend",
    "reverse", "sample", "zip", "range", "repeat", "empty", "chunk", "window", "group_by.groups",
    "aggregate", "aggregate_by", "reduce", "min_by", "max_by", "mean",
    "first", "first_or_none", "first_or_default", "last", "last_or_none", "last_or_default", "single", "single_or_default",
    "element_at", "element_at_or_default", "any", "all", "contains", "sequence_equal",
    "select_many", "index", "values", "as_type", "times", "value_of", "fork",
    "require_gpu", "fast_math", "in", "timeout", "stop_on", "on_progress", "explain", "explain_dot", "explain_json", "as_query", "columns",
    "as_dynamic",    "group_by.distinct", "group_by.distinct_by", "group_by.elements", "slice", "shuffle", "sequence",
    "group_by.keys", "run_all", "report", "unpivot", "to_lookup", "to_pivot", "partitioned", "hash_partitioned_by", "range_partitioned_by",
};

// No commas: matrix.csv has its columns between them.
constexpr std::string_view read = "the caller reads these rows", before = "verbs before it run there";
constexpr std::string_view on_request = "its function has no form for the GPU (query::on_gpu)", given = "with one it runs there";
constexpr std::array reasons = {
    cpu_reason{"apply", on_request, given},
    cpu_reason{"apply_all", on_request, given},
    cpu_reason{"asof_join", "its right rows are sorted and searched there", before},
    cpu_reason{"join_where", "its right rows are sorted and searched there", ""},
    cpu_reason{"over", on_request, "rows are partitioned and put back into order there"},
    cpu_reason{"group_by.top", on_request, "rows are partitioned and put back into order there"},
    cpu_reason{"approx_count_distinct", "the function of groups: approx_count_distinct: only compiled code keeps sketches", ""},
    cpu_reason{"approx_quantile", "the function of groups: approx_quantile: only compiled code keeps sketches", ""},
    cpu_reason{"top_k_frequent", "the function of groups: top_k_frequent: only compiled code keeps sketches", ""},
    cpu_reason{"pivot", "", "its rows are grouped there; the CPU puts the groups together"},
    cpu_reason{"of_type", "rows that are a std::variant are not traced", ""},
    cpu_reason{"generate", "its rows come from a stream", "folds and aggregates and groups and sorts right behind it run there"},
    cpu_reason{"read_csv", "files are read by the CPU", "later verbs can run on the GPU"},
    cpu_reason{"read_json_lines", "files are read by the CPU", "later verbs can run on the GPU"},
    cpu_reason{"read_binary", "files are read by the CPU", "later verbs can run on the GPU"},
    cpu_reason{"begin", read, before},
    cpu_reason{"end", read, before},
    cpu_reason{"for_each", read, before},
    cpu_reason{"to_columns", read, before},
    cpu_reason{"to_vectors", read, before},
    cpu_reason{"to_map", read, before},
    cpu_reason{"to_set", read, before},
    cpu_reason{"try_count", "", "it reads the plan and runs nothing"},
    cpu_reason{"write_csv", read, before},
    cpu_reason{"write_json_lines", read, before},
    cpu_reason{"write_binary", read, before},
    cpu_reason{"print", read, before},
    cpu_reason{"table", read, before},
    cpu_reason{"describe", read, before},
    cpu_reason{"verify", "", "it compares two forms of the CPU; what runs on the GPU is not compared"},
};

void leave_to_the_cpu(engine_config& e) {
  for (const cpu_reason& r : reasons) e.leaves_out[std::string(r.verb)] = r.text();
}
engine_config gpu() {
  engine_config e{"gpu", "gpu", query::Session({.threads = 4, .gpu_min_rows = 0}), true};
  e.missing = e.session.gpu_status();
  leave_to_the_cpu(e);
  return e;
}
// Whatever devices can share they do, be it two rows, and the first of few rows are selected before they are sorted. The machine's first
// GPU counts as two where it has one.
engine_config two_gpus() {
  using namespace query::gpu_engine;
  engine_config e{"gpu, two devices", "gpu", query::Session({.threads = 4, .gpu = query::gpu_use::off}), true};
  e.missing = query::Session({.threads = 1}).gpu_status();
  leave_to_the_cpu(e);
  const device* second = device::count() > 1 ? device::find(1) : device::find(0, 1);
  if (!e.missing.empty() || !second) return e;
  static kernel_cache kernels({.headers = embedded_sources(), .options = {"--fmad=false"}, .folder = {}, .compile = {}});
  const auto both = make_engine({device::first(), second}, {.memory = std::size_t{1} << 30}, kernels, 0, 1);
  for (const auto& gpu : gpus_of(*both).all()) gpu->select_from(16), gpu->carry_from(16);
  e.session.add_engine(both);
  return e;
}

// The cluster graph in one process: what partitions exchange goes through pages. Other sides of joins are sent to each of them where they
// have a row or two, else rows go by hash, and those of heavy keys are spread, however few they are.
engine_config four_partitions() {
  engine_config e{"4 partitions in one process", "cpu", query::Session({.threads = 2, .gpu = query::gpu_use::off})};
  e.session.state()->partitions = 4;
  e.session.state()->most_broadcast = 64;
  e.session.state()->least_spread = 0;
  return e;
}

// The same in processes of this program: what they send goes through sockets.
engine_config three_processes() {
  engine_config e{"3 processes", "cpu", query::Session::cluster("local:3", {.threads = 2, .gpu = query::gpu_use::off})};
  e.session.state()->most_broadcast = 64;
  e.session.state()->least_spread = 0;
  return e;
}

// Of no device, for what can be known without one.
constexpr const char* only_compiled = "gpu, kernels only compiled";
engine_config without_a_device() {
  engine_config e{only_compiled, "gpu", query::Session({.threads = 4}), true};
  leave_to_the_cpu(e);
#ifdef __SANITIZE_ADDRESS__
  e.missing = "the leak checker's tracer fails under NVRTC";
#else
  const char* asked = std::getenv("QUERY_TEST_ENGINE");
  if (!asked || asked != std::string_view(only_compiled)) e.missing = "QUERY_TEST_ENGINE does not name it";
  else if (query::Session({.threads = 1}).gpu_status().empty()) e.missing = "there is a GPU, whose engine compiles them";
  else e.session.state()->take_gpu(kernels_here().engine());
#endif
  return e;
}

}  // namespace

compiled_kernels& kernels_here() {
  static compiled_kernels all;
  return all;
}
bool in_partitions(const engine_config& e) { return e.session.state()->partitions > 1; }
bool in_processes(const engine_config& e) { return e.session.state()->processes != nullptr; }
bool computes(const engine_config& e) { return e.name != std::string_view(only_compiled); }
std::span<const cpu_reason> cpu_reasons() { return reasons; }
bool on_the_gpu(std::string_view verb) { return std::find(gpu_verbs.begin(), gpu_verbs.end(), verb) != gpu_verbs.end(); }

const std::vector<engine_config>& engines() {
  static std::vector<engine_config> all = {
      {"cpu, 1 thread", "cpu", query::Session({.threads = 1, .gpu = query::gpu_use::off})},
      {"cpu, 4 threads", "cpu", query::Session({.threads = 4, .gpu = query::gpu_use::off})},
      {"interpreter", "interpreter", query::Session({.threads = 4, .interpret = true, .gpu = query::gpu_use::off})},
      four_partitions(),
      three_processes(),
      without_a_device(),
      gpu(),
      two_gpus(),
  };
  static const bool chosen = [] {
    const char* only = std::getenv("QUERY_TEST_ENGINE");
    for (engine_config& e : all) {
      if (only && e.name != std::string_view(only) && e.missing.empty()) e.missing = "QUERY_TEST_ENGINE names another";
      // The same code as with four, which are enough to find what a sanitizer finds.
      if (query::tests::sanitized && !only && std::string_view(e.name) == "cpu, 1 thread")
        e.missing = "a sanitizer watches, which takes long";
    }
    return only != nullptr;
  }();
  (void)chosen;
  return all;
}

void nothing_fell_back(const engine_config& e) {
  static std::map<const engine_config*, std::uint64_t> before;
  const auto [now, why] = e.session.state()->history.fallbacks();
  EXPECT_EQ(now, std::exchange(before[&e], now)) << "ran on the CPU: " << why;
  if (computes(e)) return;
  for (const std::string& why : kernels_here().missing_tables()) ADD_FAILURE() << why;
  for (const std::string& why : kernels_here().compile_new()) ADD_FAILURE() << why;
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  check_placements(std::string(test.test_suite_name()) + "." + test.name(), kernels_here().left_to_the_cpu());
}

namespace {
auto& table() {
  static std::map<std::string, std::vector<std::string>, std::less<>> t;
  return t;
}
}  // namespace

coverage::coverage(const char* test, std::vector<std::string_view> verbs) {
  for (const std::string_view v : verbs) table()[std::string(v)].push_back(test);
}
const std::map<std::string, std::vector<std::string>, std::less<>>& covered() { return table(); }

}  // namespace conformance
