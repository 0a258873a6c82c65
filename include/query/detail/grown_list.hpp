// A list whose copies are cheap, as each verb of a chain has the elements of the verb before it and one more. The last few elements are
// each list's own. Those before them lie in pieces that copies share, the longest first: a chain of n lists, each with one element more,
// copies n log n elements. No list keeps an element alive that is not in it. Elements do not change once they are there. Lists that share
// pieces may be read, copied and appended to by several threads.
//
// The pieces are those of Bentley and Saxe, "Decomposable Searching Problems I: Static-to-Dynamic Transformation", J. Algorithms 1, 1980.
//
//   grown_list<int> a{1};
//   grown_list<int> b = a;
//   b.push_back(2);   // a: 1, b: 1, 2
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace query::detail {

template <class T> class grown_list {
  static constexpr std::size_t most_own = 16;

 public:
  using value_type = T;
  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    const_iterator() = default;
    reference operator*() const { return *at_; }
    pointer operator->() const { return at_; }
    const_iterator& operator++() {
      if (++at_ == end_ && pieces_) next_piece();
      return *this;
    }
    const_iterator operator++(int) {
      const_iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const const_iterator& o) const { return at_ == o.at_; }

   private:
    friend grown_list;
    explicit const_iterator(const grown_list& list) : list_(&list), pieces_(list.pieces_.size() + 1) { next_piece(); }
    explicit const_iterator(const T* end) : at_(end) {}
    void next_piece() {
      const std::size_t i = list_->pieces_.size() + 1 - pieces_--;
      const std::vector<T>& in = pieces_ ? *list_->pieces_[i] : list_->own_;
      at_ = in.data();
      end_ = at_ + in.size();
    }
    const grown_list* list_ = nullptr;
    std::size_t pieces_ = 0;  // behind this one
    const T* at_ = nullptr;
    const T* end_ = nullptr;
  };

  grown_list() = default;
  grown_list(std::initializer_list<T> all) {
    for (const T& x : all) push_back(x);
  }

  std::size_t size() const {
    std::size_t n = own_.size();
    for (const piece& p : pieces_) n += p->size();
    return n;
  }
  bool empty() const { return own_.empty(); }
  const_iterator begin() const { return const_iterator(*this); }
  const_iterator end() const { return const_iterator(own_.data() + own_.size()); }
  const T& operator[](std::size_t i) const {
    for (const piece& p : pieces_) {
      if (i < p->size()) return (*p)[i];
      i -= p->size();
    }
    return own_[i];
  }
  const T& at(std::size_t i) const {
    if (i >= size()) throw std::out_of_range("grown_list::at");
    return (*this)[i];
  }
  const T& front() const { return (*this)[0]; }
  const T& back() const { return own_.back(); }

  void push_back(T x) {
    if (own_.size() == most_own) {
      std::vector<T> now;
      now.swap(own_);
      // As a binary counter carries: pieces of one length become one.
      for (; !pieces_.empty() && pieces_.back()->size() == now.size(); pieces_.pop_back()) {
        std::vector<T> both;
        both.reserve(2 * now.size());
        for (const T& earlier : *pieces_.back()) both.push_back(earlier);
        for (T& later : now) both.push_back(std::move(later));
        now.swap(both);
      }
      pieces_.push_back(std::make_shared<const std::vector<T>>(std::move(now)));
    }
    own_.push_back(std::move(x));
  }
  // Element i of this list alone: it shares none of them afterwards.
  void replace(std::size_t i, T x) {
    grown_list all;
    for (std::size_t k = 0, n = size(); k < n; ++k) all.push_back(k == i ? std::move(x) : (*this)[k]);
    *this = std::move(all);
  }
  void clear() {
    own_.clear();
    pieces_.clear();
  }
  // Empties the list: `last` gets each element that is its own, `shared` what keeps the others, in parts.
  template <class Last, class Shared> void take_apart(const Last& last, const Shared& shared) {
    for (T& x : own_) last(x);
    for (piece& p : pieces_) shared(std::shared_ptr<const void>(std::move(p)));
    clear();
  }

 private:
  using piece = std::shared_ptr<const std::vector<T>>;
  std::vector<piece> pieces_;  // of 16 times a power of two elements
  std::vector<T> own_;         // 1 to 16, unless the list is empty
};

}  // namespace query::detail
