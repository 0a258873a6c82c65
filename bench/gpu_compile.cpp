// What the kernels of each kind of verb cost to compile, and what a query whose kernels are loaded costs the host. Needs NVRTC and
// no GPU: the engine runs on the tests' driver double, whose kernels do nothing, so results mean nothing either.
//
//   gpu_compile [host]      CPU time of the thread; `host`: the second figure only
//
// `sum` is of all programs of a kind, `longest` of one: what a new query waits for with as many cores as programs.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>
#include <optional>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/operators/group_kernels.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_rows.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

using bench::Row;
using bench::Side;
struct Named {
  std::int64_t id;
  std::string name;
  double mark;
};
QUERY_RECORD(Named, id, name, mark);
struct Wide {
  std::uint32_t a, b;
  std::int64_t c;
  double d;
  std::optional<int> e;
  std::array<float, 4> x;
};
QUERY_RECORD(Wide, a, b, c, d, e, x);

double thread_ms() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

std::string entries_of(std::string_view source) {
  std::string names;
  constexpr std::string_view mark = "extern \"C\" __global__ ";
  for (std::size_t at = source.find(mark); at != source.npos; at = source.find(mark, at + 1)) {
    const std::size_t end = source.find("(const ", at), from = source.rfind(' ', end) + 1;
    names += (names.empty() ? "" : " ") + std::string(source.substr(from, end - from));
  }
  return names;
}

struct program {
  std::string entries;
  double ms;
};

class measured {
 public:
  measured() {
    fake_.allow_unknown_kernels();
    // Fetched strings are empty.
    fake_.add_kernel("measure_heap", [](void** a) { word<std::uint64_t*>(a, 3)[word<std::uint64_t>(a, 1)] = 0; });
    fake_.add_kernel("pack_heap", [this](void** a) { std::memset(word<void*>(a, 4), 0, word<std::uint64_t>(a, 1) * packed_bytes_); });
    pretended_.emplace(fake_.calls(), 0);
    kernels_.emplace(kernel_cache::settings{
        .headers = embedded_sources(), .options = {}, .folder = "", .compile = [this](std::string_view source, int) {
          const double before = thread_ms();
          compiled result = compiler::find()->compile(source, embedded_sources(), 90, std::vector<std::string>{"--no-cache"});
          const double ms = thread_ms() - before;
          const std::string image = "image:" + std::string(source);  // what the double takes
          result.cubin.assign(reinterpret_cast<const std::byte*>(image.data()),
                              reinterpret_cast<const std::byte*>(image.data() + image.size() + 1));
          const std::lock_guard hold(lock_);
          programs_.push_back({entries_of(source), ms});
          return result;
        }});
    engine_ = make_engine(*pretended_, {std::size_t{64} << 20, 0}, *kernels_);
    session_.add_engine(engine_);
  }

  template <class Q> void compiles(const char* what, const Q& q) {
    const auto here = q.in(session_);
    packed_bytes_ = device_layout(query::ir::describe<typename decltype(here.to_vector())::value_type>()).size;
    (void)here.to_vector();
    report(what);
  }
  // Every tier, though a run chooses one.
  template <class Q> void groups(const char* what, const Q& q) {
    const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
    const query::planner::vertex& v = *g->vertices.front();
    const auto layout = planned_layout(v.inputs.front(), group_fields(v));
    const std::pair<const char*, group_program> all[] = {
        {"sample", group_program::sample},           {"a copy a thread", group_program::shared_thread},
        {"a copy a warp", group_program::shared_warp}, {"a copy a block", group_program::shared_block},
        {"partitions", group_program::partition_16}, {"whole table", group_program::global}};
    for (const auto& [name, which] : all) {
      const group_kernels k = generate_group_kernels(v, layout, which);
      if (!k.aggregates.atomic && (which == group_program::shared_block || which == group_program::partition_16)) continue;
      const std::string source = k.source.text(), entries = entries_of(source);
      for (std::size_t from = 0; from < entries.size();) {
        const std::size_t to = std::min(entries.find(' ', from), entries.size());
        (void)kernels_->get(source, entries.substr(from, to - from), *pretended_);
        from = to + 1;
      }
      report((std::string(what) + ": " + name).c_str());
    }
  }

  // A query whose kernels are loaded, from planning to the result's rows: the host's part alone, kernels take no time here.
  template <class Q> void host_part(const char* what, const Q& q) {
    const auto here = q.in(session_);
    for (int i = 0; i < 50; ++i) (void)here.to_vector();
    std::vector<double> us;
    for (int r = 0; r < 9; ++r) {
      constexpr int times = 50;
      const double before = thread_ms();
      for (int i = 0; i < times; ++i) (void)here.to_vector();
      us.push_back((thread_ms() - before) * 1e3 / times);
    }
    std::printf("%-44s %10.1f us\n", what, *std::min_element(us.begin(), us.end()));
    const std::lock_guard hold(lock_);
    programs_.clear();
  }

