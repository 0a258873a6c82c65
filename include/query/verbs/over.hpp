// over(key): functions of windows. A window is the rows with an equal key, in an order, seen from one of them.
//
//   rows.over(symbol).order_by(time).select([](auto t, auto w) { return std::pair(t.id, w.rank()); });
//
// Made of other verbs, so that every engine, cluster and memory limit knows it: rows get numbers, are partitioned by the hash of the
// key, each partition is sorted and its rows are visited in order, and the results are put back into the order of the rows.
#pragma once

#include <query/verbs/ordering.hpp>
#include <query/verbs/sequence.hpp>
#include <query/window.hpp>

namespace query::verbs {

struct one_window {};  // the key of over()

// f(row, window): generic functions see rows that own memory as views, as everywhere.
template <class T, class F, class W>
concept views_in_window = record<T> && !std::is_trivially_copyable_v<T> && !detail::names_its_types<F> &&
                          std::is_invocable_v<const F&, const row_view<T>&, const W&>;
template <class T, class F, class W> QUERY_INLINE inline auto stored_in_window(const F& f, const T& t, const W& w) {
  auto&& seen = detail::view_if<views_in_window<T, F, W>>(t);
  using R = detail::stored_t<decltype(f(seen, w))>;
  return R(detail::as_stored<R>(f(seen, w)));
}

// A key of each row, side by side.
template <class K> class key_values {
 public:
  template <class T, class F> key_values(std::span<const indexed<T>> rows, const F& f) {
    values_.reserve(rows.size());
    detail::in_runs(0, rows.size(), [&](std::size_t i, std::size_t end) {
      for (; i < end; ++i) values_.push_back({detail::as_stored<K>(detail::call(f, detail::seen_by<F>(rows[i].value)))});
    });
  }
  const void* data() const { return values_.data(); }

 private:
  struct held { K k; };  // no std::vector<bool>
  std::vector<held> values_;
};

// What runs over the rows of a partition. Its results are computed as they are read.
template <class T, class F, class Key, bool Filters, class... Order> class window_call {
 public:
  window_call(F f, Key key, std::tuple<Order...> order) : f_(std::move(f)), key_(std::move(key)), order_(std::move(order)) {}

  using window = Window<T, Order...>;
  static constexpr auto given(const F& f, const T& t, const window& w) {
    if constexpr (Filters) return t;
    else return stored_in_window(f, t, w);
  }
  using result = std::remove_cvref_t<decltype(given(std::declval<const F&>(), std::declval<const T&>(), std::declval<const window&>()))>;

  // In the order of the partition's rows, which is that of the source: what puts them back reads them from front to back.
  class results {
   public:
    results(const window_call& call, std::span<const indexed<T>> rows) : source_(rows), made_(rows.size()) {
      detail::window_rows<T> visited(rows.empty() ? nullptr : &rows.front().value, sizeof(indexed<T>), call.order_of(rows));
      detail::in_runs(0, rows.size(), [&](std::size_t i, std::size_t end) {
        for (; i < end; ++i) {
          visited.visit(i);
          const window seen(visited, call.order_);
          if constexpr (Filters) made_[visited.source(i)] = static_cast<bool>(stored_in_window(call.f_, visited.here(), seen));
          else made_[visited.source(i)] = stored_in_window(call.f_, visited.here(), seen);
        }
      });
    }
    class iterator {
     public:
      iterator(results& r, std::size_t i) : r_(&r), i_(i) { skip(); }
      iterator& operator++() {
        ++i_;
        skip();
        return *this;
      }
      indexed<result> operator*() const {
        const indexed<T>& row = r_->source_[i_];
        if constexpr (Filters) return row;
        else return {row.index, std::move(value_of(r_->made_[i_]))};
      }
      bool operator==(std::default_sentinel_t) const { return i_ >= r_->source_.size(); }

     private:
      void skip() {
        if constexpr (Filters)
          for (const detail::stop_point stop; i_ < r_->source_.size() && !r_->made_[i_]; ++i_)
            if (i_ % detail::quick_calls_a_look == 0) stop.check();
      }
      results* r_;
      std::size_t i_;
    };
    iterator begin() { return iterator(*this, 0); }
    std::default_sentinel_t end() const { return {}; }

   private:
    static constexpr bool plain = Filters || (std::is_trivially_copyable_v<result> && std::is_default_constructible_v<result>);
    using held = std::conditional_t<Filters, bool, std::conditional_t<plain, result, std::optional<result>>>;
    class array {
     public:
      explicit array(std::size_t n)
          : values_(std::is_trivially_default_constructible_v<held> ? std::make_unique_for_overwrite<held[]>(n)
                                                                    : std::make_unique<held[]>(n)) {}
      held& operator[](std::size_t i) { return values_[i]; }

     private:
      std::unique_ptr<held[]> values_;
    };
    static result& value_of(held& h) {
      if constexpr (plain) return h;
      else return *h;
    }

    std::span<const indexed<T>> source_;
    array made_;
  };
  results operator()(std::span<const indexed<T>> rows) const { return results(*this, rows); }

 private:
  static constexpr bool grouped = !std::is_same_v<Key, one_window>;
  detail::window_order order_of(std::span<const indexed<T>> rows) const {
    if constexpr (!grouped && sizeof...(Order) == 0) {
      return detail::window_order(rows.size());
    } else {
      std::vector<detail::window_key> keys;
      const auto add = [&](const auto& values, const ir::type* type) { keys.push_back({type, values.data()}); };
      const auto ordered = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple(order_values(rows, std::get<I>(order_))...);
      }(std::index_sequence_for<Order...>{});
      const auto by_order = [&]<std::size_t... I>(std::index_sequence<I...>) {
        (keys.push_back({type_of<Order>(), std::get<I>(ordered).data(), std::get<I>(order_).descending, std::get<I>(order_).nulls_first,
                         std::get<I>(order_).custom}), ...);
      };
      if constexpr (grouped) {
        using K = detail::result_of<Key, T>;
        const key_values<K> groups(rows, key_);
        add(groups, ir::describe<K>());
        by_order(std::index_sequence_for<Order...>{});
        return detail::window_order(keys, true, rows.size());
      } else {
        by_order(std::index_sequence_for<Order...>{});
        return detail::window_order(keys, false, rows.size());
      }
    }
  }
  template <class O> static const ir::type* type_of() { return ir::describe<detail::result_of<typename O::function, T>>(); }
  template <class O> static auto order_values(std::span<const indexed<T>> rows, const O& o) {
    return key_values<detail::result_of<typename O::function, T>>(rows, o.f);
  }

