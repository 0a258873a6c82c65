// Verbs about the order of rows: neighbours, runs, numbers, pairs. They keep the order of the source.
#include <iostream>
#include <span>
#include <vector>

#include <query/query.hpp>

int main() {
  const std::vector<double> series{4, 8, 15, 16, 23, 42, 41, 40};
  const auto rows = query::from(series);

  const auto mean = [](std::span<const double> r) {
    double sum = 0;
    for (const double x : r) sum += x;
    return sum / static_cast<double>(r.size());
  };
  rows.window(3, mean).print();     // every three neighbours
  rows.window(3, mean, 2).print();  // every second such window
  rows.chunk(3, mean).print();      // three rows each, the last fewer

  // Differences of neighbours: the rows, and the same rows one later.
  rows.zip(rows.skip(1), [](auto a, auto b) { return b - a; }).print();

  for (const auto& [index, value] : rows.index().where([](auto r) { return r.value > 40; })) std::cout << index << ": " << value << "\n";
  std::cout << rows.skip_while([](auto x) { return x < 20; }).take(2).sum() << "\n";
}
