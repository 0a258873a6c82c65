#include "cpu_engine/collected_columns.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <utility>

#include <query/errors.hpp>

#include "cpu_engine/column_steps.hpp"
#include "cpu_engine/rows_buffer.hpp"
#include "cpu_engine/table_estimate.hpp"

namespace query::cpu {

namespace {

const std::byte* at_of(const column& c) { return static_cast<const std::byte*>(c.base); }
constexpr std::uint64_t most_numbers = interpreter::missing_row;  // a piece's row numbers are smaller

}  // namespace

std::uint64_t collected_columns::rows() const {
  std::uint64_t n = 0;
  for (const column_list::piece& p : pieces) n += p.n;
  return n;
}

void collected_columns::take(collected_columns&& more) {
  pieces.insert(pieces.end(), std::make_move_iterator(more.pieces.begin()), std::make_move_iterator(more.pieces.end()));
  sources.insert(sources.end(), more.sources.begin(), more.sources.end());
}

// ---------------------------------------------------------------- pieces
// Of the piece that is being made.
struct piece_sink::memory {
  // Columns that have one selection in every batch.
  struct selection {
    std::size_t leader = 0;  // one of the columns
    std::uint64_t passed = 0;  // rows from the piece's base to that of the batch
    bool side_by_side = true;  // rows are numbered 0 to n - 1
    rows_buffer numbers;       // else
  };
  static constexpr std::size_t kept_values = ~std::size_t{0};

