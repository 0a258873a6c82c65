// select_many(range, result): result(row, element) for each element of range(row).
//
//   orders.select_many([](const Order& o) { return o.lines; }, [](const Order& o, const Line& l) { return std::pair(o.id, l.amount); });
//
// Results are made as they are read, beside the row and its range; those of a std::array are an array, which is traced.
#pragma once

#include <query/verbs/sequence.hpp>

namespace query::verbs {

// A result as it is kept: views may look into an element that ends with the call, so what they show is copied.
template <class Row, class G, class E> auto result_of_element(const G& result, const Row& row, E&& element) {
  if constexpr (detail::is_twin_v<Row>) {
    return result(row, std::forward<E>(element));
  } else {
    using stored = detail::stored_t<decltype(result(row, std::forward<E>(element)))>;
    return stored(detail::as_stored<stored>(result(row, std::forward<E>(element))));
  }
}

template <class Row, class Range, class G> class results_of_elements {
 public:
  // range(): the elements. The row outlives this, and so does what a range refers to.
  template <class Make> results_of_elements(const Row& row, const G& result, const Make& range)
      : row_(&row), result_(&result), range_(range()) {}

  using inner = decltype(std::declval<std::remove_reference_t<Range>&>().begin());
  class iterator {
   public:
    iterator(inner at, const Row* row, const G* result) : at_(std::move(at)), row_(row), result_(result) {}
    auto operator*() const { return result_of_element(*result_, *row_, *at_); }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    template <class End> requires requires(const inner& i, const End& e) { i != e; } bool operator!=(const End& end) const {
      return at_ != end;
    }
    template <class End> requires requires(const inner& i, const End& e) { i == e; } bool operator==(const End& end) const {
      return at_ == end;
    }

   private:
    inner at_;
    const Row* row_;
    const G* result_;
  };
  auto begin() { return iterator(range_.begin(), row_, result_); }
  auto end() { return range_.end(); }

 private:
  const Row* row_;
  const G* result_;
  Range range_;  // a reference where the function gives one
};

template <class F, class G> struct elements_with_row {
  F f;
  G result;
  template <class Row> requires std::is_invocable_v<const F&, const Row&> auto operator()(const Row& row) const {
    using Range = std::invoke_result_t<const F&, const Row&>;
    using held = detail::held_t<std::remove_cvref_t<Range>>;
    if constexpr (ir::is_array_v<held>) {
      return [&]<std::size_t... I>(const auto& range, std::index_sequence<I...>) {
        // Named, as a std::array of one std::array is deduced as that one.
        using element = decltype(result_of_element(result, row, range[0]));
        return std::array<element, sizeof...(I)>{result_of_element(result, row, range[I])...};
      }(f(row), std::make_index_sequence<ir::array_traits<held>::count>{});
    } else {
      return results_of_elements<Row, Range, G>(row, result, [&]() -> decltype(auto) { return f(row); });
    }
  }
};

// The same of f(row, number), over rows with their numbers.
template <class T, class F, class G> auto with_elements_of(const F& f, const G& result) {
  const auto of_row = [result](const auto& r, const auto& x) -> decltype(auto) { return result(r.value, x); };
  const auto range = of_numbered<T>(f);
  return elements_with_row<std::remove_cv_t<decltype(range)>, std::remove_cv_t<decltype(of_row)>>{range, of_row};
}

}  // namespace query::verbs
