// std::vector<R>s of rows, for functions that take lists of them: the matches of a left row, a run. They keep their memory.
//
//   row_lists lists(list_type, 64, pool);      // of a type that ir::can_be_filled
//   lists.start(i, n);                         // then n times lists.add(i, row)
//   const void* vector = lists.list(i);
#pragma once

#include <cstring>
#include <vector>

#include "cpu_engine/rows_buffer.hpp"

namespace query::cpu {

class row_lists {
 public:
  row_lists(const ir::type* list, std::size_t count, runtime::buffer_pool& pool) : list_(list), lists_(list, pool), ends_(count) {
    void* at = lists_.extend(count);
    list->life.construct(at, count);
    lists_.grow(count);
  }
  const void* list(std::size_t i) const { return lists_.at(i); }
  void start(std::size_t i, std::size_t rows) { ends_[i] = static_cast<std::byte*>(list_->get.resize(lists_.at(i), rows)); }
  void add(std::size_t i, const void* row) {
    const ir::type* t = list_->element;
    if (t->trivial) std::memcpy(ends_[i], row, t->size);
    else t->life.copy_assign(ends_[i], row);
    ends_[i] += t->size;
  }

 private:
  const ir::type* list_;
  rows_buffer lists_;
  std::vector<std::byte*> ends_;
};

}  // namespace query::cpu
