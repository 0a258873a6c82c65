#include "cpu_engine/columns.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <query/cpu/typed_segment.hpp>
#include <query/detail/failure.hpp>

#include "cpu_engine/function_calls.hpp"

namespace query::cpu {

using detail::batch_sink;
using detail::logical;
using detail::row_block;
using detail::verb;

namespace {

// Rows made of columns, a batch at a time, in memory of one task; fields that nobody reads stay empty.
class gathered_rows {
 public:
  gathered_rows(const ir::type* row, const std::vector<bool>& wanted)
      : row_(row), wanted_(&wanted), memory_(new std::byte[rows_a_batch(row->size) * row->size + row->align]) {}

  // Rows from...from + n - 1, or of those the k that `select` names, for the length of the call: at most rows_a_batch of them.
  void hand_on(const row_block& b, std::size_t from, const std::uint32_t* select, std::size_t k, batch_sink& to) {
    void* raw = memory_.get();
    const std::size_t bytes = rows_a_batch(row_->size) * row_->size;
    std::size_t space = bytes + row_->align;
    std::byte* rows = static_cast<std::byte*>(std::align(row_->align, bytes, raw, space));
    if (row_->trivial) std::memset(rows, 0, k * row_->size);
    else row_->life.construct(rows, k);
    struct guard {
      const ir::type* t;
      void* rows;
      std::size_t n;
      ~guard() { destroy_rows(t, rows, n); }
    } alive{row_, rows, k};
    for (std::size_t f = 0; f < row_->field_list.size(); ++f)
      if (wanted_->empty() || (*wanted_)[f])
        fill(row_->field_list[f], static_cast<const std::byte*>(b.columns[f]) + from * row_->field_list[f].of->size, select, rows, k);
    row_block out;
    out.rows = rows;
    out.n = k;
    out.first = b.first + from;
    out.owned = true;
    to.push(out);
  }

 private:
  void fill(const ir::field& f, const std::byte* column, const std::uint32_t* select, std::byte* rows, std::size_t n) const {
    const std::size_t size = f.of->size, stride = row_->size;
    for (std::size_t i = 0; i < n; ++i) {
      const std::byte* from = column + (select ? select[i] : i) * size;
      if (f.of->trivial) std::memcpy(rows + i * stride + f.offset, from, size);
      else f.of->life.copy_assign(rows + i * stride + f.offset, from);
    }
  }
  const ir::type* row_;
  const std::vector<bool>* wanted_;
  std::unique_ptr<std::byte[]> memory_;
};

class gather_stage final : public prepared_stage {
 public:
  gather_stage(const ir::type* row, std::vector<bool> wanted) : row_(row), wanted_(std::move(wanted)) {}
  std::unique_ptr<stage_runner> start(batch_sink& next) const override { return std::make_unique<runner>(*this, next); }

 private:
  class runner final : public stage_runner {
   public:
    runner(const gather_stage& s, batch_sink& next) : most_(rows_a_batch(s.row_->size)), rows_(s.row_, s.wanted_), next_(&next) {}
    void push(const row_block& b) override {
      for (std::size_t from = 0; from < b.n; from += most_) rows_.hand_on(b, from, nullptr, std::min(most_, b.n - from), *next_);
    }

   private:
    std::size_t most_;
    gathered_rows rows_;
    batch_sink* next_;
  };
  const ir::type* row_;
  std::vector<bool> wanted_;
};

// Filters narrow a selection of each batch, a projection ends the stage; without one, the rows that pass are gathered.
class columns_stage final : public prepared_stage {
 public:
  columns_stage(const planner::stage& s, std::size_t functions, std::vector<bool> wanted, runtime::buffer_pool& pool)
      : row_(s.in), wanted_(std::move(wanted)), pool_(&pool) {
    for (std::size_t i = 0; i < functions; ++i) {
      const logical& n = *s.nodes[i];
      (n.what == verb::where ? tests_ : maps_).push_back({function_calls(n.functions[0], true, n.what == verb::where), &n});
    }
  }
  std::unique_ptr<stage_runner> start(batch_sink& next) const override { return std::make_unique<runner>(*this, next); }

