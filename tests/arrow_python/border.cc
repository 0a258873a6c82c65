// Queries that arrow_test.py calls through ctypes, with streams and arrays of pyarrow and Polars on both sides.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <query/arrow.hpp>
#include <query/query.hpp>

namespace arrow_border {

struct Point {
  double x;
  std::string label;
};
QUERY_RECORD(Point, x, label);
struct All {
  std::int64_t id;
  std::optional<std::int32_t> small;
  double price;
  std::optional<float> number;
  bool flag;
  std::optional<bool> maybe_flag;
  std::string symbol;
  std::optional<std::string> note;
  Point point;
  std::optional<Point> maybe_point;
  std::vector<std::int32_t> list;
  std::optional<std::vector<std::optional<std::string>>> names;
  std::array<float, 2> pair;
  std::optional<std::int64_t> time;
};
QUERY_RECORD(All, id, small, price, number, flag, maybe_flag, symbol, note, point, maybe_point, list, names, pair, time);
struct Trade {
  std::string symbol;
  double price;
  std::int64_t quantity;
};
QUERY_RECORD(Trade, symbol, price, quantity);
struct Total {
  std::string symbol;
  double value;
  std::int64_t trades;
};
QUERY_RECORD(Total, symbol, value, trades);

std::string message;
// Null, or what was thrown.
template <class F> const char* called(F f) {
  try {
    f();
    return nullptr;
  } catch (const std::exception& e) {
    message = e.what();
    return message.c_str();
  }
}

}  // namespace arrow_border

using namespace arrow_border;

extern "C" {

const char* echo_stream(ArrowArrayStream* in, ArrowArrayStream* out) {
  return called([&] { query::to_arrow(query::from_arrow<All>(in), out); });
}
const char* echo_array(ArrowArray* in, ArrowSchema* in_schema, ArrowArray* out, ArrowSchema* out_schema) {
  return called([&] { query::to_arrow(query::from_arrow<All>(in, in_schema), out, out_schema); });
}
// The value of all trades of a symbol, in the order of the symbols.
const char* totals(ArrowArrayStream* in, ArrowArrayStream* out) {
  return called([&] {
    const auto trades = query::from_arrow<Trade>(in);
    query::to_arrow(trades.group_by([](auto t) { return t.symbol; })
                        .select([](auto g) {
                          return query::make<Total>(g.key(), g.sum([](auto t) { return t.price * query::cast<double>(t.quantity); }), g.count());
                        })
                        .order_by([](auto t) { return t.symbol; }),
                    out);
  });
}
}
