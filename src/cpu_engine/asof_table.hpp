// The right side of an asof_join: finds, for each left row, the row of an equal key whose time is nearest.
//
// Rows of one key lie together (join_table) in the order of their times; without a key all rows are one run. Rows that come in the order
// of their times, as events do, are not sorted, and times of 64 bits that lie side by side are read where they are. A left row looks
// where the last one of its key was found, and, if its time is not near, searches the run: the left side needs no order, and any number
// of threads may search.
//
//   asof_table table(how, type, values, stride, n, tasks);     // values: {key, time} of the right rows, or their times
//   asof_table::finder finder(table);
//   finder.find(left_values, m, rows);                         // rows[i]: a number, or join_table::no_row
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <query/detail/asof_options.hpp>
#include <query/detail/type.hpp>

#include "cpu_engine/asof_times.hpp"
#include "cpu_engine/join_table.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

class asof_table {
 public:
  // The n values must outlive the table. type: std::pair<key, time> or a time. Throws resource_error and cancelled.
  asof_table(const asof_options& how, const ir::type* type, const void* values, std::size_t stride, std::size_t n,
             const vertex_tasks& tasks);

  static constexpr std::size_t most = join_table::most_runs;  // values looked up at once

  class finder {
   public:
    explicit finder(const asof_table& table);
    ~finder();
    finder(const finder&) = delete;
    finder& operator=(const finder&) = delete;

    // Of n adjacent values, at most `most`: the row that matches each of them, or join_table::no_row.
    void find(const void* values, std::size_t n, std::uint64_t* rows);

   private:
    enum class side : std::uint8_t { before, after };
    void look(side s, std::size_t n);
    template <bool Keyed, class Times> void search(const Times& times, bool later, std::size_t n);
    std::size_t hint_of(std::uint64_t begin) const {
      return static_cast<std::size_t>(begin * 0x9E3779B97F4A7C15u >> 32) & (hints_.size() - 1);
    }

    const asof_table* table_;
    std::vector<std::uint32_t> hints_;  // by run: how far from its begin the last row was found
    bool all_timed_ = true;
    std::uint64_t words_[most];
    std::uint8_t timeless_[most];
    join_table::run runs_[most];    // with a key
    std::uint64_t at_[most], other_[most];  // places
    std::uint32_t far_[most];
  };

 private:
  void sort_all(const std::byte* times, std::size_t stride, std::size_t n, const vertex_tasks& tasks);
  void sort_runs(const std::byte* values, std::size_t stride, std::size_t n, const vertex_tasks& tasks);
  void bring_words(const std::uint64_t* by_row, const vertex_tasks& tasks);
  void sort_run(const join_table::run& run, runtime::buffer& room, const vertex_tasks& tasks);
  void sort_large_run(const join_table::run& run, const vertex_tasks& tasks);
  std::uint64_t row_at(std::uint64_t place) const { return keys_ ? keys_->row_at(place) : ids_.size() ? ids_[place] : place; }
  std::uint64_t word_at(std::uint64_t place) const {
    return in_place_ ? time_.word(in_place_ + place * sizeof(std::uint64_t)) : words_.as<std::uint64_t>()[place];
  }

  asof_options how_;
  const ir::type* type_;
  asof_time time_;
  std::size_t time_at_ = 0, key_at_ = 0;  // in a value
  std::unique_ptr<join_table> keys_;      // none: all rows are one run
  permutation ids_;                       // of that, if they do not lie in the order of their times
  std::uint64_t n_ = 0;                   // rows of that
  runtime::buffer words_;                 // times by place
  const std::byte* in_place_ = nullptr;   // or where they lie
  mutable std::mutex lock_;
  mutable std::vector<std::vector<std::uint32_t>> idle_hints_;  // of finders that are gone
};

}  // namespace query::cpu
