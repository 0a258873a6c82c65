#include "cpu_engine/key_column.hpp"

#include "cpu_engine/function_calls.hpp"

namespace query::cpu {

namespace {
// Tracing a function costs more than calling it for so few rows.
constexpr std::size_t few_rows = 256;
}  // namespace

std::optional<std::size_t> part_of_row(const detail::user_function& f) {
  const ir::traced t = f.trace();
  if (!t || t.root->type != f.result || t.root->id != 0) return std::nullopt;
  if (t.root->what == ir::op::row) return 0;
  if (t.root->what == ir::op::field) return static_cast<std::size_t>(t.root->bits);
  return std::nullopt;
}

key_column::key_column(const detail::user_function& f, bool interpreted, const detail::table& rows, const vertex_tasks& tasks,
                       layout wanted)
    : type_(f.result), stride_(f.result->size), n_(rows.n) {
  if (n_ > few_rows && (wanted == layout::any || rows.type->size == stride_)) {
    if (const auto offset = part_of_row(f)) {
      base_ = static_cast<const std::byte*>(rows.rows) + *offset;
      stride_ = rows.type->size;
      return;
    }
  }
  const function_calls calls(f, interpreted, false);
  computed_.emplace(construct_rows(type_, n_, tasks, [&](std::size_t first, std::size_t k, void* out) {
    interpreter::scratch scratch;
    calls.map(row_at(rows, first), nullptr, k, out, scratch);
  }));
  base_ = computed_->data();
}

}  // namespace query::cpu
