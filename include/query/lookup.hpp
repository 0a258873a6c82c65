// What to_lookup and to_map give: sorted arrays with binary search, small enough to need no hash of the user's key. Given an
// equality and a hash, they are sorted by that hash.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <query/detail/discard.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/given_row.hpp>
#include <query/detail/stop.hpp>
#include <query/group.hpp>

namespace query {

namespace detail {
// Sorts positions by less(i, j); stable (merge sort, out of line). Throws cancelled where the verb's limits end (run_limits).
std::vector<std::size_t> sorted_positions(std::size_t n, function_ref<bool(std::size_t, std::size_t)> less);
// The library's order of described values: all NaNs are equal and largest.
bool value_less(const ir::type* t, const void* a, const void* b);

template <class K> concept ordered_key = ir::described_v<K> || requires(const K& a, const K& b) { a < b; };
// The order of keys: the library's, or < for types without a description.
template <class K> bool key_less(const K& a, const K& b) {
  if constexpr (std::is_integral_v<K>) return a < b;
  else if constexpr (ir::described_v<K>) return value_less(ir::describe<K>(), &a, &b);
  else {
    static_assert(
        requires { a < b; }, "query: to_lookup, to_map: this key type has no description and no <; use a QUERY_RECORD, a tuple or numbers");
    return a < b;
  }
}

// Positions of keys by the user's equality and hash.
class own_key_index {
 public:
  static constexpr std::size_t nowhere = ~std::size_t{0};
  own_key_index() = default;
  // key_at(i): the address of key i. Keys must be distinct, but for what duplicate() then tells.
  own_key_index(key_calls calls, std::size_t n, function_ref<const void*(std::size_t)> key_at);
  explicit operator bool() const { return calls_.equal != nullptr; }
  std::size_t find(const void* key, function_ref<const void*(std::size_t)> key_at) const;
  bool duplicate(function_ref<const void*(std::size_t)> key_at) const;

 private:
  std::uint64_t hash(const void* key) const { return calls_.hash(calls_.context.get(), key); }
  key_calls calls_;
  std::vector<std::uint64_t> hashes_;  // sorted
  std::vector<std::size_t> order_;     // hashes_[i] is that of key order_[i]
};

// What a map keeps of a row, as a function that is traced where both are.
template <class F, class V> struct key_and_value {
  F key;
  V value;
  template <class R> requires is_callable<const F&, const R&> && is_callable<const V&, const R&>
  auto operator()(const R& r) const {
    return std::pair(key(r), value(r));
  }
};
template <class F, class V> key_and_value(F, V) -> key_and_value<F, V>;
}  // namespace detail

// Key -> rows with that key. Iterates over groups in order of first appearance.
template <class K, class T> class lookup {
 public:
  lookup(std::vector<Group<K, T>> groups, detail::key_calls keys) : groups_(std::move(groups)) {
    const detail::discarded_if_stopped left(groups_);
    own_ = detail::own_key_index(std::move(keys), groups_.size(), [this](std::size_t i) { return address(i); });
  }
  explicit lookup(std::vector<Group<K, T>> groups) : groups_(std::move(groups)) {
    const detail::discarded_if_stopped left(groups_);
    order_ = detail::sorted_positions(groups_.size(),
                                      [&](std::size_t a, std::size_t b) { return detail::key_less(groups_[a].key(), groups_[b].key()); });
  }
  std::size_t size() const { return groups_.size(); }
  auto begin() const { return groups_.begin(); }
  auto end() const { return groups_.end(); }
  // The rows of a key; none for an unknown key. O(log groups), as long as few keys share a hash of the user's.
  const std::vector<T>& operator[](const detail::given_row<K>& k) const& {
    static const std::vector<T> none;
    const Group<K, T>* g = find(k);
    return g ? g->rows() : none;
  }
  // q.to_lookup(key)[k]: the lookup ends with the expression.
  std::vector<T> operator[](const detail::given_row<K>& k) && { return std::as_const(*this)[k]; }
  bool contains(const detail::given_row<K>& k) const { return find(k) != nullptr; }

 private:
  const void* address(std::size_t i) const { return &groups_[i].key(); }
  const Group<K, T>* find(const detail::given_row<K>& given) const {
    if (!detail::fits_rows<K>(given)) return nullptr;
    const K& k = detail::row_of_given<K>(given);
    if (own_) {
      const std::size_t at = own_.find(&k, [this](std::size_t i) { return address(i); });
      return at == own_.nowhere ? nullptr : &groups_[at];
    }
    if constexpr (detail::ordered_key<K>) return find_in_order(k);
    else return nullptr;
  }
  const Group<K, T>* find_in_order(const K& k) const {
    std::size_t a = 0, b = order_.size();
    while (a < b) {
      const std::size_t m = a + (b - a) / 2;
      if (detail::key_less(groups_[order_[m]].key(), k)) a = m + 1;
      else b = m;
    }
    if (a == order_.size() || detail::key_less(k, groups_[order_[a]].key())) return nullptr;
    return &groups_[order_[a]];
  }
  std::vector<Group<K, T>> groups_;
  std::vector<std::size_t> order_;
  detail::own_key_index own_;
};

// The different rows of to_set, in the library's order.
template <class T> class row_set {
 public:
  // Sorted, none twice.
  explicit row_set(std::vector<T> rows) : rows_(std::move(rows)) {}
  std::size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }
  // Is there an equal row? NaNs are equal, and so are both zeros. O(log rows).
  bool contains(const detail::given_row<T>& given) const {
    if (!detail::fits_rows<T>(given)) return false;
    const T& row = detail::row_of_given<T>(given);
    std::size_t a = 0, b = rows_.size();
    while (a < b) {
      const std::size_t m = a + (b - a) / 2;
      if (detail::key_less<T>(rows_[m], row)) a = m + 1;
      else b = m;
    }
    return a < rows_.size() && !detail::key_less<T>(row, rows_[a]);
  }

