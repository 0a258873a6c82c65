// The rows of a group_by in a partition store, by the hash of their key: as columns, or as records with their keys beside them unless these
// are a part of the record. Each part of the input has a writer; readers get the rows of a partition part after part.
//
//   stored_group_rows rows(vertex, pipeline, bits, parts, numbered, key, columns);
//   stored_group_rows::writer w(rows, part.index); part.run_columns(w) or part.run(w); w.finish();
//   rows.read(partition, [&](const stored_rows& r) { rows.update(r.rows, table); });
#pragma once

#include <optional>
#include <vector>

#include "cpu_engine/group_table.hpp"
#include "cpu_engine/partition_store.hpp"
#include "cpu_engine/pipeline.hpp"

namespace query::cpu {

class stored_group_rows {
 public:
  // columns: the key of rows as columns, where these come so. parts: how many, or fewer, where nobody knows. numbered: readers get the
  // positions of rows.
  stored_group_rows(const planner::vertex& v, const pipeline& rows, unsigned bits, std::size_t parts, bool numbered,
                    const function_calls& key, const column_key* columns);

  // Rows of the hashed keys, as columns or as records.
  class writer final : public column_sink, public detail::batch_sink {
   public:
    writer(stored_group_rows& to, std::size_t part);
    void push(const column_batch& b) override;
    void push(const detail::row_block& b) override;
    void finish() { writer_.finish(); }

   private:
    void append(key_view keys, std::span<const column> columns, std::size_t n, bool owned);

    const stored_group_rows* of_;
    partition_writer writer_;
    std::optional<column_key::runner> column_keys_;
    rows_buffer keys_;
    interpreter::scratch scratch_;
    std::uint64_t hashes_[batch_rows];
    wide_word words_[batch_rows];
    std::uint16_t partitions_[batch_rows];
    std::vector<column> with_marks_;
  };

  unsigned bits() const { return bits_; }
  partition_store& store() { return store_; }
  std::uint64_t rows_of(std::size_t partition) const { return store_.rows_of(partition); }
  std::uint64_t rows() const;
  // How many groups that a table (null: none) does not have the stored rows have, counted up to `enough`. While nobody writes rows.
  std::size_t count_new_groups(const group_table* known, std::size_t enough);

  // The hashes of the keys of stored rows.
  class hasher {
   public:
    explicit hasher(const stored_group_rows& of);
    void operator()(const column_batch& b, std::uint64_t* to);

   private:
    const stored_group_rows* of_;
    std::optional<column_key::runner> column_keys_;
  };
  // Before a table takes rows.
  void prepare(grouper& groups) const;
  // Feeds a table with stored rows, or some of them.
  void update(const column_batch& b, group_table& to) const;

 private:
  key_part key_in_records(const column_batch& b) const;
  column_batch without_marks(const column_batch& b) const;
  planner::column_schema records(const ir::type* row) const;
  planner::column_schema read_columns(const planner::vertex& v, planner::column_schema rows) const;

  const detail::logical* node_;
  runtime::buffer_pool* pool_;
  unsigned bits_;
  const function_calls* key_;
  const column_key* columns_;
  bool resident_;                      // records: they stay where they are
  std::optional<std::size_t> key_at_;  // records: where the key lies in each
  // Kept beside the rows, for the tables of groups.
  enum class marks : std::uint8_t { none, hashes, words };
  group_hash hash_;
  marks marks_;
  partition_store store_;
};

}  // namespace query::cpu
