// Runs of equal groups folded in the order of their rows: rows lie contiguous by group, and states of earlier rows meet those of later
// ones, never the other way round. So a fold may depend on the order, and gives the same bits in every run.
//
// A thread folds a piece of a few neighbours. A group that begins and ends within one is finished; what reaches over a border leaves a
// state, at most two a piece, and those are the items of the next level, a sixteenth as many. The host launches levels until one piece
// is left.
//
//   fold_rows     items are rows:    add(state, place, first_of_group)
//   fold_states   items are states of the level before
//   emit(u32 group, const State&)    once a group, by the thread that sees its end
//
//   extern "C" __global__ void sums(u64 n, const u32* group, const double* x, segment_level<double> to, double* out) {
//     fold_rows(n, to, [=](u64 i) { return group[i]; }, [](double& s) { s = 0; }, [=](double& s, u64 i, bool) { s += x[i]; },
//               [=](u32 g, double s) { out[g] = s; });
//   }
//   extern "C" __global__ void more(u64 n, segment_level<double> in, segment_level<double> to, double* out) {
//     fold_states(n, in, to, [](double& earlier, double later) { earlier += later; }, [=](u32 g, double s) { out[g] = s; });
//   }
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

inline constexpr u64 segment_piece = 32;  // items a thread

// Pieces of a level, and states that it leaves to the next.
QUERY_GPU_BOTH constexpr u64 segment_pieces(u64 items) { return (items + segment_piece - 1) / segment_piece; }
QUERY_GPU_BOTH constexpr u64 segment_states(u64 items) { return 2 * segment_pieces(items); }

#if QUERY_GPU_DEVICE_CODE

// Whose state, and does the group go on before it or behind it?
inline constexpr u64 segment_none = ~u64(0), segment_before = u64(1) << 32, segment_behind = u64(1) << 33;

// States that reach over the borders of pieces: `marks` has the group, and the flags above.
template <class State>
struct segment_level {
  u64* marks;
  State* states;
};

namespace detail {

template <class State>
__device__ __forceinline__ void no_states(const segment_level<State>& to, u64 piece) {
  to.marks[2 * piece] = to.marks[2 * piece + 1] = segment_none;
}
// A run that began before the piece is its first.
template <class State>
__device__ __forceinline__ void leave_state(const segment_level<State>& to, u64 piece, u64 mark, const State& s) {
  const u64 at = 2 * piece + ((mark & segment_before) != 0 ? 0 : 1);
  to.marks[at] = mark;
  to.states[at] = s;
}

}  // namespace detail

// Kernel body. `start(State&)`; `group_at(u64 place) -> u32`.
template <class State, class GroupAt, class Start, class Add, class Emit>
__device__ __forceinline__ void fold_rows(u64 n, const segment_level<State>& to, const GroupAt& group_at, const Start& start,
                                          const Add& add, const Emit& emit) {
  for (u64 piece = u64(blockIdx.x) * blockDim.x + threadIdx.x; piece * segment_piece < n; piece += u64(gridDim.x) * blockDim.x) {
    const u64 from = piece * segment_piece, end = from + segment_piece < n ? from + segment_piece : n;
    detail::no_states(to, piece);
    for (u64 at = from; at < end;) {
      const u32 group = group_at(at);
      u64 mark = group;
      if (at == from && at > 0 && group_at(at - 1) == group) mark |= segment_before;
      State s;
      start(s);
      bool first = (mark & segment_before) == 0;
      do {
        add(s, at, first);
        first = false;
        ++at;
      } while (at < end && group_at(at) == group);
      if (at == end && end < n && group_at(end) == group) mark |= segment_behind;
      if (mark == group) {
        emit(group, s);
      } else {
        detail::leave_state(to, piece, mark, s);
      }
    }
  }
}

// Kernel body. `merge(State& earlier, const State& later)`.
template <class State, class Merge, class Emit>
__device__ __forceinline__ void fold_states(u64 n, const segment_level<State>& in, const segment_level<State>& to, const Merge& merge,
                                            const Emit& emit) {
  for (u64 piece = u64(blockIdx.x) * blockDim.x + threadIdx.x; piece * segment_piece < n; piece += u64(gridDim.x) * blockDim.x) {
    const u64 from = piece * segment_piece, end = from + segment_piece < n ? from + segment_piece : n;
    detail::no_states(to, piece);
    State s;
    u64 mark = segment_none;
    for (u64 at = from; at < end; ++at) {
      const u64 next = in.marks[at];
      if (next == segment_none) continue;
      if (mark == segment_none) {
        s = in.states[at];
        mark = next;
      } else {
        merge(s, in.states[at]);
        mark = (mark & ~segment_behind) | (next & segment_behind);
      }
      if ((mark & segment_behind) != 0) continue;
      if ((mark & segment_before) != 0) {
        detail::leave_state(to, piece, mark, s);
      } else {
        emit(static_cast<u32>(mark), s);
      }
      mark = segment_none;
    }
    if (mark != segment_none) detail::leave_state(to, piece, mark, s);
  }
}

// The value at rank q * (n - 1) of n sorted ones, n > 0, between two of them by their distance.
template <class ValueAt>
__device__ __forceinline__ double quantile_of_sorted(u64 n, double q, const ValueAt& value_at) {
  const double rank = (q < 0.0 ? 0.0 : q > 1.0 ? 1.0 : q) * static_cast<double>(n - 1);
  const u64 below = static_cast<u64>(rank);
  const double part = rank - static_cast<double>(below), low = value_at(below);
  if (part == 0.0 || below + 1 == n) return low;
  const double high = value_at(below + 1);
  if (low == high) return low;  // infinities too
  const double apart = high - low;
  return apart - apart == 0.0 ? low + part * apart : low * (1.0 - part) + high * part;  // where it is finite
}

#endif

}  // namespace query::gpu
