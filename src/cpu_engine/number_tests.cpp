#include "cpu_engine/number_tests.hpp"

namespace query::cpu {

using planner::number_operand;
using planner::number_test;

static_assert(number_rows >= column_batch_rows);

const void* numbers_of(const number_operand& x, std::span<const column> columns, std::size_t n, number_scratch& s, bool right) {
  column c = columns[x.column];
  c.base = static_cast<const std::byte*>(c.base) + x.within;
  const void* values = c.base;
  if (!c.side_by_side(x.lies->size)) {
    void* const to = s.gathered(right);
    gather_column(c, x.lies, n, to, x.lies->size, false);
    values = to;
  }
  if (x.as == x.lies->k) return values;
  void* const to = s.converted(right);
  kernels_here().conversions[index_of(x.lies->k)][index_of(x.as)](values, n, to);
  return to;
}

std::size_t number_tests::run(std::span<const column> columns, std::size_t n, scratch& s) const {
  std::size_t masks = 0;
  for (const number_test& t : predicate_->tests) {
    switch (t.what) {
      case number_test::kind::compare: {
        const void* const left = numbers_of(t.left, columns, n, s);
        const void* const right = t.right.constant() ? &t.right.bits : numbers_of(t.right, columns, n, s, true);
        kernels_->comparison(t.how, t.left.as, t.right.constant())(left, right, n, s.mask(masks++));
        break;
      }
      case number_test::kind::negate: kernels_->negate(s.mask(masks - 1), n); break;
      case number_test::kind::both:
        --masks;
        kernels_->both(s.mask(masks - 1), s.mask(masks), n);
        break;
      case number_test::kind::either:
        --masks;
        kernels_->either(s.mask(masks - 1), s.mask(masks), n);
        break;
    }
    if (t.decides && kernels_->count(s.mask(masks - 1), n) == 0) return 0;
  }
  return kernels_->count(s.mask(), n);
}

}  // namespace query::cpu
