#include "cluster/container/partition_work.hpp"

#include <algorithm>
#include <utility>

#include <query/errors.hpp>

#include "cluster/container/written_name.hpp"
#include "cluster/sent_pages.hpp"
#include "runtime/written_rows.hpp"

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

void put_numbers(byte_writer& to, const std::vector<std::uint64_t>& all) {
  to.put(std::uint64_t{all.size()});
  to.put_raw(all.data(), all.size() * sizeof(std::uint64_t));
}
std::vector<std::uint64_t> get_numbers(byte_reader& from) {
  std::vector<std::uint64_t> all(from.get_count(sizeof(std::uint64_t)));
  for (std::uint64_t& x : all) x = from.get<std::uint64_t>();
  return all;
}
void put_heavy_keys(byte_writer& to, const runtime::heavy_keys& keys) {
  put_numbers(to, keys.hashes);
  to.put(std::uint8_t{keys.to_all});
  put_numbers(to, keys.before);
  put_numbers(to, keys.of_all);
}
runtime::heavy_keys get_heavy_keys(byte_reader& from, std::size_t receivers) {
  runtime::heavy_keys keys;
  keys.hashes = get_numbers(from);
  keys.to_all = from.get<std::uint8_t>() != 0;
  keys.before = get_numbers(from);
  keys.of_all = get_numbers(from);
  if (keys && !keys.to_all && (keys.before.size() != receivers || keys.of_all.size() != receivers))
    throw cluster_error("cluster: rows of keys that many have are not told apart");
  return keys;
}

const planner::vertex& partition_work::vertex(std::uint64_t number) const {
  if (graph_->vertices.empty()) throw cluster_error("cluster: a vertex is not there");
  return *graph_->vertices[number % graph_->vertices.size()];
}

// While a task runs: the variables of a loop that it reads, where functions and branches find them. A task of the body reads one, of the
// round; a task of the condition reads two.
class partition_work::variables_in_place {
 public:
  variables_in_place(const partition_work& of, const task& t) : context_(of.context_) {
    std::vector<const variable*> read;
    for (const step_id s : t.reads)  // in their order
      if (const auto known = of.variables_.find(s); known != of.variables_.end()) read.push_back(&known->second);
    if (read.empty()) return;
    const detail::logical& n = *read.front()->loop->node;
    if (read.size() == 1) put(n.slot, *read.front());
    if (read.size() < 2) return;
    put(n.previous_slot, *read.front());
    put(n.next_slot, *read.back());
  }
  ~variables_in_place() {
    for (const std::uint64_t slot : slots_) context_->variables.erase(slot);
  }
  variables_in_place(const variables_in_place&) = delete;
  variables_in_place& operator=(const variables_in_place&) = delete;

 private:
  void put(std::uint64_t slot, const variable& v) {
    context_->variables[slot] = v.rows;
    slots_.push_back(slot);
  }
  runtime::run_context* context_;
  std::vector<std::uint64_t> slots_;
};

task_result partition_work::work(const task& t) {
  task_result r;
  const bool of_result = t.does == work::fold || t.does == work::verify || t.does == work::write;
  const planner::vertex* const v = of_result ? nullptr : &vertex(t.vertex);
  const variables_in_place variables(*this, t);
  if (t.does == work::hold) return hold(t, r), r;
  if (v && is_variable(t.vertex, *graph_)) return work_on_variable(*v, t, r), r;
  byte_reader argument(t.argument);
  byte_writer answer;
  switch (t.does) {
    case work::run: runs_->run_here(*v); break;
    case work::count:
      r.rows = exchanges_.run(*v, t.reads);
      if (v->moves == planner::exchange::hash && !planner::sends_states(*v))
        put_numbers(answer, exchanges_.rows_by_hash(*v, t.reads, static_cast<std::size_t>(graph_->partitions)));
      break;
    case work::sample: {
      const auto share = static_cast<std::size_t>(argument.get<std::uint64_t>());
      if (v->moves == planner::exchange::range) put_pages(answer, exchanges_.sample(*v, t.reads, share));
      else put_numbers(answer, exchanges_.sample_hashes(*v, t.reads, share));
      break;
    }
    case work::send: send(*v, t, r); break;
    case work::receive: receive(*v, t); break;
    case work::hold: break;
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
    case work::write: write(t, r, answer); break;
    case work::verify: session_->cpu->verify(graph_->result, graph_->captures, *context_); break;
  }
  r.answer = answer.take();
  return r;
}

