// form: from_trades.group_by(symbol_of).select_many([](const auto& g) { return query::from(g.rows()).take(3).to_vector(); })
// message: query: from: these rows are an expression: `auto` made the function one that is traced. Name the type of its parameter: [](const query::Group<Key, Row>& g) { ... query::from(g.rows()) ... }, or [](const Row& t) { ... }
// expect: query: from: these rows are an expression: `auto` made the function one that is traced. Name the type of its parameter: [](const query::Group<Key, Row>& g) { ... query::from(g.rows()) ... }, or [](const Row& t) { ... }
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select_many([](const auto& g) { return query::from(g.rows()).take(3).to_vector(); })); }
