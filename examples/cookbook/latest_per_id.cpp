// The latest state of each order.
#include <string>
#include <vector>

#include <query/query.hpp>

#include "answer.hpp"

struct Event {
  std::int64_t order, time;
  std::string state;
};
QUERY_RECORD(Event, order, time, state);

int main() {
  const std::vector<Event> events{{7, 1, "new"}, {8, 2, "new"}, {7, 9, "sent"}, {7, 5, "paid"}, {8, 3, "cancelled"}, {9, 4, "new"}};

  const auto latest = query::from(events)
      .group_by([](auto e) { return e.order; })
      .select([](auto g) { return g.arg_max([](auto e) { return e.time; }); })
      .order_by([](auto e) { return e.order; });

  return answer<Event>(latest, {{7, 9, "sent"}, {8, 3, "cancelled"}, {9, 4, "new"}});
}
