// A chain of row-wise verbs behind the interface that the plan holds: the border between templates and the library.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include <query/cpu/fold_loops.hpp>
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
    if constexpr (!std::is_trivially_destructible_v<T>) std::destroy_n(rows_, n_);
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

template <class Chain> class typed_segment final : public detail::segment {
 public:
  using T = typename Chain::row;
  using view = typename Chain::view;
  typed_segment(detail::pipe from, Chain c)
      : segment(std::move(from), ir::describe<typename Chain::source>(), ir::describe<T>(),
                {sizeof(typed_segment), alignof(typed_segment)}),
        chain_(std::move(c)) {
    detail::clear_padding(chain_);
  }

  bool reads_columns() const override { return Chain::columnar; }
  bool needs_position() const override { return Chain::indexed; }
  bool keeps_position() const override { return !Chain::filters; }
  bool can_speculate() const override { return Chain::maskable; }

  void run(const row_block& rows, bool speculate, detail::batch_sink& to) const override {
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
              chain_.each(v, j, [&](auto&& r, std::uint64_t, bool alive) QUERY_INLINE {
                ::new (static_cast<void*>(p + n)) T(detail::as_stored<T>(r));
                n += alive;
              });
          });
        else
          detail::in_runs(i, to_row, [&](std::size_t j, std::size_t end) QUERY_INLINE {
            chain_.scan(v, j, end,
                        [&](auto&& r, std::uint64_t) QUERY_INLINE { ::new (static_cast<void*>(p + n++)) T(detail::as_stored<T>(r)); });
          });
        given.grow(n);
        given.flush(to);
      }
    } else {
      detail::in_runs(0, v.n, [&](std::size_t i, std::size_t j) QUERY_INLINE {
        chain_.scan(v, i, j, [&](auto&& r, std::uint64_t) {
          ::new (static_cast<void*>(given.end())) T(detail::as_stored<T>(static_cast<decltype(r)>(r)));
          given.grow(1);
          if (given.full()) given.flush(to);
        });
      });
      given.flush(to);
    }
  }

  bool fold(detail::fold_kind k, const row_block& rows, bool speculate, detail::fold_state& state) const override {
    const view v(rows);
    if (k == detail::fold_kind::count) {
      fold_count(chain_, v, speculate, state);
      return true;
    }
    if constexpr (folds<T>) {
      switch (k) {
        case detail::fold_kind::sum: fold_sum<wide_t<T>>(chain_, v, speculate, state); return true;
        case detail::fold_kind::average: fold_sum<mean_sum_t<T>>(chain_, v, speculate, state); return true;
        case detail::fold_kind::min: fold_extreme<false>(chain_, v, speculate, state); return true;
        case detail::fold_kind::max: fold_extreme<true>(chain_, v, speculate, state); return true;
        default: break;
      }
    }
    return false;
  }

 private:
  Chain chain_;
};

}  // namespace query::cpu
