// A list whose copies share their elements, as each verb of a chain has those of the verb before it and one more. What is appended to a
// copy lies behind them in the same memory, unless another copy has been appended to before: n copies with one more element each take
// n steps. Elements do not change once they are there. Lists that share elements may be read and appended to by several threads.
//
//   grown_list<int> a{1};
//   grown_list<int> b = a;
//   b.push_back(2);   // a: 1, b: 1, 2
#pragma once

#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace query::detail {

template <class T> class grown_list {
  static_assert(std::is_nothrow_move_constructible_v<T>, "an element whose place is taken has to get there");

 public:
  using value_type = T;
  using const_iterator = const T*;

  grown_list() = default;
  grown_list(std::initializer_list<T> all) {
    for (const T& x : all) push_back(x);
  }

  std::size_t size() const { return n_; }
  bool empty() const { return n_ == 0; }
  const T* data() const { return room_ ? room_->at(0) : nullptr; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + n_; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  const T& at(std::size_t i) const {
    if (i >= n_) throw std::out_of_range("grown_list::at");
    return data()[i];
  }
  const T& front() const { return data()[0]; }
  const T& back() const { return data()[n_ - 1]; }

  void push_back(T x) {
    if (!room_ || !room_->take(n_)) {
      auto more = std::make_shared<room>(2 * n_ + 1);
      for (std::size_t i = 0; i < n_; ++i) more->append((*this)[i]);
      more->take(n_);
      room_ = std::move(more);
    }
    ::new (static_cast<void*>(room_->at(n_))) T(std::move(x));
    ++n_;
  }
  // Element i of this list alone: it shares none of them afterwards.
  void replace(std::size_t i, T x) {
    grown_list own;
    for (std::size_t k = 0; k < n_; ++k) own.push_back(k == i ? std::move(x) : (*this)[k]);
    *this = std::move(own);
  }
  void clear() {
    n_ = 0;
    room_.reset();
  }
  // What keeps the elements; the list is empty then.
  std::shared_ptr<const void> take() {
    n_ = 0;
    return std::move(room_);
  }

 private:
  class room {
   public:
    explicit room(std::size_t capacity) : capacity_(capacity), elements_(std::allocator<T>().allocate(capacity)) {}
    ~room() {
      std::destroy_n(elements_, taken_.load(std::memory_order_relaxed));
      std::allocator<T>().deallocate(elements_, capacity_);
    }
    room(const room&) = delete;
    room& operator=(const room&) = delete;
    T* at(std::size_t i) { return elements_ + i; }
    // Is the place behind n elements free, and now the caller's?
    bool take(std::size_t n) { return n < capacity_ && taken_.compare_exchange_strong(n, n + 1, std::memory_order_relaxed); }
    void append(const T& x) {
      const std::size_t n = taken_.load(std::memory_order_relaxed);
      ::new (static_cast<void*>(at(n))) T(x);
      taken_.store(n + 1, std::memory_order_relaxed);
    }

   private:
    std::size_t capacity_;
    T* elements_;
    std::atomic<std::size_t> taken_{0};
  };
  std::shared_ptr<room> room_;
  std::size_t n_ = 0;
};

}  // namespace query::detail
