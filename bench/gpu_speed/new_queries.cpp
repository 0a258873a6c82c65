// What a query pays whose kernels were never compiled, were compiled by another process, or are loaded: an empty folder of kernels, a new
// kernel cache over that folder, the same cache again. Before the first run each engine has run the same query with other functions, so
// that NVRTC, the device's memory and the staging buffers are there, and of kernels those whose text no query changes (word_sort.hpp);
// "nothing known" is the first query of all over an empty folder, in a process in which NVRTC has run.
#include <cstdio>
#include <filesystem>
#include <mutex>

#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/temporary_folder.hpp"
#include "gpu_rows.hpp"
#include "gpu_speed/materialised.hpp"

namespace bench::speed {

using namespace query::gpu_engine;

namespace {

template <bool Other> auto key_of() {
  return [](auto r) {
    if constexpr (Other)
      return r.key & 1023u;
    else
      return (r.key ^ (r.key >> 7u)) & 1023u;
  };
}
template <bool Other> double folded(const query::Query<Row>& q, const query::Query<Side>&) {
  return q.where([](auto r) { return r.value > 1e6; })
      .select([](auto r) {
        if constexpr (Other)
          return r.value * 0.5 + 1.0;
        else
          return (r.value - 2.0) * (r.value + 1.0);
      })
      .sum();
}
template <bool Other> double grouped(const query::Query<Row>& q, const query::Query<Side>&) {
  return static_cast<double>(q.group_by(key_of<Other>())
                                 .select([](auto g) { return std::pair(g.key(), g.sum([](auto r) { return r.value; })); })
                                 .to_vector()
                                 .size());
}
template <bool Other> double sorted(const query::Query<Row>& q, const query::Query<Side>&) {
  return q
      .order_by([](auto r) {
        if constexpr (Other)
          return r.value;
        else
          return r.value * r.value - r.value;
      })
      .cached()
      .take(1)
      .to_vector()[0]
      .value;
}
template <bool Other> double joined(const query::Query<Row>& q, const query::Query<Side>& sides) {
  return q
      .join(
          sides, key_of<Other>(), [](auto s) { return s.id; }, [](auto r, auto s) { return r.weight * s.rate; })
      .sum();
}

struct shape {
  const char* name;
  double (*measured)(const query::Query<Row>&, const query::Query<Side>&);
  double (*other)(const query::Query<Row>&, const query::Query<Side>&);
};
const shape shapes[] = {{"where+select+sum", folded<false>, folded<true>},
                        {"group_by, 1024 groups", grouped<false>, grouped<true>},
                        {"order_by", sorted<false>, sorted<true>},
                        {"join", joined<false>, joined<true>}};

kernel_cache::settings settings_with(const std::string& folder, const machine& m) {
  kernel_cache::settings s{.headers = embedded_sources(), .options = {"--fmad=false"}, .folder = folder, .compile = {}};
  if (m.how() == rehearsal::driver_double) s.compile = compile_for_double;
  return s;
}

struct first_run {
  double ms = 0, warm = 0, answer = 0;
  std::uint64_t compiled = 0, loaded = 0;
  std::string trouble = {};
};
// Of a session with a new engine and a new kernel cache.
first_run run_anew(const machine& m, const shape& what, const std::vector<Row>& rows, const std::vector<Side>& sides,
                   const std::string& folder, bool others = true) {
  kernel_cache kernels(settings_with(folder, m));
  own_session s(m, 0, kernels);
  const auto there = s.on_gpu(query::from(rows).as_query()).cached();
  const auto build = s.on_gpu(query::from(sides).as_query()).cached();
  (void)there.count(), (void)build.count();
  for (int i = 0; i < (others ? 3 : 0); ++i) (void)what.other(there, build);
  first_run r;
  const kernel_cache_counters before = kernels.counters();
  r.ms = ms_of([&] { r.answer = what.measured(there, build); });
  const kernel_cache_counters after = kernels.counters();
  r.compiled = after.compiled - before.compiled;
  r.loaded = after.disk_hits - before.disk_hits;
  r.warm = median_ms([&] { (void)what.measured(there, build); }, 0.1);
  r.trouble = s.fell_back();
  return r;
}

std::string entry_of(const std::string& source) {
  const std::size_t at = source.find("extern \"C\" __global__ "), end = source.find("(const ", at), from = source.rfind(' ', end) + 1;
  return source.substr(from, end - from);
}

// One kernel, without a query: the fold's.
void kernel_alone(const machine& m, const std::vector<Row>& rows, const std::vector<Side>& sides) {
  const temporary_folder folder;
  std::mutex lock;
  std::string source;
  kernel_cache::settings s = settings_with(folder.path(), m);
  const auto compile = s.compile;
  s.compile = [&, compile](std::string_view text, int capability) {
    const std::lock_guard hold(lock);
    source = text;
    return compile ? compile(text, capability)
                   : compiler::find()->compile(text, embedded_sources(), capability, std::vector<std::string>{"--fmad=false"});
  };
  {
    kernel_cache kernels(s);
    own_session session(m, 0, kernels);
    (void)folded<false>(session.on_gpu(query::from(rows).as_query()), query::from(sides));
  }
  const std::string entry = entry_of(source);
  std::vector<double> compiled, disk, memory;
  for (int i = 0; i < 5; ++i) {
    const temporary_folder empty;
    kernel_cache::settings anew = s;
    anew.folder = empty.path();
    kernel_cache kernels(std::move(anew));
    compiled.push_back(ms_of([&] { (void)kernels.get(source, entry, *m.on()); }));
  }
  for (int i = 0; i < 15; ++i) {
    kernel_cache kernels(s);
    disk.push_back(ms_of([&] { (void)kernels.get(source, entry, *m.on()); }));
    memory.push_back(ms_of([&] {
                       for (int k = 0; k < 1000; ++k) (void)kernels.get(source, entry, *m.on());
                     }) /
                     1000);
  }
  m.line({.name = "new query: one kernel alone, compiled", .ms = median(compiled), .must = 60, .note = entry});
  m.line({.name = "new query: one kernel alone, from disk", .ms = median(disk), .must = 5, .note = entry});
  m.line({.name = "new query: one kernel alone, in memory", .ms = median(memory), .must = 0.1, .note = entry});
}

}  // namespace

void new_queries(const machine& m) {
  if (!m.on() || !m.concerns("new query")) return;
  m.heading("new queries, 2^18 rows there (must: of what is above the run in memory, and of that run as a whole)");
  const std::vector<Row> rows = make_rows(std::size_t{1} << 18);
  std::vector<Side> sides(1024);
  for (std::uint32_t i = 0; i < sides.size(); ++i) sides[i] = {i, 1.0f};
  for (const shape& what : shapes) {
    const std::string name = std::string("new query: ") + what.name;
    if (!m.concerns(name)) continue;
    std::vector<double> nothing, first, disk, warm;
    std::uint64_t of_nothing = 0, compiled = 0, loaded = 0;
    double answer = 0;
    bool right = true;
    std::string trouble;
    for (int round = 0; round < 3; ++round) {
      const temporary_folder folder, empty;
      const first_run cold = run_anew(m, what, rows, sides, folder.path()), again = run_anew(m, what, rows, sides, folder.path());
      const first_run alone = run_anew(m, what, rows, sides, empty.path(), false);
      nothing.push_back(alone.ms), of_nothing = alone.compiled;
      compiled = cold.compiled, loaded = again.loaded;
      first.push_back(cold.ms), disk.push_back(again.ms), warm.push_back(again.warm);
      if (round && !near(answer, cold.answer, 1e-6)) right = false;
      right = right && near(cold.answer, again.answer, 1e-6) && near(cold.answer, alone.answer, 1e-6) && again.compiled == 0;
      answer = cold.answer;
      trouble += cold.trouble + again.trouble + alone.trouble;
    }
    const double in_memory = median(warm);
    const auto whole = [&](double ms, std::uint64_t n, const char* how) {
      if (!trouble.empty()) return trouble;
      char text[96];
      std::snprintf(text, sizeof text, "%llu kernels %s; the whole query %.2f ms", static_cast<unsigned long long>(n), how, ms);
      return std::string(text);
    };
    m.line({.name = name + ", compiled, nothing known",
            .ms = median(nothing) - in_memory,
            .right = right,
            .note = whole(median(nothing), of_nothing, "compiled")});
    m.line({.name = name + ", compiled",
            .ms = median(first) - in_memory,
            .must = 60,
            .right = right,
            .note = whole(median(first), compiled, "compiled")});
    m.line({.name = name + ", from disk",
            .ms = median(disk) - in_memory,
            .must = 5,
            .right = right,
            .note = whole(median(disk), loaded, "from disk")});
    m.line({.name = name + ", in memory, whole", .ms = in_memory, .must = 0.1, .right = right, .note = trouble});
  }
  if (m.concerns("new query: one kernel alone")) kernel_alone(m, rows, sides);
}

}  // namespace bench::speed
