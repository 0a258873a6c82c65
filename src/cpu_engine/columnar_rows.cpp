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
  std::size_t number = 0, rows = 0, bytes = 0;
};

class columnar_rows final : public file_rows {
 public:
  columnar_rows(const planner::vertex& v, std::deque<file_to_read> files, runtime::run_context& context)
      : context_(&context), v_(&v), row_(v.node->row), files_(std::move(files)) {
    for (std::size_t f = 0; f < row_->field_list.size(); ++f)
      if (v.wanted.empty() || v.wanted[f]) wanted_.push_back(f);
    open_next();
  }

  detail::table all() override {
    constexpr std::size_t most_bytes = std::size_t{256} << 20;
    rows_buffer rows(row_, context_->pool);
    std::size_t n = 0;
    for (const group_to_read& g : groups_) n += g.rows;
    rows.reserve(n);
    while (fill(rows, most_bytes)) {}
    return std::move(rows).to_table();
  }
  bool next(detail::table& out, std::size_t bytes) override {
    rows_buffer rows(row_, context_->pool);
    if (!fill(rows, bytes)) return false;
    out = std::move(rows).to_table();
    return true;
  }

 private:
  // Opens files until there is a group to read.
  void open_next() {
    while (groups_.empty() && !files_.empty()) {
      const file_to_read next = std::move(files_.front());
      files_.pop_front();
      add_groups(next);
    }
  }
  void add_groups(const file_to_read& f) {
    const data::file_source& source = file_source_of(*v_);
    std::unique_ptr<data::columnar_file> file = data::open_columnar(f.path, source.format);
    data::columnar_fields fields(row_, *file, source, f.path, f.name);
    const auto open = std::make_shared<open_columns>(open_columns{std::move(file), std::move(fields)});
    data::columnar_counts& counts = data::counts_of_columnar();
    std::uint64_t all = 0, before = 0;
    for (std::size_t g = 0; g < open->file->groups(); ++g) all += open->file->bytes_in(g);
    for (std::size_t g = 0; g < open->file->groups(); ++g) {
      const std::uint64_t bytes = open->file->bytes_in(g), begin = before;
      before += bytes;
      if (f.part && !begins_within(*f.part, begin, all, f.state.bytes)) continue;
      const auto rows = static_cast<std::size_t>(open->file->rows_in(g));
      if (rows == 0) continue;
      if (!open->fields.may_pass(*open->file, g, source.wanted_rows)) {
        counts.groups_skipped.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
      groups_.push_back({open, g, rows, static_cast<std::size_t>(bytes)});
    }
  }
  // Of the file's bytes a group has as many as its share of the groups' bytes, so that each is in one part.
  static bool begins_within(const data::file_part& part, std::uint64_t before, std::uint64_t all, std::uint64_t bytes) {
    const double share = all ? static_cast<double>(before) / static_cast<double>(all) : 0;
    const auto begin = std::min(static_cast<std::uint64_t>(share * static_cast<double>(bytes)), bytes - 1);
    return part.begin <= begin && begin < part.end;
  }

  // Appends the rows of the next groups, of about so many bytes; false at the end.
  bool fill(rows_buffer& to, std::size_t bytes) {
    open_next();
    if (groups_.empty()) return false;
    std::vector<group_to_read> some;
    std::vector<std::size_t> firsts;
    std::size_t n = 0, taken = 0;
    do {
      firsts.push_back(n);
      n += groups_.front().rows;
      taken += groups_.front().bytes;
      some.push_back(std::move(groups_.front()));
      groups_.pop_front();
      open_next();
    } while (!groups_.empty() && groups_.front().bytes <= bytes - std::min(bytes, taken) && some.size() < most_groups);

    const std::vector<data::columnar_values> values = read(some);
    make_rows(some, firsts, values, n, to);
    data::counts_of_columnar().groups_read.fetch_add(some.size(), std::memory_order_relaxed);
    context_->rows_read(n);
    return true;
  }

  // A column of a group each, at place group * wanted columns + column. Of several errors, that of the first one.
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

  void make_rows(std::span<const group_to_read> groups, std::span<const std::size_t> firsts, std::span<const data::columnar_values> values,
                 std::size_t n, rows_buffer& to) {
    auto* const rows = static_cast<std::byte*>(to.extend(n));
    const std::size_t tasks = (n + rows_a_task - 1) / rows_a_task;
    std::vector<char> alive(tasks);
    const auto rows_of = [&](std::size_t task) { return std::min(rows_a_task, n - task * rows_a_task); };
    try {
      file_tasks{context_}(tasks, [&](std::size_t task) {
        std::byte* const at = rows + task * rows_a_task * row_->size;
        row_->life.construct(at, rows_of(task));
        alive[task] = 1;
        convert(groups, firsts, values, task * rows_a_task, rows_of(task), rows);
      });
    } catch (...) {
      for (std::size_t t = 0; t < tasks; ++t)
        if (alive[t]) row_->life.destroy(rows + t * rows_a_task * row_->size, rows_of(t));
      throw;
    }
    to.grow(n);
  }
  void convert(std::span<const group_to_read> groups, std::span<const std::size_t> firsts, std::span<const data::columnar_values> values,
               std::size_t first, std::size_t n, std::byte* rows) const {
    auto g = static_cast<std::size_t>(std::upper_bound(firsts.begin(), firsts.end(), first) - firsts.begin()) - 1;
    for (; n; ++g) {
      const std::size_t within = first - firsts[g], some = std::min(n, groups[g].rows - within);
      const data::columnar_fields& fields = groups[g].of->fields;
      for (std::size_t c = 0; c < wanted_.size(); ++c)
        fields.convert(wanted_[c], fields.has_column(wanted_[c]) ? &values[g * wanted_.size() + c] : nullptr, within, some,
                       rows + first * row_->size);
      first += some;
      n -= some;
    }
  }

  static constexpr std::size_t rows_a_task = std::size_t{1} << 14, most_groups = 1024;

  runtime::run_context* context_;
  const planner::vertex* v_;
  const ir::type* row_;
  std::deque<file_to_read> files_;     // that have not been opened
  std::deque<group_to_read> groups_;   // that have not been read
  std::vector<std::size_t> wanted_;    // fields
};

}  // namespace

std::unique_ptr<file_rows> columnar_rows_of(const planner::vertex& v, std::deque<file_to_read> files, runtime::run_context& context) {
  return std::make_unique<columnar_rows>(v, std::move(files), context);
}

}  // namespace query::cpu
