// form: from_trades.except(from_trades, [](const Trade& a) { return a.qty; }, [](const Trade& a) { return std::size_t(a.qty); }).to_vector()
// message: query: except: the equality must take two keys and give bool: except(other, equal, hash)
// expect: query: except: the equality must take two keys and give bool: except(other, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.except(from_trades, [](const Trade& a) { return a.qty; }, [](const Trade& a) { return std::size_t(a.qty); }).to_vector()); }
