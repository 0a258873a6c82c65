#include "gpu_engine/operators/kept_build.hpp"

#include <algorithm>
#include <vector>

#include <query/errors.hpp>

#include "gpu_engine/counted_rows.hpp"
#include "gpu_engine/disk_cache.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/reserved_room.hpp"
#include "gpu_engine/round_recording.hpp"

namespace query::gpu_engine {

namespace {

constexpr std::size_t share_of_memory = 4;  // what is kept may take a quarter of what is free then: rounds need the rest

// What a program's functions captured by value and by reference, as it is now: functions are traced anew where code of the user's
// has run in between.
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

// Engines keep it as they keep copies of rows, but nobody fetches it.
class kept_build final : public runtime::kept_rows {
 public:
  kept_build(std::shared_ptr<const device_rows> rows, std::shared_ptr<const build_table> table, const kernel_source& k)
      : rows_(std::move(rows)), table_(std::move(table)), constants_(constants_of(k)) {}

  bool of(const build_side& side) const { return rows_ == side.rows; }
  bool made_by(const kernel_source& k) const { return constants_ == constants_of(k); }
  const std::shared_ptr<const build_table>& table() const { return table_; }

  // kept_rows
  std::string_view engine() const override { return "gpu"; }
  std::uint64_t size() const override { return rows_->size(); }
  detail::table fetch(runtime::run_context&) override { throw internal_error("gpu: a join's table has no rows"); }

 private:
  std::shared_ptr<const device_rows> rows_;
  std::shared_ptr<const build_table> table_;
  std::vector<std::uint64_t> constants_;  // of the program that made it
};

// Of these very rows, whatever was captured.
std::shared_ptr<const kept_build> kept_of(const detail::logical& join, const build_side& side, vertex_run& run) {
  if (!side.stays) return nullptr;
  auto& copies = run.context().copies;
  const auto found = copies.find(&join);
  auto kept = found == copies.end() ? nullptr : std::dynamic_pointer_cast<const kept_build>(found->second);
  if (!kept) return nullptr;
  if (!kept->of(side)) {  // other columns were needed, or a part of the rows took their place
    copies.erase(found);
    return nullptr;
  }
  return kept;
}

// Keys may depend on what a captured collection holds, which rounds change.
bool reads_collections(const kernel_source& k) {
  return std::any_of(k.words().begin(), k.words().end(),
                     [](const word& w) { return w.what == word::role::collection || w.what == word::role::collection_size; });
}

std::size_t bytes_of(const build_table& t) {
  return t.slots.capacity() + t.group_of_build.capacity() + t.offsets.capacity() + t.rows_by_group.capacity();
}

}  // namespace

bool stays(const planner::branch& b) {
  if (!bare(b)) return false;
  if (b.table) return b.table->slots.empty();
  return b.source && b.source->view && b.source->what != detail::verb::placeholder;
}

std::shared_ptr<const build_table> find_build(const detail::logical& join, const build_side& side, const kernel_source& k,
                                              vertex_run& run) {
  const auto kept = kept_of(join, side, run);
  if (!kept || !kept->made_by(k)) return nullptr;
  if (round_recording* r = round_recording::here()) r->keep(kept);
  return kept->table();
}

bool keeps_groups(const detail::logical& join, const build_side& side, vertex_run& run) {
  const auto kept = kept_of(join, side, run);
  return kept && kept->table()->grouped;
}

bool may_keep(const build_side& side, const build_table& t, const kernel_source& k, vertex_run& run) {
  return side.stays && run.context().loops > 0 && !round_recording::here() && !reserved_room::serving::here() && !reads_collections(k) &&
         bytes_of(t) <= run.gpu().memory().available() / share_of_memory;
}

void keep_build(const detail::logical& join, const build_side& side, std::shared_ptr<const build_table> t, const kernel_source& k,
                vertex_run& run) {
  if (!may_keep(side, *t, k, run)) return;
  run.on().synchronize(run.context().cancel);  // other streams will read it
  run.context().copies[&join] = std::make_shared<kept_build>(side.rows, std::move(t), k);
}

bool forget_builds(runtime::run_context& context) noexcept {
  return std::erase_if(context.copies, [](const auto& copy) { return dynamic_cast<const kept_build*>(copy.second.get()) != nullptr; }) > 0;
}

}  // namespace query::gpu_engine
