// expect: query::dataflow: vertex: its ports are said by reads(edge), writes(edge) and their kin
// expect-at-most: 1
#include <query/dataflow.hpp>

namespace flow = query::dataflow;

void f(flow::graph& g, flow::edge<int> e, flow::edge<double> d) {
  (void)d;
  g.vertex("v", [](flow::input<int>&) {}, e);
}
