// The kernels of every processor family that runs here, against plain loops: of comparisons and masks; of folds, the loops that the user's
// compiler makes, whose bits they must give.
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <query/cpu/segment_form.hpp>

#include "cpu_engine/number_kernels.hpp"

namespace query::cpu {
namespace {

using detail::fold_kind;
using detail::fold_state;
using ir::kind;
using ir::op;

std::vector<const number_kernels*> families() {
  std::vector<const number_kernels*> all{&plain_number_kernels};
  if (&kernels_here() != &plain_number_kernels) all.push_back(&kernels_here());
  return all;
}

template <class T> std::unique_ptr<T[]> numbers(std::size_t n, kind k, std::uint64_t seed) {
  using limits = std::numeric_limits<T>;
  const T odd[] = {T(0), limits::max(), limits::lowest(), limits::has_quiet_NaN ? limits::quiet_NaN() : T(1), static_cast<T>(-T(0)),
                   limits::has_infinity ? limits::infinity() : T(2)};
  std::mt19937_64 draw(seed);
  auto all = std::make_unique<T[]>(n);  // to the byte: address sanitizers see a read beyond
  for (std::size_t i = 0; i < n; ++i)
    all[i] = k == kind::boolean ? static_cast<T>(draw() % 2) : draw() % 3 ? static_cast<T>(draw() % 7) : odd[draw() % 6];
  return all;
}

template <class T, class Holds>
void compares(const number_kernels& kernels, op what, kind k, const T* a, const T* b, std::size_t n, Holds holds) {
  const auto mask = std::make_unique<std::uint8_t[]>(n);
  const T constant = T(3);
  kernels.comparison(what, k, true)(a, &constant, n, mask.get());
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(mask[i], holds(a[i], constant) ? 0xFF : 0) << i;
  kernels.comparison(what, k, false)(a, b, n, mask.get());
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(mask[i], holds(a[i], b[i]) ? 0xFF : 0) << i;
}

template <class T> struct marked {
  T value;
  bool kept;
};

// Two slices, one after the other.
template <class T> void folds(const number_kernels& kernels, kind k, const T* values, const std::uint8_t* mask, std::size_t n) {
  std::vector<marked<T>> rows;
  for (std::size_t i = 0; i < n; ++i) rows.push_back({values[i], !mask || mask[i] != 0});
  const auto chain = select(where(cpu::rows<marked<T>>{}, [](const marked<T>& r) { return r.kept; }),
                            [](const marked<T>& r) { return r.value; });
  detail::row_block block;
  block.rows = rows.data();
  block.n = n;
  const row_array<marked<T>> view(block);
  for (const fold_kind what : {fold_kind::sum, fold_kind::average, fold_kind::min, fold_kind::max}) {
    fold_state by_kernels, by_loops;
    const fold_loop& loop = kernels.fold(what, k);
    for (int slice = 0; slice < 2; ++slice) {
      fold_lanes lanes;
      loop.begin(lanes, by_kernels);
      loop.add(lanes, values, mask, n);
      loop.end(lanes, mask ? kernels.count(mask, n) : n, by_kernels);
      if (what == fold_kind::sum) fold_sum<wide_t<T>>(chain, view, true, by_loops);
      else if (what == fold_kind::average) fold_sum<mean_sum_t<T>>(chain, view, true, by_loops);
      else if (what == fold_kind::min) fold_extreme<false>(chain, view, true, by_loops);
      else fold_extreme<true>(chain, view, true, by_loops);
      EXPECT_EQ(by_kernels.count, by_loops.count);
      EXPECT_EQ(what == fold_kind::min || what == fold_kind::max ? by_kernels.numbers : 0, by_loops.numbers);
      const auto same = [&]<class V>(V x) { return x != x || std::memcmp(by_kernels.value, by_loops.value, sizeof x) == 0; };
      const bool adds = what == fold_kind::sum || what == fold_kind::average;
      EXPECT_TRUE(what == fold_kind::average ? same(load<mean_sum_t<T>>(by_loops))
                  : adds                     ? same(load<wide_t<T>>(by_loops))
                                             : same(load<T>(by_loops)));
    }
  }
}

template <class T> void all_of(kind k) {
  for (const number_kernels* kernels : families()) {
    for (std::size_t n = 0; n <= number_rows; n = n < 70 ? n + 1 : n + 159) {
      SCOPED_TRACE(n);
      const auto a = numbers<T>(n, k, n), b = numbers<T>(n, k, n + 1000);
      compares(*kernels, op::lt, k, a.get(), b.get(), n, [](T x, T y) { return x < y; });
      compares(*kernels, op::le, k, a.get(), b.get(), n, [](T x, T y) { return x <= y; });
      compares(*kernels, op::gt, k, a.get(), b.get(), n, [](T x, T y) { return x > y; });
      compares(*kernels, op::ge, k, a.get(), b.get(), n, [](T x, T y) { return x >= y; });
      compares(*kernels, op::eq, k, a.get(), b.get(), n, [](T x, T y) { return x == y; });
      compares(*kernels, op::ne, k, a.get(), b.get(), n, [](T x, T y) { return x != y; });

      const auto mask = std::make_unique<std::uint8_t[]>(n);
      kernels->comparison(op::le, k, false)(a.get(), b.get(), n, mask.get());
      std::vector<std::uint32_t> wanted, chosen(n + 8);
      for (std::uint32_t i = 0; i < n; ++i)
        if (mask[i]) wanted.push_back(i);
      EXPECT_EQ(kernels->count(mask.get(), n), wanted.size());
      chosen.resize(kernels->select(mask.get(), n, chosen.data()));
      EXPECT_EQ(chosen, wanted);
      folds(*kernels, k, a.get(), mask.get(), n);
      folds<T>(*kernels, k, a.get(), nullptr, n);
    }
  }
}

TEST(number_kernels, of_bytes) {
  all_of<std::uint8_t>(kind::boolean);
  all_of<std::int8_t>(kind::i8);
  all_of<std::uint8_t>(kind::u8);
}
TEST(number_kernels, of_short_integers) {
  all_of<std::int16_t>(kind::i16);
  all_of<std::uint16_t>(kind::u16);
}
TEST(number_kernels, of_integers) {
  all_of<std::int32_t>(kind::i32);
  all_of<std::uint32_t>(kind::u32);
  all_of<std::int64_t>(kind::i64);
  all_of<std::uint64_t>(kind::u64);
}
TEST(number_kernels, of_floating_point_numbers) {
  all_of<float>(kind::f32);
  all_of<double>(kind::f64);
}

}  // namespace
}  // namespace query::cpu
