// form: from_trades.aggregate(std::unique_ptr<int>(), [](const std::unique_ptr<int>&, const Trade&) { return std::unique_ptr<int>(); }, [](const std::unique_ptr<int>&, const std::unique_ptr<int>&) { return std::unique_ptr<int>(); })
// message: query: aggregate: the state cannot be copied, as a std::unique_ptr
// expect: query: aggregate: the state cannot be copied, as a std::unique_ptr
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>

void f() { (void)(from_trades.aggregate(std::unique_ptr<int>(), [](const std::unique_ptr<int>&, const Trade&) { return std::unique_ptr<int>(); }, [](const std::unique_ptr<int>&, const std::unique_ptr<int>&) { return std::unique_ptr<int>(); })); }
