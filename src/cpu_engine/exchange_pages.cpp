#include "cpu_engine/exchange_pages.hpp"

#include <algorithm>
#include <cstring>

#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "cpu_engine/padding.hpp"
#include "cpu_engine/rows_buffer.hpp"
#include "cpu_engine/value_bytes.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t rows_a_look = 1024;

// A page may come from another process: it says how many rows it has, and they say how long they are.
void check(const ir::type& row, const runtime::row_page& page) {
  const auto* from = page.bytes.as<const std::byte>();
  const std::byte* const end = from + page.bytes.size();
  bool whole = row.trivial ? page.rows == page.bytes.size() / row.size : page.rows <= page.bytes.size();
  for (std::uint64_t i = 0; whole && !row.trivial && i < page.rows; ++i) whole = (from = end_of_bytes(row, from, end)) != nullptr;
  if (!whole) throw cluster_error("cluster: a page of rows is damaged");
}

// Where pages begin: rows of about page_bytes each.
std::vector<std::size_t> page_begins(const detail::table& rows, const runtime::cancel_flag& cancel, std::vector<std::size_t>& bytes) {
  std::vector<std::size_t> begins;
  std::size_t in_page = 0;
  for (std::size_t i = 0; i < rows.n; ++i) {
    if (i % rows_a_look == 0) cancel.check();
    const std::size_t n = bytes_of(*rows.type, row_at(rows, i));
    if (begins.empty() || in_page + n > runtime::page_bytes) {
      if (!begins.empty()) bytes.push_back(in_page);
      begins.push_back(i);
      in_page = 0;
    }
    in_page += n;
  }
  if (!begins.empty()) bytes.push_back(in_page);
  return begins;
}
std::vector<std::size_t> page_begins_of_trivial(const detail::table& rows, std::vector<std::size_t>& bytes) {
  std::vector<std::size_t> begins;
  const std::size_t size = rows.type->size, most = std::max<std::size_t>(runtime::page_bytes / size, 1);
  for (std::size_t i = 0; i < rows.n; i += most) {
    begins.push_back(i);
    bytes.push_back(std::min(most, rows.n - i) * size);
  }
  return begins;
}

}  // namespace

runtime::row_pages write_pages(const detail::table& rows, runtime::run_context& context) {
  const ir::type& t = *rows.type;
  std::vector<std::size_t> bytes;
  std::vector<std::size_t> begins = t.trivial ? page_begins_of_trivial(rows, bytes) : page_begins(rows, context.cancel, bytes);
  runtime::row_pages pages(begins.size());
  begins.push_back(rows.n);
  const padding unused(t);
  const vertex_tasks tasks(context, std::vector<detail::binding>{});
  tasks.for_each(pages.size(), [&](std::size_t p) {
    runtime::row_page& page = pages[p];
    page.rows = begins[p + 1] - begins[p];
    page.bytes = context.pool.allocate(bytes[p]);
    auto* to = page.bytes.as<std::byte>();
    page.repeatable = unused.known();
    if (t.trivial) {
      if (bytes[p]) std::memcpy(to, row_at(rows, begins[p]), bytes[p]);
    } else {
      for (std::size_t i = begins[p]; i < begins[p + 1]; ++i) to = write_bytes(t, row_at(rows, i), to);
    }
    if (unused) unused.clear(page.bytes.as<std::byte>(), page.rows);
  });
  return pages;
}

detail::table read_pages(const ir::type* row, std::span<const runtime::row_page* const> pages, runtime::run_context& context) {
  std::vector<std::size_t> first(pages.size() + 1, 0), alive(pages.size(), 0);
  for (std::size_t p = 0; p < pages.size(); ++p) {
    check(*row, *pages[p]);
    first[p + 1] = first[p] + pages[p]->rows;
  }
  rows_buffer out(row, context.pool);
  if (!first.back()) return std::move(out).to_table();
  void* const begin = out.extend(first.back());
  const vertex_tasks tasks(context, std::vector<detail::binding>{});
  try {
    tasks.for_each(pages.size(), [&](std::size_t p) {
      const runtime::row_page& page = *pages[p];
      std::byte* at = static_cast<std::byte*>(begin) + first[p] * row->size;
      const auto* from = page.bytes.as<const std::byte>();
      if (row->trivial) {
        std::memcpy(at, from, page.rows * row->size);
        return;
      }
      const detail::stop_point stop;
      new_rows made(row, at);
      for (std::size_t i = 0; i < page.rows; i += rows_a_look) {
        stop.check();
        const std::size_t n = std::min(rows_a_look, page.rows - i);
        row->life.construct(made.end(), n);
        at = static_cast<std::byte*>(made.end());
        made.grow(n);
        for (std::size_t k = 0; k < n; ++k) from = read_bytes(*row, at + k * row->size, from);
      }
      made.release();
      alive[p] = page.rows;
    });
  } catch (...) {
    std::vector<row_run> runs;
    for (std::size_t p = 0; p < pages.size(); ++p)
      if (alive[p]) runs.push_back({first[p], alive[p]});
    discard_rows(std::move(out), std::move(runs));
    throw;
  }
  out.grow(first.back());
  return std::move(out).to_table();
}

}  // namespace query::cpu
