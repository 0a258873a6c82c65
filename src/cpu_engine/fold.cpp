// count, sum, min, max and average of rows that are numbers.
#include <query/cpu/fold_loops.hpp>
#include <query/errors.hpp>

#include "cpu_engine/pipeline.hpp"

namespace query::cpu {

namespace {

template <class T> void fold_as(detail::fold_kind k, const detail::row_block& b, detail::fold_state& s) {
  const rows<T> chain;
  const row_array<T> v(b);
  switch (k) {
    case detail::fold_kind::count: fold_count(chain, v, true, s); return;
    case detail::fold_kind::sum: fold_sum<wide_t<T>>(chain, v, true, s); return;
    case detail::fold_kind::average: fold_sum<mean_sum_t<T>>(chain, v, true, s); return;
    case detail::fold_kind::min: fold_extreme<false>(chain, v, true, s); return;
    case detail::fold_kind::max: fold_extreme<true>(chain, v, true, s); return;
  }
}

template <class F> bool by_kind(ir::kind k, F f) {
  switch (k) {
    case ir::kind::boolean: f(std::type_identity<bool>{}); return true;
    case ir::kind::i8: f(std::type_identity<std::int8_t>{}); return true;
    case ir::kind::i16: f(std::type_identity<std::int16_t>{}); return true;
    case ir::kind::i32: f(std::type_identity<std::int32_t>{}); return true;
    case ir::kind::i64: f(std::type_identity<std::int64_t>{}); return true;
    case ir::kind::u8: f(std::type_identity<std::uint8_t>{}); return true;
    case ir::kind::u16: f(std::type_identity<std::uint16_t>{}); return true;
    case ir::kind::u32: f(std::type_identity<std::uint32_t>{}); return true;
    case ir::kind::u64: f(std::type_identity<std::uint64_t>{}); return true;
    case ir::kind::f32: f(std::type_identity<float>{}); return true;
    case ir::kind::f64: f(std::type_identity<double>{}); return true;
    default: return false;
  }
}

}  // namespace

bool fold_values(detail::fold_kind k, ir::kind kind, const detail::row_block& b, detail::fold_state& s) {
  return by_kind(kind, [&]<class T>(std::type_identity<T>) { fold_as<T>(k, b, s); });
}

void merge_folds(detail::fold_kind k, const ir::type* row, detail::fold_state& into, const detail::fold_state& from) {
  by_kind(row->k, [&]<class T>(std::type_identity<T>) {
    const auto add = [&]<class W>(std::type_identity<W>) { store(into, plus<W>(load<W>(into), load<W>(from))); };
    if (k == detail::fold_kind::sum) {
      add(std::type_identity<wide_t<T>>{});
    } else if (k == detail::fold_kind::average) {
      add(std::type_identity<mean_sum_t<T>>{});
    } else if (k != detail::fold_kind::count && from.numbers) {
      const T a = load<T>(from);
      if (!into.numbers || (k == detail::fold_kind::min ? a < load<T>(into) : load<T>(into) < a)) store(into, a);
    }
  });
  into.count += from.count;
  into.numbers += from.numbers;
}

}  // namespace query::cpu