 private:
  std::vector<T> rows_;
};

// Key -> value, in the order of the keys; in that of the rows where keys have an equality of the user's.
template <class K, class V> class map_of {
 public:
  auto discarded_if_stopped() { return left_behind(entries_); }  // while rows are inserted
  void reserve(std::size_t rows) { entries_.reserve(rows); }
  void insert(K k, V v) { entries_.emplace_back(std::move(k), std::move(v)); }
  void seal(const char* verb, detail::key_calls keys, detail::call_site at) {
    const left_behind left(entries_);
    const auto key_at = [this](std::size_t i) { return address(i); };
    own_ = detail::own_key_index(std::move(keys), entries_.size(), key_at);
    if (own_.duplicate(key_at)) two_rows(verb, at);
  }
  void seal(const char* verb, detail::call_site at) {
    const left_behind left(entries_);
    const auto order = detail::sorted_positions(
        entries_.size(), [&](std::size_t a, std::size_t b) { return detail::key_less(entries_[a].first, entries_[b].first); });
    std::vector<std::pair<K, V>> sorted;
    const left_behind sorted_left(sorted);
    sorted.reserve(order.size());
    detail::in_runs(0, order.size(), [&](std::size_t i, std::size_t end) {
      for (; i < end; ++i) {
        auto& entry = entries_[order[i]];
        if (!sorted.empty() && !detail::key_less(sorted.back().first, entry.first)) two_rows(verb, at);
        sorted.push_back(std::move(entry));
      }
    });
    entries_ = std::move(sorted);
  }
  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  // The value of a key, or null. It lives as long as the map.
  const V* find(const detail::given_row<K>& given) const& {
    if (!detail::fits_rows<K>(given)) return nullptr;
    const K& k = detail::row_of_given<K>(given);
    if (own_) {
      const std::size_t at = own_.find(&k, [this](std::size_t i) { return address(i); });
      return at == own_.nowhere ? nullptr : &entries_[at].second;
    }
    if constexpr (detail::ordered_key<K>) return find_in_order(k);
    else return nullptr;
  }
  template <class Key> const V* find(const Key&) && {
    static_assert(sizeof(Key) == 0, "query: to_map(...).find: the map ends with this expression, and so does what find points to. Keep the "
                                    "map, `auto m = rows.to_map(key);`, and ask m.find(k); or ask at(k) or contains(k)");
    return nullptr;
  }
  bool contains(const detail::given_row<K>& k) const { return find(k) != nullptr; }
  const V& at(const detail::given_row<K>& k, detail::call_site where = detail::call_site::here()) const& {
    const V* v = find(k);
    if (!v) detail::fail("to_map(...).at", "there is no such key; use find, or test contains first", where);
    return *v;
  }
  V at(const detail::given_row<K>& k, detail::call_site where = detail::call_site::here()) && { return std::as_const(*this).at(k, where); }

 private:
  using left_behind = detail::discarded_if_stopped<std::vector<std::pair<K, V>>>;
  [[noreturn]] static void two_rows(const char* verb, detail::call_site at) {
    detail::fail(verb, "two rows have the same key; use to_lookup, or distinct_by first", at);
  }
  const void* address(std::size_t i) const { return &entries_[i].first; }
  const V* find_in_order(const K& k) const {
    std::size_t a = 0, b = entries_.size();
    while (a < b) {
      const std::size_t m = a + (b - a) / 2;
      if (detail::key_less(entries_[m].first, k)) a = m + 1;
      else b = m;
    }
    return a < entries_.size() && !detail::key_less(k, entries_[a].first) ? &entries_[a].second : nullptr;
  }
  std::vector<std::pair<K, V>> entries_;
  detail::own_key_index own_;
};

}  // namespace query
