#include "runtime/row_range.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace query::runtime {

struct row_range::rows {
  detail::row_block block;
  std::vector<const void*> columns;
};

namespace {

const void* behind(const void* base, std::uint64_t bytes) { return static_cast<const std::byte*>(base) + bytes; }

}  // namespace

row_range::row_range(const detail::logical& source, std::uint64_t first, std::uint64_t end) {
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
  rows_ = made;

  auto node = std::make_shared<detail::logical>();
  node->what = source.what;
  node->label = source.label;
  node->row = source.row;
  node->where = source.where;
  node->name = source.name;
  node->accelerated = source.accelerated;
  node->source = made;
  node->view = [](const void* of, detail::row_block& out) { out = static_cast<const rows*>(of)->block; };
  node_ = std::move(node);
}

std::uint64_t row_range::size() const { return rows_->block.n; }

}  // namespace query::runtime
