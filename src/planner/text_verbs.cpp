#include <query/detail/text_verbs.hpp>

#include <utility>

#include <query/detail/execute.hpp>

#include "ir/typed_text/parser.hpp"
#include "planner/expression_function.hpp"
#include "planner/typed_texts.hpp"

namespace query::detail {

namespace typed_text = ir::typed_text;

query_state where_text(const pipe& origin, const settings& how, const text_expression& t, const ir::type* row, const char* label,
                       call_site at) {
  ir::traced condition = planner::read_typed(label, t, at, [&] { return typed_text::condition_of(t, row); });
  const user_function f = planner::function_of("predicate", std::move(condition), row, ir::describe<bool>());
  const query_state made = extended(query_state(origin, how), origin, verb::where, label, f, row, at);
  return {pipe{made.node, planner::segment_of(origin, f)}, made.how};
}

void add_text_order(logical& n, const text_expression& t, bool nulls_first, const char* verb, call_site at) {
  const bool refines = !n.functions.empty();
  for (typed_text::sort_key& k : planner::read_typed(verb, t, at, [&] { return typed_text::sort_keys_of(t, n.row); })) {
    const ir::type* const type = k.key.root->type;
    n.functions.push_back(planner::function_of("key", std::move(k.key), n.row, type));
    order_key key{.descending = k.descending, .nulls_first = k.nulls_first.value_or(nulls_first)};
    if (refines) {
      key.verb = verb;
      key.where = at;
    }
    n.order.push_back(std::move(key));
  }
}

}  // namespace query::detail
