// form: query::run_all(owners)
// message: query: run_all: these rows cannot be copied, as a std::unique_ptr
// expect: query: run_all: these rows cannot be copied, as a std::unique_ptr
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>
#include <query/run_all.hpp>
inline const std::vector<std::unique_ptr<int>> owners;

void f() { (void)query::run_all(owners); }
