#include "cpu_engine/hashed_rows.hpp"

#include <algorithm>

#include "cpu_engine/key_column.hpp"

namespace query::cpu {

namespace {

// The columns that the key is made of; none: it is computed.
std::vector<planner::projected_part> parts_of_key(const planner::vertex& v, const planner::column_schema* columns,
                                                  hashed_rows::stores what) {
  const detail::user_function& f = v.node->functions[0];
  const bool narrower = !columns && what == hashed_rows::stores::keys && f.result->trivial && f.result->size < v.node->row->size;
  if (what == hashed_rows::stores::computed_keys || narrower || (columns && columns->optional_row)) return {};
  const auto p = planner::project(f, columns ? *columns : planner::column_schema::of_rows(v.node->row));
  if (!p) return {};
  for (const planner::projected_part& part : p->parts)
    if (part.computed || part.wraps || part.otherwise) return {};
  const bool whole = p->parts.size() == 1 && p->parts[0].type == f.result && p->parts[0].to == 0;
  if (whole) return p->parts;
  if (v.node->has_own_equality() || (!f.result->trivial && !f.result->life.construct)) return {};
  return p->parts;
}

}  // namespace

class hashed_rows::writer {
 public:
  writer(hashed_rows& of, std::size_t part) : of_(&of), to_(of.store_, part) {}
  void operator()(std::span<const column> columns, std::size_t n, bool owned) {
    of_->find_keys(columns, keys_);
    of_->hash(keys_, n, hashes_);
    for (std::size_t i = 0; i < n; ++i) partitions_[i] = static_cast<std::uint16_t>(hashes_[i] >> (64 - of_->bits_));
    to_.append(columns, n, partitions_, owned);
  }
  void finish() { to_.finish(); }

 private:
  hashed_rows* of_;
  partition_writer to_;
  std::vector<key_part> keys_;
  std::uint64_t hashes_[column_batch_rows];
  std::uint16_t partitions_[column_batch_rows];
};

hashed_rows::hashed_rows(const planner::vertex& v, const planner::column_schema* columns, stores what, unsigned bits, std::size_t parts,
                         const vertex_tasks& tasks)
    : tasks_(&tasks),
      key_type_(v.node->functions[0].result),
      equality_(equality_of(v.node->keys)),
      key_(parts_of_key(v, columns, what)),
      order_(key_.empty() ? stored_order::by_key(v, columns) : stored_order(v.node, columns)),
      bits_(bits),
      store_(stored(what), bits, parts, true, tasks.context()) {
  if (key_.empty()) key_.push_back({0, key_type_, 0, order_.of_row, 0, nullptr, false, nullptr});
}

planner::column_schema hashed_rows::stored(stores what) const {
  planner::column_schema columns = order_.columns;
  if (what == stores::rows) return columns;
  for (std::size_t c = 0; c < order_.of_row; ++c)
    if (std::none_of(key_.begin(), key_.end(), [&](const auto& p) { return p.column == c; })) columns.columns[c].type = nullptr;
  return columns;
}

void hashed_rows::put(const pipeline::part& part, std::size_t number, bool resident) {
  writer to(*this, number);
  order_feed(order_, resident, tasks_->pool(), to).run(part);
  to.finish();
}
void hashed_rows::put(const detail::row_block& rows, std::size_t number, bool resident) {
  writer to(*this, number);
  order_feed(order_, resident, tasks_->pool(), to).push(rows);
  to.finish();
}
void hashed_rows::put_keys(const grouper& known, std::size_t number) {
  writer to(*this, number);
  std::vector<column> columns(order_.of_row + 1);
  for (std::size_t from = 0; from < known.size(); from += column_batch_rows) {
    columns.back() = {known.key(static_cast<std::uint32_t>(from)), key_type_->size, 0, key_type_->size, nullptr, true};
    to(columns, std::min(column_batch_rows, known.size() - from), false);
  }
  to.finish();
}

void hashed_rows::find_keys(std::span<const column> columns, std::vector<key_part>& keys) const {
  keys.clear();
  for (const planner::projected_part& p : key_) {
    const column& c = columns[p.column];
    keys.push_back({p.type, p.to, static_cast<const std::byte*>(c.base) + p.within, c.stride, c.select, false, c.coded});
  }
}
void hashed_rows::hash(std::span<const key_part> keys, std::size_t n, std::uint64_t* to) const {
  hash_keys(*key_type_, keys, 0, n, to, equality_);
}

}  // namespace query::cpu
