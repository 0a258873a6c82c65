#include "cpu_engine/exchange_pages.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "cpu_engine/padding.hpp"
#include "cpu_engine/rows_buffer.hpp"
#include "cpu_engine/stored_sequence.hpp"
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

// All, unless memory has a limit: then few enough for the others to leave it.
std::size_t pages_at_once(const runtime::run_context& context) {
  constexpr std::size_t share = 16;  // of the memory
  if (!context.pool.limit()) return ~std::size_t{0};
  return std::max<std::size_t>(1, context.pool.limit() / share / runtime::page_bytes);
}

}  // namespace

void write_pages(const detail::table& rows, runtime::page_sink take, runtime::run_context& context) {
  const ir::type& t = *rows.type;
  std::vector<std::size_t> bytes;
  std::vector<std::size_t> begins = t.trivial ? page_begins_of_trivial(rows, bytes) : page_begins(rows, context.cancel, bytes);
  const std::size_t all = begins.size(), at_once = pages_at_once(context);
  begins.push_back(rows.n);
  const padding unused(t);
  const vertex_tasks tasks(context, std::vector<detail::binding>{});
  for (std::size_t first = 0; first < all; first += at_once) {
    runtime::row_pages pages(std::min(at_once, all - first));
    tasks.for_each(pages.size(), [&](std::size_t i) {
      const std::size_t p = first + i;
      runtime::row_page& page = pages[i];
      page.rows = begins[p + 1] - begins[p];
      page.bytes = context.pool.allocate(bytes[p]);
      page.repeatable = unused.known();
      auto* to = page.bytes.as<std::byte>();
      if (t.trivial) {
        if (bytes[p]) std::memcpy(to, row_at(rows, begins[p]), bytes[p]);
      } else {
        for (std::size_t r = begins[p]; r < begins[p + 1]; ++r) to = write_bytes(t, row_at(rows, r), to);
      }
      if (unused) unused.clear(page.bytes.as<std::byte>(), page.rows);
    });
    take(std::move(pages));
  }
}

runtime::row_pages write_pages(const detail::table& rows, runtime::run_context& context) {
  runtime::row_pages all;
  write_pages(rows, [&](runtime::row_pages some) { std::move(some.begin(), some.end(), std::back_inserter(all)); }, context);
  return all;
}

namespace {

detail::table read_feed(const ir::type* row, runtime::page_feed& from, runtime::run_context& context) {
  const std::size_t all = static_cast<std::size_t>(from.rows());
  rows_buffer out(row, context.pool);
  if (!all) return std::move(out).to_table();
  void* const begin = out.extend(all);
  const vertex_tasks tasks(context, std::vector<detail::binding>{});
  std::vector<row_run> runs;  // that are alive
  std::size_t next = 0;
  try {
    for (auto pages = from.next(); !pages.empty(); pages = from.next()) {
      std::vector<std::size_t> first{next};
      for (const runtime::row_page* page : pages) {
        check(*row, *page);
        if (page->rows > all - first.back()) throw cluster_error("cluster: there are more rows than a sender said");
        first.push_back(first.back() + page->rows);
      }
      const std::size_t before = runs.size();
      runs.resize(before + pages.size());
      tasks.for_each(pages.size(), [&](std::size_t p) {
        const runtime::row_page& page = *pages[p];
        std::byte* at = static_cast<std::byte*>(begin) + first[p] * row->size;
        const auto* bytes = page.bytes.as<const std::byte>();
        if (row->trivial) {
          if (page.rows) std::memcpy(at, bytes, page.rows * row->size);
        } else {
          const detail::stop_point stop;
          new_rows made(row, at);
          for (std::size_t i = 0; i < page.rows; i += rows_a_look) {
            stop.check();
            const std::size_t n = std::min(rows_a_look, page.rows - i);
            row->life.construct(made.end(), n);
            at = static_cast<std::byte*>(made.end());
            made.grow(n);
            for (std::size_t k = 0; k < n; ++k) bytes = read_bytes(*row, at + k * row->size, bytes);
          }
          made.release();
        }
        runs[before + p] = {first[p], page.rows};
      });
      next = first.back();
    }
    if (next != all) throw cluster_error("cluster: there are fewer rows than a sender said");
  } catch (...) {
    std::erase_if(runs, [](const row_run& r) { return r.n == 0; });
    discard_rows(std::move(out), std::move(runs));
    throw;
  }
  out.grow(all);
  return std::move(out).to_table();
}

}  // namespace

runtime::vertex_rows receive_pages(const ir::type* row, runtime::page_feed& from, runtime::run_context& context) {
  constexpr std::uint64_t table_share = 8;  // of the memory
  const std::uint64_t bytes = std::max<std::uint64_t>(from.rows() * row->size, from.bytes());
  const bool may_leave = context.pool.limit() && context.temp && !context.shared && stored_sequence::can_keep(row);
  if (!may_leave || bytes <= context.pool.limit() / table_share) return read_feed(row, from, context);
  auto rows = std::make_shared<stored_sequence>(row, nullptr, 1, context);
  stored_sequence::writer to(*rows, 0);
  for (auto pages = from.next(); !pages.empty(); pages = from.next())
    for (const runtime::row_page* const page : pages) {
      context.cancel.check();
      const detail::table some = read_pages(row, {&page, 1}, context);
      to.push({const_cast<void*>(some.rows), some.n, 0, true});
    }
  to.finish();
  rows->finish(context);
  return runtime::vertex_rows(std::move(rows));
}

detail::table read_pages(const ir::type* row, std::span<const runtime::row_page* const> pages, runtime::run_context& context) {
  for (const runtime::row_page* page : pages) check(*row, *page);  // before there is memory for so many rows
  runtime::pages_here all(pages);
  return read_feed(row, all, context);
}

}  // namespace query::cpu
