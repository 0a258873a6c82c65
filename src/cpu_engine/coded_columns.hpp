// The columns of a source whose values come as codes of dictionaries: in a batch, such a column selects entries of its dictionary.
//
//   coded_columns coded(source, schema);              // once for a run: what is found out about entries is shared by its tasks
//   coded.put(bases, from, columns);                  // over the columns of a batch that begins at row `from` of these bases
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "cpu_engine/column_batch.hpp"
#include "cpu_engine/dictionary.hpp"
#include "data/arrow_table.hpp"
#include "planner/projection.hpp"

namespace query::cpu {

class coded_columns {
 public:
  coded_columns() = default;
  // schema: the columns of batches. Codes are there if the run has prepared them (data::arrow_table).
  coded_columns(const detail::logical& source, const planner::column_schema& schema);

  void put(const void* const* bases, std::size_t from, std::vector<column>& to) const;

 private:
  struct coded {
    std::size_t column, field;
    const data::text_codes* codes;
    std::shared_ptr<const dictionary> of;
  };
  const data::arrow_table* table_ = nullptr;
  std::vector<coded> all_;
};

}  // namespace query::cpu
