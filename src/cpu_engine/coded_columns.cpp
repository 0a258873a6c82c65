#include "cpu_engine/coded_columns.hpp"

namespace query::cpu {

coded_columns::coded_columns(const detail::logical& source, const planner::column_schema& schema)
    : table_(data::arrow_table::of(source)) {
  if (!table_) return;
  std::size_t field = 0;
  for (std::size_t c = 0; c < schema.columns.size(); ++c) {
    const auto& fields = source.row->field_list;
    while (fields[field].offset != schema.columns[c].offset || fields[field].of != schema.columns[c].type) ++field;
    if (const data::text_codes* const codes = table_->codes_of(field))
      all_.push_back({c, field, codes, std::make_shared<const dictionary>(codes->type, codes->entries, codes->n)});
  }
}

void coded_columns::put(const void* const* bases, std::size_t from, std::vector<column>& to) const {
  for (const coded& k : all_) {
    column& c = to[k.column];
    c.base = k.codes->entries;
    c.select = k.codes->codes + table_->row_at(k.field, bases[k.field]) + from;
    c.coded = k.of.get();
  }
}

}  // namespace query::cpu
