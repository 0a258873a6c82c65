#include "cluster/lambdas.hpp"

namespace cluster_lambdas {

std::uint64_t cheap_items(const query::Query<double>& prices, double limit) {
  return prices.where([limit](auto p) { return p < limit; }).count();
}
query::Query<std::string> named(const query::Query<std::string>& names, const std::string& name) {
  return names.where([name](auto n) { return n == name; });
}
std::string plan(const query::Query<double>& prices, double limit) {
  return prices.where([limit](auto p) { return p < limit; }).explain("count");
}

}  // namespace cluster_lambdas