  F f_;
  Key key_;
  std::tuple<Order...> order_;
};

// rows.over(key): say in which order a window sees its rows, then what becomes of each row.
template <class Q, class T, class Key, class... Order> class Over {
 public:
  // `label`: the verb that errors and plans name.
  Over(Q q, Key key, std::tuple<Order...> order, call_site at, const char* label)
      : q_(std::move(q)), key_(std::move(key)), order_(std::move(order)), at_(at), label_(label) {}

  // Sorts as the verb does: stable, NaNs as the largest numbers, nulls last unless nulls::first.
  template <class F> auto order_by(F f, nulls where = nulls::last) const { return ordered<check::order_by>(std::move(f), false, where); }
  template <class F> auto order_by_descending(F f, nulls where = nulls::last) const {
    return ordered<check::order_by_descending>(std::move(f), true, where);
  }
  template <class F, key_function Less> auto order_by(F f, Less less, nulls where = nulls::last) const {
    return ordered<check::order_by>(std::move(f), false, where, std::move(less));
  }
  template <class F, key_function Less> auto order_by_descending(F f, Less less, nulls where = nulls::last) const {
    return ordered<check::order_by_descending>(std::move(f), true, where, std::move(less));
  }
  template <class F, class... More> auto then_by(F f, More... more) const {
    first_order<F>();
    return order_by(std::move(f), std::move(more)...);
  }
  template <class F, class... More> auto then_by_descending(F f, More... more) const {
    first_order<F>();
    return order_by_descending(std::move(f), std::move(more)...);
  }

  // f(row, window) for each row; the results come in the order of the rows.
  template <class F> auto select(F f) const {
    if constexpr (!check::over::function<F, T, Window<T, Order...>>()) return check::after_error{};
    else if constexpr (std::is_same_v<check::after_error, std::invoke_result_t<const F&, const T&, const Window<T, Order...>&>>)
      return check::after_error{};  // of a member that was given no function
    else return visited<false>(std::move(f));
  }
  // The rows for which f(row, window) is true, in their order.
  template <class F> auto where(F f) const {
    if constexpr (!check::over::function<F, T, Window<T, Order...>>()) return check::after_error{};
    else return visited<true>(std::move(f));
  }
  // The first n rows of each window, in the order of the rows.
  template <class N> auto take(N n) const {
    if constexpr (!check::take::whole<N>()) {
      return check::after_error{};
    } else {
      const auto most = static_cast<std::int64_t>(std::min<std::uint64_t>(detail::row_count("take", n, at_), ~std::uint64_t{0} >> 1));
      return where([most](const T&, const auto& w) { return w.row_number() <= most; });
    }
  }
  // The n rows of each window that have the largest f.
  template <class N, class F> auto top(N n, F f) const {
    static_assert(sizeof...(Order) == 0, "query: over: top(n, f) orders rows by f: leave out order_by, or write take(n) after it");
    return ordered<check::top>(std::move(f), true, nulls::last).take(n);
  }
  QUERY_DETAIL_ONE_KEY(top, 1)
  QUERY_DETAIL_SORT_ARGUMENTS(order_by)
  QUERY_DETAIL_SORT_ARGUMENTS(order_by_descending)

 private:
  template <class F> static constexpr void first_order() {
    static_assert(sizeof...(Order) > 0 || sizeof(F) == 0, "query: over: then_by refines an order: over(key).order_by(a).then_by(b)");
  }
  template <class Check, class F, class... Less> auto ordered(F f, bool descending, nulls where, Less... less) const {
    if constexpr (!sorts<Check, F, Less...>()) {
      return check::after_error{};
    } else {
      using O = detail::window_order_by<F>;
      detail::order_calls own;
      if constexpr (sizeof...(less) > 0) own = verbs::order_of<detail::result_of<F, T>>(std::move(less)...);
      return Over<Q, T, Key, Order..., O>(
          q_, key_, std::tuple_cat(order_, std::tuple<O>(O{std::move(f), descending, where == nulls::first, std::move(own)})), at_,
          label_);
    }
  }
  template <class Check, class F, class... Less> static constexpr bool sorts() {
    if constexpr (sizeof...(Less) == 0) return Check::template sort_key<F, T>();
    else return Check::template custom_order<F, T, Less...>();
  }
  template <bool Filters, class F> auto visited(F f) const {
    using call = window_call<T, F, Key, Filters, Order...>;
    using Out = typename call::result;
    constexpr bool grouped = !std::is_same_v<Key, one_window>;
    const auto numbered = verbs::numbered(q_, at_, label_);
    const auto together = [&] {
      if constexpr (grouped) return by_key(numbered);
      else return numbered;
    }();
    const auto results = run_caller::applied<indexed<Out>>(together, call(std::move(f), key_, order_), !grouped, label_, at_);
    const auto in_order = [&] {
      if constexpr (!grouped && sizeof...(Order) == 0) return results;
      else return by_number<Out>(results);
    }();
    return without_numbers(in_order, at_, label_);
  }
  template <class N> auto by_key(const N& numbered) const {
    using K = detail::result_of<Key, T>;
    auto node = new_node<indexed<T>>(detail::verb::partition, label_, at_, numbered);
    name_part(*node, "hash_partitioned_by");
    node->key = ir::describe<K>();
    const Key key = key_;
    if constexpr (detail::names_its_types<Key>)
      node->functions.push_back(detail::make_map<indexed<T>, K>("key", [key](const indexed<T>& r) { return key(r.value); }));
    else
      node->functions.push_back(detail::make_map<indexed<T>, K>("key", [key](const auto& r) { return key(r.value); }));
    node->seed = most_partitions;
    node->step = 0;
    return finish<indexed<T>>(std::move(node), numbered);
  }
  template <class Out, class R> auto by_number(const R& results) const {
    auto node = new_node<indexed<Out>>(detail::verb::order_by, label_, at_, results);
    name_part(*node, "order_by");
    if constexpr (ir::described_v<Out>)
      add_order<indexed<Out>>(*node, [](const auto& r) { return r.index; }, {});
    else add_order<indexed<Out>>(*node, [](const indexed<Out>& r) { return r.index; }, {});
    return finish<indexed<Out>>(std::move(node), results);
  }

  static constexpr std::uint64_t most_partitions = 1024;

  Q q_;
  Key key_;
  std::tuple<Order...> order_;
  call_site at_;
  const char* label_;
};

template <class Derived, class T> class windows {
 public:
  // Windows over the rows with an equal f(row); over(): over all rows. Then order_by(...), if the order matters, and
  // select(f(row, window)) or where(f(row, window)). Keys: numbers, strings, enums, optionals, arrays, tuples, records; a null is a key.
  template <class F> auto over(F f, call_site at = call_site::here(), const char* label = "over") const {
    if constexpr (!check::over::key<F, T>()) return check::after_error{};
    else return Over<Derived, T, F>(static_cast<const Derived&>(*this), std::move(f), {}, at, label);
  }
  auto over(call_site at = call_site::here()) const {
    return Over<Derived, T, one_window>(static_cast<const Derived&>(*this), {}, {}, at, "over");
  }
  QUERY_DETAIL_ONE_KEY(over, 0)
};

}  // namespace query::verbs
