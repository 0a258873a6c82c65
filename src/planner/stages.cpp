#include "planner/stages.hpp"

namespace query::planner {

cluster_stages::cluster_stages(const machine_graph& g) {
  // Union of sets, by the first of each.
  std::unordered_map<const vertex*, const vertex*> above;
  for (const auto& v : g.vertices) above[v.get()] = v.get();
  above[nullptr] = nullptr;
  const auto first_of = [&](const vertex* v) {
    while (above.at(v) != v) v = above[v] = above.at(above.at(v));
    return v;
  };
  const auto joined = [&](const vertex* reader) {
    return [&, reader](const vertex& table) {
      if (table.moves) return;
      const vertex *a = first_of(&table), *b = first_of(reader);
      above[b] = a;
    };
  };
  for (const auto& v : g.vertices) {
    each_table_of(*v, joined(v.get()));
    for (const auto* list : {&v->body, &v->test})
      for (const vertex* w : *list)
        if (!w->moves && w->partitions == v->partitions) joined(v.get())(*w);
  }
  each_table_of(g, joined(nullptr));
  std::unordered_map<const vertex*, std::size_t> of_first;
  const auto number = [&](const vertex* v) {
    const auto [at, is_new] = of_first.emplace(first_of(v), count_);
    count_ += is_new ? 1 : 0;
    numbers_[v] = at->second;
  };
  for (const auto& v : g.vertices) number(v.get());
  number(nullptr);
}

}  // namespace query::planner
