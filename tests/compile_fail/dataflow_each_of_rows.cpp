// expect: query::dataflow: each: the function takes block<T> and output<U>&
// expect-at-most: 1
#include <query/dataflow.hpp>

namespace flow = query::dataflow;

void f(flow::graph& g, flow::edge<int> e, flow::edge<double> d) {
  g.each("v", [](int row, flow::output<double>& out) { out.row(row); }, flow::reads(e), flow::writes(d));
}
