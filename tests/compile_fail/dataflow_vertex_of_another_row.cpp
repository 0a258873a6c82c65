// expect: query::dataflow: vertex: the function takes input<T>& for each source and output<T>& for each sink, in their order
// expect-at-most: 1
#include <query/dataflow.hpp>

namespace flow = query::dataflow;

void f(flow::graph& g, flow::edge<int> e, flow::edge<double> d) {
  g.vertex("v", [](flow::input<int>&, flow::output<int>&) {}, flow::reads(e), flow::writes(d));
}
