// What the group-by benchmark and its peers share: the aggregates, the rows, and what the groups must be.
#pragma once

#include "gpu_primitives/atomics.cuh"
#include "gpu_primitives/group_aggregate.cuh"
#include "hashing_timing.cuh"

namespace hashing_bench {

struct value_args {
  double v;
};
struct sum_only {
  struct State {
    double sum;
  };
  using Args = value_args;
  static __device__ void init(State& s) { s.sum = 0; }
  static __device__ void update(State& s, const Args& a) { s.sum += a.v; }
  static __device__ void merge(State& s, const State& o) { s.sum += o.sum; }
  static __device__ void update_atomic(State& s, const Args& a) { atomic_add(&s.sum, a.v); }
  static __device__ void merge_atomic(State& s, const State& o) { atomic_add(&s.sum, o.sum); }
};
struct sum_count {
  struct State {
    double sum;
    u64 count;
  };
  using Args = value_args;
  static __device__ void init(State& s) { s = State{0, 0}; }
  static __device__ void update(State& s, const Args& a) {
    s.sum += a.v;
    ++s.count;
  }
  static __device__ void merge(State& s, const State& o) {
    s.sum += o.sum;
    s.count += o.count;
  }
  static __device__ void update_atomic(State& s, const Args& a) {
    atomic_add(&s.sum, a.v);
    atomic_add(&s.count, u64(1));
  }
  static __device__ void merge_atomic(State& s, const State& o) {
    atomic_add(&s.sum, o.sum);
    atomic_add(&s.count, o.count);
  }
};
// The count in 32 bits, which shared memory adds at once.
struct sum_count_32 {
  struct State {
    double sum;
    u32 count, unused;
  };
  using Args = value_args;
  static __device__ void init(State& s) { s = State{0, 0, 0}; }
  static __device__ void update(State& s, const Args& a) {
    s.sum += a.v;
    ++s.count;
  }
  static __device__ void merge(State& s, const State& o) {
    s.sum += o.sum;
    s.count += o.count;
  }
  static __device__ void update_atomic(State& s, const Args& a) {
    atomic_add(&s.sum, a.v);
    atomic_add(&s.count, 1u);
  }
  static __device__ void merge_atomic(State& s, const State& o) {
    atomic_add(&s.sum, o.sum);
    atomic_add(&s.count, o.count);
  }
};
struct statistics {
  struct State {
    double sum;
    u64 count;
    double least, most;
  };
  using Args = value_args;
  static __device__ double infinity() { return __longlong_as_double(0x7ff0000000000000ll); }
  static __device__ void init(State& s) { s = State{0, 0, infinity(), -infinity()}; }
  static __device__ void update(State& s, const Args& a) {
    s.sum += a.v;
    ++s.count;
    if (a.v < s.least) s.least = a.v;
    if (a.v > s.most) s.most = a.v;
  }
  static __device__ void merge(State& s, const State& o) {
    s.sum += o.sum;
    s.count += o.count;
    if (o.least < s.least) s.least = o.least;
    if (o.most > s.most) s.most = o.most;
  }
  static __device__ void update_atomic(State& s, const Args& a) {
    atomic_add(&s.sum, a.v);
    atomic_add(&s.count, u64(1));
    atomic_min(&s.least, a.v);
    atomic_max(&s.most, a.v);
  }
  static __device__ void merge_atomic(State& s, const State& o) {
    atomic_add(&s.sum, o.sum);
    atomic_add(&s.count, o.count);
    atomic_min(&s.least, o.least);
    atomic_max(&s.most, o.most);
  }
};

// What a state must be where its group has these rows. Values are whole numbers, so that sums are exact in any order.
__device__ inline bool same_state(const sum_only::State& s, const statistics::State& e) { return s.sum == e.sum; }
__device__ inline bool same_state(const sum_count::State& s, const statistics::State& e) { return s.sum == e.sum && s.count == e.count; }
__device__ inline bool same_state(const sum_count_32::State& s, const statistics::State& e) { return s.sum == e.sum && s.count == e.count; }
__device__ inline bool same_state(const statistics::State& s, const statistics::State& e) {
  return s.sum == e.sum && s.count == e.count && s.least == e.least && s.most == e.most;
}

// u32 keys below `most` and f64 values, and every group's state by one atomic a row on an array that the key indexes.
struct group_input {
  u64 n;
  array<u32> k;
  array<double> v;
  array<statistics::State> expected;
  u64 groups = 0;

  template <class KeyOf> group_input(u64 rows, u64 most, const KeyOf& key_of) : n(rows), k(rows), v(rows), expected(most) { fill(key_of); }

  template <class KeyOf> void fill(const KeyOf& key_of) {
    u32* kk = k.data();
    double* vv = v.data();
    auto* e = expected.data();
    array<u64> count(1);
    u64* c = count.data();
    each(n, [=] __device__(u64 i) {
      kk[i] = key_of(i);
      vv[i] = static_cast<double>(random_at(i, 5) >> 50);
    });
    each(expected.size(), [=] __device__(u64 g) { statistics::init(e[g]); });
    each(n, [=] __device__(u64 i) { statistics::update_atomic(e[kk[i]], value_args{vv[i]}); });
    count.set(0);
    each(expected.size(), [=] __device__(u64 g) {
      if (e[g].count != 0) atomicAdd(c, 1ull);
    });
    groups = count.first();
  }

  template <class State> bool right(const u32* ok, const State* os, u64 count) const {
    if (count != groups) {
      std::printf("  groups %llu, not %llu\n", count, groups);
      return false;
    }
    array<u32> seen(expected.size());
    array<u64> wrong(1);
    seen.set(0);
    wrong.set(0);
    u32* s = seen.data();
    u64* w = wrong.data();
    const auto* e = expected.data();
    each(count, [=, most = expected.size()] __device__(u64 i) {
      const u32 key = ok[i];
      if (key >= most || atomicAdd(s + key, 1u) != 0 || !same_state(os[i], e[key])) atomicAdd(w, 1ull);
    });
    const u64 bad = wrong.first();
    if (bad) std::printf("  %llu of %llu groups are wrong\n", bad, count);
    return bad == 0;
  }
};

}  // namespace hashing_bench
