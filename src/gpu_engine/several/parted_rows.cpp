#include "gpu_engine/several/parted_rows.hpp"

#include <future>

#include "gpu_engine/beside.hpp"
#include "gpu_engine/several/peer_copy.hpp"

namespace query::gpu_engine {

parted_rows::parted_rows(const ir::type* row, std::vector<std::shared_ptr<device_rows>> parts) : row_(row), parts_(std::move(parts)) {
  for (const auto& p : parts_) n_ += p->size();
}

detail::table parted_rows::fetch(runtime::run_context& context) {
  detail::table t;
  t.type = row_;
  t.n = static_cast<std::size_t>(n_);
  auto memory = std::make_shared<runtime::buffer>(context.pool.allocate(runtime::buffer_pool::checked_bytes(t.n ? t.n : 1, row_->size)));
  std::vector<std::future<void>> others;
  std::byte* to = memory->as<std::byte>();
  for (const auto& p : parts_) {
    others.push_back(beside([&context, part = p.get(), to] { part->fetch_to(to, context); }));
    to += static_cast<std::size_t>(p->size()) * row_->size;
  }
  // All write to the memory: none is left behind by another's failure.
  for (const auto& f : others) f.wait();
  for (auto& f : others) f.get();
  t.rows = memory->data();
  t.owner = std::move(memory);
  return t;
}

void bring_to(const std::shared_ptr<gpu_session>& gpu, runtime::vertex_rows& rows, runtime::run_context& context) {
  if (!rows.kept) return;
  std::vector<std::shared_ptr<device_rows>> parts;
  if (const auto parted = std::dynamic_pointer_cast<parted_rows>(rows.kept)) {
    parts = parted->parts();
  } else if (const auto whole = std::dynamic_pointer_cast<device_rows>(rows.kept)) {
    if (whole->on(gpu->on())) return;
    parts.push_back(whole);
  } else {
    return;
  }
  std::shared_ptr<runtime::kept_rows> here;
  if (!rows.here()) {
    try {
      here = brought_together(parts, gpu, context);
    } catch (const out_of_memory&) {
      context.cancel.check();
    }
    if (!here) context.fetched(rows);
  }
  rows.kept = std::move(here);
}

void bring_captures(const std::shared_ptr<gpu_session>& gpu, const std::vector<planner::binding>& captures, runtime::run_context& context) {
  for (const planner::binding& c : captures)
    if (const auto it = context.tables.find(c.table); it != context.tables.end()) bring_to(gpu, it->second, context);
}

void bring_inputs(const std::shared_ptr<gpu_session>& gpu, const planner::branch& b, runtime::run_context& context) {
  const auto bring = [&](const planner::vertex* v) {
    if (const auto it = context.tables.find(v); it != context.tables.end()) bring_to(gpu, it->second, context);
  };
  if (b.table) bring(b.table);
  if (b.source && b.source->what == detail::verb::placeholder)
    if (const auto it = context.variables.find(b.source->slot); it != context.variables.end()) bring_to(gpu, it->second, context);
  for (const planner::stage& s : b.stages)
    if (s.build) bring(s.build);
}

}  // namespace query::gpu_engine
