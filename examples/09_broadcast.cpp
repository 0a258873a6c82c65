// broadcast lets a lambda look through other rows: for each row, over all of a small set.
#include <array>
#include <iostream>
#include <vector>

#include <query/query.hpp>

struct Place {
  std::int32_t id;
  std::array<double, 2> at;
};
QUERY_RECORD(Place, id, at);

struct Nearest {
  std::int32_t house, shop;
  double distance;
};
QUERY_RECORD(Nearest, house, shop, distance);

int main() {
  const std::vector<Place> houses{{1, {0, 0}}, {2, {5, 5}}, {3, {9, 1}}};
  const std::vector<Place> shops{{100, {1, 1}}, {200, {8, 2}}, {300, {20, 20}}};

  // The handle is captured by value, and cheap to copy. Functions over it take the row first, then an element.
  const auto nearby = query::broadcast(shops);
  const auto distance = [](auto house, auto shop) { return query::squared_distance(house.at, shop.at); };
  query::from(houses)
      .select([nearby, distance](auto h) {
        return query::make<Nearest>(h.id, nearby[nearby.arg_min(h, distance)].id, query::sqrt(nearby.min(h, distance)));
      })
      .print();

  // The rows of a query, computed each time the outer query runs.
  const auto central = query::broadcast(query::from(shops).where([](auto s) { return s.id < 300; }));
  const auto walkable = query::from(houses).where([central](auto h) {
    return central.any(h, [](auto house, auto s) { return query::squared_distance(house.at, s.at) < 4; });
  });
  std::cout << walkable.count() << " houses are near a shop\n";
}
