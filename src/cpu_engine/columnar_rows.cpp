#include "cpu_engine/columnar_rows.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "cpu_engine/rows_buffer.hpp"
#include "data/columnar_fields.hpp"
#include "data/columnar_file.hpp"

namespace query::cpu {
namespace {

struct open_columns {
  std::unique_ptr<data::columnar_file> file;
  data::columnar_fields fields;
};
struct group_to_read {
  std::shared_ptr<open_columns> of;
  std::size_t number = 0, rows = 0, bytes = 0;  // bytes: of the values that are wanted, in memory
};
// Groups whose columns are in memory, and how many of their rows have been made.
struct groups_read {
  std::vector<group_to_read> groups;
  std::vector<std::size_t> firsts;             // the number of each one's first row
  std::vector<data::columnar_values> values;   // a column of a group each, at place group * wanted columns + column
  std::size_t rows = 0, made = 0;
  runtime::charge held;                        // the memory of the values
};

std::vector<std::size_t> wanted_fields(const planner::vertex& v) {
  std::vector<std::size_t> wanted;
  for (std::size_t f = 0; f < v.node->row->field_list.size(); ++f)
    if (v.wanted.empty() || v.wanted[f]) wanted.push_back(f);
  return wanted;
}

// A group's share of the file's bytes is its share of all groups' bytes, so that each group is in one part.
bool begins_within(const data::file_part& part, std::uint64_t before, std::uint64_t all, std::uint64_t bytes) {
  const double share = all ? static_cast<double>(before) / static_cast<double>(all) : 0;
  const auto begin = std::min(static_cast<std::uint64_t>(share * static_cast<double>(bytes)), bytes - 1);
  return part.begin <= begin && begin < part.end;
}

// Opens the file: take(group) for each group of its part that may have rows that pass; returns how many have not.
template <class Take>
std::uint64_t each_group(const planner::vertex& v, const file_to_read& f, const std::vector<std::size_t>& wanted, Take take) {
  const data::file_source& source = file_source_of(v);
  std::unique_ptr<data::columnar_file> file = data::open_columnar(f.path, source.format);
  data::columnar_fields fields(v.node->row, *file, source, f.path, f.name);
  const auto open = std::make_shared<open_columns>(open_columns{std::move(file), std::move(fields)});
  std::uint64_t all = 0, before = 0, skipped = 0;
  for (std::size_t g = 0; g < open->file->groups(); ++g) all += open->file->bytes_in(g);
  for (std::size_t g = 0; g < open->file->groups(); ++g) {
    const std::uint64_t begin = before;
    before += open->file->bytes_in(g);
    if (f.part && !begins_within(*f.part, begin, all, f.state.bytes)) continue;
    const auto rows = static_cast<std::size_t>(open->file->rows_in(g));
    if (rows == 0) continue;
    open->fields.check_rows(*open->file, g);
    if (!open->fields.may_pass(*open->file, g, source.wanted_rows)) {
      ++skipped;
      continue;
    }
    std::size_t values = 0;
    for (const std::size_t field : wanted) values += open->fields.bytes_of(*open->file, g, field);
    take(group_to_read{open, g, rows, values});
  }
  return skipped;
}

class columnar_rows final : public file_rows {
 public:
  columnar_rows(const planner::vertex& v, std::deque<file_to_read> files, runtime::run_context& context)
      : context_(&context), v_(&v), row_(v.node->row), files_(std::move(files)), wanted_(wanted_fields(v)) {
    open_next();
  }

  detail::table all() override {
    constexpr std::size_t most_bytes = std::size_t{256} << 20;
    rows_buffer rows(row_, context_->pool);
    std::size_t n = 0;
    for (const group_to_read& g : groups_) n += g.rows;
    rows.reserve(n);
    while (read_more(most_bytes)) make_rows(now_.rows, rows);
    return std::move(rows).to_table();
  }
  bool next(detail::table& out, std::size_t bytes) override {
    constexpr std::size_t least_rows = 1024, least_bytes = std::size_t{1} << 20, share = 8;  // of the session's memory, for a block
    if (const std::size_t limit = context_->pool.limit()) bytes = std::min(bytes, std::max(limit / share, least_bytes));
    if (!read_more(bytes)) return false;
    rows_buffer rows(row_, context_->pool);
    make_rows(std::min(now_.rows - now_.made, std::max(bytes / row_->size, least_rows)), rows);
    out = std::move(rows).to_table();
    return true;
  }

