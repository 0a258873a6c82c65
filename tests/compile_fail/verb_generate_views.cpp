// form: query::generate([] { return std::optional<std::variant<int, std::string_view>>(); }).to_vector()
// message: query: generate: the rows hold containers or a std::variant of views
// expect: query: generate: the rows hold containers or a std::variant of views
// expect-at-most: 1
#include "verb_rows.hpp"
#include <variant>

void f() {
  (void)query::generate([] { return std::optional<std::variant<int, std::string_view>>(); }).to_vector();
}
