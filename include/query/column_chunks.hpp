// What to_columns() gives: the rows of a query as columns that the result owns, in chunks of up to 64 Ki rows.
//
// Nothing is copied into containers of the program's own: each column of a chunk is a span, of text for strings, and of std::optional<text>
// for strings that may be missing. The spans live as long as the result, or a copy of it, which shares the memory. to_vectors() makes one
// std::vector a field instead.
//
//   const auto result = trades.where(p).to_columns();            // query::column_chunks<Trade>
//   for (const auto& chunk : result) total += sum(chunk.get<1>());   // std::span<const double> of field 1
#pragma once

#include <compare>
#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <query/record.hpp>

namespace query {

// A string of a column: 16 bytes. Up to 12 characters lie in it, the others in memory that the column's owner keeps.
class text {
 public:
  text() = default;
  // Does not copy more than 12 characters: `s` must outlive the text then.
  explicit text(std::string_view s) : size_(static_cast<std::uint32_t>(s.size())) {
    if (s.size() <= inline_size) {
      if (!s.empty()) std::memcpy(bytes_, s.data(), s.size());
    } else {
      const char* at = s.data();
      std::memcpy(bytes_, at, 4);  // the prefix, so that most comparisons need not follow the pointer
      std::memcpy(bytes_ + 4, &at, sizeof at);
    }
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const char* data() const {
    if (size_ <= inline_size) return bytes_;
    const char* at;
    std::memcpy(&at, bytes_ + 4, sizeof at);
    return at;
  }
  std::string_view view() const { return {data(), size_}; }
  operator std::string_view() const { return view(); }  // NOLINT: a text is read wherever a string is
  std::string str() const { return std::string(view()); }
  friend bool operator==(const text& a, const text& b) { return a.view() == b.view(); }
  friend bool operator==(const text& a, std::string_view b) { return a.view() == b; }
  template <class Traits> friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& to, const text& t) {
    return to << t.view();
  }
  friend auto operator<=>(const text& a, const text& b) { return a.view() <=> b.view(); }

  static constexpr std::size_t inline_size = 12;

 private:
  std::uint32_t size_ = 0;
  char bytes_[12] = {};
};
static_assert(sizeof(text) == 16 && std::is_trivially_copyable_v<text>);

static_assert(std::is_trivially_copyable_v<std::optional<text>> && std::is_trivially_destructible_v<std::optional<text>>);

// What a column of a field of type F holds.
template <class F>
using column_value_t = std::conditional_t<std::is_same_v<F, std::string>, text,
                                          std::conditional_t<std::is_same_v<F, std::optional<std::string>>, std::optional<text>, F>>;

namespace detail {
// The chunks of a result, without their types: one address for each top-level field.
struct chunk_list {
  struct chunk {
    std::size_t n = 0;
    std::vector<const void*> columns;
  };
  std::vector<chunk> chunks;
  std::uint64_t rows = 0;
  std::shared_ptr<const void> owner;
};
}  // namespace detail

template <record T> class column_chunks {
  using list = std::shared_ptr<const detail::chunk_list>;

 public:
  // Rows of a chunk. It shares the result's memory: its spans live as long as the chunk, the result, or a copy of either.
  class chunk {
   public:
    chunk(list l, std::size_t i) : list_(std::move(l)), i_(i) {}
    std::size_t size() const { return list_->chunks[i_].n; }
    // The values of field I, in the order of the record. Of a chunk with a name: `auto c = result[0];`, then `c.get<1>()`.
    template <std::size_t I> std::span<const column_value_t<field_t<T, I>>> get() const& {
      const auto& c = list_->chunks[i_];
      return {static_cast<const column_value_t<field_t<T, I>>*>(c.columns[I]), c.n};
    }
    template <std::size_t I> void get() const&& = delete;

   private:
    list list_;
    std::size_t i_;
  };
  class iterator {
   public:
    using value_type = chunk;
    using difference_type = std::ptrdiff_t;
    iterator() = default;
    iterator(list l, std::size_t i) : list_(std::move(l)), i_(i) {}
    chunk operator*() const { return chunk(list_, i_); }
    iterator& operator++() {
      ++i_;
      return *this;
    }
    iterator operator++(int) {
      const iterator before = *this;
      ++i_;
      return before;
    }
    friend bool operator==(const iterator& a, const iterator& b) { return a.i_ == b.i_; }

   private:
    list list_;
    std::size_t i_ = 0;
  };

  column_chunks() : list_(std::make_shared<const detail::chunk_list>()) {}
  explicit column_chunks(list l) : list_(std::move(l)) {}

  std::uint64_t size() const { return list_->rows; }  // rows of all chunks
  bool empty() const { return size() == 0; }
  std::size_t chunk_count() const { return list_->chunks.size(); }
  chunk operator[](std::size_t i) const { return chunk(list_, i); }
  iterator begin() const { return iterator(list_, 0); }
  iterator end() const { return iterator(list_, list_->chunks.size()); }

 private:
  list list_;
};

}  // namespace query
