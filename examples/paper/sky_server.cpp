// Query 18 of the SkyServer: objects that have a neighbor of nearly the same colors.
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "program.hpp"

struct Object {
  std::int64_t id;
  float u, g, r, i, z;  // magnitudes in five bands
};
QUERY_RECORD(Object, id, u, g, r, i, z);

struct Neighbor {
  std::int64_t object, neighbor;
};
QUERY_RECORD(Neighbor, object, neighbor);

struct Pair {
  Object object;
  std::int64_t neighbor;
};
QUERY_RECORD(Pair, object, neighbor);

// query:begin
query::Query<std::int64_t> same_colors(const query::Query<Object>& objects, const query::Query<Neighbor>& neighbors) {
  const auto id = [](auto o) { return o.id; };
  const auto near = [](auto a, auto b) { return query::abs(a - b) < 0.05f; };
  const auto similar = [near](auto p, auto l) {
    return near(p.u - p.g, l.u - l.g) && near(p.g - p.r, l.g - l.r) && near(p.r - p.i, l.r - l.i) &&
           near(p.i - p.z, l.i - l.z);
  };
  return neighbors.where([](auto n) { return n.object < n.neighbor; })
      .join(objects, [](auto n) { return n.object; }, id,
            [](auto n, auto p) { return query::make<Pair>(p, n.neighbor); })
      .join(objects, [](auto p) { return p.neighbor; }, id)
      .where([similar](auto p) { return similar(p.first.object, p.second); })
      .select([](auto p) { return p.first.object.id; })
      .distinct()
      .order();
}
// query:end

// loop:begin
std::vector<std::int64_t> same_colors_by_hand(const std::vector<Object>& objects,
                                              const std::vector<Neighbor>& neighbors) {
  std::unordered_map<std::int64_t, const Object*> by_id;
  for (const Object& o : objects) by_id.emplace(o.id, &o);
  const auto near = [](float a, float b) { return std::abs(a - b) < 0.05f; };
  std::unordered_set<std::int64_t> found;
  for (const Neighbor& n : neighbors) {
    if (n.object >= n.neighbor) continue;
    const auto first = by_id.find(n.object), second = by_id.find(n.neighbor);
    if (first == by_id.end() || second == by_id.end()) continue;
    const Object &p = *first->second, &l = *second->second;
    if (near(p.u - p.g, l.u - l.g) && near(p.g - p.r, l.g - l.r) && near(p.r - p.i, l.r - l.i) &&
        near(p.i - p.z, l.i - l.z))
      found.insert(p.id);
  }
  std::vector<std::int64_t> ids(found.begin(), found.end());
  std::sort(ids.begin(), ids.end());
  return ids;
}
// loop:end

// 100,000 objects, or half as many as neighbors if that is less; one neighbor in a hundred is no object.
int main(int argc, char** argv) {
  const paper::options o = paper::read("sky_server", std::span(argv, static_cast<std::size_t>(argc)),
                                       {{"test", 20'000},
                                        {"small", 1'000'000},
                                        {"middle", 10'000'000},
                                        {"large", 50'000'000}});
  paper::random random(3);
  std::vector<Object> objects(static_cast<std::size_t>(std::min<std::int64_t>(100'000, o.rows / 2)));
  const std::int64_t n = static_cast<std::int64_t>(objects.size());
  for (std::int64_t i = 0; i < n; ++i) {
    const double u = 15 + 8 * random.uniform();
    const auto band = [&](double less) { return static_cast<float>(u - less + 0.2 * random.normal()); };
    objects[static_cast<std::size_t>(i)] = {(i + 1) * 7'919, band(0), band(1.2), band(1.8), band(2.1), band(2.3)};
  }
  std::vector<Neighbor> neighbors(static_cast<std::size_t>(o.rows));
  for (Neighbor& x : neighbors) x = {(random.below(n) + 1) * 7'919, (random.below(n + n / 100) + 1) * 7'919};
  o.write("objects", objects);
  o.write("neighbors", neighbors);
  return paper::run(
      o, [&] { return same_colors_by_hand(objects, neighbors); },
      [&](const paper::way& on) { return same_colors(on.rows(objects), on.rows(neighbors)); },
      [](const auto& a, const auto& b) { return a == b; });
}
