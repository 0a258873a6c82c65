// form: query::make<Mean>(g.key(), g.mean(f)) where f may be null
// message: A std::optional needs a field that is one, or value_or(x)
// expect: A std::optional needs a field that is one, or value_or(x)
// expect-at-most: 1
#include "verb_rows.hpp"
#include <optional>

struct Weight {
  int id;
  std::optional<double> kg;
};
QUERY_RECORD(Weight, id, kg);
struct Mean {
  int id;
  double kg;
};
QUERY_RECORD(Mean, id, kg);
void f(const std::vector<Weight>& weights) {
  (void)(query::from(weights)
             .group_by([](auto w) { return w.id; })
             .select([](auto g) { return query::make<Mean>(g.key(), g.mean([](auto w) { return w.kg; })); })
             .to_vector());
}
