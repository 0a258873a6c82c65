// apply with a form for the GPU: the user's function gets the rows where they lie, and a stream, and gives rows there; of
// partitioned rows one partition after the other.
#include <algorithm>
#include <array>
#include <map>

#include <query/detail/failure.hpp>
#include <query/errors.hpp>
#include <query/gpu_apply.hpp>

#include "gpu_engine/codegen/expressions.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "runtime/partition_bounds.hpp"

namespace query::gpu_engine {

namespace {

constexpr device_address alignment_of_pointers = 256;  // that functions are promised (query/gpu_apply.hpp)

// A part of the rows, side by side: for functions that want it so where the rows lie otherwise.
void generate_part(kernel_source& k, const input_layout& in, const input_column& part) {
  const row_source row = input_rows(k, in, 0, "i");
  const std::string n = k.parameter({word::role::rows, 0, 0, 0}, "u64"), out = k.argument(0, k.type_name(part.type) + "*");
  k.add("extern \"C\" __global__ void __launch_bounds__(256) lay_out_part(const __grid_constant__ words p) {\n  " + k.type_name(part.type) +
        "* const out = " + out + ";\n  for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < " + n +
        "; i += gridDim.x * 256ull) out[i] = " + expressions::part_of(row, part.offset, part.type, k) + ";\n}\n");
}

// The top-level fields that a part of the row is of.
std::vector<bool> fields_of_part(const ir::type* row, const input_column& part) {
  std::vector<bool> fields = all_fields(row);
  if (row->k == ir::kind::record)
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const ir::field& f = row->field_list[i];
      fields[i] = f.offset < part.offset + part.type->size && part.offset < f.offset + f.of->size;
    }
  return fields;
}

// The rows that the function gets: all of them there, or those that a branch starts from, of which it is brought what it asks for.
class rows_asked_for {
 public:
  explicit rows_asked_for(std::shared_ptr<const device_rows> rows) : brought_{std::move(rows)} {}
  rows_asked_for(const planner::branch& b, vertex_run& run)
      : from_(&b), run_(&run), brought_{run.input(b, std::vector<bool>(all_fields(b.row).size()))} {}

  std::uint64_t size() const { return brought_.front()->size(); }
  const device_rows& with(const input_column& part) {
    const ir::type* row = brought_.front()->layout().row;
    const std::vector<bool> fields = fields_of_part(row, part);
    for (const auto& rows : brought_)
      if (!from_ || has(*rows, fields)) return *rows;
    brought_.push_back(run_->input(*from_, fields));
    return *brought_.back();
  }

 private:
  static bool has(const device_rows& rows, const std::vector<bool>& fields) {
    const ir::type* row = rows.layout().row;
    if (row->k != ir::kind::record) return rows.has({0, row});
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (fields[i] && !rows.has({row->field_list[i].offset, row->field_list[i].of})) return false;
    return true;
  }

  const planner::branch* from_ = nullptr;
  vertex_run* run_ = nullptr;
  std::vector<std::shared_ptr<const device_rows>> brought_;
};

class port final : public detail::gpu_apply_port {
 public:
  port(vertex_run& run, rows_asked_for in, const ir::type* result) : run_(&run), in_(std::move(in)), result_(result) {}

  std::size_t size() const override { return static_cast<std::size_t>(in_.size()); }
  void* stream() const override { return run_->on().handle(); }
  int device() const override { return run_->gpu().on().ordinal(); }

