// Runs a query whose terminal verb takes all rows in order.
#pragma once

#include <cstdint>

#include <query/detail/execute.hpp>

namespace query::detail {

// `room`, if not null: where the rows may be assigned all at once. `terminal`, if not null: the verb that reads them, for messages.
void stream_rows(const pipe& p, const settings& s, function_ref<void*(std::uint64_t)>* room, function_ref<void(std::uint64_t)> expected,
                 function_ref<bool(const row_block&)> take, const char* terminal = nullptr, call_site where = {});

}  // namespace query::detail
