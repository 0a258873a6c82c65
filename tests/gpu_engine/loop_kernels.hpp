// Kernels of loops, for the driver double: those that repeat rounds, and those of two loops over numbers. They compute, so that results
// mean something.
//
//   driver_double fake;
//   add_round_kernels(fake);
//   add_multiply_and_add(fake);   // q.select([](auto x) { return x * 3u + 1u; })
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "gpu_engine/driver_double.hpp"

namespace query::gpu_engine::loop_kernels {

using word = std::uint64_t;
template <class T> T* at(word address) { return reinterpret_cast<T*>(address); }

// As in round_replay.cpp.
inline void add_round_kernels(driver_double& fake) {
  fake.add_kernel("check_words", [](void** a) {
    const word* w = static_cast<const word*>(a[0]);
    word* const state = at<word>(w[2]);
    for (unsigned i = 0; i < 64; ++i)
      if (state[0] == 0 && (w[1] >> i & 1) && at<word>(w[0])[i] != w[3 + i]) state[0] = 2;
  }, 67 * 8);
  fake.add_kernel("judge_round", [](void** a) {
    const word* w = static_cast<const word*>(a[0]);
    word *const state = at<word>(w[0]), *const host = at<word>(w[1]);
    state[1] = state[0] == 0;
    if (state[1]) {
      ++state[3];
      if (w[2] && !*at<bool>(w[2])) state[0] = 1;
    }
    ++state[2];
    host[1] = state[3];
    host[2] = state[0];
    host[0] = state[2];
  }, 3 * 8);
  fake.add_kernel("keep_round", [](void** a) {
    const word* w = static_cast<const word*>(a[0]);
    if (at<word>(w[0])[1]) std::memcpy(at<void>(w[1]), at<void>(w[2]), w[3]);
  }, 4 * 8);
}

// x * 3 + 1; words: column, 3, 1, out, rows, halt.
inline void add_multiply_and_add(driver_double& fake) {
  fake.add_kernel("collect_rows", [](void** a) {
    const word* w = static_cast<const word*>(a[0]);
    if (w[5] && *at<word>(w[5])) return;
    for (word i = 0; i < w[4]; ++i) at<word>(w[3])[i] = at<word>(w[0])[i] * w[1] + w[2];
  }, 6 * 8);
}
// The condition: are all rows below a limit? Words: rows, column, limit, ..., 6: out, ..., halt.
inline void add_all_below(driver_double& fake) {
  fake.add_kernel("fold_segments", [](void** a) {
    const word* w = static_cast<const word*>(a[0]);
    if (w[13] && *at<word>(w[13])) return;
    *at<bool>(w[6]) = std::all_of(at<word>(w[1]), at<word>(w[1]) + w[0], [&](word x) { return x < w[2]; });
  }, 14 * 8);
  fake.add_kernel("fold_level", [](void**) {}, 14 * 8);
}

}  // namespace query::gpu_engine::loop_kernels
