#include "data/summarise.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <query/detail/moments.hpp>
#include <query/detail/stop.hpp>

#include "data/csv_value.hpp"
#include "data/format_value.hpp"
#include "data/leaf_columns.hpp"
#include "ir/time_text.hpp"

namespace query::data {
namespace {

// What is compared and counted: a number by value, a string by view.
template <class T> T load(const void* from) {
  if constexpr (std::is_same_v<T, std::string_view>) return *static_cast<const std::string*>(from);
  else {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
}

template <class T> bool is_nan([[maybe_unused]] const T& x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  else return false;
}

template <class T> inline constexpr bool is_number = !std::is_same_v<T, std::string_view> && !std::is_same_v<T, char>;

template <class T> std::uint64_t distinct_of(std::vector<T>& values) {
  const auto first_nan = std::partition(values.begin(), values.end(), [](const T& x) { return !is_nan(x); });
  const detail::stop_point stop;
  std::sort(values.begin(), first_nan, [&](const T& a, const T& b) {
    stop.check();
    return a < b;
  });
  return static_cast<std::uint64_t>(std::unique(values.begin(), first_nan) - values.begin()) + (first_nan != values.end());
}

void write(const agg::moments& m, column_summary& to) {
  if (m.n > 0) to.mean = m.mean + m.low + 0.0;  // -0.0 + 0.0 is 0.0
  if (m.n > 1) to.stddev = std::sqrt(m.squares / static_cast<double>(m.n - 1));
}

// The values of a column that are not null, in row order.
template <class Each>
void for_each_value(const leaf_column& leaf, const ir::type* row, const void* rows, std::size_t n, Each each) {
  constexpr std::size_t a_look = 1 << 12;
  detail::in_runs<a_look>(0, n, [&](std::size_t i, std::size_t end) {
    for (const std::byte* at = static_cast<const std::byte*>(rows) + i * row->size; i < end; ++i, at += row->size)
      if (const void* value = leaf.value(at)) each(value);
  });
}

template <class T> std::string text_of(const ir::type* type, const T& value) {
  if constexpr (std::is_same_v<T, std::string_view>) return printable(value);
  else return format_value(type, &value);
}

template <class T>
void summarise_values(column_summary& to, const leaf_column& leaf, const ir::type* row, const void* rows, std::size_t n,
                      bool count_distinct) {
  agg::moments sums;
  std::vector<T> values;
  T least{}, most{};
  bool any = false;
  for_each_value(leaf, row, rows, n, [&](const void* at) {
    const T x = load<T>(at);
    ++to.count;
    if (count_distinct) values.push_back(x);
    if constexpr (is_number<T>) sums.add(static_cast<double>(x));
    if (is_nan(x)) return;
    if (!any || x < least) least = x;
    if (!any || most < x) most = x;
    any = true;
  });
  if constexpr (is_number<T>) write(sums, to);
  if constexpr (std::is_floating_point_v<T>) {  // as keys, too, -0.0 is 0.0
    least += T{0};
    most += T{0};
  }
  if (any) {
    to.min = text_of(leaf.value_type(), least);
    to.max = text_of(leaf.value_type(), most);
  }
  if (count_distinct) to.distinct = distinct_of(values);
}

}  // namespace

std::vector<column_summary> summarise(const ir::type* row, const void* rows, std::size_t n, bool count_distinct,
                                      std::span<const std::string> names) {
  std::vector<column_summary> result;
  for (const leaf_column& leaf : leaf_columns(row, names)) {
    column_summary c;
    c.name = leaf.name;
    c.type = short_type_name(leaf);
    const auto run = [&]<class T>(std::type_identity<T>) { summarise_values<T>(c, leaf, row, rows, n, count_distinct); };
    switch (leaf.value_type()->k) {
      case ir::kind::boolean: run(std::type_identity<bool>{}); break;
      case ir::kind::i8: is_letter(leaf.value_type()) ? run(std::type_identity<char>{}) : run(std::type_identity<std::int8_t>{}); break;
      case ir::kind::i16: run(std::type_identity<std::int16_t>{}); break;
      case ir::kind::i32: run(std::type_identity<std::int32_t>{}); break;
      case ir::kind::i64: run(std::type_identity<std::int64_t>{}); break;
      case ir::kind::u8: is_letter(leaf.value_type()) ? run(std::type_identity<char>{}) : run(std::type_identity<std::uint8_t>{}); break;
      case ir::kind::u16: run(std::type_identity<std::uint16_t>{}); break;
      case ir::kind::u32: run(std::type_identity<std::uint32_t>{}); break;
      case ir::kind::u64: run(std::type_identity<std::uint64_t>{}); break;
      case ir::kind::f32: run(std::type_identity<float>{}); break;
      case ir::kind::f64: run(std::type_identity<double>{}); break;
      case ir::kind::string: run(std::type_identity<std::string_view>{}); break;
      default: for_each_value(leaf, row, rows, n, [&](const void*) { ++c.count; });
    }
    if (ir::is_time_text(leaf.value_type())) c.mean = c.stddev = std::nullopt;  // they would be counts
    c.nulls = n - c.count;
    result.push_back(std::move(c));
  }
  return result;
}

}  // namespace query::data
