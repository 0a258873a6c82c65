// Shapes and forms of a pass of the radix sort beside CUB's and the policy that is the default: what the default is chosen by.
//
//   primitives_bench variants
// A line names threads x items x blocks of a multiprocessor, then how the form differs from the plainest.
#include "primitives_sorts.cuh"

namespace query::gpu::bench {

void sort_variants();

namespace {

constexpr u32 votes = 1, first = 2, late = 4, narrow = 8, unrolled = 16;

template <class Key, class Value, u32 Threads, u32 Items, u32 Blocks, u32 Forms>
struct variant : radix_policy<Key, Value> {
  static constexpr u32 threads = Threads, items = Items, blocks = Blocks;
  static constexpr radix_match match = (Forms & votes) != 0 ? radix_match::votes : radix_match::masks;
  static constexpr bool counts_first = (Forms & first) != 0, late_values = (Forms & late) != 0;
  static constexpr bool narrow_places = (Forms & narrow) != 0, unrolled_writes = (Forms & unrolled) != 0;
};

template <u32 Threads, u32 Items, u32 Blocks, u32 Forms, class Key, class Value>
void sort_variant(const sort_data<Key, Value>& d) {
  char name[64];
  std::snprintf(name, sizeof(name), "%ux%ux%u%s%s%s%s%s", Threads, Items, Blocks, (Forms & votes) != 0 ? " votes" : "",
                (Forms & first) != 0 ? " first" : "", (Forms & late) != 0 ? " late" : "", (Forms & narrow) != 0 ? " narrow" : "",
                (Forms & unrolled) != 0 ? " unrolled" : "");
  sort_ours<variant<Key, Value, Threads, Items, Blocks, Forms>>(d, name);
}

constexpr u32 lean = narrow | unrolled;

void pairs_u64_u32() {
  const sort_data<u64, u32> d("sort_pairs_u64_u32", rows() / 2);
  sort_variant<512, 13, 2, 0>(d);
  sort_variant<512, 13, 2, narrow>(d);
  sort_variant<512, 13, 2, lean>(d);
  sort_variant<512, 13, 2, lean | late>(d);
  sort_variant<512, 13, 2, lean | first>(d);
  sort_variant<512, 13, 2, lean | votes | first | late>(d);
  sort_variant<512, 15, 2, lean | votes | first | late>(d);
  sort_variant<384, 15, 2, lean>(d);
  sort_variant<384, 15, 2, lean | first>(d);
  sort_variant<384, 15, 2, lean | votes>(d);
  sort_variant<384, 15, 2, lean | votes | first>(d);
  sort_variant<384, 15, 2, lean | votes | first | late>(d);
  sort_variant<384, 15, 2, narrow | votes | first | late>(d);
  sort_variant<384, 15, 3, lean | late>(d);
  sort_variant<384, 15, 3, narrow | late>(d);
  sort_variant<384, 15, 3, narrow | votes | first | late>(d);
  sort_variant<384, 12, 3, lean | late>(d);
  sort_variant<384, 12, 3, narrow | late>(d);
  sort_variant<384, 12, 3, lean | votes | first | late>(d);
  sort_variant<384, 18, 2, lean>(d);
  sort_variant<384, 18, 2, lean | votes | first | late>(d);
  sort_variant<256, 17, 3, lean | votes | first | late>(d);
}

void pairs_u32_u32() {
  const sort_data<u32, u32> d("sort_pairs_u32_u32", rows());
  sort_variant<384, 23, 2, 0>(d);
  sort_variant<384, 23, 2, narrow>(d);
  sort_variant<384, 23, 2, lean>(d);
  sort_variant<384, 23, 2, lean | late>(d);
  sort_variant<384, 23, 2, lean | first>(d);
  sort_variant<384, 23, 2, lean | votes>(d);
  sort_variant<384, 23, 2, lean | votes | first | late>(d);
  sort_variant<384, 23, 2, narrow | votes | first | late>(d);
  sort_variant<384, 19, 3, narrow | late>(d);
  sort_variant<384, 19, 3, lean | late>(d);
  sort_variant<384, 19, 3, lean | votes | first | late>(d);
  sort_variant<512, 19, 2, lean | late>(d);
  sort_variant<512, 19, 2, lean | votes | first | late>(d);
  sort_variant<512, 23, 2, lean | votes | first | late>(d);
}

void keys() {
  const sort_data<u64, no_value> wide("sort_keys_u64", rows());
  sort_variant<512, 15, 2, 0>(wide);
  sort_variant<512, 15, 2, lean>(wide);
  sort_variant<512, 15, 2, lean | first>(wide);
  sort_variant<512, 15, 2, lean | votes | first>(wide);
}

void narrow_keys() {
  const sort_data<u32, no_value> d("sort_keys_u32", rows());
  sort_variant<512, 23, 2, 0>(d);
  sort_variant<512, 23, 2, lean>(d);
  sort_variant<512, 23, 2, lean | first>(d);
  sort_variant<512, 23, 2, lean | votes | first>(d);
}

}  // namespace

void sort_variants() {
  pairs_u64_u32();
  pairs_u32_u32();
  keys();
  narrow_keys();
}

}  // namespace query::gpu::bench
