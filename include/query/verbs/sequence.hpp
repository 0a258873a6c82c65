// Verbs about the sequence of rows: take, skip, append, zip, chunk, window, index, partitions, apply. They keep source order.
// Over a generator they hand rows on as they come, but for take_last, skip_last, sample, partitions and apply, which read all.
#pragma once

#include <array>

#include <query/detail/given_row.hpp>
#include <query/detail/list_copy.hpp>
#include <query/detail/rows_function.hpp>
#include <query/gpu_apply.hpp>
#include <query/verbs/breaker.hpp>

namespace query {

template <class T> detail::pipe rows_pipe(std::vector<T> rows, detail::call_site at);  // sources.hpp

// A row and its number. A record, as QUERY_RECORD would make it, where the row is described.
template <class T> struct indexed {
  std::int64_t index = 0;
  T value{};
};
template <class T> struct indexed_meta {
  using row = indexed<T>;
  using types = std::tuple<std::int64_t, T>;
  static constexpr std::size_t size = 2;
  static constexpr std::string_view name = "indexed";
  static constexpr std::string_view names[] = {"index", "value"};
  // As a compiler lays out an aggregate of these two: offsetof wants a standard layout, which T need not have.
  static constexpr std::size_t offsets[] = {0, (sizeof(std::int64_t) + alignof(T) - 1) / alignof(T) * alignof(T)};
  template <template <class> class Part> struct shape {
    using query_form = detail::row_form<Part>;
    using query_row_type = indexed<T>;
    typename Part<std::int64_t>::type index;
    typename Part<T>::type value;
  };
  template <class Row> static constexpr auto fields(Row& r) { return std::tie(r.index, r.value); }
  template <bool Fits> static constexpr void made_of_all() {
    static_assert(Fits, "query::make<query::indexed>(...): give one value for each field, in this order: index, value");
  }
  template <std::size_t Field, class Value> static constexpr void made_of() {
    static_assert(Value::fits || Field != 0, "query::make<query::indexed>(...): the index is an integer");
    static_assert(Value::fits || Field != 1, "query::make<query::indexed>(...): the value does not have the type of the row");
  }
};
template <class T> requires ir::described_v<T> constexpr indexed_meta<T> query_meta(tag<indexed<T>>) { return {}; }

namespace verbs {

// Rows with their numbers, as a part of the verb `label`, and the rows themselves again.
template <class Q> auto numbered(const Q& q, call_site at, const char* label) {
  using T = typename Q::row;
  if constexpr (ir::described_v<T>) return q.select([](const auto& t, const auto& i) { return make<indexed<T>>(i, t); }, at, label);
  else return q.select([](const T& t, std::int64_t i) { return indexed<T>{i, t}; }, at, label);
}
template <class Q> auto without_numbers(const Q& q, call_site at, const char* label) {
  using I = typename Q::row;
  if constexpr (ir::described_v<I>) return q.select([](const auto& r) { return r.value; }, at, label);
  else return q.select([](const I& r) { return r.value; }, at, label);
}
// f(row, number) as a function of rows with their numbers.
template <class T, class F> auto of_numbered(const F& f) {
  if constexpr (ir::described_v<T> && detail::wrapper<F>::generic)
    return [f](const auto& r) -> decltype(auto) { return f(r.value, r.index); };
  else return [f](const indexed<T>& r) -> decltype(auto) { return f(r.value, r.index); };
}
// f of rows that lie in pairs of pairs: ((a, b), c) and d, where Depth is 2.
template <std::size_t Depth, class F> struct spread_pairs {
  F f;
  template <class Pair, class... Row> static constexpr bool takes() {
    using A = std::remove_cvref_t<decltype(std::declval<const Pair&>().first)>;
    using B = std::remove_cvref_t<decltype(std::declval<const Pair&>().second)>;
    if constexpr (sizeof...(Row) < Depth) return takes<A, B, Row...>();
    else return check::fits<F, A, B, Row...> || check::can_call<F, A, B, Row...>;
  }
  template <class Pair, class... Row> static auto spread(const F& f, const Pair& p, const Row&... rows) {
    if constexpr (sizeof...(Row) < Depth) return spread(f, p.first, p.second, rows...);
    else if constexpr (!check::can_call<F, std::remove_cvref_t<decltype(p.first)>, std::remove_cvref_t<decltype(p.second)>, Row...>)
      return check::after_error{};
    else return f(p.first, p.second, rows...);
  }
  template <class Pair, class Row> requires(takes<Pair, Row>())
  auto operator()(const Pair& p, const Row& row) const { return spread(f, p, row); }
};
struct tuple_rows {
  template <class... Row> auto operator()(const Row&... row) const { return std::tuple<Row...>(row...); }
};
// Another side of zip, where its function could stand.
template <class R> concept other_side = query_like<R> || source_of<R>::takes;
// No side; nor a pointer, which an array that is one becomes.
template <class F>
concept zip_function = !other_side<F> && !(std::is_pointer_v<F> && std::is_object_v<std::remove_pointer_t<F>>);

// Calls f over a run of rows and hands on one result, or a range of results.
template <class T, class F> struct over_rows {
  using result = std::invoke_result_t<const F&, std::span<const T>>;
  using value = std::remove_cvref_t<result>;
  static constexpr bool many = requires(value& v) { v.begin(); v.end(); } && !detail::is_text_value<detail::stored_t<value>>;
};
// A run as a list: the function of chunk(n) and window(n).
template <class T> struct list_of_run {
  std::array<std::vector<T>, 1> operator()(std::span<const T> run) const {
    return {detail::copied_list<std::vector<T>>(run)};
  }
};
template <class F> inline constexpr bool lists_runs = false;
template <class T> inline constexpr bool lists_runs<list_of_run<T>> = true;
template <class V> struct element_of { using type = detail::stored_t<decltype(*std::declval<V&>().begin())>; };

template <class Derived, class T> class sequence {
 public:
  template <class N> auto take(N n, call_site at = call_site::here(), const char* label = nullptr) const {
    return counted<check::take>(detail::verb::take, "take", n, at, label);
  }
  template <class N> auto skip(N n, call_site at = call_site::here(), const char* label = nullptr) const {
    return counted<check::skip>(detail::verb::skip, "skip", n, at, label);
  }
  template <class N> auto take_last(N n, call_site at = call_site::here(), const char* label = nullptr) const {
    return counted<check::take_last>(detail::verb::take_last, "take_last", n, at, label);
  }
  template <class N> auto skip_last(N n, call_site at = call_site::here(), const char* label = nullptr) const {
    return counted<check::skip_last>(detail::verb::skip_last, "skip_last", n, at, label);
  }
  // f(row), or f(row, number).
  template <class F> auto take_while(F f, call_site at = call_site::here()) const {
    return tested<check::take_while>(detail::verb::take_while, "take_while", f, at);
  }
  template <class F> auto skip_while(F f, call_site at = call_site::here()) const {
    return tested<check::skip_while>(detail::verb::skip_while, "skip_while", f, at);
  }
  QUERY_DETAIL_NEEDS(take, 1, "the number of rows is missing: take(10)")
  QUERY_DETAIL_NEEDS(skip, 1, "the number of rows is missing: skip(10)")
  QUERY_DETAIL_NEEDS(take_while, 1, "the predicate is missing: take_while([](auto t) { return t.qty > 100; })")
  QUERY_DETAIL_NEEDS(skip_while, 1, "the predicate is missing: skip_while([](auto t) { return t.qty > 100; })")
  QUERY_DETAIL_NEEDS(sample, 1, "the number of rows is missing: sample(100)")
  QUERY_DETAIL_NEEDS(zip, 1, "the other rows are missing: zip(rows)")
  QUERY_DETAIL_NEEDS(chunk, 1, "the number of rows is missing: chunk(100)")
  QUERY_DETAIL_NEEDS(window, 1, "the number of rows is missing: window(7)")
  QUERY_DETAIL_NEEDS(apply, 1, "the function is missing: apply([](std::span<const Row> rows) { ... })")
  // n rows drawn without replacement, in source order; the same seed draws the same rows. Needs all rows: each row's chance
  // depends on how many there are.
  template <class N> auto sample(N n, std::uint64_t seed = 1, call_site at = call_site::here()) const {
    if constexpr (!check::sample::whole<N>()) {
      return check::after_error{};
    } else {
      auto node = new_node<T>(detail::verb::sample, "sample(" + std::to_string(n) + ")", at, self());
      node->count = detail::row_count("sample", n, at);
      node->seed = seed;
      return finish<T>(std::move(node), self());
    }
  }
  auto append(detail::given_row<T> row, call_site at = call_site::here()) const {
    return two(self().to_pipe(), row_pipe("append", row, at), "append", at);
  }
  auto prepend(detail::given_row<T> row, call_site at = call_site::here()) const {
    return two(row_pipe("prepend", row, at), self().to_pipe(), "prepend", at);
  }
  template <class X>
  requires(!check::becomes_row<X, T>) auto append(const X&) const {
    check::append::row<X, T>();
    return check::after_error{};
  }
  template <class X>
  requires(!check::becomes_row<X, T>) auto prepend(const X&) const {
    check::prepend::row<X, T>();
    return check::after_error{};
  }
  // A single row `value` where there are none.
  template <class X> requires(!check::becomes_row<X, T> && !std::is_same_v<X, call_site>)
  auto default_if_empty(const X&) const { check::default_if_empty::row<X, T>(); return check::after_error{}; }
  auto default_if_empty(detail::given_row<T> value = T(), call_site at = call_site::here()) const {
    auto n = new_node<T>(detail::verb::default_if_empty, "default_if_empty", at, self());
    n->inputs.push_back(row_pipe("default_if_empty", value, at));
    return finish<T>(std::move(n), self());
  }
  // f(a, b) of rows with equal numbers; as long as the shorter one. Without f: std::pair. The other rows are another
  // query, or what query::from takes.
  template <class Q = std::initializer_list<T>, class F> requires zip_function<F>
  auto zip(Q&& q, F f, call_site at = call_site::here()) const {
    return zipped(other_rows(std::forward<Q>(q), at), f, at);
  }
  template <class Q = std::initializer_list<T>> auto zip(Q&& q, call_site at = call_site::here()) const {
    return zipped(other_rows(std::forward<Q>(q), at), pair_rows{}, at);
  }
  // Of three or four sides: f(a, b, c), f(a, b, c, d). Without f: std::tuple.
  template <class Q = std::initializer_list<T>, other_side R> auto zip(Q&& q, R&& r, call_site at = call_site::here()) const {
    return zip(std::forward<Q>(q), std::forward<R>(r), tuple_rows{}, at);
  }
  template <class Q = std::initializer_list<T>, other_side R, class F> requires zip_function<F>
  auto zip(Q&& q, R&& r, F f, call_site at = call_site::here()) const {
    return zip(std::forward<Q>(q), at).zip(std::forward<R>(r), spread_pairs<1, F>{std::move(f)}, at);
  }
  template <class Q = std::initializer_list<T>, other_side R, other_side S>
  auto zip(Q&& q, R&& r, S&& s, call_site at = call_site::here()) const {
    return zip(std::forward<Q>(q), std::forward<R>(r), std::forward<S>(s), tuple_rows{}, at);
  }
  template <class Q = std::initializer_list<T>, other_side R, other_side S, class F> requires zip_function<F>
  auto zip(Q&& q, R&& r, S&& s, F f, call_site at = call_site::here()) const {
    return zip(std::forward<Q>(q), at).zip(std::forward<R>(r), at).zip(std::forward<S>(s), spread_pairs<2, F>{std::move(f)}, at);
  }
  template <class Q, other_side R, other_side S, other_side U, class... More>
  check::after_error zip(const Q&, const R&, const S&, const U&, const More&...) const {
    static_assert(sizeof(Q) == 0, "query: zip: takes at most three other queries, four with this one. Zip the result with the next ones: "
                                  "a.zip(b, c, d).zip(e, [](auto abcd, auto e) { return ...; })");
    return {};
  }
  // Rows with their numbers: query::indexed<T>{index, value}.
  auto index(call_site at = call_site::here()) const { return numbered(self(), at, "index"); }
  // std::vector<T> of n rows each; the last may be shorter.
  template <class N> auto chunk(N n, call_site at = call_site::here()) const {
    return runs<check::chunk>(detail::verb::chunk, "chunk", n, n, list_of_run<T>{}, at, true);
  }
  // f(std::span<const T>) over every n rows, the last run may be shorter: one result, or a range of results. Traced where it takes
  // the run as `auto` and gives one: it has size(), [i], front() and back(), and query::sum(run, f) and its kin go through it.
  template <class N, class F> auto chunk(N n, F f, call_site at = call_site::here()) const {
    return runs<check::chunk>(detail::verb::chunk, "chunk", n, n, f, at);
  }
  // The same over every n adjacent rows, `step` rows apart. Windows are full: none if there are fewer than n rows.
  template <class N, class F, class Step = int> auto window(N n, F f, Step step = 1, call_site at = call_site::here()) const {
    return runs<check::window>(detail::verb::window, "window", n, step, f, at);
  }
  template <class N> auto window(N n, call_site at = call_site::here()) const {
    return runs<check::window>(detail::verb::window, "window", n, 1, list_of_run<T>{}, at, true);
  }

  // ---- partitions, for apply
  // n: how many; 0: the engine chooses. Equal keys share a partition; with an equality and a hash, or an order, of the user's,
  // those that it calls equal. Nulls are handed to an equality and hash, never to an order: they come last.
  template <class F, class N = int>
  requires(!key_function<N>) auto hash_partitioned_by(F f, N n = 0, call_site at = call_site::here()) const {
    if constexpr (!check::hash_partitioned_by::key<F, T>() || !check::hash_partitioned_by::whole<N>()) return check::after_error{};
    else return hash_parts(f, n, at);
  }
  template <class F, class N, key_function Equal, key_function Hash> requires(!key_function<N>)
  auto hash_partitioned_by(F f, N n, Equal equal, Hash hash, call_site at = call_site::here()) const {
    using check_here = check::hash_partitioned_by;
    if constexpr (!check_here::custom_key<F, T, Equal, Hash>() || !check_here::whole<N>()) return check::after_error{};
    else return hash_parts(f, n, at, equal, hash);
  }
  template <class F, key_function Equal, key_function Hash>
  auto hash_partitioned_by(F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return hash_partitioned_by(std::move(f), 0, std::move(equal), std::move(hash), at);
  }
  template <class F, key_function Equal> requires(!std::is_arithmetic_v<F>) auto hash_partitioned_by(const F&, const Equal&) const {
    return forgot_hash<check::hash_partitioned_by, Equal, T>();
  }
  template <class F, class N, key_function Equal> requires(!key_function<N>)
  auto hash_partitioned_by(const F&, N, const Equal&) const { return forgot_hash<check::hash_partitioned_by, Equal, T>(); }

  template <class F, key_function G, class N> requires std::is_arithmetic_v<N>
  check::after_error hash_partitioned_by(const F&, const G&, N) const {
    static_assert(sizeof(F) == 0, "query: hash_partitioned_by: " QUERY_DETAIL_TAKES_ONE_KEY);
    return {};
  }
  template <class F, key_function G, class N> requires std::is_arithmetic_v<N>
  check::after_error range_partitioned_by(const F&, const G&, N) const {
    static_assert(sizeof(F) == 0, "query: range_partitioned_by: " QUERY_DETAIL_TAKES_ONE_KEY);
    return {};
  }

  // The number before the key, as top has it.
  template <class N, key_function F> requires std::is_arithmetic_v<N> auto hash_partitioned_by(N, const F&) const {
    check::hash_partitioned_by::key_first<N>();
    return check::after_error{};
  }
  template <class N, key_function F> requires std::is_arithmetic_v<N> auto range_partitioned_by(N, const F&) const {
    check::range_partitioned_by::key_first<N>();
    return check::after_error{};
  }

  template <class F, class N = int>
  requires(!key_function<N>) auto range_partitioned_by(F f, N n = 0, call_site at = call_site::here()) const {
    if constexpr (!check::range_partitioned_by::sort_key<F, T>() || !check::range_partitioned_by::whole<N>()) return check::after_error{};
    else return range_parts(f, n, at);
  }
  template <class F, class N, key_function Less> requires(!key_function<N>)
  auto range_partitioned_by(F f, N n, Less less, call_site at = call_site::here()) const {
    using check_here = check::range_partitioned_by;
    if constexpr (!check_here::custom_order<F, T, Less>() || !check_here::whole<N>()) return check::after_error{};
    else return range_parts(f, n, at, less);
  }
  template <class F, key_function Less> requires(!std::is_arithmetic_v<F>)
  auto range_partitioned_by(F f, Less less, call_site at = call_site::here()) const {
    return range_partitioned_by(std::move(f), 0, std::move(less), at);
  }
  // n runs of adjacent rows of about equal length.
  template <class N> auto partitioned(N n, call_site at = call_site::here()) const {
    if constexpr (!check::partitioned::whole<N>()) {
      return check::after_error{};
    } else {
      auto node = new_node<T>(detail::verb::partition, "partitioned", at, self());
      node->count = detail::positive_count("partitioned", n, at);
      node->step = 2;
      return finish<T>(std::move(node), self());
    }
  }
  // f(std::span<const T>) -> range of U, once for each partition (of partitioned rows), else for runs of rows that the engine
  // chooses; partitions run in parallel, their results follow each other in the order of the partitions.
  template <class F> auto apply(F f, call_site at = call_site::here()) const { return applied<check::apply>(f, false, at); }
  // The same with a form for the GPU, on_gpu(g) (gpu_apply.hpp), which accelerated queries run there.
  template <class F, class G> auto apply(F f, gpu_form<G> g, call_site at = call_site::here()) const {
    return applied<check::apply>(f, false, at, &g);
  }
  template <class F, class G> auto apply_all(F f, gpu_form<G> g, call_site at = call_site::here()) const {
    return applied<check::apply_all>(f, true, at, &g);
  }
  // f over all rows at once.
  template <class F> auto apply_all(F f, call_site at = call_site::here()) const { return applied<check::apply_all>(f, true, at); }

 private:
  friend struct run_caller;
  const Derived& self() const { return static_cast<const Derived&>(*this); }
  static detail::pipe row_pipe(const char* verb, detail::given_row<T>& row, call_site at) {
    return rows_pipe<T>(std::vector<T>{detail::fitting_row<T>(verb, row, at)}, at);
  }
  template <class Q, class F> auto zipped(const Q& q, const F& f, call_site at) const {
    using R = check::row_of_t<Q>;
    if constexpr (!may_be_copied<check::zip, R, check::is_query_v<Q> && std::is_same_v<F, pair_rows>>()) {
      return check::after_error{};
    } else if constexpr (!check::zip::pairs<Q, F, T, R>()) {
      return check::after_error{};
    } else {
      using Out = detail::result_of<F, T, R>;
      auto n = new_node<Out>(detail::verb::zip, "zip", at, self(), q);
      n->functions.push_back(detail::make_pair_map<T, false, R, false, Out>(f));
      return finish<Out>(std::move(n), self(), q);
    }
  }
  // `part_of`: the verb that the user wrote, if this is a part of it.
  template <class Check, class N> auto counted(detail::verb v, const char* label, N n, call_site at, const char* part_of = nullptr) const {
    if constexpr (!Check::template whole<N>()) {
      return check::after_error{};
    } else {
      std::string text = std::string(label) + "(" + std::to_string(n) + ")";
      auto node = new_node<T>(v, part_of ? part_of : text, at, self());
      name_part(*node, std::move(text));
      node->count = detail::row_count(label, n, at);
      return finish<T>(std::move(node), self());
    }
  }
  template <class Check, class F> auto tested(detail::verb v, const char* label, const F& f, call_site at) const {
    if constexpr (!Check::template tests<F, T>()) {
      return check::after_error{};
    } else if constexpr (check::takes_number<F, T>) {
      const auto rows = numbered(self(), at, label);
      const auto f_of = of_numbered<T>(f);
      if constexpr (std::is_same_v<Check, check::take_while>) return without_numbers(rows.take_while(f_of, at), at, label);
      else return without_numbers(rows.skip_while(f_of, at), at, label);
    } else {
      auto n = new_node<T>(v, label, at, self());
      n->functions.push_back(detail::make_filter<T>("predicate", f));
      return finish<T>(std::move(n), self());
    }
  }
  auto two(pipe a, pipe b, const char* label, call_site at) const {
    auto n = std::make_shared<logical>();
    n->what = detail::verb::concat;
    n->label = label;
    n->row = ir::describe<T>();
    n->where = at;
    n->accelerated = self().to_pipe().node->accelerated;
    n->fast_math = self().to_pipe().node->fast_math;
    n->inputs = {std::move(a), std::move(b)};
    return finish<T>(std::move(n), self());
  }
  template <class F, class N> std::shared_ptr<logical> parts(const F& f, N n, const char* label, std::uint64_t how, call_site at) const {
    using K = detail::result_of<F, T>;
    auto node = new_node<T>(detail::verb::partition, label, at, self());
    node->key = ir::describe<K>();
    node->functions.push_back(detail::make_map<T, K>("key", f));
    node->count = detail::row_count(label, n, at);
    node->step = how;
    return node;
  }
  // `same`: nothing, or an equality and a hash of keys.
  template <class F, class N, class... Same> auto hash_parts(const F& f, N n, call_site at, const Same&... same) const {
    auto node = parts(f, n, "hash_partitioned_by", 0, at);
    if constexpr (sizeof...(same) > 0) node->keys = custom_keys<detail::result_of<F, T>>(same...);
    return finish<T>(std::move(node), self());
  }
  template <class F, class N, class... Less> auto range_parts(const F& f, N n, call_site at, const Less&... less) const {
    auto node = parts(f, n, "range_partitioned_by", 1, at);
    if constexpr (sizeof...(less) > 0) node->order.push_back({.custom = order_of<detail::result_of<F, T>>(less...)});
    return finish<T>(std::move(node), self());
  }
  template <class F, class Out> static detail::rows_function caller() {
    return [](const void* f, const void* rows, const detail::row_runs& runs, detail::batch_sink& to) {
      const F& g = *static_cast<const F*>(f);
      cpu::batch<Out> out;
      [[maybe_unused]] std::size_t listed = 0;  // bytes
      const auto put = [&](auto&& x) QUERY_INLINE {
        ::new (static_cast<void*>(out.end())) Out(detail::as_stored<Out>(std::forward<decltype(x)>(x)));
        out.grow(1);
        if (out.full()) out.flush(to);
      };
      detail::in_runs(0, runs.count, [&](std::size_t i, std::size_t end) QUERY_INLINE {
        for (; i < end; ++i) {
          decltype(auto) result = g(std::span<const T>(static_cast<const T*>(rows) + i * runs.step, runs.length));
          if constexpr (lists_runs<F>) {
            put(std::move(result.front()));
            // Batches are large by what their lists hold.
            if ((listed += runs.length * sizeof(T)) >= cpu::batch_bytes) {
              out.flush(to);
              listed = 0;
            }
          } else if constexpr (over_rows<T, F>::many) {
            const detail::stop_point stop;
            std::size_t given = 0;
            for (auto&& x : result) {
              put(x);
              if (++given % detail::calls_a_look == 0) stop.check();
            }
          } else {
            put(std::forward<decltype(result)>(result));
          }
        }
      });
      out.flush(to);
    };
  }
  template <class F> static auto out_type() {
    using V = typename over_rows<T, F>::value;
    if constexpr (over_rows<T, F>::many) return std::type_identity<typename element_of<V>::type>{};
    else return std::type_identity<detail::stored_t<V>>{};
  }
  template <class Check, class N, class Step, class F>
  auto runs(detail::verb v, const char* label, N n, Step step, const F& f, call_site at, bool as_lists = false) const {
    if constexpr (!Check::template whole<N>()) {
      return check::after_error{};
    } else if constexpr (!Check::template whole<Step>()) {
      return check::after_error{};
    } else if constexpr (!Check::template run<F, T>()) {
      return check::after_error{};
    } else if constexpr (!Check::template kept<typename decltype(out_type<F>())::type, T>()) {
      return check::after_error{};
    } else {
      using Out = typename decltype(out_type<F>())::type;
      auto node = new_node<Out>(v, std::string(label) + "(" + std::to_string(n) + ")", at, self());
      node->count = detail::positive_count(label, n, at);
      node->step = detail::positive_count(label, step, at);
      if constexpr (over_rows<T, F>::many) node->functions.push_back(detail::make_opaque("function", f, ir::describe<Out>()));
      else node->functions.push_back(detail::make_run_map<T, Out>(f));
      node->rows_call = caller<F, Out>();
      node->all = as_lists;
      return finish<Out>(std::move(node), self());
    }
  }
  template <class Check, class F, class G = void> auto applied(const F& f, bool all, call_site at, const gpu_form<G>* gpu = nullptr) const {
    if constexpr (!Check::template run<F, T>()) {
      return check::after_error{};
    } else if constexpr (!Check::template kept<typename decltype(out_type<F>())::type, T>()) {
      return check::after_error{};
    } else {
      using Out = typename decltype(out_type<F>())::type;
      auto node = new_node<Out>(detail::verb::apply, all ? "apply_all" : "apply", at, self());
      node->all = all;
      node->functions.push_back(detail::make_opaque("function", f, ir::describe<Out>()));
      node->rows_call = caller<F, Out>();
      if constexpr (!std::is_void_v<G>) {
        constexpr bool takes_rows = std::is_invocable_v<const G&, gpu_rows<T, Out>&>;
        static_assert(takes_rows,
                      "query: apply: the function of on_gpu(g) must take `auto& rows` (query::gpu_rows<Row, Result>&), through const");
        node->gpu_form = std::make_shared<const G>(gpu->inner());
        if constexpr (takes_rows)
          node->gpu_call = [](const void* g, detail::gpu_apply_port& port) {
            gpu_rows<T, Out> rows(port);
            (*static_cast<const G*>(g))(rows);
          };
      }
      return finish<Out>(std::move(node), self());
    }
  }
};

// apply(f), or apply_all(f), as a part of the verb `label`; f gives a range of Out.
struct run_caller {
  template <class Out, class T, class C, class F>
  static auto applied(const Query<T, C>& rows, const F& f, bool all, const char* label, call_site at) {
    auto node = new_node<Out>(detail::verb::apply, label, at, rows);
    name_part(*node, all ? "apply_all" : "apply");
    node->all = all;
    node->functions.push_back(detail::make_opaque("function", f, ir::describe<Out>()));
    node->rows_call = sequence<Query<T, C>, T>::template caller<F, Out>();
    return finish<Out>(std::move(node), rows);
  }
};

}  // namespace verbs
}  // namespace query
