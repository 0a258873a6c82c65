#include "cluster/container/partition_work.hpp"

#include <algorithm>
#include <utility>

#include <query/errors.hpp>

#include "cluster/sent_pages.hpp"

namespace query::cluster {

void put_pages(byte_writer& to, const runtime::row_pages& pages) {
  to.put(std::uint64_t{pages.size()});
  for (const runtime::row_page& p : pages) {
    to.put(std::uint64_t{p.rows});
    to.put_text({p.bytes.as<const char>(), p.bytes.size()});
  }
}
runtime::row_pages get_pages(byte_reader& from, runtime::buffer_pool& pool) {
  runtime::row_pages pages;
  for (std::size_t n = from.get_count(2 * sizeof(std::uint64_t)); n; --n) {
    const auto rows = from.get<std::uint64_t>();
    byte_reader page(from.get_raw(from.get_count(1)));
    pages.push_back(read_page(page, rows, pool));
  }
  return pages;
}

const planner::vertex& partition_work::vertex(std::uint64_t number) const {
  if (number >= graph_->vertices.size()) number -= graph_->vertices.size();
  if (number >= graph_->vertices.size()) throw cluster_error("cluster: a vertex is not there");
  return *graph_->vertices[number];
}

task_result partition_work::work(const task& t) {
  task_result r;
  const bool of_result = t.does == work::fold || t.does == work::verify;
  const planner::vertex* const v = of_result ? nullptr : &vertex(t.vertex);
  byte_reader argument(t.argument);
  byte_writer answer;
  switch (t.does) {
    case work::run: runs_->run_here(*v); break;
    case work::count: r.rows = exchanges_.run(*v); break;
    case work::sample:
      put_pages(answer, exchanges_.sample(*v, static_cast<std::size_t>(argument.get<std::uint64_t>()))); break;
    case work::send: send(*v, t, r); break;
    case work::receive: receive(*v, t); break;
    case work::fold: {
      const auto k = argument.get<detail::fold_kind>();
      auto state = argument.get<detail::fold_state>();
      session_->cpu->fold(graph_->result, graph_->captures, k, state, *context_);
      answer.put(state);
      break;
    }
    case work::find:
    case work::look:
    case work::place: of_file(*v, t, answer); break;
    case work::verify: session_->cpu->verify(graph_->result, graph_->captures, *context_); break;
  }
  r.answer = answer.take();
  return r;
}

void partition_work::of_file(const planner::vertex& v, const task& t, byte_writer& answer) {
  if (!v.node || v.node->what != detail::verb::source_file) throw cluster_error("cluster: a vertex is no file");
  byte_reader argument(t.argument);
  if (t.does == work::find) {
    answer.put(session_->cpu->state_of_file(v));
  } else if (t.does == work::look) {
    const auto begin = argument.get<std::uint64_t>(), end = argument.get<std::uint64_t>();
    answer.put(session_->cpu->quotes_in_file(v, begin, end, *context_));
  } else {
    context_->parts_of_files[&v] = argument.get<data::file_part>();
  }
}

// The argument: how many receivers there are, and where the ranges of an exchange by range begin.
void partition_work::send(const planner::vertex& v, const task& t, task_result& r) {
  byte_reader from(t.argument);
  const auto receivers = from.get<std::uint64_t>();
  if (receivers > static_cast<std::uint64_t>(graph_->partitions)) throw cluster_error("cluster: partitions that are not there");
  const runtime::row_pages begins = get_pages(from, context_->pool);
  std::vector<block_store::held_block> held;
  while (held.size() < runtime::buckets_of(v, static_cast<std::size_t>(receivers))) held.push_back(pages_->make());
  r.blocks.resize(held.size());
  const auto wanted = [&](std::size_t b) {
    return t.only.empty() || held.size() == 1 || std::find(t.only.begin(), t.only.end(), b) != t.only.end();
  };
  exchanges_.send(v, static_cast<std::size_t>(receivers), begins, [&](std::size_t b, runtime::row_pages pages) {
    std::vector<std::uint64_t> checksums(pages.size());
    const auto look = [&](std::size_t i) { checksums[i] = checksum_of(pages[i]); };
    if (pages.size() == 1) look(0);  // a task of its own may have made it
    else context_->scheduler.for_each(pages.size(), look, context_->cancel);
    // Of all buckets: the master compares those, too, that nobody wants.
    for (std::size_t i = 0; i < pages.size(); ++i) add(r.blocks[b], pages[i], checksums[i]);
    if (wanted(b)) pages_->add(held[b], std::move(pages));
  });
  blocks_->keep(t.id.step, t.id.attempt, std::move(held));
}

// Receivers have the rows in the order of senders, so that what was in order in partitions one after the other is in order in each of them.
void partition_work::receive(const planner::vertex& v, const task& t) {
  // A sender's block after the other: those before it have gone.
  struct feed final : runtime::page_feed {
    std::vector<block_store::held_block> all;
    std::uint64_t n = 0, n_bytes = 0;
    std::size_t at = 0;
    shared_pages now;
    std::vector<const runtime::row_page*> pages;
    std::uint64_t rows() const override { return n; }
    std::uint64_t bytes() const override { return n_bytes; }
    std::span<const runtime::row_page* const> next() override {
      now = nullptr;
      pages.clear();
      while (pages.empty() && at < all.size()) {
        now = runtime::page_store::read(std::exchange(all[at++], nullptr));
        for (const runtime::row_page& p : *now) pages.push_back(&p);
      }
      return pages;
    }
  } from;
  {
    const std::lock_guard hold(lock_);
    for (const block& b : t.blocks) {
      auto found = inbox_.extract(of(t.id, b));
      if (!found) throw internal_error("query: a block that a task needs is not here");
      from.all.push_back(std::move(found.mapped()));
      from.n += b.size.rows;
      from.n_bytes += b.size.bytes;
    }
  }
  exchanges_.receive(v, from);
}

void partition_work::forget(const forget_rows& gone) {
  if (gone.in_blocks) blocks_->forget(gone.step);
  else if (gone.vertex < graph_->vertices.size()) context_->tables.erase(&vertex(gone.vertex));
}

void partition_work::arrived(const task_id& t, const block& b, block_store::held_block held) {
  const std::lock_guard hold(lock_);
  inbox_[of(t, b)] = std::move(held);
}
void partition_work::discard(const task_id& t, const block& b) {
  const std::lock_guard hold(lock_);
  inbox_.erase(of(t, b));
}

}  // namespace query::cluster
