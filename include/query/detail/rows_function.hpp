// Functions that take several rows at once, the matches of group_join (a std::vector) or a run of chunk and window (a std::span),
// as tracing calls them.
//
//   left.group_join(right, key, key, [](auto l, auto matches) { return query::sum(matches, [](auto r) { return r.price; }); });
//   rows.window(5, [](auto run) { return query::sum(run, [](auto r) { return r.price; }) / 5; });
//
// The function is traced where it takes the rows as `auto`: with a twin of the list that does not convert to one, so that a
// function that names the type, `const std::vector<R>& matches`, is not compiled for traced rows beside it.
#pragma once

#include <span>

#include <query/detail/make_function.hpp>

namespace query {

// A list as such a function sees it.
template <class E> class expr_rows : public expr_list<E> {
 public:
  explicit expr_rows(const ir::node* n) : expr_list<E>(n) {}
  operator std::vector<E>() const = delete;
};

// A run of rows. What only memory can do, it takes and gives up.
template <class E> class expr_span : public expr_rows<E> {
 public:
  using element_type = const E;
  explicit expr_span(const ir::node* n) : expr_rows<E>(n) {}
  const E* data() const { needs_memory(); }
  std::size_t size_bytes() const { needs_memory(); }
  template <class... N> expr_span first(N...) const { needs_memory(); }
  template <class... N> expr_span last(N...) const { needs_memory(); }
  template <class... N> expr_span subspan(N...) const { needs_memory(); }
  auto rbegin() const { return this->begin(); }
  auto rend() const { return this->end(); }

 private:
  [[noreturn]] static void needs_memory() { ir::give_up("a part of a run, or its memory: use query::fold(run, init, f) and its kin"); }
};

namespace detail {

template <class E> struct twin_traits<expr_rows<E>> : std::true_type { using held = std::vector<E>; };
template <class E> struct twin_traits<expr_span<E>> : std::true_type { using held = std::vector<E>; };

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

// f(run) with its run as above.
template <class F> class with_run {
 public:
  explicit with_run(const F& f) : f_(&f) {}
  template <class T> requires std::is_invocable_v<const F&, std::span<const T>>
  decltype(auto) operator()(const std::vector<T>& rows) const noexcept(std::is_nothrow_invocable_v<const F&, std::span<const T>>) {
    return (*f_)(std::span<const T>(rows));
  }
  template <class T> requires std::is_invocable_v<const F&, expr_span<T>>
  decltype(auto) operator()(const expr_list<T>& rows) const noexcept(std::is_nothrow_invocable_v<const F&, expr_span<T>>) {
    return (*f_)(expr_span<T>(rows.get()));
  }

 private:
  const F* f_;
};
template <class F> struct wrapper<with_run<F>> : wrapper<F> {};

// f(std::span<const T>) that gives one value; the native call is the verb's (logical::rows_call).
template <class T, class Out, class F> user_function make_run_map(const F& f) {
  user_function u = make_opaque("function", f, ir::describe<Out>());
  u.row = ir::describe<std::vector<T>>();
  u.retrace = [](const void* g) { return query::trace<std::vector<T>>(with_run<F>(*static_cast<const F*>(g))); };
  return u;
}

}  // namespace detail
}  // namespace query
