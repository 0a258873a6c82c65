#pragma once

#include <cstddef>

// totals[i] = values[0] + ... + values[i], on the stream (a cudaStream_t).
void running_totals(const double* values, std::size_t n, double* totals, void* stream);
