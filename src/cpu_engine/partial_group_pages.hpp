// Groups and the states of their aggregates as pages (partial_groups.hpp): a key and its states, group by group.
//
//   group_pages pages(vertex, context.pool);
//   std::vector<group_page_writer> to = pages.writers(receivers, form, true, take);    // take(receiver, page)
//   pages.write(run, to);
//   partial_groups::run r = pages.read(page, program);
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu_engine/partial_groups.hpp"

namespace query::cpu {

// Pages for one receiver.
class group_page_writer {
 public:
  group_page_writer(runtime::buffer_pool& pool, std::uint64_t form, bool repeatable, std::size_t bucket, runtime::bucket_sink take)
      : pool_(&pool), form_(form), repeatable_(repeatable), bucket_(bucket), take_(take) {}
  std::byte* room(std::size_t bytes);
  void flush();

 private:
  runtime::buffer_pool* pool_;
  std::uint64_t form_;
  bool repeatable_;
  std::size_t bucket_;
  runtime::bucket_sink take_;
  std::vector<std::byte> bytes_;
  std::size_t rows_ = 0;
};

class group_pages {
 public:
  group_pages(const planner::vertex& v, runtime::buffer_pool& pool) : v_(&v), pool_(&pool) {}
  // How a page says that its states are kept; each page begins with it, as each process chooses its forms.
  std::uint64_t form_of(const group_states& states) const;
  static std::uint64_t form_of(const runtime::row_page& page);
  // Do the same groups, made again, have the same bytes?
  bool are_repeatable() const;
  std::vector<group_page_writer> writers(std::size_t receivers, std::uint64_t form, bool repeatable, runtime::bucket_sink take) const;
  // The group of a key goes to the receiver that hash_partitioned_by gives it; `apart`: groups of one receiver are put apart once more.
  void write(partial_groups::run& r, std::vector<group_page_writer>& to, bool apart = false) const;
  partial_groups::run read(const runtime::row_page& page, const group_program& program) const;

 private:
  const planner::vertex* v_;
  runtime::buffer_pool* pool_;
};

}  // namespace query::cpu
