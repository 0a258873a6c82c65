#include "conformance/engines.hpp"

namespace conformance {

const std::vector<engine_config>& engines() {
  static const std::vector<engine_config> all = {
      {"cpu, 1 thread", "cpu", query::Session({.threads = 1})},
      {"cpu, 4 threads", "cpu", query::Session({.threads = 4})},
      {"interpreter", "interpreter", query::Session({.threads = 4, .interpret = true})},
  };
  return all;
}

namespace {
auto& table() {
  static std::map<std::string, std::vector<std::string>, std::less<>> t;
  return t;
}
}  // namespace

coverage::coverage(const char* test, std::vector<std::string_view> verbs) {
  for (const std::string_view v : verbs) table()[std::string(v)].push_back(test);
}
const std::map<std::string, std::vector<std::string>, std::less<>>& covered() { return table(); }

}  // namespace conformance
