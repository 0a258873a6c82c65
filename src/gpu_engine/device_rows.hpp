// Rows on the GPU: columns, each a part of the row, and what keeps their memory.
//
// The result of every operator is one column, the rows themselves, in the host's layout; uploads of a few fields are a column
// a field. Strings and lists are views into heaps that the rows keep, be they of an upload or of the rows that a result came
// from. Vertices that run on the same GPU read them where they are; others fetch them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_engine/codegen/row_function.hpp"
#include "gpu_engine/gpu_session.hpp"
#include "gpu_engine/row_hints.hpp"
#include "runtime/run_context.hpp"

namespace query::gpu_engine {

// Rows of one type in device memory. Immutable once made; work that wrote them has ended.
class device_rows : public runtime::kept_rows {
 public:
  device_rows(std::shared_ptr<gpu_session> gpu, const ir::type* row, std::uint64_t n) : gpu_(std::move(gpu)), n_(n) { layout_.row = row; }

  // Before it is shared.
  void add(input_column part, device_buffer memory) {
    layout_.columns.push_back(part);
    addresses_.push_back(memory.address());
    owners_.push_back(std::make_shared<device_buffer>(std::move(memory)));
  }
  void add(input_column part, device_address at) {  // memory that `keep` keeps
    layout_.columns.push_back(part);
    addresses_.push_back(at);
  }
  // Integers from `first` on, its bits as those of the type: kernels compute them. Not to be fetched.
  void add_counted(const ir::type* type, std::uint64_t first) { add({0, type, true}, device_address{first}); }
  // The answers of a search for each row, as a column that is no part of the row.
  void add_answers(std::shared_ptr<const nearest_search> s, device_buffer memory) {
    layout_.nearest = std::move(s);
    layout_.nearest_column = static_cast<std::uint32_t>(layout_.columns.size());
    add({~std::size_t{0}, ir::describe<std::uint64_t>()}, std::move(memory));
  }
  // Where each partition ends, of rows that lie side by side by partition (runtime/partition_bounds.hpp).
  void set_ends(std::vector<std::size_t> ends) { ends_ = std::make_unique<const std::vector<std::size_t>>(std::move(ends)); }
  const std::vector<std::size_t>* ends() const { return ends_.get(); }
  void keep(std::shared_ptr<const void> owner) { owners_.push_back(std::move(owner)); }
  void keep_heap(std::shared_ptr<const device_buffer> heap) { heaps_.push_back(std::move(heap)); }

  bool on(const device& d) const { return &gpu_->on() == &d; }
  const std::shared_ptr<gpu_session>& gpu() const { return gpu_; }
  const input_layout& layout() const { return layout_; }
  device_address column(std::size_t i) const { return addresses_[i]; }
  bool whole() const {
    if (layout_.columns.size() != 1) return false;
    const input_column& c = layout_.columns[0];
    return c.offset == 0 && c.type == layout_.row && !c.counted;
  }
  bool has(const input_column& part) const;
  const std::vector<std::shared_ptr<const void>>& owners() const { return owners_; }
  // What its strings and lists view.
  const std::vector<std::shared_ptr<const device_buffer>>& heaps() const { return heaps_; }
  // What earlier queries learned of these rows.
  row_hints& hints() const { return hints_; }

  // kept_rows
  std::string_view engine() const override { return "gpu"; }
  std::uint64_t size() const override { return n_; }
  // All columns that make the row, in the host's layout; with the ends of partitions.
  detail::table fetch(runtime::run_context& context) override;
  // The same to memory of the caller's, of rows that own no memory.
  void fetch_to(std::byte* rows, runtime::run_context& context) const;

 private:
  detail::table fetch_plain(runtime::run_context& context) const;
  detail::table fetch_owning(runtime::run_context& context) const;

  std::shared_ptr<gpu_session> gpu_;
  input_layout layout_;
  std::vector<device_address> addresses_;
  std::vector<std::shared_ptr<const void>> owners_;
  std::vector<std::shared_ptr<const device_buffer>> heaps_;
  mutable row_hints hints_;
  std::unique_ptr<const std::vector<std::size_t>> ends_;
  std::uint64_t n_;
};

// Are they of the same parts of the row?
bool same_columns(const input_layout& a, const input_layout& b);

// The columns to bring for a branch that reads `fields` of its source (one flag a top-level field): whole rows where most of
// their bytes are read anyway, else a column a field. Throws not_generated for fields without a form on the device.
std::vector<input_column> choose_columns(const ir::type* row, const std::vector<bool>& fields, bool columnar);

// A column a field: how rows are kept for queries to come.
std::vector<input_column> field_columns(const ir::type* row);

}  // namespace query::gpu_engine
