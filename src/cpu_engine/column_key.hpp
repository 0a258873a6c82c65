// The keys of rows that come as columns: each part of a composite key is a column of its own, renamed or computed.
#pragma once

#include <vector>

#include "cpu_engine/column_steps.hpp"
#include "cpu_engine/key_view.hpp"

namespace query::cpu {

class column_key {
 public:
  // The function is one that planner::project takes apart.
  column_key(const detail::user_function& f, const planner::column_schema& rows, const detail::logical* node)
      : projector_(*planner::project(f, rows), node), schema_(projector_.schema()) {}

  class runner {
   public:
    runner(const column_key& k, runtime::buffer_pool& pool) : projector_(k.projector_, pool) {
      for (const auto& c : k.schema_.columns) {
        parts_.push_back({.type = c.type, .offset = c.offset});
        gathered_.emplace_back(c.type, pool);
      }
    }
    // Lives as long as the batch, and until the next call.
    key_view run(const column_batch& rows) {
      const std::span<const column> columns = projector_.run(rows.columns, {}, rows.n);
      for (std::size_t c = 0; c < columns.size(); ++c) {
        if (!columns[c].as_stored()) {  // a key has no rows that are missing
          gather(c, columns[c], rows.n);
          continue;
        }
        parts_[c].base = static_cast<const std::byte*>(columns[c].base);
        parts_[c].stride = columns[c].stride;
        parts_[c].select = columns[c].select;
        parts_[c].stays = !columns[c].transient;
        parts_[c].coded = columns[c].coded;
      }
      return parts_;
    }

   private:
    void gather(std::size_t c, const column& from, std::size_t n) {
      rows_buffer& values = gathered_[c];
      const ir::type* t = values.type();
      values.clear();
      gather_column(from, t, n, values.extend(n), t->size, false);
      values.grow(n);
      parts_[c].base = static_cast<const std::byte*>(values.data());
      parts_[c].stride = t->size;
      parts_[c].select = nullptr;
      parts_[c].stays = false;
      parts_[c].coded = nullptr;
    }

    column_projector::runner projector_;
    std::vector<key_part> parts_;
    std::vector<rows_buffer> gathered_;
  };

 private:
  column_projector projector_;
  planner::column_schema schema_;
};

}  // namespace query::cpu
