// CUB's algorithms behind plain functions, in a translation unit of their own because CUB is slow to compile.
//
// With temp = nullptr each sets `bytes` to the temporary storage it needs and does nothing else.
#pragma once

#include <cstddef>
#include <cstdint>

namespace query::gpu::peers {

void reduce_sum(void* temp, std::size_t& bytes, const double* x, double* out, std::size_t n);
// Of 3 v + 1 over the rows v below the limit, in one pass.
void reduce_filtered(void* temp, std::size_t& bytes, const double* x, double* out, std::size_t n, double limit);
// Call prices (black_scholes.cuh).
void reduce_calls(void* temp, std::size_t& bytes, const float* price, const float* strike, const float* years, double* out, std::size_t n);
// Calls and puts; needs no temporary storage. By four: a plain kernel that takes 16 bytes of each column a thread.
void price_options(const float* price, const float* strike, const float* years, float* call, float* put, std::size_t n);
void price_options_by_four(const float* price, const float* strike, const float* years, float* call, float* put, std::size_t n);
void scan(void* temp, std::size_t& bytes, const std::uint32_t* x, std::uint32_t* out, std::size_t n);
void scan(void* temp, std::size_t& bytes, const std::uint64_t* x, std::uint64_t* out, std::size_t n);
void select_below(void* temp, std::size_t& bytes, const double* x, double* out, std::uint64_t* count, std::size_t n, double limit);
void select_below(void* temp, std::size_t& bytes, const std::uint32_t* x, std::uint32_t* out, std::uint64_t* count, std::size_t n,
                  std::uint32_t limit);
// `narrow`: rows are counted in 32 bits, for which CUB has other tiles.
void sort_keys(void* temp, std::size_t& bytes, const std::uint32_t* x, std::uint32_t* out, std::size_t n, bool narrow);
void sort_keys(void* temp, std::size_t& bytes, const std::uint64_t* x, std::uint64_t* out, std::size_t n, bool narrow);
void sort_keys(void* temp, std::size_t& bytes, const double* x, double* out, std::size_t n, bool narrow);
void sort_pairs(void* temp, std::size_t& bytes, const std::uint64_t* x, std::uint64_t* out, const std::uint32_t* values,
                std::uint32_t* out_values, std::size_t n, bool narrow);
void sort_pairs(void* temp, std::size_t& bytes, const std::uint32_t* x, std::uint32_t* out, const std::uint32_t* values,
                std::uint32_t* out_values, std::size_t n, bool narrow);
void sort_pairs(void* temp, std::size_t& bytes, const std::uint16_t* x, std::uint16_t* out, const std::uint32_t* values,
                std::uint32_t* out_values, std::size_t n, bool narrow);
// Values are not merged where `a_values` is null.
void merge(void* temp, std::size_t& bytes, const std::uint32_t* a, const std::uint32_t* a_values, std::size_t na, const std::uint32_t* b,
           const std::uint32_t* b_values, std::size_t nb, std::uint32_t* out, std::uint32_t* out_values);
void merge(void* temp, std::size_t& bytes, const std::uint64_t* a, const std::uint32_t* a_values, std::size_t na, const std::uint64_t* b,
           const std::uint32_t* b_values, std::size_t nb, std::uint64_t* out, std::uint32_t* out_values);

}  // namespace query::gpu::peers
