// How the tables of the hashed primitives are probed, beside other ways: a slot at a time, buckets read at once by one thread, buckets read
// by groups of threads. Look-ups that hit always, half of the times and never, and claims as a group-by makes them,
// over slots of 8, 16 and 32 bytes, filled to 0.5, 0.7 and 0.9. Each line: the case, then a time in ms for each form named above it; the
// answers of every form are checked. docs/design/009-buckets-of-a-sector.md
//   hashing_probes_bench [log2 of rows = 27] [part of names]
// Build: scripts/build_gpu_tests
#include <cstring>
#include <functional>

#include "hashing_probes_wide.cuh"

using namespace query::gpu;
using namespace hashing_bench;

namespace {

constexpr u32 threads = 256;
u64 n = u64(1) << 27;
const char* wanted = "";

// Median of 3 runs after 1: the cases are many.
float time_of(const std::function<void()>& before, const std::function<void()>& run) {
  cudaEvent_t begin, end;
  BENCH_CUDA(cudaEventCreate(&begin));
  BENCH_CUDA(cudaEventCreate(&end));
  std::vector<float> times;
  for (int i = 0; i < 4; ++i) {
    if (before) before();
    BENCH_CUDA(cudaEventRecord(begin));
    run();
    BENCH_CUDA(cudaEventRecord(end));
    BENCH_CUDA(cudaGetLastError());
    BENCH_CUDA(cudaEventSynchronize(end));
    float ms = 0;
    BENCH_CUDA(cudaEventElapsedTime(&ms, begin, end));
    if (i > 0) times.push_back(ms);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

u32 grid(u64 rows, u64 rows_of_block) { return static_cast<u32>(divide_up(rows, rows_of_block)); }
void print(float ms) { std::printf(ms < 9.995f ? " %4.2f" : ms < 99.95f ? " %4.1f" : " %4.0f", static_cast<double>(ms)); }
void print_right(bool right) {
  std::printf(right ? "" : " WRONG");
  if (!right) ++failures;
}

// Distinct keys for distinct ids.
template <class Key> __host__ __device__ Key key_of(u64 id) {
  if constexpr (sizeof(Key) == 4) {
    u32 h = static_cast<u32>(id) * 0x9e3779b1u + 0x7f4a7c15u;
    h = (h ^ (h >> 15)) * 0x2c1b3c6du;
    return h ^ (h >> 13);
  } else if constexpr (sizeof(Key) == 8) {
    return random_at(id, 0);
  } else {
    return Key{random_at(id, 0), id};
  }
}

// ids of `rows` rows: below `keys` for `hits` percent of them, from `keys` to 2 * keys for the others. `each_once`: row i has id i.
struct draw {
  u64 keys;
  u32 hits;
  bool each_once;
  __device__ u64 operator()(u64 i) const {
    const u64 r = random_at(i, 9);
    if (each_once) return i % keys;
    return (r >> 8) % keys + ((r & 0xff) * 100 >> 8 < hits ? 0 : keys);
  }
};

// The smallest table of whole buckets that `keys` fill to `load` at most.
u64 slots_for(u64 keys, double load) { return round_up(static_cast<u64>(static_cast<double>(keys) / load), 8); }

// A form: how it fills a table of its own with the keys of `rows` rows, and how it finds them.
template <class Table, class Key, class Value> struct form {
  const char* name;
  void (*count)(u64 rows, Table t, const Key* keys);
  void (*find)(u64 rows, Table t, const Key* keys, Value* out);
  bool claims = true;  // claims as no form before it does
};

template <int B, int I, cached W, class S> __global__ void __launch_bounds__(threads)
    bucket_kernel(u64 rows, probed_table<S> t, const typename S::word* k, typename S::word* out) {
  probe_bucket<B, I, W>(rows, t, k, out);
}
template <int B, int I, cached W, class S> __global__ void __launch_bounds__(threads)
    around_kernel(u64 rows, probed_table<S> t, const typename S::word* k, typename S::word* out) {
  probe_around<B, I, W>(rows, t, k, out);
}
template <int T, int E, class S> __global__ void __launch_bounds__(threads)
    group_kernel(u64 rows, probed_table<S> t, const typename S::word* k, typename S::word* out) {
  probe_group<T, E>(rows, t, k, out);
}
template <int B, int I, cached W, class S> __global__ void __launch_bounds__(threads)
    count_bucket_kernel(u64 rows, probed_table<S> t, const typename S::word* k) {
  count_bucket<B, I, W>(rows, t, k);
}
template <int B, int I, cached W, class S> __global__ void __launch_bounds__(threads)
    count_around_kernel(u64 rows, probed_table<S> t, const typename S::word* k) {
  count_around<B, I, W>(rows, t, k);
}
template <int T, int E, class S> __global__ void __launch_bounds__(threads)
    count_group_kernel(u64 rows, probed_table<S> t, const typename S::word* k) {
  count_group<T, E>(rows, t, k);
}
// The functions of hash_table.cuh themselves, one key a thread; the table's size must be a power of two.
template <class S> __device__ __forceinline__ auto present(const probed_table<S>& t) {
  using word = typename S::word;
  using table = hash_table_ref<bitwise_keys<word>, word>;
  static_assert(sizeof(typename table::slot) == sizeof(S));
  return table{reinterpret_cast<typename table::slot*>(t.slots), 63u - static_cast<u32>(__clzll(static_cast<long long>(t.size)))};
}
template <class S> __global__ void __launch_bounds__(threads)
    present_kernel(u64 rows, probed_table<S> t, const typename S::word* k, typename S::word* out) {
  const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  const auto table = present(t);
  const auto key = __ldcs(k + i);
  const bitwise_keys<typename S::word> keys;
  const u64 at = find_slot(table, keys, key, keys.hash(key));
  __stcs(out + i, at == no_slot ? t.empty : t.slots[at].payload);
}
template <class S> __global__ void __launch_bounds__(threads)
    present_count_kernel(u64 rows, probed_table<S> t, const typename S::word* k) {
  const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  const auto key = __ldcs(k + i);
  const bitwise_keys<typename S::word> keys;
  bool fresh;
  const u64 at = find_or_claim(present(t), keys, key, keys.hash(key), fresh);
  if (at != no_slot) atomicAdd(&t.slots[at].payload, typename S::word(1));
}

template <class S> using word_form = form<probed_table<S>, typename S::word, typename S::word>;
template <int B, int I, cached W, class S> word_form<S> bucket(const char* name) {
  using word = typename S::word;
  return {name,
          [](u64 rows, probed_table<S> t, const word* k) {
            count_bucket_kernel<B, I, W == cached::l2 ? cached::coherent : W, S><<<grid(rows, threads * I), threads>>>(rows, t, k);
          },
          [](u64 rows, probed_table<S> t, const word* k, word* out) {
            bucket_kernel<B, I, W, S><<<grid(rows, threads * I), threads>>>(rows, t, k, out);
          }};
}
template <int B, int I, cached W, class S> word_form<S> around(const char* name) {
  using word = typename S::word;
  return {name,
          [](u64 rows, probed_table<S> t, const word* k) {
            count_around_kernel<B, I, W == cached::l2 ? cached::coherent : W, S><<<grid(rows, threads * I), threads>>>(rows, t, k);
          },
          [](u64 rows, probed_table<S> t, const word* k, word* out) {
            around_kernel<B, I, W, S><<<grid(rows, threads * I), threads>>>(rows, t, k, out);
          }};
}
template <int T, int E, class S> word_form<S> group(const char* name) {
  using word = typename S::word;
  return {name,
          [](u64 rows, probed_table<S> t, const word* k) { count_group_kernel<T, E, S><<<grid(rows, threads / T), threads>>>(rows, t, k); },
          [](u64 rows, probed_table<S> t, const word* k, word* out) {
            group_kernel<T, E, S><<<grid(rows, threads / T), threads>>>(rows, t, k, out);
          }};
}
template <class S> word_form<S> present_form() {
  using word = typename S::word;
  return {"now",
          [](u64 rows, probed_table<S> t, const word* k) { present_count_kernel<S><<<grid(rows, threads), threads>>>(rows, t, k); },
          [](u64 rows, probed_table<S> t, const word* k, word* out) {
            present_kernel<S><<<grid(rows, threads), threads>>>(rows, t, k, out);
          }};
}

template <int B, reads R> __global__ void __launch_bounds__(threads) wide_kernel(u64 rows, wide_table t, const wide_key* k, u64* out) {
  probe_wide<B, R>(rows, t, k, out);
}
template <int T> __global__ void __launch_bounds__(threads) wide_group_kernel(u64 rows, wide_table t, const wide_key* k, u64* out) {
  probe_wide_group<T>(rows, t, k, out);
}
template <int B> __global__ void __launch_bounds__(threads) count_wide_kernel(u64 rows, wide_table t, const wide_key* k) {
  count_wide<B>(rows, t, k);
}
using wide_form = form<wide_table, wide_key, u64>;
template <int B, reads R> wide_form wide(const char* name, bool claims) {
  const auto count = [](u64 rows, wide_table t, const wide_key* k) { count_wide_kernel<B><<<grid(rows, threads), threads>>>(rows, t, k); };
  const auto find = [](u64 rows, wide_table t, const wide_key* k, u64* out) {
    wide_kernel<B, R><<<grid(rows, threads), threads>>>(rows, t, k, out);
  };
  return {name, count, find, claims};
}
wide_form wide_group() {
  const auto count = [](u64 rows, wide_table t, const wide_key* k) { count_wide_kernel<2><<<grid(rows, threads), threads>>>(rows, t, k); };
  const auto find = [](u64 rows, wide_table t, const wide_key* k, u64* out) {
    wide_group_kernel<2><<<grid(rows, threads / 2), threads>>>(rows, t, k, out);
  };
  return {"g2", count, find, false};
}

// What differs between slots of one word and of 32 bytes.
template <class Slot> __device__ bool has_key(const Slot& s) { return s.key != static_cast<typename Slot::word>(~typename Slot::word(0)); }
__device__ bool has_key(const slot_32& s) { return s.tag != ~0u; }
__device__ u32 number_of(u32 key) { return key * 3; }
__device__ u64 number_of(u64 key) { return key * 3; }
__device__ u64 number_of(const wide_key& key) { return key.low * 3; }
template <class Key> __device__ void set_row(Key&, u64) {}
__device__ void set_row(wide_key& key, u64 row) { key.high = row; }
template <class Slot> probed_table<Slot> table_of(Slot* slots, u64 size, const u64*) { return {slots, size}; }
wide_table table_of(slot_32* slots, u64 size, const u64* column) { return {slots, size, column}; }

// Keys of a table, keys of rows that meet it, and what these must find.
template <class Slot, class Key, class Value> struct inputs {
  using table = decltype(table_of(static_cast<Slot*>(nullptr), 0, nullptr));
  u64 keys, rows;
  bool row_keys;
  array<Key> build, k;
  array<Value> out;
  array<u32> ids;
  array<u64> column;  // of row keys: ids of the build rows, then of the others
  array<u64> wrong{1};

  inputs(u64 all_keys, u64 all_rows, bool rows_are_keys)
      : keys(all_keys), rows(all_rows), row_keys(rows_are_keys), build(keys), k(rows), out(rows), ids(rows),
        column(row_keys ? keys + rows : 1) {
    draw_keys();
  }
  void draw_keys() const {
    Key* b = build.data();
    u64* c = row_keys ? column.data() : nullptr;
    each(keys, [=] __device__(u64 i) {
      b[i] = key_of<Key>(i);
      if (!c) return;
      c[i] = i;
      set_row(b[i], i);
    });
  }
  void draw_rows(const draw& id_of) const {
    Key* to = k.data();
    u32* id_to = ids.data();
    u64* c = row_keys ? column.data() + keys : nullptr;
    each(rows, [=, first = keys] __device__(u64 i) {
      const u64 id = id_of(i);
      id_to[i] = static_cast<u32>(id);
      to[i] = key_of<Key>(id);
      if (!c) return;
      c[i] = id;
      set_row(to[i], first + i);
    });
  }
  table in(Slot* slots, u64 size) const { return table_of(slots, size, row_keys ? column.data() : nullptr); }

  // Payloads become numbers that a look-up can be checked by.
  void number(const table& t) const {
    each(t.size, [=] __device__(u64 at) { t.slots[at].payload = number_of(t.slots[at].key); });
  }
  bool found_right() const {
    wrong.set(0);
    const Value* o = out.data();
    const u32* id = ids.data();
    u64* w = wrong.data();
    each(rows, [=, all = keys] __device__(u64 i) {
      const Value must = id[i] < all ? number_of(key_of<Key>(id[i])) : static_cast<Value>(~Value(0));
      if (o[i] != must) atomicAdd(w, 1ull);
    });
    return wrong.first() == 0;
  }
  // As many slots are taken as there are keys among the rows, and every key's payload grew by its rows; `out` has what the rows find.
  bool counted_right(const table& t) const {
    const array<u32> count(keys);
    const array<u64> taken(1), different(1);
    count.set(0);
    taken.set(0);
    different.set(0);
    wrong.set(0);
    u32* c = count.data();
    const u32* id = ids.data();
    const Value* o = out.data();
    u64 *all = taken.data(), *must = different.data(), *w = wrong.data();
    each(rows, [=] __device__(u64 i) { atomicAdd(c + id[i], 1u); });
    each(keys, [=] __device__(u64 i) {
      if (c[i]) atomicAdd(must, 1ull);
    });
    each(t.size, [=] __device__(u64 at) {
      if (has_key(t.slots[at])) atomicAdd(all, 1ull);
    });
    each(rows, [=] __device__(u64 i) {
      if (o[i] + 1 != c[id[i]]) atomicAdd(w, 1ull);
    });
    return wrong.first() == 0 && taken.first() == different.first();
  }
};

// The cases of one kind of slot.
template <class Slot, class Key, class Value, class Table, class Form> class slots_bench {
 public:
  slots_bench(std::string name, bool row_keys, std::vector<Form> forms)
      : name_(std::move(name)), row_keys_(row_keys), forms_(std::move(forms)) {}

  // With `all`: half hits too, and a load of a quarter.
  void look_ups(u64 keys, u64 rows, bool all) const {
    const std::string name = name_ + " find " + count_name(keys);
    if (!std::strstr(name.c_str(), wanted)) return;
    heading(name + " of " + count_name(rows), false);
    const inputs<Slot, Key, Value> in(keys, rows, row_keys_);
    for (const double load : {0.25, 0.5, 0.7, 0.9}) {
      if (load < 0.5 && !all) continue;
      const u64 size = slots_for(keys, load);
      const array<Slot> slots(size);
      const Table t = in.in(slots.data(), size);
      for (const u32 hits : {100u, 50u, 0u}) {
        if (hits == 50 && (keys < rows >> 3 || load < 0.5 || load > 0.7)) continue;
        in.draw_rows({keys, hits, false});
        std::printf("%.2f%3u", load, hits);
        for (const Form& f : forms_) {
          if (is_present(f) && (size & (size - 1))) {
            std::printf("    -");
            continue;
          }
          // Every form's own table: buckets put keys elsewhere. The id is the payload.
          slots.set(0xff);
          f.count(keys, t, in.build.data());
          in.number(t);
          print(time_of(nullptr, [&] { f.find(rows, t, in.k.data(), in.out.data()); }));
          print_right(in.found_right());
        }
        std::printf("\n");
        std::fflush(stdout);
      }
    }
  }

  void claims(u64 keys, u64 rows) const {
    const std::string name = name_ + " claim " + count_name(keys);
    if (!std::strstr(name.c_str(), wanted)) return;
    heading(name + " of " + count_name(rows), true);
    const inputs<Slot, Key, Value> in(keys, rows, row_keys_);
    in.draw_rows({keys, 100, keys == rows});
    for (const double load : {0.5, 0.7, 0.9}) {
      const u64 size = slots_for(keys, load);
      const array<Slot> slots(size);
      const Table t = in.in(slots.data(), size);
      std::printf("%.2f   ", load);
      print(time_of(nullptr, [&] { slots.set(0xff); }));
      for (const Form& f : forms_) {
        if (!f.claims) continue;
        if (is_present(f) && (size & (size - 1))) {
          std::printf("    -");
          continue;
        }
        print(time_of([&] { slots.set(0xff); }, [&] { f.count(rows, t, in.k.data()); }));
        f.find(rows, t, in.k.data(), in.out.data());
        print_right(in.counted_right(t));
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }

 private:
  static bool is_present(const Form& f) { return std::strcmp(f.name, "now") == 0; }
  static std::string count_name(u64 count) {
    u32 bits = 0;
    while ((u64(1) << (bits + 1)) <= count) ++bits;
    return "2^" + std::to_string(bits);
  }
  void heading(const std::string& name, bool claims) const {
    std::printf("-- %s\n       ", name.c_str());
    if (claims) std::printf(" zero");
    for (const Form& f : forms_) {
      if (!claims || f.claims) std::printf(" %4s", f.name);
    }
    std::printf("\n");
  }

  std::string name_;
  bool row_keys_;
  std::vector<Form> forms_;
};

template <class Bench> void all_cases(const Bench& bench) {
  bench.look_ups(n >> 7, n >> 3, true);
  bench.look_ups(n >> 3, n, true);
  bench.look_ups(n, n, false);
  bench.claims(n >> 7, n >> 3);
  bench.claims(n >> 3, n);
  bench.claims(n >> 3, n >> 3);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) n = u64(1) << std::atoi(argv[1]);
  if (argc > 2) wanted = argv[2];
  std::printf(
      "ms; now: hash_table.cuh; bxi: b slots at once, i keys a thread in flight, through L2 (r: through L1); ai: a slot at once, around\n"
      "a bucket of 32 bytes; gt: t threads a key\n");
  {
    using S = slot_8;
    all_cases(slots_bench<S, u32, u32, probed_table<S>, word_form<S>>(
        "8 B", false,
        {present_form<S>(), bucket<1, 1, cached::l2, S>("1x1"), bucket<1, 4, cached::l2, S>("1x4"), bucket<2, 1, cached::l2, S>("2x1"),
         bucket<2, 4, cached::l2, S>("2x4"), bucket<4, 1, cached::l1, S>("4x1r"), bucket<4, 4, cached::l1, S>("4x4r"),
         around<4, 1, cached::l1, S>("a1r"), around<4, 4, cached::l2, S>("a4"), group<2, 2, S>("g2"), group<4, 1, S>("g4")}));
  }
  {
    using S = slot_16;
    all_cases(slots_bench<S, u64, u64, probed_table<S>, word_form<S>>(
        "16 B", false,
        {present_form<S>(), bucket<1, 1, cached::l2, S>("1x1"), bucket<1, 4, cached::l2, S>("1x4"), bucket<2, 1, cached::l2, S>("2x1"),
         bucket<2, 1, cached::l1, S>("2x1r"), bucket<2, 4, cached::l1, S>("2x4r"), around<2, 1, cached::l1, S>("a1r"),
         around<2, 4, cached::l2, S>("a4"), group<2, 1, S>("g2"), group<4, 1, S>("g4")}));
  }
  for (const bool rows : {false, true}) {
    const slots_bench<slot_32, wide_key, u64, wide_table, wide_form> bench(
        rows ? "row 32 B" : "32 B", rows,
        {wide<1, reads::tag_first>("1", true), wide<1, reads::whole>("1all", false), wide<2, reads::tag_first>("2", true),
         wide<2, reads::whole>("2all", false), wide_group()});
    bench.look_ups(n >> 3, n >> 1, false);
    bench.claims(n >> 3, n >> 1);
  }
  if (failures) std::printf("%d cases are wrong\n", failures);
  return failures ? 1 : 0;
}
