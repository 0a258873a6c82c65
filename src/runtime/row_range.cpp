#include "runtime/row_range.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <query/sources.hpp>

#include "planner/cluster_graph.hpp"

namespace query::runtime {

struct row_range::rows {
  detail::row_block block;
  std::vector<const void*> columns;
};

namespace {

const void* behind(const void* base, std::uint64_t bytes) { return static_cast<const std::byte*>(base) + bytes; }

}  // namespace

namespace {

using planner::range_bytes;

// As detail::numbers lies in memory: the first number, and how many there are behind it.
std::shared_ptr<const void> part_of_range(const void* range, std::size_t number_bytes, std::uint64_t first, std::uint64_t n) {
  static_assert(sizeof(detail::numbers<std::int8_t>) == range_bytes && sizeof(detail::numbers<std::uint64_t>) == range_bytes &&
                offsetof(detail::numbers<std::int8_t>, n) == 8 && offsetof(detail::numbers<std::uint64_t>, n) == 8);
  struct alignas(8) bytes {
    std::byte of[range_bytes];
  };
  auto part = std::make_shared<bytes>();
  std::memcpy(part->of, range, range_bytes);
  const auto begin_behind = [&]<class T>(T number) {
    std::memcpy(&number, part->of, sizeof number);
    number = static_cast<T>(number + first);
    std::memcpy(part->of, &number, sizeof number);
  };
  switch (number_bytes) {
    case 1: begin_behind(std::uint8_t{}); break;
    case 2: begin_behind(std::uint16_t{}); break;
    case 4: begin_behind(std::uint32_t{}); break;
    default: begin_behind(std::uint64_t{}); break;
  }
  std::memcpy(part->of + 8, &n, sizeof n);
  return part;
}

// As std::pair has them: the value, and how often it comes.
std::shared_ptr<const void> part_of_repeat(const detail::logical& repeat, std::uint64_t n) {
  using pair = std::pair<std::uint16_t, std::uint64_t>;
  static_assert(offsetof(pair, second) == planner::repeat_count_offset(sizeof(std::uint16_t)));
  const std::size_t value = repeat.row->size, count = planner::repeat_count_offset(value);
  const std::align_val_t align{std::max(repeat.row->align, alignof(std::uint64_t))};
  auto* const part = static_cast<std::byte*>(::operator new(count + sizeof n, align));
  std::memcpy(part, repeat.source.get(), value);
  std::memcpy(part + count, &n, sizeof n);
  return {part, [align](const void* p) { ::operator delete(const_cast<void*>(p), align); }};
}

}  // namespace

row_range::row_range(const detail::logical& source, std::uint64_t first, std::uint64_t end) {
  auto node = std::make_shared<detail::logical>();
  node->what = source.what;
  node->label = source.label;
  node->row = source.row;
  node->where = source.where;
  node->name = source.name;
  node->accelerated = source.accelerated;
  node_ = node;
  if (planner::is_made_in_parts(source)) {
    first = std::min(first, source.count);
    size_ = std::clamp(end, first, source.count) - first;
    node->source = planner::is_range(source) ? part_of_range(source.source.get(), source.row->size, first, size_)
                                             : part_of_repeat(source, size_);
    node->step = source.step;
    node->open = source.open;
    node->count = size_;
    return;
  }
  detail::row_block whole;
  source.view(source.source.get(), whole);
  first = std::min<std::uint64_t>(first, whole.n);
  auto made = std::make_shared<rows>();
  made->block = whole;
  made->block.n = static_cast<std::size_t>(std::clamp<std::uint64_t>(end, first, whole.n) - first);
  if (whole.columns) {
    if (source.row->k == ir::kind::record) {
      for (std::size_t i = 0; i < source.row->field_list.size(); ++i)
        made->columns.push_back(behind(whole.columns[i], first * source.row->field_list[i].of->size));
    } else {
      made->columns.push_back(behind(whole.columns[0], first * source.row->size));
    }
    made->block.columns = made->columns.data();
  } else {
    made->block.rows = const_cast<void*>(behind(whole.rows, first * source.row->size));
  }
  size_ = made->block.n;
  node->source = made;
  node->view = [](const void* of, detail::row_block& out) { out = static_cast<const rows*>(of)->block; };
}

}  // namespace query::runtime
