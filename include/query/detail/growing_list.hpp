// A list that may come to hold all rows of a query. It grows in blocks: full blocks never move, and append() takes over the blocks of a
// long list, so that adding rows never takes long.
//
//   growing_list<std::string> names, others;
//   names.emplace_back("a name");
//   names.append(others);
//   std::vector<std::string> all = names.take();   // looks at the limits of the query
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <query/detail/discard.hpp>
#include <query/detail/stop.hpp>

namespace query::detail {

template <class E> class growing_list {
 public:
  using query_part_types = std::tuple<std::vector<E>>;  // what it holds (discard.hpp)

  template <class... A> void emplace_back(A&&... of) {
    if (last_.size() == rows_a_block) begin_block();
    last_.emplace_back(std::forward<A>(of)...);
  }
  // Moves the elements of the other list to the end of this one. The other list is empty afterwards.
  void append(growing_list& more) {
    if (!more.full_ && last_.size() + more.last_.size() <= rows_a_block) {
      for (auto&& e : more.last_) last_.push_back(std::move(e));
    } else {
      if (!last_.empty()) close_block();
      if (more.full_)
        for (std::vector<E>& block : *more.full_) blocks().push_back(std::move(block));
      last_ = std::move(more.last_);
    }
    more = {};
  }
  // Returns all elements in one vector. The list is empty afterwards.
  std::vector<E> take() {
    if (!full_) return std::move(last_);
    close_block();
    std::vector<E> all;
    const discarded_if_stopped left(all);
    std::size_t n = 0;
    for (const std::vector<E>& block : *full_) n += block.size();
    all.reserve(n);
    for (std::vector<E>& block : *full_) {
      in_runs<quick_calls_a_look>(0, block.size(), [&](std::size_t i, std::size_t end) {
        for (; i < end; ++i) all.push_back(std::move(block[i]));
      });
      block = std::vector<E>();
    }
    full_.reset();
    return all;
  }

 private:
  static constexpr std::size_t block_bytes = std::size_t{64} << 10;
  static constexpr std::size_t rows_a_block = block_bytes / sizeof(E) > 16 ? block_bytes / sizeof(E) : 16;

  std::vector<std::vector<E>>& blocks() {
    if (!full_) full_ = std::make_unique<std::vector<std::vector<E>>>();
    return *full_;
  }
  void close_block() {
    blocks().push_back(std::move(last_));
    last_ = std::vector<E>();
  }
  void begin_block() {
    close_block();
    last_.reserve(rows_a_block);
  }

  std::vector<E> last_;  // the block that is being filled; the only one of a short list
  std::unique_ptr<std::vector<std::vector<E>>> full_;
};

}  // namespace query::detail
