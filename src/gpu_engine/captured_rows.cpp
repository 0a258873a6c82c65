#include "gpu_engine/captured_rows.hpp"

#include <algorithm>

#include <query/errors.hpp>

#include "gpu_engine/cached_rows.hpp"
#include "gpu_engine/round_recording.hpp"
#include "gpu_engine/rows_together.hpp"
#include "gpu_engine/table_rows.hpp"
#include "gpu_engine/upload.hpp"

namespace query::gpu_engine {

namespace {

// What lies twice for as long as cached() keeps it takes no more than this share of the memory, a table. Larger ones are put together
// again by each vertex, or loop, that reads them.
constexpr std::size_t share_of_budget = 16;

std::shared_ptr<device_rows> brought(const void* rows, std::size_t n, const ir::type* element, vertex_run& run) {
  detail::row_block block;
  block.rows = const_cast<void*>(rows);
  block.n = n;
  return upload_rows(run.shared_gpu(), block, element, {{0, element}}, run.on(), run.context());
}

// Engines keep it as they keep copies of rows, but nobody fetches it. It keeps the container, so that no other one has its address.
class kept_container final : public runtime::kept_rows {
 public:
  kept_container(std::shared_ptr<const detail::capture> c, std::shared_ptr<const device_rows> rows)
      : container_(std::move(c)), rows_(std::move(rows)) {}

  const std::shared_ptr<const device_rows>& rows() const { return rows_; }
  bool abandoned() const { return container_.use_count() == 1; }  // no function captures it any more

  // kept_rows
  std::string_view engine() const override { return "gpu"; }
  std::uint64_t size() const override { return rows_->size(); }
  detail::table fetch(runtime::run_context&) override { throw internal_error("gpu: a captured container's copy was fetched"); }

 private:
  std::shared_ptr<const detail::capture> container_;
  std::shared_ptr<const device_rows> rows_;
};

const kept_container* as_container(const std::shared_ptr<runtime::kept_rows>& copy) {
  return dynamic_cast<const kept_container*>(copy.get());
}

// On the device of the run: a loop goes on on another one where the first is lost.
std::shared_ptr<device_rows> copy_of(const planner::vertex& v, vertex_run& run) {
  const auto& copies = run.context().copies;
  const auto found = copies.find(&v);
  auto rows = found == copies.end() ? nullptr : std::dynamic_pointer_cast<device_rows>(found->second);
  return rows && rows->on(run.gpu().on()) ? rows : nullptr;
}

// Work of a round that changes the rows is not left out where rounds are repeated.
std::shared_ptr<device_rows> together(const device_rows& columns, const planner::vertex& v, vertex_run& run) {
  if (round_recording* r = round_recording::here(); r && !v.slots.empty()) r->spoil("captured rows are put together in each round");
  const round_recording::aside once;
  return rows_together(columns, run.on(), run.context());
}

bool has_all_fields(const device_rows& columns) {
  const auto fields = field_columns(columns.layout().row);
  return std::all_of(fields.begin(), fields.end(), [&](const input_column& f) { return columns.has(f); });
}

}  // namespace

std::shared_ptr<const device_rows> captured_table(const planner::vertex& v, const std::shared_ptr<const device_rows>& there,
                                                  const ir::type* element, vertex_run& run) {
  runtime::run_context& context = run.context();
  // An entry stands for the rows of this round: the executor forgets those of the vertices that it runs again.
  const auto kept = [&](std::shared_ptr<device_rows> made) {
    if (context.loops) context.copies[&v] = made;
    return made;
  };
  if (there && there->whole()) return there;
  const auto cached = std::dynamic_pointer_cast<const cached_rows>(there);
  if (cached)
    if (auto whole = cached->whole_rows()) return whole;
  const std::shared_ptr<device_rows> copy = copy_of(v, run);
  if (copy && copy->whole()) return copy;
  if (there)
    if (auto made = together(*there, v, run)) {
      if (!cached || made->size() * device_layout(element).size > run.gpu().memory().budget() / share_of_budget) return kept(made);
      cached->keep_whole(made);
      cached->gpu()->has_whole(cached);
      return made;
    }
  // In host memory. Where a vertex has brought all of its fields, they are there.
  if (copy && has_all_fields(*copy))
    if (auto made = together(*copy, v, run)) return kept(made);
  const detail::table& t = context.fetched(context.tables.at(&v));
  return kept(brought(t.rows, t.n, element, run));
}

std::shared_ptr<const device_rows> captured_container(const std::shared_ptr<const detail::capture>& c, const ir::type* element,
                                                      vertex_run& run) {
  auto& copies = run.context().copies;
  if (const auto found = copies.find(c.get()); found != copies.end())
    if (const kept_container* kept = as_container(found->second); kept && kept->rows()->on(run.gpu().on())) return kept->rows();
  const round_recording::permitted same_in_every_round;
  std::shared_ptr<const device_rows> made = brought(c->data, c->size, element, run);
  if (run.context().loops) {
    // Code of the user's may have put others in the place of those that rounds before captured.
    std::erase_if(copies, [](const auto& copy) {
      const kept_container* kept = as_container(copy.second);
      return kept && kept->abandoned();
    });
    copies[c.get()] = std::make_shared<kept_container>(c, made);
  }
  return made;
}

bool forget_captured(runtime::run_context& context, gpu_session& gpu) {
  // What was brought over is brought again when it is read.
  bool some = std::erase_if(context.copies, [](const auto& copy) {
                if (dynamic_cast<const device_rows*>(copy.second.get())) return copy.second.use_count() == 1;
                const kept_container* kept = as_container(copy.second);
                return kept && kept->rows().use_count() == 1;
              }) > 0;
  for (const auto& w : gpu.take_wholes()) {
    const auto cached = w.lock();
    if (!cached || !cached->whole_rows()) continue;
    if (cached->forget_whole()) some = true;
    else gpu.has_whole(cached);
  }
  return some;
}

}  // namespace query::gpu_engine