 private:
  template <class T> static T word(void** arguments, int i) {
    T value;
    std::memcpy(&value, arguments[i], sizeof value);
    return value;
  }
  void report(const char* what) {
    const std::lock_guard hold(lock_);
    if (programs_.empty()) return;
    std::sort(programs_.begin(), programs_.end(), [](const program& a, const program& b) { return a.entries < b.entries; });
    double sum = 0, longest = 0;
    std::string which;
    for (const program& p : programs_) {
      sum += p.ms;
      if (p.ms > longest) longest = p.ms, which = p.entries;
    }
    std::printf("%-44s %3zu %9.0f %9.0f   %s\n", what, programs_.size(), sum, longest, which.c_str());
    std::fflush(stdout);
    programs_.clear();
  }

  driver_double fake_;
  std::optional<device> pretended_;
  std::optional<kernel_cache> kernels_;
  std::shared_ptr<query::runtime::engine> engine_;
  query::Session session_{{.threads = 2, .gpu = query::gpu_use::off}};
  std::mutex lock_;
  std::vector<program> programs_;
  std::size_t packed_bytes_ = 0;  // of a fetched row
};

}  // namespace

int main(int argc, char** argv) {
  if (!compiler::find()) {
    std::printf("left out: %s\n", compiler::why_not().c_str());
    return 0;
  }
  const bool host_only = argc > 1 && std::string_view(argv[1]) == "host";
  const std::vector<Row> rows(4000);
  const std::vector<Side> sides(100);
  const std::vector<Named> named(4000);
  const std::vector<Wide> wide(4000);
  const std::vector<double> plain(4000);
  const auto all = query::from(rows).as_accelerated();
  const auto names = query::from(named).as_accelerated();
  const auto wides = query::from(wide).as_accelerated();
  const auto sums = all.group_by([](auto r) { return r.key; }).select([](auto g) {
    return std::pair(g.key(), g.sum([](auto r) { return r.value; }));
  });
  const auto joined = all.join(
      query::from(sides), [](auto r) { return r.key; }, [](auto s) { return s.id; }, [](auto r, auto s) { return r.weight * s.rate; });
  measured m;
  if (!host_only) {
    std::printf("%-44s %3s %9s %9s   %s\n", "", "n", "sum ms", "longest", "which");
    m.compiles("select", all.select([](auto r) { return r.value * 0.5; }));
    m.compiles("where, select", all.where([](auto r) { return r.value > 1e6; }).select([](auto r) { return r.value * 0.5; }));
    m.groups("group_by, sum", sums);
    m.groups("group_by, many aggregates",
             wides.where([](auto t) { return t.c > 3; }).group_by([](auto t) { return t.e; }).select([](auto g) {
               return std::make_tuple(g.key(), g.count(), g.mean([](auto t) { return t.d; }), g.min([](auto t) { return t.c; }),
                                      g.max([](auto t) { return t.a; }), g.sum([](auto t) { return t.x; }),
                                      g.stddev([](auto t) { return t.d; }));
             }));
    m.groups("group_by names, count", names.group_by([](auto n) { return n.name; }).select([](auto g) {
      return std::make_pair(g.key(), g.count());
    }));
    m.compiles("group_by, median", all.group_by([](auto r) { return r.key; }).select([](auto g) {
      return std::make_pair(g.key(), g.median([](auto r) { return r.value; }));
    }));
    m.compiles("order_by double", all.order_by([](auto r) { return r.value; }));
    m.compiles("order of doubles", query::from(plain).as_accelerated().order());
    m.compiles("order_by u32, then by i64", wides.order_by([](auto r) { return r.a; }).then_by([](auto r) { return r.c; }));
    m.compiles("order_by name", names.order_by([](auto n) { return n.name; }));
    m.compiles("top", all.order_by([](auto r) { return r.value; }).take(10));
    m.compiles("join", joined);
    m.compiles("left_join", all.left_join(query::from(sides), [](auto r) { return r.key; }, [](auto s) { return s.id; },
                                          [](auto r, auto s) { return std::pair(r.weight, s.has_value()); }));
    m.compiles("semi_join", all.semi_join(query::from(sides), [](auto r) { return r.key; }, [](auto s) { return s.id; }));
    m.compiles("distinct", all.select([](auto r) { return r.key; }).distinct());
    m.compiles("intersect", all.select([](auto r) { return r.key; }).intersect(query::from(sides).select([](auto s) { return s.id; })));
    m.compiles("strings fetched", names.where([](auto n) { return n.id > 1; }));
    m.compiles("strings made", names.select([](auto n) { return "<" + n.name + ">"; }));
    m.compiles("where, strings made", names.where([](auto n) { return n.name != "none"; }).select([](auto n) {
      return "<" + n.name + ">";
    }));
    m.compiles("where over captured rows", all.where([&](auto r) {
      return query::broadcast(sides).any([&](auto s) { return s.id == r.key; });
    }));
    m.compiles("take_while", all.take_while([](auto r) { return r.value > 1; }));
    m.compiles("select_many", wides.select_many([](auto r) { return r.x; }).where([](auto x) { return x > 0; }));
    m.compiles("aggregate", all.aggregate([](auto g) { return std::make_pair(g.count(), g.max([](auto r) { return r.value; })); }));
  }
  std::printf("\nthe host's part of a query whose kernels are loaded, 4,000 rows\n");
  m.host_part("select", all.select([](auto r) { return r.value * 0.5; }));
  m.host_part("group_by, sum", sums);
  m.host_part("order_by double", all.order_by([](auto r) { return r.value; }));
  m.host_part("join", joined);
}
