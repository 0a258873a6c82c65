// form: from_trades.select([](const Trade& t) { return letters{&t.name.front(), &t.name.back()}; }).to_vector()
// message: query: select: the function gives a container, std::variant or range of views
// expect: query: select: the function gives a container, std::variant or range of views
// expect-at-most: 1
#include "verb_rows.hpp"
#include <ranges>

struct letters {
  const char *first, *last;
  const char* begin() const { return first; }
  const char* end() const { return last; }
};
template <> inline constexpr bool std::ranges::enable_view<letters> = true;
template <> inline constexpr bool std::ranges::enable_borrowed_range<letters> = true;

void f() { (void)(from_trades.select([](const Trade& t) { return letters{&t.name.front(), &t.name.back()}; }).to_vector()); }
