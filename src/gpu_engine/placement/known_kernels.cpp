#include "gpu_engine/placement/known_kernels.hpp"

#include <array>

namespace query::gpu_engine {

namespace {

constexpr std::size_t shapes_remembered = 4096;

// Of all kernels that a step runs, by NVRTC; from runs on an H200 (bench/results).
constexpr std::array<double, operation_count> compile_seconds = {0, 0.03, 0.6, 0.3, 0.3, 0.4};

void add(std::string& to, const detail::logical* n) {
  if (!n) return;
  to += n->label + " " + n->where.file + ":" + std::to_string(n->where.line) + " ";
  if (n->row) to.append(n->row->name).append(" ").append(std::to_string(n->row->size));
  to += "\n";
}
void add(std::string& to, const planner::branch& b) {
  add(to, b.source);
  if (b.table) to += b.table->engine + " " + std::string(b.table->row()->name) + "\n";
  for (const planner::prefilter& p : b.prefilters) add(to, p.from);
  for (const planner::stage& s : b.stages) {
    add(to, s.join);
    for (const detail::logical* n : s.nodes) add(to, n);
  }
}

}  // namespace

std::string shape_of(const planner::vertex& v) {
  std::string text;
  add(text, v.node);
  for (const planner::branch& b : v.inputs) add(text, b);
  return text;
}
std::string shape_of_fold(const planner::branch& b, detail::fold_kind kind) {
  std::string text = "fold " + std::to_string(static_cast<int>(kind)) + "\n";
  add(text, b);
  return text;
}

double seconds_to_compile(const work& w) {
  double s = 0;
  for (const step& x : w.steps) s += compile_seconds[static_cast<std::size_t>(x.what)];
  return s;
}

void known_kernels::keep_in(disk_cache files, const std::string& device) {
  files_.emplace(std::move(files));
  prefix_ = "compiled for " + device + "\n";
}

double known_kernels::charged(const std::string& shape, double to_compile, double saved) {
  if (!files_) return 0;
  const std::lock_guard hold(lock_);
  if (known_.contains(shape)) return 0;
  if (files_->find(prefix_ + shape)) {
    known_.insert(shape);
    return 0;
  }
  if (saved <= 0) return to_compile;  // it stays here anyway
  if (lost_.size() >= shapes_remembered) lost_.clear();
  double& lost = lost_[shape];
  lost += saved;
  return lost >= to_compile ? 0 : to_compile;
}

void known_kernels::ran(const std::string& shape) {
  if (!files_) return;
  {
    const std::lock_guard hold(lock_);
    if (!known_.insert(shape).second) return;
    if (known_.size() > shapes_remembered) known_.clear();
    lost_.erase(shape);
  }
  files_->store(prefix_ + shape, {});
}

}  // namespace query::gpu_engine
