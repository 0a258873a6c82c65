// apply hands runs of rows to any library: here OpenBLAS multiplies them by a matrix, many rows at a time.
#include <cblas.h>

#include <array>
#include <iostream>
#include <span>
#include <vector>

#include <query/query.hpp>

constexpr int inputs = 8, outputs = 3;

struct Sample {
  std::array<float, inputs> x;
};
QUERY_RECORD(Sample, x);

struct Scores {
  std::array<float, outputs> y;
};
QUERY_RECORD(Scores, y);

int main() {
  std::vector<Sample> samples(100'000);
  for (std::size_t i = 0; i < samples.size(); ++i)
    for (std::size_t j = 0; j < inputs; ++j) samples[i].x[j] = static_cast<float>((i * 31 + j * 17) % 101) / 100;
  std::array<float, inputs * outputs> weights{};
  for (std::size_t j = 0; j < weights.size(); ++j) weights[j] = static_cast<float>(j % 5) - 2;

  // The rows of a span are adjacent: a matrix of one row a sample. Runs are multiplied in parallel.
  const auto scores = query::from(samples).apply([weights](std::span<const Sample> rows) {
    std::vector<Scores> result(rows.size());
    if (rows.empty()) return result;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(rows.size()), outputs, inputs, 1, rows.data()->x.data(),
                inputs, weights.data(), outputs, 0, result.data()->y.data(), outputs);
    return result;
  });

  std::cout << scores.count([](auto s) { return s.y[0] > s.y[1]; }) << " of " << scores.count() << " prefer the first output\n";
  std::cout << "mean of the second: " << *scores.average([](auto s) { return s.y[1]; }) << "\n";
}