  const void* column(std::size_t offset, const ir::type* t) override {
    const device_rows& in = in_.with({offset, t});
    const input_layout& l = in.layout();
    for (std::size_t c = 0; c < l.columns.size(); ++c)
      if (l.columns[c].offset == offset && same_shape(l.columns[c].type, t)) return pointer(in.column(c));
    device_buffer& made = parts_[{offset, t->size}];
    if (!made) {
      made = run_->allocate(std::max<std::size_t>(size(), 1) * t->size);
      if (size()) {
        kernel_source k;
        generate_part(k, l, {offset, t});
        const auto f = run_->compile(k, "lay_out_part");
        const std::uint64_t blocks = std::min<std::uint64_t>((size() + 255) / 256, std::uint64_t{resident_blocks(*f, 256)} * 16);
        run_->launch(k, *f, {static_cast<unsigned>(blocks), 256, 0}, std::array<const device_rows*, 1>{&in},
                     std::array<std::uint64_t, 1>{made.address()});
      }
    }
    return pointer(made.address());
  }
  void* scratch(std::size_t bytes) override {
    scratch_.push_back(run_->allocate(std::max<std::size_t>(bytes, 1)));
    return pointer(scratch_.back().address());
  }
  void* result_column(std::size_t offset, const ir::type* t, std::size_t n) override {
    if (!results_.empty() && n != rows_)
      throw detail::unplaced_error("results: columns of one result have the same number of rows: " + std::to_string(rows_) + ", " +
                                   std::to_string(n));
    rows_ = kept_ = n;
    for (result& r : results_)
      if (r.part.offset == offset && r.part.type->size == t->size) return pointer(r.memory.address());
    const bool whole = offset == 0 && same_shape(t, result_);
    if (!results_.empty() && (whole || whole_))
      throw detail::unplaced_error("results: either whole rows or a column for every field, not both");
    whole_ = whole;
    results_.push_back({{offset, t}, run_->allocate(std::max<std::size_t>(n, 1) * t->size)});
    return pointer(results_.back().memory.address());
  }
  void keep(std::size_t n) override {
    if (results_.empty() || n > rows_)
      throw detail::unplaced_error("keep: " + std::to_string(n) + " rows of a result that has room for " + std::to_string(rows_));
    kept_ = n;
  }
  void wait() override { run_->on().synchronize(run_->context().cancel); }

  // What the function gave, when its work has ended.
  result_rows take() {
    wait();
    if (results_.empty())
      throw detail::unplaced_error("the function's form for the GPU gave no rows: it must call results(n), with 0 for none");
    auto rows = std::make_shared<device_rows>(run_->shared_gpu(), result_, kept_);
    if (whole_) {
      rows->add({0, result_}, std::move(results_.front().memory));
      return rows;
    }
    for (const ir::field& f : result_->field_list) {
      const auto r = std::find_if(results_.begin(), results_.end(),
                                  [&](const result& x) { return x.part.offset == f.offset && x.part.type->size == f.of->size; });
      if (r == results_.end())
        throw detail::unplaced_error("the function's form for the GPU gave no column for the field " + std::string(f.name) + " of " +
                                     std::string(result_->name));
      rows->add({f.offset, f.of}, std::move(r->memory));
    }
    return rows;
  }

 private:
  struct result {
    input_column part;
    device_buffer memory;
  };
  static void* pointer(device_address at) { return reinterpret_cast<void*>(at); }