  std::size_t n = 0;
  std::vector<column> first;         // of its first batch
  std::vector<std::size_t> of;       // a column's selection, or kept_values
  std::vector<selection> selections;
  std::vector<rows_buffer> values;   // of a column each
};

piece_sink::piece_sink(const planner::column_schema& schema, runtime::buffer_pool& pool) : schema_(&schema), pool_(&pool) {}
piece_sink::~piece_sink() = default;

void piece_sink::push(const column_batch& b) {
  if (!open_ || !continues(b)) {
    finish();
    begin(b);
  }
  append(b);
}

void piece_sink::begin(const column_batch& b) {
  open_ = std::make_shared<memory>();
  open_->first.assign(b.columns.begin(), b.columns.end());
  for (std::size_t c = 0; c < b.columns.size(); ++c) {
    const column& now = b.columns[c];
    open_->values.emplace_back(schema_->columns[c].type, *pool_);
    if (now.transient || !now.stride) {
      open_->of.push_back(memory::kept_values);
      continue;
    }
    std::size_t s = 0;
    while (s < open_->selections.size() && b.columns[open_->selections[s].leader].select != now.select) ++s;
    if (s == open_->selections.size()) open_->selections.push_back({.leader = c, .numbers = {ir::describe<std::uint32_t>(), *pool_}});
    open_->of.push_back(s);
  }
}

// Notes how far each selection's rows are from the piece's first ones.
bool piece_sink::continues(const column_batch& b) {
  for (std::size_t c = 0; c < b.columns.size(); ++c) {
    const column &now = b.columns[c], &first = open_->first[c];
    const bool is_kept = now.transient || !now.stride;
    if (is_kept != (open_->of[c] == memory::kept_values)) return false;
    if (is_kept) continue;
    if (now.optional != first.optional || now.wraps != first.wraps || now.otherwise != first.otherwise) return false;
    if (now.coded != first.coded) return false;  // the codes of two dictionaries, however near these lie
    const auto bytes = static_cast<std::size_t>(at_of(now) - at_of(first));
    if (now.stride != first.stride || at_of(now) < at_of(first) || bytes % now.stride) return false;
    memory::selection& s = open_->selections[open_->of[c]];
    if (s.leader == c) s.passed = bytes / now.stride;
    else if (bytes / now.stride != s.passed || now.select != b.columns[s.leader].select) return false;
  }
  for (const memory::selection& s : open_->selections) {
    const std::uint32_t* const rows = b.columns[s.leader].select;
    std::uint64_t most = b.n;
    for (std::size_t i = 0; rows && i < b.n; ++i)
      if (rows[i] != interpreter::missing_row) most = std::max<std::uint64_t>(most, rows[i]);
    if (s.passed + most >= most_numbers) return false;
  }
  return true;
}

void piece_sink::append(const column_batch& b) {
  memory& to = *open_;
  for (memory::selection& s : to.selections) {
    const std::uint32_t* const rows = b.columns[s.leader].select;
    if (s.side_by_side && !rows && s.passed == to.n) continue;
    if (s.side_by_side) {
      auto* const before = static_cast<std::uint32_t*>(s.numbers.extend(to.n + b.n));
      std::iota(before, before + to.n, 0u);
      s.numbers.grow(to.n);
      s.side_by_side = false;
    }
    auto* const numbers = static_cast<std::uint32_t*>(s.numbers.extend(b.n));
    const auto passed = static_cast<std::uint32_t>(s.passed);
    if (!rows) std::iota(numbers, numbers + b.n, passed);
    else if (!passed) std::memcpy(numbers, rows, b.n * sizeof *rows);
    else for (std::size_t i = 0; i < b.n; ++i) numbers[i] = rows[i] == interpreter::missing_row ? rows[i] : passed + rows[i];
    s.numbers.grow(b.n);
  }
  for (std::size_t c = 0; c < to.of.size(); ++c) {
    if (to.of[c] != memory::kept_values) continue;
    rows_buffer& values = to.values[c];
    const ir::type* t = values.type();
    gather_column(b.columns[c], t, b.n, values.extend(b.n), t->size, false);
    values.grow(b.n);
  }
  to.n += b.n;
}

void piece_sink::finish() {
  if (!open_) return;
  column_list::piece& piece = pieces_.emplace_back();
  piece.n = open_->n;
  for (std::size_t c = 0; c < open_->of.size(); ++c) {
    column now = open_->first[c];
    if (open_->of[c] == memory::kept_values) {
      const rows_buffer& values = open_->values[c];
      now = {values.data(), values.type()->size, now.offset, values.type()->size};
    } else {
      const memory::selection& s = open_->selections[open_->of[c]];
      now.select = s.side_by_side ? nullptr : static_cast<const std::uint32_t*>(s.numbers.data());
    }
    piece.columns.push_back(now);
  }
  piece.owner = std::exchange(open_, nullptr);
}

std::vector<column_list::piece> piece_sink::take() {
  finish();
  return std::exchange(pieces_, {});
}

// ---------------------------------------------------------------- branches
namespace {

// A number for each row that is selected on each side of a join, and columns as if all were computed.
double bytes_kept(const planner::branch& b, const pipeline& p) {
  std::size_t a_row = sizeof(std::uint32_t);
  bool only_tests = true;
  for (const planner::stage& s : b.stages) {
    if (s.what == planner::stage::kind::probe) a_row += sizeof(std::uint32_t);
    for (const detail::logical* n : s.nodes) only_tests = only_tests && n->what == detail::verb::where;
  }
  for (const auto& c : p.columns()->columns) a_row += only_tests ? 0 : c.type->size;
  return static_cast<double>(a_row) * static_cast<double>(*p.source_rows());
}

std::vector<column_list::piece> pieces_of(pipeline& p, std::uint64_t most) {
  const std::size_t window = most == ~0ull ? p.parts().value_or(1) : static_cast<std::size_t>(p.context().scheduler.concurrency());
  std::vector<column_list::piece> all;
  std::uint64_t rows = 0;
  for (bool more = true; more && rows < most;) {
    const std::size_t first = p.next_part();
    std::vector<std::vector<column_list::piece>> parts(window);
    more = p.run_some(window, [&](const pipeline::part& part) {
      piece_sink sink(*p.columns(), p.context().pool);
      part.run_columns(sink);
      parts[part.index - first] = sink.take();
    });
    for (auto& pieces : parts)
      for (column_list::piece& piece : pieces) {
        rows += piece.n;
        all.push_back(std::move(piece));
      }
  }
  return all;
}

}  // namespace

std::optional<collected_columns> collect_columns_of(const planner::branch& b, const std::vector<planner::binding>& captures,
                                                    runtime::run_context& context, std::uint64_t most) {
  pipeline p(b, captures, context, true, true);
  if (!p.columns() || !p.source_rows() || p.made_as_read()) return std::nullopt;
  collected_columns all{*p.columns(), {}, p.sources()};
  if (const column_list* const list = p.list_as_it_is()) {
    context.rows_read(list->size());
    all.pieces = list->pieces();
    return all;
  }
  if (p.rows_in_place()) {
    context.rows_read(*p.source_rows());
    if (*p.source_rows()) all.pieces.push_back({static_cast<std::size_t>(*p.source_rows()), p.columns_in_place(), nullptr});
    return all;
  }
  if (!context.pool.limit()) {
    all.pieces = pieces_of(p, most);
    return all;
  }
  if (!fits_in(bytes_kept(b, p), memory_left(context.pool))) return std::nullopt;
  try {
    all.pieces = pieces_of(p, most);
    return all;
  } catch (const resource_error&) {  // joins gave more rows than was expected, or others have taken the room
    return std::nullopt;
  }
}

void regroup_columns(collected_columns& rows, const planner::column_schema& to) {
  const std::vector<planner::column_schema::column>& from = rows.schema.columns;
  for (column_list::piece& piece : rows.pieces) {
    std::vector<column> columns;
    for (const auto& wanted : to.columns) {
      std::size_t c = 0;
      while (wanted.offset < from[c].offset || from[c].offset + from[c].type->size < wanted.offset + wanted.type->size) ++c;
      column now = piece.columns[c];
      if (wanted.offset != from[c].offset || wanted.type != from[c].type) {
        now.base = static_cast<const std::byte*>(now.base) + (wanted.offset - from[c].offset);
        now.size = wanted.type->size;
      }
      now.offset = wanted.offset;
      columns.push_back(now);
    }
    piece.columns = std::move(columns);
  }
  rows.schema = to;
}

// ---------------------------------------------------------------- rows by number
namespace {

constexpr std::size_t most_at_once = std::size_t{1} << 31;  // rows of a piece, as 32 bits number them

// Row numbers of a piece without some of its rows: one array for each selection that its columns have.
struct narrowed_piece {
  std::shared_ptr<const void> owner;
  std::vector<const std::uint32_t*> before;  // null: rows side by side
  std::vector<runtime::buffer> now;
};

// Of a piece from row `first` on, whose rows are numbered from there in `numbers`.
template <class Id>
column_list::piece narrowed(const column_list::piece& from, const Id* numbers, std::uint64_t first, std::size_t n,
                            const vertex_tasks& tasks) {
  const auto kept = std::make_shared<narrowed_piece>();
  kept->owner = from.owner;
  column_list::piece to{n, from.columns, kept};
  for (column& c : to.columns) {
    const auto known = std::find(kept->before.begin(), kept->before.end(), c.select);
    const auto at = static_cast<std::size_t>(known - kept->before.begin());
    if (known == kept->before.end()) {
      kept->before.push_back(c.select);
      auto* const rows = kept->now.emplace_back(tasks.pool().allocate_array<std::uint32_t>(n)).as<std::uint32_t>();
      tasks.chunks(n, [&, select = c.select](std::size_t begin, std::size_t k) {
        for (std::size_t i = begin; i < begin + k; ++i) {
          const auto row = static_cast<std::uint32_t>(numbers[i] - first);
          rows[i] = select ? select[row] : row;
        }
      });
    }
    c.select = kept->now[at].as<std::uint32_t>();
  }
  return to;
}

}  // namespace

column_list::piece part_of(const column_list::piece& p, std::size_t first, std::size_t n) {
  column_list::piece part{n, {}, p.owner};
  for (const column& c : p.columns) part.columns.push_back(part_of(c, first));
  return part;
}

void reverse_rows(collected_columns& rows, const vertex_tasks& tasks) {
  std::vector<column_list::piece> all;
  for (std::size_t p = rows.pieces.size(); p-- > 0;) {
    const column_list::piece& whole = rows.pieces[p];
    for (std::size_t end = whole.n; end > 0;) {
      const std::size_t k = std::min(end, most_at_once);
      end -= k;
      permutation down(k, k, tasks.pool());
      tasks.chunks(k, [&](std::size_t first, std::size_t n) {
        for (std::size_t i = first; i < first + n; ++i) down.set(i, k - 1 - i);
      });
      down.visit([&](const auto* ids) { all.push_back(narrowed(part_of(whole, end, k), ids, 0, k, tasks)); });
    }
  }
  rows.pieces = std::move(all);
}

void select_rows(collected_columns& rows, const permutation& numbers, const vertex_tasks& tasks) {
  std::vector<column_list::piece> all;
  numbers.visit([&](const auto* ids) {
    const auto* const end = ids + numbers.size();
    const auto* at = ids;
    std::uint64_t before = 0;
    for (const column_list::piece& whole : rows.pieces) {
      for (std::size_t from = 0; from < whole.n && at != end;) {
        const std::size_t k = std::min(whole.n - from, most_at_once);
        const auto* const next = std::lower_bound(at, end, before + from + k);
        const auto n = static_cast<std::size_t>(next - at);
        column_list::piece part = part_of(whole, from, k);
        if (n == k) all.push_back(std::move(part));
        else if (n) all.push_back(narrowed(part, at, before + from, n, tasks));
        at = next;
        from += k;
      }
      before += whole.n;
    }
  });
  rows.pieces = std::move(all);
}

collected_keys::collected_keys(const detail::user_function& f, key_equality custom, const collected_columns& rows,
                               const vertex_tasks& tasks)
    : runs_(f.result, custom) {
  if (add_in_place(f, rows)) return;
  runs_ = key_runs(f.result, custom);
  const column_values values(f, rows.schema);
  const auto list = rows.list(nullptr);
  const auto size = static_cast<std::size_t>(rows.rows());
  computed_.emplace(construct_rows(f.result, size, tasks, [&](std::size_t first, std::size_t n, void* out) {
    interpreter::scratch scratch;
    new_rows made(f.result, out);
    list->each_batch(first, n, column_batch_rows, [&](const column_batch& b) {
      tasks.cancel().check();
      values.map(b.columns, b.n, made.end(), scratch);
      made.grow(b.n);
    });
    made.release();
  }));
  const key_part whole = side_by_side(*f.result, computed_->data());
  runs_.add({&whole, 1}, size);
}

// False: some part is computed, or may be missing, or the user's equality wants keys that are whole.
bool collected_keys::add_in_place(const detail::user_function& f, const collected_columns& rows) {
  const auto key = planner::project(f, rows.schema);
  if (!key) return false;
  for (const planner::projected_part& part : key->parts)
    if (part.computed || part.wraps || part.otherwise || (runs_.custom() && part.type != f.result)) return false;
  std::vector<key_part> parts;
  for (const column_list::piece& piece : rows.pieces) {
    parts.clear();
    for (const planner::projected_part& part : key->parts) {
      const column& c = piece.columns[part.column];
      if (!c.as_stored()) return false;
      parts.push_back({part.type, part.to, static_cast<const std::byte*>(c.base) + part.within, c.stride, c.select, true, c.coded});
    }
    runs_.add(parts, piece.n);
  }
  return true;
}

}  // namespace query::cpu