void put_sink(byte_writer& to, const data::folder_sink& sink) {
  to.put(sink.format);
  const csv_options& o = sink.options;
  for (const char c : {o.delimiter, o.quote}) to.put(c);
  for (const bool b : {o.header, o.trim}) to.put(std::uint8_t{b});
  to.put_text(o.null_text);
  to.put_text(o.time_format);
  to.put(std::uint64_t{o.columns.size()});
  for (const csv_column& c : o.columns) {
    to.put_text(c.field);
    to.put_text(c.column);
  }
  to.put_text(sink.folder);
  to.put_text(sink.place);
  to.put(sink.columnar.group_rows);
  to.put(sink.columnar.compression);
  to.put(sink.columnar.level);
  to.put(std::uint8_t{sink.columnar.has_level});
  to.put(static_cast<std::uint32_t>(sink.columnar.partition_by.size()));
  for (const std::string& field : sink.columnar.partition_by) to.put_text(field);
}
data::folder_sink get_sink(byte_reader& from) {
  data::folder_sink sink;
  sink.format = from.get<data::file_format>();
  csv_options& o = sink.options;
  for (char* c : {&o.delimiter, &o.quote}) *c = from.get<char>();
  for (bool* b : {&o.header, &o.trim}) *b = from.get<std::uint8_t>() != 0;
  o.null_text = from.get_text();
  o.time_format = from.get_text();
  for (std::size_t n = from.get_count(2 * sizeof(std::uint64_t)); n; --n) {
    std::string field = from.get_text();
    o.columns.push_back({std::move(field), from.get_text()});
  }
  sink.folder = from.get_text();
  sink.place = from.get_text();
  sink.columnar.group_rows = from.get<std::uint64_t>();
  sink.columnar.compression = from.get<std::uint8_t>();
  sink.columnar.level = from.get<std::int32_t>();
  sink.columnar.has_level = from.get<std::uint8_t>() != 0;
  for (auto n = from.get<std::uint32_t>(); n; --n) sink.columnar.partition_by.push_back(from.get_text());
  return sink;
}

void put_written(byte_writer& to, const std::vector<data::written_file>& files) {
  to.put(static_cast<std::uint64_t>(files.size()));
  for (const data::written_file& f : files) {
    to.put_text(f.name);
    to.put(f.bytes);
    to.put(f.rows);
    to.put_text(f.folder);
  }
}
std::vector<data::written_file> get_written(byte_reader& from) {
  std::vector<data::written_file> files;
  for (auto n = from.get<std::uint64_t>(); n; --n) {
    data::written_file f;
    f.name = from.get_text();
    f.bytes = from.get<std::uint64_t>();
    f.rows = from.get<std::uint64_t>();
    f.folder = from.get_text();
    files.push_back(std::move(f));
  }
  return files;
}

