// The verbs that take texts which users type (query/text.hpp): what where and order_by make of one, in the library.
#pragma once

#include <query/detail/query_state.hpp>
#include <query/text.hpp>

namespace query::detail {

// The query over `origin` with a where. Throws text_error.
query_state where_text(const pipe& origin, const settings& how, const text_expression& t, const ir::type* row, const char* label,
                       call_site at);
// The keys of the text become the next ones of the node, an order_by; `verb` is its label, or then_by. nulls_first: where nulls of keys
// go that do not say it. Throws text_error.
void add_text_order(logical& n, const text_expression& t, bool nulls_first, const char* verb, call_site at);

template <class T> constexpr bool fields_are_known() {
  static_assert(ir::described_v<T>, "query: a text names fields of its row, which needs a QUERY_RECORD, right after the struct, as do the "
                                    "structs in it. Or write a lambda: [](const auto& t) { return t.price > 3; }");
  return ir::described_v<T>;
}

}  // namespace query::detail
