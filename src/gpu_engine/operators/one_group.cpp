// aggregate() of no rows: one row all the same, as the user's compiler made it.
#include <memory>

#include <query/broadcast.hpp>
#include <query/detail/binding.hpp>

#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/upload.hpp"

namespace query::gpu_engine {

namespace {

// Raw memory for one value, destroyed by `destroy` once there is one.
class slot {
 public:
  slot(std::size_t size, std::size_t align) : memory_(size + align), align_(align) {}
  void* at() {
    const auto here = reinterpret_cast<std::uintptr_t>(memory_.data());
    return memory_.data() + (align_ - here % align_) % align_;
  }

 private:
  std::vector<std::byte> memory_;
  std::size_t align_;
};

}  // namespace

result_rows aggregate_of_nothing(const planner::vertex& v, vertex_run& run) {
  if (round_recording* r = round_recording::here()) r->spoil("an aggregate has no rows");
  const detail::logical& n = *v.node;
  const detail::aggregate_calls& calls = n.aggregate;
  const auto bindings = run.context().bind(v.captures);
  const detail::binding_scope scope(bindings);
  const auto self = calls.record(n.functions.back().f.get());
  slot state(calls.state_size, calls.state_align), row(n.row->size, n.row->align);
  calls.init(self.get(), state.at(), 1);
  const auto destroy_state = [&calls](void* s) { calls.destroy(s, 1); };
  const std::unique_ptr<void, decltype(destroy_state)> living_state(state.at(), destroy_state);
  constexpr char no_key = 0;
  calls.finish(self.get(), &no_key, state.at(), 1, row.at());
  const auto destroy_row = [&n](void* r) {
    if (n.row->life.destroy) n.row->life.destroy(r, 1);
  };
  const std::unique_ptr<void, decltype(destroy_row)> living_row(row.at(), destroy_row);
  detail::row_block rows;
  rows.rows = row.at();
  rows.n = 1;
  auto made = upload_rows(run.shared_gpu(), rows, n.row, choose_columns(n.row, all_fields(n.row), false), run.on(), run.context());
  run.on().synchronize(run.context().cancel);
  return made;
}

}  // namespace query::gpu_engine
