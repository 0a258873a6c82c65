#include "gpu_engine/operators/kept_build.hpp"

#include <algorithm>

#include "gpu_engine/counted_rows.hpp"
#include "gpu_engine/disk_cache.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/round_recording.hpp"

namespace query::gpu_engine {

namespace {

constexpr std::size_t share_of_memory = 4;  // what is kept may take a quarter of what is free then: rounds need the rest

// Keys may depend on what a captured collection holds, which rounds change.
bool reads_collections(const kernel_source& k) {
  return std::any_of(k.words().begin(), k.words().end(),
                     [](const word& w) { return w.what == word::role::collection || w.what == word::role::collection_size; });
}

}  // namespace

bool stays(const planner::branch& b) {
  if (!bare(b)) return false;
  if (b.table) return b.table->slots.empty();
  return b.source && b.source->view && b.source->what != detail::verb::placeholder;
}

std::shared_ptr<kept_build> find_build(const detail::logical& join, const build_side& side, vertex_run& run) {
  if (!side.stays) return nullptr;
  auto& copies = run.context().copies;
  const auto found = copies.find(&join);
  const auto kept = found == copies.end() ? nullptr : std::dynamic_pointer_cast<kept_build>(found->second);
  if (!kept) return nullptr;
  if (kept->rows != side.rows) {  // other columns were needed, or a part of the rows took their place
    copies.erase(found);
    return nullptr;
  }
  if (round_recording* r = round_recording::here()) r->keep(kept);
  return kept;
}

bool keeps_builds(const build_side& side, const kept_build& b, const kernel_source& k, vertex_run& run) {
  return side.stays && run.context().loops > 0 && !round_recording::here() && !reads_collections(k) &&
         b.bytes() <= run.gpu().memory().available() / share_of_memory;
}

std::vector<std::uint64_t> constants_of(const kernel_source& k) {
  std::vector<std::uint64_t> all;
  for (const word& w : k.words())
    if (w.what == word::role::literal) all.push_back(w.value);
  for (const std::string& t : k.texts()) {
    const hash128 h = hash_text(t);
    all.insert(all.end(), {h.high, h.low});
  }
  return all;
}

void keep_build(const detail::logical& join, const build_side& side, std::shared_ptr<kept_build> b, const kernel_source& k,
                vertex_run& run) {
  if (!keeps_builds(side, *b, k, run)) return;
  b->constants = constants_of(k);
  run.on().synchronize(run.context().cancel);  // other streams will read it
  run.context().copies[&join] = std::move(b);
}

bool forget_builds(runtime::run_context& context) noexcept {
  return std::erase_if(context.copies, [](const auto& copy) { return dynamic_cast<const kept_build*>(copy.second.get()) != nullptr; }) > 0;
}

}  // namespace query::gpu_engine
