// Queries whose functions are in a shared object: built as one of its own, it takes the library from the program.
#pragma once

#include <cstdint>
#include <string>

#include <query/query.hpp>

namespace cluster_lambdas {

std::uint64_t cheap_items(const query::Query<double>& prices, double limit);
query::Query<std::string> named(const query::Query<std::string>& names, const std::string& name);
std::string plan(const query::Query<double>& prices, double limit);

}  // namespace cluster_lambdas
