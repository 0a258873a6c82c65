// Functions of a row that may be missing, for engines that keep rows as columns.
//
// An outer join gives its function a std::optional of the row, which no column holds. Rewritten, the function reads the row's own fields,
// and a bool that tells whether the row is there.
//
//   r ? r->x : 0     select(has_value(row 1), member(value(row 1), x), 0)   becomes   select(present, row 1 .x, 0)
#pragma once

#include <cstdint>

#include <query/detail/node.hpp>

namespace query::ir {

// `body` with optionals of row `id`, a `record`, read as above. Fields are read without a test only where the function has tested for the
// row; anywhere else the value of a missing row is a user_error as before. Throws untraceable beyond the arena's limit.
// other: what the other row of a pair is, where it may be missing too, but never both: a full join.
const node* over_present_rows(arena& a, const node* body, std::uint32_t id, const type* record, const type* other = nullptr);

// The bool: it lies behind the record.
const node* presence_of(arena& a, std::uint32_t id, const type* record);
bool is_presence(const node* n, std::uint32_t id, const type* record);

}  // namespace query::ir
