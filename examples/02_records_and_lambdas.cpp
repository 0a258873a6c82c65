// QUERY_RECORD describes a struct; the library looks inside lambdas that take `auto`. explain() says what it saw.
#include <cmath>
#include <iostream>
#include <vector>

#include <query/query.hpp>

struct Trade {
  std::int32_t symbol;
  double price;
  std::int32_t qty;
};
QUERY_RECORD(Trade, symbol, price, qty);

int main() {
  const std::vector<Trade> trades{{1, 10.0, 100}, {2, 20.5, 50}, {1, 11.0, 300}, {3, 5.25, 0}};
  const auto rows = query::from(trades);

  // Traced: the library calls the lambda once with a symbolic row and keeps the expression. It still runs as compiled code.
  const auto traced = rows.where([](auto t) {
    if (t.qty == 0) return false;
    return t.price / t.qty < 0.2;
  });
  std::cout << traced.count() << " rows pass\n" << traced.explain() << "\n";

  // Opaque: a named type, or std:: maths on the row's values, hides the inside. The query works all the same.
  const auto named_type = rows.where([](const Trade& t) { return t.price > 10; });
  std::cout << named_type.count() << " rows pass\n" << named_type.explain() << "\n";
  const auto std_maths = rows.select([](auto t) { return std::sqrt(t.price); });  // query::sqrt would trace
  std::cout << std_maths.sum() << " in sum\n" << std_maths.explain() << "\n";

  // must_trace: an error, with the reason, instead of an opaque function.
  try {
    const auto strict = rows.where(query::must_trace([](auto t) { return std::sqrt(t.price) > 3; }));
    std::cout << strict.count() << "\n";
  } catch (const query::user_error& e) {
    std::cout << "must_trace: " << e.what() << "\n";
  }
}
