// apply with a form for the GPU: cuBLAS multiplies the rows by a matrix where they lie. Needs the CUDA toolkit, and no nvcc.
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <array>
#include <cmath>
#include <iostream>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include <query/query.hpp>

#include "../same_rows.hpp"

constexpr int inputs = 32, outputs = 8;

struct Sample {
  std::array<float, inputs> x;
};
QUERY_RECORD(Sample, x);

struct Scores {
  std::array<float, outputs> y;
};
QUERY_RECORD(Scores, y);

using Weights = std::array<float, inputs * outputs>;  // y[o] = sum over i of x[i] * w[i * outputs + o]

void check(int result, const char* call) {
  if (result != 0) throw std::runtime_error(std::string(call) + " failed: " + std::to_string(result));
}

// Made where it is first used: a machine without a GPU never asks for one.
class blas {
 public:
  cublasHandle_t handle() {
    if (handle_ == nullptr) check(cublasCreate(&handle_), "cublasCreate");
    return handle_;
  }
  ~blas() {
    if (handle_ != nullptr) cublasDestroy(handle_);
  }

 private:
  cublasHandle_t handle_ = nullptr;
};

auto on_cpu(const Weights& w) {
  return [w](std::span<const Sample> rows) {
    std::vector<Scores> result(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (int i = 0; i < inputs; ++i)
        for (int o = 0; o < outputs; ++o) result[r].y[o] += rows[r].x[i] * w[i * outputs + o];
    return result;
  };
}

auto on_gpu(const Weights& w) {
  return query::on_gpu([w, b = std::make_shared<blas>()](auto& rows) {
    const auto stream = static_cast<cudaStream_t>(rows.stream());
    auto* weights = static_cast<float*>(rows.scratch(sizeof(Weights)));
    check(cudaMemcpyAsync(weights, w.data(), sizeof(Weights), cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    Scores* out = rows.results(rows.size());
    if (rows.size() == 0) return;
    // Rows side by side are the columns of a matrix as BLAS sees it.
    check(cublasSetStream(b->handle(), stream), "cublasSetStream");
    const float one = 1, zero = 0;
    check(cublasSgemm(b->handle(), CUBLAS_OP_N, CUBLAS_OP_N, outputs, static_cast<int>(rows.size()), inputs, &one, weights, outputs,
                      reinterpret_cast<const float*>(rows.rows()), inputs, &zero, reinterpret_cast<float*>(out), outputs),
          "cublasSgemm");
  });
}

int main() {
  std::vector<Sample> samples(200'000);
  for (std::size_t i = 0; i < samples.size(); ++i)
    for (std::size_t j = 0; j < inputs; ++j) samples[i].x[j] = static_cast<float>((i * 31 + j * 17) % 101) / 100;
  Weights weights{};
  for (std::size_t j = 0; j < weights.size(); ++j) weights[j] = static_cast<float>(j % 5) - 2;

  const auto scores = query::from(samples).as_accelerated().apply_all(on_cpu(weights), on_gpu(weights));
  const std::string plan = scores.explain();
  std::cout << plan;
  const std::vector<Scores> there = scores.to_vector(), here = scores.on(query::engine::cpu).to_vector();
  if (there.size() != here.size()) return 1;
  std::size_t wrong = 0;
  for (std::size_t r = 0; r < here.size(); ++r)
    for (std::size_t o = 0; o < outputs; ++o)
      if (!(std::abs(there[r].y[o] - here[r].y[o]) < 1e-4f)) ++wrong;  // cuBLAS adds in another order
  std::cout << there.size() << " rows of " << outputs << " scores, " << wrong << " of them not the CPU's\n";
  const bool left = query::Session::standard().gpu_status().empty() && steps_on_gpu(plan) == 0;
  return wrong == 0 && !left ? 0 : 1;
}