void partition_work::write(const task& t, task_result& r, byte_writer& answer) {
  byte_reader argument(t.argument);
  const data::folder_sink sink = get_sink(argument);
  const std::string name = written_name(argument.get_text(), t.id);
  const std::vector<data::written_file> files = runtime::write_rows(*graph_, sink, name, *session_->cpu, *context_);
  for (const data::written_file& f : files) r.rows += f.rows;
  put_written(answer, files);
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

// The argument: how many receivers there are, who gets the rows, where the ranges of an exchange by range begin, keys that many rows have,
// and of rows that the master hands on in order how many bytes a block has, or a page if that is larger; 0: all.
void partition_work::send(const planner::vertex& v, const task& t, task_result& r) {
  byte_reader from(t.argument);
  const auto receivers = from.get<std::uint64_t>();
  if (receivers > static_cast<std::uint64_t>(graph_->partitions)) throw cluster_error("cluster: partitions that are not there");
  const auto to = from.get<sent_to>();
  const runtime::row_pages begins = get_pages(from, context_->pool);
  const runtime::heavy_keys heavy = get_heavy_keys(from, static_cast<std::size_t>(receivers));
  const auto piece = from.get<std::uint64_t>();
  std::vector<block_store::held_block> held;
  const std::size_t buckets = to == sent_to::all ? 1 : runtime::buckets_of(v, static_cast<std::size_t>(receivers));
  if (to == sent_to::itself && t.id.partition >= buckets) throw cluster_error("cluster: rows cannot stay where they are");
  while (held.size() < buckets) held.push_back(pages_->make());
  r.blocks.resize(held.size());
  const auto wanted = [&](std::size_t b) {
    return t.only.empty() || held.size() == 1 || std::find(t.only.begin(), t.only.end(), b) != t.only.end();
  };
  exchanges_.send(v, t.reads, static_cast<std::size_t>(receivers), begins, heavy, [&](std::size_t b, runtime::row_pages pages) {
    if (to != sent_to::as_planned) b = to == sent_to::all ? 0 : t.id.partition;
    std::vector<std::uint64_t> checksums(pages.size());
    const auto look = [&](std::size_t i) { checksums[i] = checksum_of(pages[i]); };
    if (pages.size() == 1) look(0);  // a task of its own may have made it
    else context_->scheduler.for_each(pages.size(), look, context_->cancel);
    if (piece) {
      for (std::size_t i = 0; i < pages.size(); ++i) {
        if (r.blocks.back().bytes && r.blocks.back().bytes + pages[i].bytes.size() > piece) {
          r.blocks.emplace_back();
          held.push_back(pages_->make());
        }
        add(r.blocks.back(), pages[i], checksums[i]);
        runtime::row_pages one;
        one.push_back(std::move(pages[i]));
        pages_->add(held.back(), std::move(one));
      }
      return;
    }
    // Of all buckets: the master compares those, too, that nobody wants.
    for (std::size_t i = 0; i < pages.size(); ++i) add(r.blocks[b], pages[i], checksums[i]);
    if (wanted(b)) pages_->add(held[b], std::move(pages));
  });
  blocks_->keep(t.id.step, t.id.attempt, std::move(held));
}

namespace {

// A sender's block after the other, as many pages at once as memory has room for beside what is made of them.
struct blocks_feed final : runtime::page_feed {
  std::vector<block_store::held_block> all;
  const std::size_t at_once;  // bytes
  std::uint64_t n = 0, n_bytes = 0;
  std::size_t at = 0, first = 0, page = 0;  // in block `at`, pages [first, page) are those handed out
  std::vector<shared_page> now;
  std::vector<const runtime::row_page*> pages;
  blocks_feed(std::vector<block_store::held_block> held, const task& t, std::size_t bytes_at_once)
      : all(std::move(held)), at_once(bytes_at_once) {
    for (const block& b : t.blocks) {
      n += b.size.rows;
      n_bytes += b.size.bytes;
    }
  }
  std::uint64_t rows() const override { return n; }
  std::uint64_t bytes() const override { return n_bytes; }
  std::span<const runtime::row_page* const> next() override {
    now.clear();
    pages.clear();
    // A block that nobody else holds: what has been read need not go to a file.
    if (page && all[at].use_count() == 1)
      for (std::size_t i = first; i < page; ++i) runtime::page_store::drop(all[at], i);
    first = page;
    for (std::size_t bytes = 0; at < all.size() && bytes < at_once;) {
      if (shared_page p = runtime::page_store::read(all[at], page)) {
        ++page;
        bytes += p->bytes.size();
        pages.push_back(p.get());
        now.push_back(std::move(p));
        continue;
      }
      all[at++] = nullptr;
      first = page = 0;
      if (!pages.empty()) break;
    }
    return pages;
  }
};

}  // namespace

// In the order of senders.
std::vector<block_store::held_block> partition_work::taken(const task& t) {
  std::vector<block_store::held_block> all;
  const std::lock_guard hold(lock_);
  for (const block& b : t.blocks) {
    auto found = inbox_.extract(of(t.id, b));
    if (!found) throw internal_error("query: a block that a task needs is not here");
    all.push_back(std::move(found.mapped()));
  }
  return all;
}

// Receivers have the rows in the order of senders, so that what was in order in partitions one after the other is in order in each of them.
void partition_work::receive(const planner::vertex& v, const task& t) {
  blocks_feed from(taken(t), t, pages_->share_of(1));
  exchanges_.receive(v, from);
}

void partition_work::hold(const task& t, task_result& r) {
  for (const block& b : t.blocks) r.blocks.push_back(b.size);
  blocks_->keep(t.id.step, t.id.attempt, taken(t));
}

void partition_work::work_on_variable(const planner::vertex& loop, const task& t, task_result& r) {
  runtime::vertex_rows rows;
  switch (t.does) {
    case work::run: {
      const auto from = byte_reader(t.argument).get<variable_from>();
      const planner::branch& b = from == variable_from::body ? loop.body_result : loop.inputs.front();
      rows = session_->cpu->keep(b, loop.captures, *context_);
      break;
    }
    case work::receive: {
      blocks_feed from(taken(t), t, pages_->share_of(1));
      rows = session_->cpu->receive_rows(loop.row(), from, *context_);
      break;
    }
    case work::send: return send_variable(loop, t, r);
    default: throw cluster_error("cluster: work that no variable of a loop has");
  }
  r.rows = rows.here() ? rows.rows.n : rows.kept->size();
  variables_[t.id.step] = {&loop, std::move(rows)};
}

void partition_work::send_variable(const planner::vertex& loop, const task& t, task_result& r) {
  const auto known = t.reads.empty() ? variables_.end() : variables_.find(t.reads.front());
  if (known == variables_.end()) throw internal_error("query: the variable of a loop is not here");
  block_store::held_block held = pages_->make();
  r.blocks.resize(1);
  context_->tables[&loop] = known->second.rows;
  session_->cpu->send_rows(loop, known->second.rows, 1, nullptr, {}, [&](std::size_t, runtime::row_pages pages) {
    for (const runtime::row_page& p : pages) add(r.blocks.front(), p, checksum_of(p));
    pages_->add(held, std::move(pages));
  }, *context_);
  context_->tables.erase(&loop);
  blocks_->keep(t.id.step, t.id.attempt, {std::move(held)});
}

void partition_work::forget(const forget_rows& gone) {
  if (gone.in_blocks) blocks_->forget(gone.step);
  else if (is_variable(gone.vertex, *graph_)) variables_.erase(gone.step);
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
