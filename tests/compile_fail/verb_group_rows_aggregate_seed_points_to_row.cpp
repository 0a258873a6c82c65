// form: from_trades.group_by([](auto t) { return t.name; }).select([](const query::Group<std::string, Trade>& g) { return *g.aggregate(static_cast<const Trade*>(nullptr), [](const Trade* s, const Trade& t) { return s ? s : &t; }, [](const Trade* a, const Trade*) { return a; }); })
// message: query: aggregate: the state or the result is a pointer to a row or to a part of it
// expect: query: aggregate: the state or the result is a pointer to a row or to a part of it
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by([](auto t) { return t.name; }).select([](const query::Group<std::string, Trade>& g) { return *g.aggregate(static_cast<const Trade*>(nullptr), [](const Trade* s, const Trade& t) { return s ? s : &t; }, [](const Trade* a, const Trade*) { return a; }); })); }
