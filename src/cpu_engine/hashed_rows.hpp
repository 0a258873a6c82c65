// The rows of one input of a set in a partition_store, by the hash of their key, which is made of columns of theirs, or is computed once
// into one of its own.
//
//   hashed_rows rows(vertex, columns, hashed_rows::stores::rows, bits, parts, tasks);
//   rows.put(part, part.index, resident);                                     // on any threads
//   rows.store().read(partition, [&](const stored_rows& r) { rows.find_keys(r.rows.columns, keys); });
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu_engine/grouper.hpp"
#include "cpu_engine/partition_store.hpp"
#include "cpu_engine/stored_order.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

class hashed_rows {
 public:
  enum class stores : std::uint8_t { rows, keys, computed_keys };  // keys: nobody reads the rest of the rows
  // columns: of the rows; null: they are records.
  hashed_rows(const planner::vertex& v, const planner::column_schema* columns, stores what, unsigned bits, std::size_t parts,
              const vertex_tasks& tasks);

  const stored_order& order() const { return order_; }
  partition_store& store() { return store_; }
  key_equality equality() const { return equality_; }
  const ir::type* key_type() const { return key_type_; }

  // Puts the rows of a part of the input. resident: they stay where they are until nobody reads the result any more.
  void put(const pipeline::part& part, std::size_t number, bool resident);
  void put(const detail::row_block& rows, std::size_t number, bool resident);
  // Keys alone, side by side, into a store of computed ones.
  void put_keys(const grouper& known, std::size_t number);

  // Where the keys of stored rows lie.
  void find_keys(std::span<const column> columns, std::vector<key_part>& keys) const;
  void hash(std::span<const key_part> keys, std::size_t n, std::uint64_t* to) const;

 private:
  class writer;
  planner::column_schema stored(stores what) const;

  const vertex_tasks* tasks_;
  const ir::type* key_type_;
  key_equality equality_;
  std::vector<planner::projected_part> key_;
  stored_order order_;
  unsigned bits_;
  partition_store store_;
};

}  // namespace query::cpu
