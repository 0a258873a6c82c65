// expect: query::dataflow: when: the predicate takes a row, gives a bool and is not `mutable`
// expect-at-most: 1
#include <query/dataflow.hpp>

namespace flow = query::dataflow;

void f(flow::graph& g, flow::edge<int> e, flow::edge<double> d) {
  g.vertex("v", [](flow::output<int>&) {}, flow::writes(flow::when([](const char* row) { return *row != 0; }, e)));
  (void)d;
}
