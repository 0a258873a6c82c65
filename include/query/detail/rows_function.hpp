// Functions that take several rows at once, the matches of group_join (a std::vector), as tracing calls them.
//
//   left.group_join(right, key, key, [](auto l, auto matches) { return query::sum(matches, [](auto r) { return r.price; }); });
//
// The function is traced where it takes the rows as `auto`: with a twin of std::vector<R> that does not convert to one, so that a
// function that names the type, `const std::vector<R>& matches`, is not compiled for traced rows beside it.
#pragma once

#include <query/detail/make_function.hpp>

namespace query {

// A list as such a function sees it.
template <class E> class expr_rows : public expr_list<E> {
 public:
  explicit expr_rows(const ir::node* n) : expr_list<E>(n) {}
  operator std::vector<E>() const = delete;
};

namespace detail {

template <class E> struct twin_traits<expr_rows<E>> : std::true_type { using held = std::vector<E>; };

// f(row, rows) with its rows as above.
template <class F> class with_matches {
 public:
  explicit with_matches(const F& f) : f_(&f) {}
  template <class L, class R> requires std::is_invocable_v<const F&, const L&, const std::vector<R>&>
  decltype(auto) operator()(const L& left, const std::vector<R>& rows) const
      noexcept(std::is_nothrow_invocable_v<const F&, const L&, const std::vector<R>&>) {
    return (*f_)(left, rows);
  }
  template <class L, class R> requires std::is_invocable_v<const F&, const L&, const expr_rows<R>&>
  decltype(auto) operator()(const L& left, const expr_list<R>& rows) const
      noexcept(std::is_nothrow_invocable_v<const F&, const L&, const expr_rows<R>&>) {
    return (*f_)(left, expr_rows<R>(rows.get()));
  }

 private:
  const F* f_;
};
template <class F> struct wrapper<with_matches<F>> : wrapper<F> {};

// f(left row, const std::vector<R>& matches): called natively with a list for each row; traced for engines that know lists.
template <class L, class R, class Out, class F> user_function make_matches_map(const F& f) {
  user_function u = hold("result", f);
  u.retrace = [](const void* g) { return query::trace<L, std::vector<R>>(with_matches<F>(*static_cast<const F*>(g))); };
  u.row = ir::describe<L>();
  u.result = ir::describe<Out>();
  // left[0..n): rows; right[i]: a std::vector<R>
  u.native.map_pairs = [](const void* g, const void* const* left, const void* const* groups, std::size_t n, void* out) {
    made_so_far<Out> made(static_cast<Out*>(out));
    for (std::size_t i = 0; i < n; ++i)
      made.add(i, (*static_cast<const F*>(g))(*static_cast<const L*>(left[i]), *static_cast<const std::vector<R>*>(groups[i])));
    made.keep();
  };
  return u;
}

}  // namespace detail
}  // namespace query
