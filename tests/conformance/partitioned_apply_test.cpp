// apply over partitions, by functions with a form for the GPU.
#include <span>

#include "conformance/compare.hpp"
#include "conformance/device_copy.hpp"
#include "conformance/engines.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

CONFORMS(partitioned_apply, calls_the_form_of_its_engine_once_a_partition, "apply", "partitioned", "hash_partitioned_by",
         "range_partitioned_by") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    // The first half of each partition.
    int there = 0;
    const auto halves = [](std::span<const tick> r) {
      return std::vector<tick>(r.begin(), r.begin() + static_cast<std::ptrdiff_t>(r.size() / 2));
    };
    const auto halves_there = query::on_gpu([&](auto& r) {
      ++there;
      copy_on_device(r.results(r.size() / 2), r.rows(), r.size() / 2 * sizeof(tick), r.stream());
    });
    const auto columns_there = query::on_gpu([](auto& r) {
      const std::size_t n = r.size();
      copy_on_device(r.results(&tick::id, n), r.column(&tick::id), n * 4, r.stream());
      copy_on_device(r.results(&tick::key, n), r.column(&tick::key), n * 4, r.stream());
      copy_on_device(r.results(&tick::amount, n), r.column(&tick::amount), n * 8, r.stream());
      copy_on_device(r.results(&tick::price, n), r.column(&tick::price), n * 8, r.stream());
      r.keep(n / 2);
    });
    const auto check = [&](const auto& partitioned) {
      const auto wanted = partitioned.in(query::Session({.threads = 2, .gpu = query::gpu_use::off})).apply(halves).to_vector();
      const auto q = partitioned.apply(halves, halves_there);
      EXPECT_EQ(q.explain().find("with a form for the GPU") != std::string::npos, true) << q.explain();
      EXPECT_ROWS(q.to_vector(), wanted);
      EXPECT_ROWS(partitioned.apply(halves, columns_there).to_vector(), wanted);
    };
    const auto q = source(e, d.rows);
    there = 0;
    check(q.partitioned(5));
    EXPECT_EQ(there, e.accelerate ? 5 : 0);
    there = 0;
    check(q.hash_partitioned_by([](auto t) { return t.key; }, 7));
    EXPECT_EQ(there, e.accelerate ? 7 : 0);
    check(q.range_partitioned_by([](auto t) { return t.amount; }));
    check(q.where([](auto t) { return t.amount > 0; }).hash_partitioned_by([](auto t) { return t.price; }, 300));
    // Rows that lie in columns; of the latter each partition begins at a multiple of 256 bytes.
    const auto kept = q.cached();
    check(kept.partitioned(3));
    check(kept.take(1024).partitioned(4));
    check(kept.hash_partitioned_by([](auto t) { return t.id % 5; }, 3));
    check(kept.range_partitioned_by([](auto t) { return t.key; }, 4));
  }
}

}  // namespace
}  // namespace conformance