  vertex_run* run_;
  rows_asked_for in_;
  const ir::type* result_;
  std::map<std::pair<std::size_t, std::size_t>, device_buffer> parts_;
  std::vector<device_buffer> scratch_;
  std::vector<result> results_;
  std::size_t rows_ = 0, kept_ = 0;
  bool whole_ = false;
};

bool partitioned(const planner::vertex& v) {
  const planner::branch& b = v.inputs.front();
  return !v.node->all && b.table && b.table->node && b.table->node->what == detail::verb::partition;
}

// One call of the user's function.
result_rows call(const planner::vertex& v, rows_asked_for rows, vertex_run& run) {
  port p(run, std::move(rows), v.node->row);
  try {
    v.node->gpu_call(v.node->gpu_form.get(), p);
  } catch (...) {
    // What was given to the stream may use memory of the function's own.
    const std::exception_ptr failure = std::current_exception();
    try {
      p.wait();
    } catch (const std::exception&) {  // the function's own exception says more
    }
    std::rethrow_exception(failure);
  }
  return p.take();
}

// Rows [first, end), at addresses as the function may expect them: where they lie, or copied by the stream that the function gets.
std::shared_ptr<const device_rows> part_of(const std::shared_ptr<const device_rows>& rows, std::uint64_t first, std::uint64_t end,
                                           vertex_run& run) {
  const input_layout& in = rows->layout();
  auto part = std::make_shared<device_rows>(run.shared_gpu(), in.row, end - first);
  for (std::size_t c = 0; c < in.columns.size(); ++c) {
    const std::size_t size = device_layout(in.columns[c].type).size;
    const device_address at = rows->column(c) + first * size;
    if (at % alignment_of_pointers == 0) {
      part->add(in.columns[c], at);
      continue;
    }
    device_buffer own = run.allocate(std::max<std::uint64_t>(end - first, 1) * size);
    run.copy(own.address(), at, (end - first) * size);
    part->add(in.columns[c], std::move(own));
  }
  part->keep(rows);
  return part;
}

// The results of all calls, one after the other: rows, or columns where all of them gave those.
result_rows joined(const std::vector<result_rows>& results, const ir::type* row, vertex_run& run) {
  std::uint64_t n = 0;
  for (const result_rows& r : results) n += r->size();
  auto all = std::make_shared<device_rows>(run.shared_gpu(), row, n);
  const bool whole = results.empty() || results.front()->whole();
  const std::vector<input_column> columns = whole ? std::vector<input_column>{{0, row}} : results.front()->layout().columns;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::size_t size = columns[c].type->size;
    device_buffer to = run.allocate(std::max<std::uint64_t>(n, 1) * size);
    std::uint64_t done = 0;
    for (const result_rows& r : results) {
      if (r->whole() != whole) throw detail::unplaced_error("results: whole rows of one partition, columns of another");
      run.copy(to.address() + done * size, r->column(c), r->size() * size);
      done += r->size();
    }
    all->add(columns[c], std::move(to));
  }
  run.on().synchronize(run.context().cancel);
  return all;
}

// Where the partitions end: rows that lie on this device know it themselves.
const std::vector<std::size_t>& ends_of(const planner::vertex& v, const device_rows& rows, vertex_run& run) {
  if (rows.ends()) return *rows.ends();
  const auto at = run.context().tables.find(v.inputs.front().table);
  const auto* bounds = at == run.context().tables.end() ? nullptr : runtime::bounds_of(at->second.rows);
  if (!bounds) throw resource_error("gpu: where the partitions end is not known there");
  return bounds->ends;
}

result_rows by_partition(const planner::vertex& v, const std::shared_ptr<const device_rows>& rows, vertex_run& run) {
  std::vector<result_rows> results;
  std::uint64_t first = 0;
  for (const std::size_t end : ends_of(v, *rows, run)) {
    run.context().cancel.check();
    results.push_back(call(v, rows_asked_for(part_of(rows, first, end, run)), run));
    first = end;
  }
  return joined(results, v.node->row, run);
}

}  // namespace

void plan_apply(const planner::vertex& v) {
  if (!v.node->gpu_call) throw not_generated("its function has no form for the GPU (query::on_gpu)");
  const planner::branch& b = v.inputs.front();
  if (partitioned(v) && !bare(b)) throw not_generated("rows behind a partition were changed before they are handed to its function");
  if (!same_on_device(b.row) || !same_on_device(v.node->row)) throw not_generated("its rows own memory (strings, lists)");
  if (!bare(b)) plan_collect_before(b);
}

result_rows run_apply(const planner::vertex& v, vertex_run& run) {
  const planner::branch& b = v.inputs.front();
  const scoped_context here(run.gpu().on());
  if (partitioned(v)) return by_partition(v, run.input(b, all_fields(b.row)), run);  // bare: plan_apply
  return call(v, bare(b) ? rows_asked_for(b, run) : rows_asked_for(run_collect_before(b, run)), run);
}

}  // namespace query::gpu_engine
