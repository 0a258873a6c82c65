// form: query::make<Mean>(g.key(), g.mean(f)) where f may be null
// message: query::make<Mean>(...): the value for field 'kg' is a std::optional, the field is none. Write x.value_or(0)
// expect: query::make<Mean>(...): the value for field 'kg' is a std::optional, the field is none. Write x.value_or(0)
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