 private:
  // Opens files until there is a group to read.
  void open_next() {
    while (groups_.empty() && !files_.empty()) {
      const file_to_read next = std::move(files_.front());
      files_.pop_front();
      const std::uint64_t skipped = each_group(*v_, next, wanted_, [&](group_to_read g) { groups_.push_back(std::move(g)); });
      data::counts_of_columnar().groups_skipped.fetch_add(skipped, std::memory_order_relaxed);
    }
  }
  // Are there rows to be made? Where all have been, the next groups are read, of about so many bytes.
  bool read_more(std::size_t bytes) {
    if (now_.made < now_.rows) return true;
    now_ = {};
    open_next();
    if (groups_.empty()) return false;
    groups_read next;
    std::size_t taken = 0;
    do {
      next.firsts.push_back(next.rows);
      next.rows += groups_.front().rows;
      taken += groups_.front().bytes;
      next.groups.push_back(std::move(groups_.front()));
      groups_.pop_front();
      open_next();
    } while (!groups_.empty() && groups_.front().bytes <= bytes - std::min(bytes, taken) && next.groups.size() < most_groups);
    if (taken > uncounted_bytes) next.held.grow(context_->pool, taken);
    next.values = read(next.groups);
    data::counts_of_columnar().groups_read.fetch_add(next.groups.size(), std::memory_order_relaxed);
    now_ = std::move(next);
    return true;
  }

  // Of several errors, that of the first one.
  std::vector<data::columnar_values> read(std::span<const group_to_read> groups) {
    std::vector<data::columnar_values> values(groups.size() * wanted_.size());
    std::vector<std::exception_ptr> wrong(values.size());
    file_tasks{context_}(values.size(), [&](std::size_t i) {
      const group_to_read& g = groups[i / wanted_.size()];
      const std::size_t field = wanted_[i % wanted_.size()];
      if (!g.of->fields.has_column(field)) return;
      try {
        values[i] = g.of->fields.read(*g.of->file, g.number, field);
      } catch (const user_error&) {
        wrong[i] = std::current_exception();
      }
    });
    for (const std::exception_ptr& e : wrong)
      if (e) std::rethrow_exception(e);
    return values;
  }

  // Appends the next n rows of what has been read.
  void make_rows(std::size_t n, rows_buffer& to) {
    const std::size_t first = std::exchange(now_.made, now_.made + n);
    auto* const rows = static_cast<std::byte*>(to.extend(n));
    const std::size_t tasks = (n + rows_a_task - 1) / rows_a_task;
    std::vector<char> alive(tasks);
    const auto rows_of = [&](std::size_t task) { return std::min(rows_a_task, n - task * rows_a_task); };
    try {
      file_tasks{context_}(tasks, [&](std::size_t task) {
        std::byte* const at = rows + task * rows_a_task * row_->size;
        row_->life.construct(at, rows_of(task));
        alive[task] = 1;
        convert(first + task * rows_a_task, rows_of(task), at);
      });
    } catch (...) {
      for (std::size_t t = 0; t < tasks; ++t)
        if (alive[t]) row_->life.destroy(rows + t * rows_a_task * row_->size, rows_of(t));
      throw;
    }
    to.grow(n);
    context_->rows_read(n);
  }
  void convert(std::size_t first, std::size_t n, std::byte* rows) const {
    auto g = static_cast<std::size_t>(std::upper_bound(now_.firsts.begin(), now_.firsts.end(), first) - now_.firsts.begin()) - 1;
    for (; n; ++g) {
      const std::size_t within = first - now_.firsts[g], some = std::min(n, now_.groups[g].rows - within);
      const data::columnar_fields& fields = now_.groups[g].of->fields;
      for (std::size_t c = 0; c < wanted_.size(); ++c)
        fields.convert(wanted_[c], fields.has_column(wanted_[c]) ? &now_.values[g * wanted_.size() + c] : nullptr, within, some, rows);
      first += some;
      n -= some;
      rows += some * row_->size;
    }
  }

  static constexpr std::size_t rows_a_task = std::size_t{1} << 14, most_groups = 1024;
  static constexpr std::size_t uncounted_bytes = std::size_t{1} << 20;  // the pool of a small query is not asked

  runtime::run_context* context_;
  const planner::vertex* v_;
  const ir::type* row_;
  std::deque<file_to_read> files_;     // that have not been opened
  std::deque<group_to_read> groups_;   // that have not been read
  std::vector<std::size_t> wanted_;    // fields
  groups_read now_;
};

}  // namespace

std::uint64_t most_table_bytes_of_columns(const planner::vertex& v, const std::deque<file_to_read>& files) {
  const std::vector<std::size_t> wanted = wanted_fields(v);
  std::uint64_t bytes = 0;
  for (const file_to_read& f : files)
    each_group(v, f, wanted, [&](const group_to_read& g) { bytes += g.rows * v.node->row->size + g.bytes; });
  return bytes;
}

std::unique_ptr<file_rows> columnar_rows_of(const planner::vertex& v, std::deque<file_to_read> files, runtime::run_context& context) {
  return std::make_unique<columnar_rows>(v, std::move(files), context);
}

}  // namespace query::cpu