 private:
  struct step {
    function_calls calls;
    const logical* node;
  };
  class runner final : public stage_runner {
   public:
    runner(const columns_stage& s, batch_sink& next) : stage_(&s), gathered_(s.row_, s.wanted_), next_(&next) {
      for (const ir::field& f : s.row_->field_list) columns_.push_back({nullptr, f.of->size, f.offset, f.of->size});
      if (!s.maps_.empty()) mapped_.emplace(s.maps_.front().node->row, *s.pool_);
    }
    void push(const row_block& b) override {
      const std::size_t most = rows_a_batch(stage_->row_->size);
      for (std::size_t from = 0; from < b.n; from += most) batch(b, from, std::min(most, b.n - from));
    }

   private:
    void batch(const row_block& b, std::size_t from, std::size_t n) {
      for (std::size_t f = 0; f < columns_.size(); ++f)
        columns_[f].base = static_cast<const std::byte*>(b.columns[f]) + from * columns_[f].size;
      interpreter::binding rows;
      rows.columns = columns_;
      for (const step& s : stage_->tests_) {
        placed(s, [&] { s.calls.filter(rows, n, pass_, scratch_); });
        std::size_t k = 0;
        for (std::size_t i = 0; i < n; ++i) {
          chosen_[k] = rows.select ? chosen_[i] : static_cast<std::uint32_t>(i);
          k += pass_[i];
        }
        rows.select = chosen_;
        n = k;
        if (!n) return;
      }
      if (!mapped_) return gathered_.hand_on(b, from, rows.select, n, *next_);
      const step& map = stage_->maps_.front();
      mapped_->clear();
      placed(map, [&] { map.calls.map(rows, n, mapped_->extend(n), scratch_); });
      mapped_->grow(n);
      row_block out;
      out.rows = mapped_->data();
      out.n = n;
      out.owned = true;
      next_->push(out);
    }
    template <class Call> static void placed(const step& s, Call call) {
      try {
        call();
      } catch (const detail::unplaced_error& e) {
        detail::fail_at(e, *s.node);
      }
    }

    const columns_stage* stage_;
    gathered_rows gathered_;
    std::optional<rows_buffer> mapped_;
    std::vector<interpreter::column> columns_;
    interpreter::scratch scratch_;
    bool pass_[batch_rows];
    std::uint32_t chosen_[batch_rows];
    batch_sink* next_;
  };

  const ir::type* row_;
  std::vector<bool> wanted_;
  runtime::buffer_pool* pool_;
  std::vector<step> tests_, maps_;
};

// How many of a stage's functions run over columns: tests, then one projection, that have an expression over fields.
std::size_t over_columns(const planner::stage& s) {
  std::size_t i = 0;
  for (; i < s.nodes.size(); ++i) {
    const logical& n = *s.nodes[i];
    if (n.what != verb::where && n.what != verb::select) return i;
    const function_calls f(n.functions[0], true, n.what == verb::where);
    if (!f.is_interpreted() || !f.reads_fields_only()) return i;
    if (n.what == verb::select) return i + 1;
  }
  return i;
}

}  // namespace

std::unique_ptr<prepared_stage> rows_from_columns(const ir::type* row, const std::vector<bool>& wanted) {
  return std::make_unique<gather_stage>(row, wanted);
}

std::unique_ptr<prepared_stage> interpreted_columns(planner::stage& s, const std::vector<bool>& wanted, runtime::run_context& context) {
  const std::size_t n = over_columns(s);
  if (n == 0) return rows_from_columns(s.in, wanted);
  auto stage = std::make_unique<columns_stage>(s, n, wanted, context.pool);
  s.in = s.nodes[n - 1]->row;
  s.nodes.erase(s.nodes.begin(), s.nodes.begin() + static_cast<std::ptrdiff_t>(n));
  return stage;
}

}  // namespace query::cpu
