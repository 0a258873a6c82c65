#include "gpu_engine/costs/known_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace query::gpu_engine {

namespace {

constexpr std::size_t most_remembered = 4096;

// Of all kernels that a step runs, compiled at the same time by NVRTC with nothing cached: first runs on the host of an H200
// (bench/results/2026-11-22-gpu-speed.md). Of `distinct` and `nearest` there are no such runs: the longest of their kernels counts.
// In the order of `operation`: row-wise, collect, group, sort, join, distinct, nearest, few groups.
constexpr std::array<double, operation_count> compile_seconds = {0, 0.11, 0.45, 0.35, 0.17, 0.17, 0.11, 0.45};

// Of a program that holds none of the long kernels: those are in programs that several queries share.
constexpr double seconds_of_own_program = compile_seconds[1];

// The programs of a plan, by their texts: hashes side by side, and then how the rows lie.
std::vector<std::string> texts_of(const std::string& sources) {
  constexpr std::size_t digits = 2 * sizeof(hash128);
  std::vector<std::string> texts;
  for (std::size_t at = 0; at + digits <= sources.size() && sources[at] != ' '; at += digits) {
    std::string text = "text " + sources.substr(at, digits);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  return texts;
}

template <class Map> auto& remembered(Map& map, const typename Map::key_type& key) {
  if (map.size() >= most_remembered && !map.contains(key)) map.clear();
  return map[key];
}

}  // namespace

double seconds_to_compile(const work& w) {
  double s = 0;
  for (const step& x : w.steps) s += compile_seconds[static_cast<std::size_t>(x.what)];
  return s;
}

void known_kernels::keep_in(disk_cache files, const std::string& device, const kernel_cache& compiled) {
  files_.emplace(std::move(files));
  compiled_ = &compiled;
  prefix_ = "programs for " + device + " of\n";
}

void known_kernels::planned(const void* what, const std::string& sources) {
  if (!files_) return;
  const std::lock_guard hold(lock_);
  remembered(planned_, what) = sources;
}

std::optional<std::vector<hash128>> known_kernels::programs_of(const std::string& sources) {
  if (const auto it = known_.find(sources); it != known_.end()) return it->second;
  const auto stored = files_->find(prefix_ + sources);
  if (!stored || stored->size() % sizeof(hash128) != 0) return std::nullopt;
  std::vector<hash128> programs(stored->size() / sizeof(hash128));
  if (!programs.empty()) std::memcpy(programs.data(), stored->data(), stored->size());
  return remembered(known_, sources) = std::move(programs);
}

runtime::missing_code known_kernels::missing(const void* what, double all) {
  if (!files_) return {};
  const std::lock_guard hold(lock_);
  const auto at = planned_.find(what);
  if (at == planned_.end() || at->second.empty()) return {};  // a plan without kernels: a slice of rows as they lie
  const std::string sources = hash_text(at->second).hex();
  const auto missing_of = [&](const std::vector<hash128>& programs) {
    return std::count_if(programs.begin(), programs.end(), [&](const hash128& p) { return !compiled_->has(p); });
  };
  if (const auto programs = programs_of(sources); programs && !programs->empty()) {
    const auto missing = missing_of(*programs);
    if (!missing) return {0, sources};
    all *= static_cast<double>(missing) / static_cast<double>(programs->size());
  } else {
    // Another query's, but for some of its programs: the passes of a sort are everybody's.
    const std::vector<std::string> texts = texts_of(at->second);
    const auto own = static_cast<std::size_t>(std::count_if(texts.begin(), texts.end(), [&](const std::string& text) {
      const auto those = programs_of(text);
      return !those || those->empty() || missing_of(*those) != 0;
    }));
    if (own < texts.size()) all = std::min(all, static_cast<double>(std::max<std::size_t>(own, 1)) * seconds_of_own_program);
  }
  return {all, sources};
}

void known_kernels::ran(const void* what, std::span<const hash128> programs) {
  if (!files_) return;
  const std::lock_guard hold(lock_);
  const auto at = planned_.find(what);
  if (at == planned_.end() || at->second.empty()) return;
  const std::string sources = hash_text(at->second).hex();
  for (const std::string& text : texts_of(at->second)) {
    if (programs_of(text)) continue;
    remembered(known_, text).assign(programs.begin(), programs.end());
    files_->store(prefix_ + text, std::as_bytes(programs));
  }
  // Other rows may have wanted other programs: those count as long as they are there.
  const std::vector<hash128> before = programs_of(sources).value_or(std::vector<hash128>());
  std::vector<hash128> all(programs.begin(), programs.end());
  for (const hash128& p : before)
    if (std::find(all.begin(), all.end(), p) == all.end() && compiled_->has(p)) all.push_back(p);
  const auto known = [&](const hash128& p) { return std::find(before.begin(), before.end(), p) != before.end(); };
  if (all.size() == before.size() && std::all_of(all.begin(), all.end(), known)) return;
  remembered(known_, sources) = all;
  files_->store(prefix_ + sources, std::as_bytes(std::span(all)));
}

}  // namespace query::gpu_engine
