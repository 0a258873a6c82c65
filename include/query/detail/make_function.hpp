// A user's callable as the plan holds it: a shared copy, how to trace it, native calls over batches, what it captured.
#pragma once

#include <memory>
#include <new>

#include <query/accelerated.hpp>
#include <query/broadcast.hpp>
#include <query/detail/call.hpp>
#include <query/detail/plan.hpp>
#include <query/detail/stop.hpp>
#include <query/function.hpp>

namespace query::detail {

// A copy of f, with the collections that it captured.
user_function hold(std::string_view role, const closure_form& form, const void* f);
template <class F> user_function hold(std::string_view role, const F& f) { return hold(role, closure_form_of<F>, std::addressof(f)); }

// The calls that functions of one type have in a plan. Functions by name, not lambdas: those compile to two each.
template <class F, class... Row> ir::traced retrace(const void* f) { return query::trace<Row...>(*static_cast<const F*>(f)); }

template <class T, class R, class F>
void map_rows_by(const void* g, const void* rows, const std::uint32_t* select, std::size_t n, void* out) {
  const F& f = *static_cast<const F*>(g);
  const T* r = static_cast<const T*>(rows);
  made_so_far<R> made(static_cast<R*>(out));
  in_runs(0, n, [&](std::size_t i, std::size_t end) QUERY_INLINE {
    if (select) {
      for (; i < end; ++i) made.add(i, call(f, seen_by<F>(r[select[i]])));
    } else {
      for (; i < end; ++i) made.add(i, call(f, seen_by<F>(r[i])));
    }
  });
  made.keep();
}
template <class T, class F> void filter_rows_by(const void* g, const void* rows, std::size_t n, bool* out) {
  const F& f = *static_cast<const F*>(g);
  in_runs(0, n, [&](std::size_t i, std::size_t end) QUERY_INLINE {
    for (; i < end; ++i) out[i] = static_cast<bool>(call(f, seen_by<F>(static_cast<const T*>(rows)[i])));
  });
}

// f over rows of T, with results stored as R.
template <class T, class R, class F> user_function make_map(std::string_view role, const F& f) {
  user_function u = hold(role, f);
  u.retrace = &retrace<F, T>;
  u.row = ir::describe<T>();
  u.result = ir::describe<R>();
  keep_device_form<R, T>(u, f);
  u.native.map = &map_rows_by<T, R, F>;
  return u;
}

template <class T, class F> user_function make_filter(std::string_view role, const F& f) {
  user_function u = hold(role, f);
  u.retrace = &retrace<F, T>;
  u.row = ir::describe<T>();
  u.result = ir::describe<bool>();
  keep_device_form<bool, T>(u, f);
  u.native.filter = &filter_rows_by<T, F>;
  return u;
}

ir::traced never_traced(const void* f);
// A function that only the native loop calls (with the row's number, of a collection...): known to the plan, not traced.
template <class F> user_function make_opaque(std::string_view role, const F& f, const ir::type* result) {
  user_function u = hold(role, f);
  u.retrace = &never_traced;
  u.result = result;
  return u;
}

// A function of the row and its number, which the native loop calls; traced for engines that know the number.
template <class T, class F> user_function make_positioned(std::string_view role, const F& f, const ir::type* result) {
  user_function u = make_opaque(role, f, result);
  u.row = ir::describe<T>();
  u.retrace = &retrace<F, T, std::int64_t>;
  return u;
}

// A function that gives a range of R: traced where that is a list or an array, such as a field of the row.
template <class T, class R, class F> user_function make_expansion(std::string_view role, const F& f) {
  user_function u = make_opaque(role, f, ir::describe<R>());
  u.row = ir::describe<T>();
  using many = result_of<F, T>;
  if constexpr ((ir::is_list_v<many> || ir::is_array_v<many>)&&ir::described_v<many>)
    u.retrace = &retrace<F, T>;
  return u;
}

// One side of a join's result: the row, or an optional where the side may be missing.
template <class T, bool Optional> using side_t = std::conditional_t<Optional, std::optional<T>, T>;

template <class L, bool OptionalL, class R, bool OptionalR, class Out, class F> user_function make_pair_map(const F& f) {
  user_function u = hold("result", f);
  u.retrace = &retrace<F, side_t<L, OptionalL>, side_t<R, OptionalR>>;
  u.row = ir::describe<L>();
  u.result = ir::describe<Out>();
  keep_device_form<Out, side_t<L, OptionalL>, side_t<R, OptionalR>>(u, f);
  u.native.map_pairs = [](const void* g, const void* const* left, const void* const* right, std::size_t n, void* out) {
    const F& h = *static_cast<const F*>(g);
    const auto side = []<class T, bool Optional>(std::type_identity<T>, std::bool_constant<Optional>, const void* p) -> decltype(auto) {
      const T* row = static_cast<const T*>(p);
      if constexpr (Optional) return row ? std::optional<T>(*row) : std::optional<T>();
      else return static_cast<const T&>(*row);
    };
    constexpr bool views = takes_two_views<F, side_t<L, OptionalL>, side_t<R, OptionalR>>;
    made_so_far<Out> made(static_cast<Out*>(out));
    in_runs(0, n, [&](std::size_t i, std::size_t end) QUERY_INLINE {
      for (; i < end; ++i)
        made.add(i, call(h, view_if<views>(side(std::type_identity<L>{}, std::bool_constant<OptionalL>{}, left[i])),
                         view_if<views>(side(std::type_identity<R>{}, std::bool_constant<OptionalR>{}, right[i]))));
    });
    made.keep();
  };
  return u;
}

// Which pairs of rows a join makes.
template <class L, class R, class F> user_function make_pair_filter(const F& f) {
  user_function u = make_pair_map<L, false, R, false, bool>(f);
  u.role = "condition";
  return u;
}

}  // namespace query::detail
