// A chain of row-wise verbs behind the interface that the plan holds: the border between templates and the library.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>

#include <query/cpu/fold_loops.hpp>
#include <query/detail/list_copy.hpp>
#include <query/detail/plan.hpp>

namespace query::cpu {

inline constexpr std::size_t batch_rows = 1024;
// Memory begins by bytes: fewer rows of a large type make a batch.
inline constexpr std::size_t batch_bytes = std::size_t{1} << 18;
constexpr std::size_t rows_a_batch(std::size_t row_size) {
  const std::size_t n = batch_bytes / (row_size ? row_size : 1);
  return n < 1 ? 1 : n < batch_rows ? n : batch_rows;
}

// At most `most` rows of T, in raw memory; whoever receives them may move from them.
template <class T> class batch {
 public:
  static constexpr std::size_t most = rows_a_batch(sizeof(T));
  batch()
      : memory_(::operator new((most + 1) * sizeof(T), std::align_val_t{alignof(T) < 64 ? 64 : alignof(T)})),
        rows_(static_cast<T*>(memory_)) {}
  ~batch() {
    clear();
    ::operator delete(memory_, std::align_val_t{alignof(T) < 64 ? 64 : alignof(T)});
  }
  batch(const batch&) = delete;
  batch& operator=(const batch&) = delete;
  T* end() { return rows_ + n_; }
  T* data() { return rows_; }
  std::size_t size() const { return n_; }
  void grow(std::size_t k) { n_ += k; }
  bool full() const { return n_ == most; }
  void clear() {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      if (std::uncaught_exceptions() > 0) detail::destroy_or_discard(rows_, n_);
      else std::destroy_n(rows_, n_);
    }
    n_ = 0;
  }
  void flush(detail::batch_sink& to) {
    if (!n_) return;
    row_block b;
    b.rows = rows_;
    b.n = n_;
    b.owned = true;
    to.push(b);
    clear();
  }

 private:
  void* memory_;
  T* rows_;
  std::size_t n_ = 0;
};

template <class Chain> struct segment_loops {
  using T = typename Chain::row;
  using view = typename Chain::view;

  static void run(const void* functions, const row_block& rows, bool speculate, detail::batch_sink& to) {
    const Chain& chain = *static_cast<const Chain*>(functions);
    const view v(rows);
    batch<T> given;
    if constexpr (Chain::maskable && std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>) {
      // At most one row out for each row in: no test of capacity a row.
      for (std::size_t i = 0; i < v.n; i += given.most) {
        const std::size_t to_row = i + given.most < v.n ? i + given.most : v.n;
        T* p = given.data();
        std::size_t n = 0;
        if (speculate || !Chain::filters)
          detail::in_runs<detail::quick_calls_a_look>(i, to_row, [&](std::size_t j, std::size_t end) QUERY_INLINE {
            for (; j < end; ++j)
              chain.each(v, j, [&](auto&& r, std::uint64_t, bool alive) QUERY_INLINE {
                ::new (static_cast<void*>(p + n)) T(detail::as_stored<T>(r));
                n += alive;
              });
          });
        else
          detail::in_runs(i, to_row, [&](std::size_t j, std::size_t end) QUERY_INLINE {
            chain.scan(v, j, end,
                        [&](auto&& r, std::uint64_t) QUERY_INLINE { ::new (static_cast<void*>(p + n++)) T(detail::as_stored<T>(r)); });
          });
        given.grow(n);
        given.flush(to);
      }
    } else {
      detail::in_runs(0, v.n, [&](std::size_t i, std::size_t j) QUERY_INLINE {
        chain.scan(v, i, j, [&](auto&& r, std::uint64_t) {
          if constexpr (std::is_same_v<decltype(r), const T&> && detail::holds_lists<T>())
            ::new (static_cast<void*>(given.end())) T(detail::copied_row<T>(r));
          else
            ::new (static_cast<void*>(given.end())) T(detail::as_stored<T>(static_cast<decltype(r)>(r)));
          given.grow(1);
          if (given.full()) given.flush(to);
        });
      });
      given.flush(to);
    }
  }

  // The loops of these kinds.
  template <detail::fold_kind... Folds>
  static bool fold(const void* functions, detail::fold_kind k, const row_block& rows, bool speculate, detail::fold_state& state) {
    const Chain& chain = *static_cast<const Chain*>(functions);
    const view v(rows);
    return ((k == Folds && fold_by<Folds>(chain, v, speculate, state)) || ...);
  }

 private:
  template <detail::fold_kind K> static bool fold_by(const Chain& chain, const view& v, bool speculate, detail::fold_state& state) {
    if constexpr (K == detail::fold_kind::count) fold_count(chain, v, speculate, state);
    else if constexpr (K == detail::fold_kind::sum) fold_sum<wide_t<T>>(chain, v, speculate, state);
    else if constexpr (K == detail::fold_kind::average) fold_sum<mean_sum_t<T>>(chain, v, speculate, state);
    else if constexpr (K == detail::fold_kind::min) fold_extreme<false>(chain, v, speculate, state);
    else fold_extreme<true>(chain, v, speculate, state);
    return true;
  }
};

// Folds: what the loops can fold rows to without handing them over; each is compiled for each chain.
template <class Chain, detail::fold_kind... Folds>
inline constexpr detail::segment_form segment_form_of{.chain = detail::closure_form_of<Chain>,
                                                      .run = &segment_loops<Chain>::run,
                                                      .fold = &segment_loops<Chain>::template fold<Folds...>,
                                                      .reads_columns = Chain::columnar,
                                                      .needs_position = Chain::indexed,
                                                      .keeps_position = !Chain::filters,
                                                      .can_speculate = Chain::maskable};

}  // namespace query::cpu
