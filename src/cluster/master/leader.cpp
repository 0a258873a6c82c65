#include "cluster/master/leader.hpp"

#include <algorithm>
#include <cstring>

#include <query/errors.hpp>

#include "cluster/bytes.hpp"
#include "cluster/container/divided_sources.hpp"
#include "planner/cluster_graph.hpp"
#include "planner/partitions.hpp"
#include "runtime/partition_bounds.hpp"
#include "runtime/run_profile.hpp"

namespace query::cluster {

using planner::branch;
using planner::vertex;
using runtime::row_page;
using runtime::row_pages;

// ---------------------------------------------------------------- partitions of this process
leader::leader(planner::machine_graph& first, runtime::session_state& session, runtime::run_context& context,
               std::shared_ptr<const prepared_plan> sent)
    : session_(&session), sent_(std::move(sent)) {
  if (sent_) cluster_ = &static_cast<session_cluster&>(*session.processes);
  all_.resize(sent_ ? 1 : static_cast<std::size_t>(first.partitions));
  // A generator's rows may come from a channel that has handed them out.
  for (const auto& v : first.vertices)
    for (const branch& b : v->inputs)
      replayable_ &= !b.source || b.source->what != detail::verb::source_stream || b.source->count > 0;
  for (std::size_t p = 1; p < all_.size(); ++p) {
    here& part = all_[p];
    part.own_graph = planner::copy_of(first).graph;
    part.graph = part.own_graph.get();
    part.own_context.reset(new runtime::run_context{context.scheduler, context.pool, context.cancel});
    part.context = part.own_context.get();
    part.context->verify = context.verify;
    part.context->local = context.local;
    part.context->temp = context.temp;
    part.context->progress = context.progress;
    part.context->profile = context.profile;
    part.context->pieces = context.pieces;
  }
  all_[0].graph = &first;
  all_[0].context = &context;
  const auto note_source = [&](const branch& b, const vertex* of) {
    if (b.source) sources_[of].push_back(b.source);
  };
  for (const auto& v : first.vertices)
    for (const branch& b : v->inputs) note_source(b, v.get());
  note_source(first.result, nullptr);
  for (std::size_t p = 0; p < all_.size(); ++p) all_[p].context->partition = static_cast<std::uint32_t>(p);
  for (std::size_t p = 0; p < all_.size(); ++p) all_[p].parts_of_sources = divide_sources(*all_[p].graph, p, divided::all);
  for (const auto& v : first.vertices) numbers_.emplace(v.get(), numbers_.size());
}

leader::~leader() {
  end_attending();
  close_all();
}

void leader::leads(runtime::executor& first) {
  end_attending();
  leads_ = &first;
  cached_numbers_.clear();
  if (master_) {
    repaired_before_.hosts += master_->repaired().hosts;
    repaired_before_.tasks += master_->repaired().tasks;
    repaired_before_.copied += master_->repaired().copied;
    repaired_before_.won += master_->repaired().won;
  }
  close_all();
  for (here& p : all_) {
    runtime::executor* runs = &first;
    if (p.own_context) {
      p.context->tables.clear();
      p.context->too_large.clear();
      p.own_executor = std::make_unique<runtime::executor>(*p.graph, *session_, *p.context);
      p.own_executor->begin();
      runs = p.own_executor.get();
    }
    p.work = std::make_unique<partition_work>(*p.graph, *session_, *p.context, *runs);
    p.queue = task_queue(task_queue::within(p.context->pool.limit()));
  }
  begun_ = false;
  loop_ = nullptr;
  now_ = previous_ = 0;
  handing_ = {};
  saving_ = saved_ = {};
  after_saving_.clear();
  steps_.clear();
  placed_.clear();
  revised_.clear();
  stays_.clear();
  vertices_.clear();
  to_do_.clear();
  to_start_.clear();
  errors_.clear();
  there_.assign(parts(), {});
  copy_ = {};
  looked_ = std::chrono::steady_clock::now();
  inbox_ = std::make_shared<leader_inbox>();
  master_.emplace(master::options{.partitions = static_cast<std::uint32_t>(parts()),
                                  .others_from = static_cast<std::uint32_t>(all_.size()),
                                  .replayable = replayable_,
                                  .slow_after = cluster_ ? cluster_->slow_after() : 0});
}

void leader::end_attending() {
  if (attends_) inbox_->close();
  attends_.reset();
  to_forget_.clear();
  error_of_others_ = nullptr;
  works_ = false;
}

// When the first vertex runs: the executor has decided by then what is left to joins.
void leader::begin() {
  if (std::exchange(begun_, true)) return;
  if (sent_) {
    query_ = cluster_->next_query();
    cluster_->blocks().open(query_, all_[0].work->blocks());
    pulls_ = std::make_unique<block_puller>(cluster_->connections(), all_[0].context->pool,
                                            [box = inbox_](block_puller::outcome o) { box->put(std::move(o)); });
  }
  master_actions actions;
  master_->begin(actions);
  act(actions);
  start_hosts();
  for (const auto& v : all_[0].graph->vertices)
    if (v->node && v->node->what == detail::verb::source_file && v->partitions > 1 && !leads_->cached().spared.contains(v.get()))
      place_file(*v);
}

void leader::make_anew(const vertex& v) {
  if (sent_) cached_numbers_[&v] = cluster_->cached().make_anew(v.node->kept_as);
}

bool leader::others_have(const vertex& v) const {
  for (std::uint32_t p = 1; p < static_cast<std::uint32_t>(v.partitions); ++p)
    if (sent_ ? !cluster_->keeps_cached(*v.node, p) : !session_->find_cached(*v.node, v.ordered, runtime::part_of(v, p))) return false;
  return true;
}

// ---------------------------------------------------------------- steps
step_id leader::submit(step s) {
  begin();
  master_actions actions;
  master_->set_time(milliseconds_at(std::chrono::steady_clock::now()));
  const step_id id = master_->submit(std::move(s), actions);
  act(actions);
  return id;
}

step_id leader::submit(const vertex* v, work does, int partitions, step_id receives, std::vector<std::vector<std::byte>> arguments) {
  step s{numbers_.at(v), does, static_cast<std::uint32_t>(partitions), {}, receives, std::move(arguments), loop_ != nullptr};
  if (!receives) s.reads = reads_of(*v);
  waits_for_ = v;
  const step_id id = submit(std::move(s));
  steps_[v].push_back(id);
  if (does == work::run) vertices_[id] = v;
  return id;
}

// Of vertices that are no step of their own, as their rows are handed on, what they read.
void leader::add_reads(std::vector<step_id>& reads, const vertex* table) const {
  if (!table) return;
  if (const auto known = steps_.find(table); known != steps_.end()) {
    reads.push_back(known->second.back());
    return;
  }
  if (const auto file = placed_.find(table); file != placed_.end()) reads.push_back(file->second);
  if (table->partitions == 1) return;
  for (const branch& b : table->inputs) add_reads(reads, b);
  for (const planner::binding& b : table->captures) add_reads(reads, b.table);
}
void leader::add_reads(std::vector<step_id>& reads, const branch& b) const {
  if (loop_ && b.source && b.source->what == detail::verb::placeholder) {
    const detail::logical& n = *loop_->node;
    const std::uint64_t slot = b.source->slot;
    if (slot == n.slot) reads.push_back(now_);
    if (slot == n.previous_slot || slot == n.next_slot) reads.insert(reads.end(), {previous_, now_});
  }
  add_reads(reads, b.table);
  for (const planner::stage& s : b.stages) add_reads(reads, s.build);
}
std::vector<step_id> leader::reads_of(const vertex& v) const {
  std::vector<step_id> reads;
  if (v.partitions == 1) return reads;  // tables of the first partition, which runs them
  if (const auto file = placed_.find(&v); file != placed_.end()) reads.push_back(file->second);
  for (const branch& b : v.inputs) add_reads(reads, b);
  for (const planner::binding& b : v.captures) add_reads(reads, b.table);
  std::sort(reads.begin(), reads.end());
  reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
  return reads;
}

void leader::wait_here(step_id s) {
  go_on([&] {
    for (std::uint32_t p = 0; p < all_.size(); ++p)
      if (master_->has(s, p) && !master_->done(s, p)) return false;
    return true;
  });
}
void leader::wait(step_id s) {
  go_on([&] { return master_->done(s); });
}

void leader::run(const vertex& v) {
  if (v.moves) return exchange(v);
  if (v.partitions == 1) {
    all_[0].work->run_here(v);
    return;
  }
  wait_here(submit(&v, work::run, v.partitions));
}

// Those who have the file as this process has it share its bytes. Where a part begins within quotes is known once all before it have been
// counted, each part by its reader.
void leader::place_file(const vertex& v) {
  const std::uint64_t number = number_of_part(numbers_.at(&v), *all_[0].graph);
  const auto all = static_cast<std::uint32_t>(v.partitions);
  const auto asked = [&](work does, std::vector<std::vector<std::byte>> arguments) {
    return submit(step{number, does, all, {}, 0, std::move(arguments)});
  };
  waits_for_ = &v;
  const step_id finds = asked(work::find, {});
  wait(finds);
  const auto found = [&](std::uint32_t p) { return byte_reader(master_->result(finds, p).answer).get<data::file_state>(); };
  const data::file_state file = found(0);
  std::vector<data::file_part> parts(all, {0, 0, false, false, file});
  std::vector<std::uint32_t> readers;
  for (std::uint32_t p = 0; p < all; ++p)
    if (found(p) == file) readers.push_back(p);
  std::uint64_t begin = 0;
  for (std::uint32_t p = 0; p < all; ++p) {
    const auto reader = static_cast<std::size_t>(std::find(readers.begin(), readers.end(), p) - readers.begin());
    parts[p].begin = begin;
    if (reader < readers.size()) begin = reader + 1 == readers.size() ? file.bytes : file.bytes / readers.size() * (reader + 1);
    parts[p].end = begin;
  }
  const auto ranges = [&](const auto& put) {
    std::vector<std::vector<std::byte>> arguments;
    for (const data::file_part& part : parts) {
      byte_writer w;
      put(w, part);
      arguments.push_back(w.take());
    }
    return arguments;
  };
  const step_id looks = asked(work::look, ranges([](byte_writer& w, const data::file_part& part) {
    w.put(part.begin);
    w.put(part.end);
  }));
  wait(looks);
  bool quoted = false, open = false;
  for (std::uint32_t p = 0; p < all; ++p) {
    parts[p].begin_is_quoted = quoted;
    const auto seen = byte_reader(master_->result(looks, p).answer).get<data::quotes_seen>();
    if (seen.file_begins) {
      open |= seen.is_odd || quoted != (seen.until_begin % 2 != 0);
      quoted = false;
    }
    quoted = quoted != (seen.n % 2 != 0);
    parts[p].end_is_quoted = quoted;
  }
  // A quote that is never closed is what its reader finds, if that reads all.
  if (quoted || open)
    for (std::uint32_t p = 0; p < all; ++p) parts[p] = {p ? file.bytes : 0, file.bytes, false, false, file};
  placed_[&v] = asked(work::place, ranges([](byte_writer& w, const data::file_part& part) { w.put(part); }));
}

// Of all partitions' rows: a part of each one's, in proportion to their number, is sent to the first one, which chooses.
std::vector<std::byte> leader::begins_of_ranges(const vertex& v) {
  constexpr std::size_t samples_a_range = 256;
  const std::size_t wanted = samples_a_range * parts();
  const auto senders = static_cast<std::uint32_t>(v.partitions);
  const step_id counts = submit(&v, work::count, v.partitions);
  wait(counts);
  std::size_t all = 0;
  for (std::uint32_t p = 0; p < senders; ++p) all += static_cast<std::size_t>(master_->result(counts, p).rows);
  std::vector<std::vector<std::byte>> shares;
  for (std::uint32_t p = 0; p < senders; ++p) {
    const std::uint64_t rows = master_->result(counts, p).rows;
    byte_writer share;
    share.put(all <= wanted ? rows : (rows * wanted + all - 1) / all);
    shares.push_back(share.take());
  }
  const step_id samples = submit(&v, work::sample, v.partitions, 0, std::move(shares));
  wait(samples);
  const auto count = [&](const row_pages& pages) {
    const block_size s = size_of(pages);
    session_->sent_rows += s.rows;
    session_->sent_bytes += s.bytes;
  };
  std::vector<row_pages> of_each;
  for (std::uint32_t p = 0; p < senders; ++p) {
    byte_reader from(master_->result(samples, p).answer);
    of_each.push_back(get_pages(from, all_[0].context->pool));
    count(of_each.back());
  }
  std::vector<const row_pages*> in_their_order;
  for (const row_pages& pages : of_each) in_their_order.push_back(&pages);
  const row_pages begins = all_[0].work->exchanges().begins_of_ranges(v, runtime::in_order(in_their_order), parts());
  count(begins);
  byte_writer to;
  put_pages(to, begins);
  return to.take();
}

// Of an exchange by place, for each sender: where its rows for each receiver end. All rows are counted first.
std::vector<std::vector<std::byte>> leader::ends_of_places(const vertex& v) {
  const step_id counts = submit(&v, work::count, v.partitions);
  wait(counts);
  std::size_t all = 0, before = 0;
  const auto senders = static_cast<std::uint32_t>(v.partitions);
  const auto rows_of = [&](std::uint32_t p) { return static_cast<std::size_t>(master_->result(counts, p).rows); };
  for (std::uint32_t p = 0; p < senders; ++p) all += rows_of(p);
  const auto made = static_cast<std::size_t>(v.node->count);
  std::vector<std::vector<std::byte>> of_senders;
  for (std::uint32_t p = 0; p < senders; ++p) {
    const std::size_t here = rows_of(p);
    std::vector<std::uint64_t> ends;
    for (std::size_t r = 0; r < parts(); ++r) {
      const std::size_t end = runtime::even_end(all, made, planner::owned_by(r, made, parts()).end);
      ends.push_back(std::clamp(end, before, before + here) - before);
    }
    before += here;
    row_pages one(1);
    one[0].rows = ends.size();
    one[0].bytes = all_[0].context->pool.allocate(ends.size() * sizeof(std::uint64_t));
    std::memcpy(one[0].bytes.data(), ends.data(), one[0].bytes.size());
    byte_writer to;
    put_pages(to, one);
    of_senders.push_back(to.take());
  }
  return of_senders;
}

void leader::exchange(const vertex& v) {
  const bool gathers = v.moves == planner::exchange::gather;
  const revision now = revised(v);
  std::vector<std::vector<std::byte>> begins;  // for each sender, or one for all
  if (planner::sends_by_place(v)) begins = ends_of_places(v);
  else if (v.moves == planner::exchange::range) begins.push_back(begins_of_ranges(v));
  const auto argument = [&](std::size_t sender) {
    byte_writer to;
    to.put(std::uint64_t{gathers ? 1 : parts()});
    to.put(now.to);
    if (begins.empty()) put_pages(to, {});
    else to.put_raw(begins[std::min(sender, begins.size() - 1)].data(), begins[std::min(sender, begins.size() - 1)].size());
    put_heavy_keys(to, now.of_sender(sender));
    return to;
  };
  if (&v == handed_on_) return begin_handing_on(v, argument(0));
  std::vector<std::vector<std::byte>> arguments;
  for (std::size_t p = 0; p < std::max({now.rows.size(), begins.size(), std::size_t{1}}); ++p) {
    byte_writer to = argument(p);
    to.put(std::uint64_t{0});
    arguments.push_back(to.take());
  }
  const step_id sends = submit(&v, work::send, v.partitions, 0, std::move(arguments));
  if (now.to == sent_to::itself) stays_.insert(sends);
  wait_here(submit(&v, work::receive, gathers ? 1 : all_[0].graph->partitions, sends));
  note_skew(v, sends);
}

void leader::forget(const std::vector<vertex*>& vs) {
  std::vector<step_id> gone;
  for (const vertex* v : vs)
    if (const auto known = steps_.find(v); known != steps_.end()) gone.insert(gone.end(), known->second.begin(), known->second.end());
  // All at once: a loss may make one run again while another is waited for.
  go_on([&] { return std::all_of(gone.begin(), gone.end(), [&](step_id s) { return master_->done(s); }); });
  for (const vertex* v : vs) steps_.erase(v);
  for (const step_id s : gone) vertices_.erase(s);
  release(gone);
}
void leader::release(const std::vector<step_id>& gone) {
  if (gone.empty()) return;
  master_actions actions;
  master_->release(gone, actions);
  act(actions);
}

// ---------------------------------------------------------------- the result
std::optional<std::uint64_t> leader::rows_of_result() const {
  std::uint64_t rows = 0;
  const auto partitions = static_cast<std::size_t>(all_[0].graph->result_partitions);
  if (partitions > 1 && sent_) return std::nullopt;
  for (std::size_t p = 0; p < partitions; ++p) {
    const auto r = all_[p].context->tables.find(all_[p].graph->result.table);
    if (r == all_[p].context->tables.end()) return std::nullopt;
    rows += r->second.here() ? r->second.rows.n : r->second.kept->size();
  }
  return rows;
}

step_id leader::step_of_result(work does, std::vector<std::vector<std::byte>> arguments) {
  const planner::machine_graph& g = *all_[0].graph;
  step s{0, does, static_cast<std::uint32_t>(g.result_partitions), {}, 0, std::move(arguments)};
  if (g.result_partitions > 1) {
    add_reads(s.reads, g.result);
    for (const planner::binding& b : g.captures) add_reads(s.reads, b.table);
  }
  waits_for_ = nullptr;
  return submit(std::move(s));
}

void leader::verify_result() {
  wait(step_of_result(work::verify, {}));
}

std::string leader::repairs() const {
  master::repairs r = repaired_before_;
  if (master_) {
    r.hosts += master_->repaired().hosts;
    r.tasks += master_->repaired().tasks;
    r.copied += master_->repaired().copied;
    r.won += master_->repaired().won;
  }
  const auto counted = [](std::uint64_t n, const char* one, const char* more) { return std::to_string(n) + (n == 1 ? one : more); };
  std::string told;
  if (r.copied)
    told = counted(r.copied, " task was copied because its process was slow", " tasks were copied because their processes were slow");
  if (r.won) told += ", and " + counted(r.won, " copy was done first", " copies were done first");
  if (!r.hosts && !r.tasks && !rounds_again_) return told;
  if (r.copied) told += "; ";
  if (r.hosts || !r.copied) told += counted(r.hosts, " process was lost, ", " processes were lost, ");
  return told + counted(r.tasks, " task ran again", " tasks ran again") +
         (rounds_again_ ? ", and " + counted(rounds_again_, " round of a loop", " rounds of a loop") : std::string());
}

void leader::count_pieces() {
  for (const here& p : all_) {
    if (!p.own_context) continue;
    for (const auto& [verb, pieces] : p.context->of_vertices) {
      const runtime::counted_pieces first(*all_[0].context, verb);
      all_[0].context->pieces->add(*pieces);
    }
  }
}

void leader::fold(detail::fold_kind k, detail::fold_state& state) {
  const auto partitions = static_cast<std::uint32_t>(all_[0].graph->result_partitions);
  std::vector<std::vector<std::byte>> arguments;
  for (std::uint32_t p = 0; p < partitions; ++p) {
    byte_writer argument;
    argument.put(k);
    argument.put(p ? detail::fold_state{} : state);
    arguments.push_back(argument.take());
  }
  const step_id folds = step_of_result(work::fold, std::move(arguments));
  wait(folds);
  for (std::uint32_t p = 0; p < partitions; ++p) {
    const auto part = byte_reader(master_->result(folds, p).answer).get<detail::fold_state>();
    if (p == 0) {
      state = part;
      continue;
    }
    session_->cpu->merge(k, all_[0].graph->result.row, state, part);
    progressed();
  }
}

std::vector<std::vector<data::written_file>> leader::write(const data::folder_sink& to) {
  byte_writer argument;
  put_sink(argument, to);
  argument.put_text(std::to_string(++writes_) + "-");
  const step_id writes = step_of_result(work::write, {argument.take()});
  wait(writes);
  std::vector<std::vector<data::written_file>> files;
  for (std::uint32_t p = 0; p < static_cast<std::uint32_t>(all_[0].graph->result_partitions); ++p) {
    const task_result& r = master_->result(writes, p);
    byte_reader answer(r.answer);
    files.push_back(get_written(answer));
    if (p) progressed();
  }
  return files;
}

}  // namespace query::cluster

namespace query::runtime {

std::unique_ptr<partitions> make_partitions(planner::machine_graph& first, session_state& session, run_context& context,
                                            std::shared_ptr<const cluster::prepared> sent) {
  return std::make_unique<query::cluster::leader>(first, session, context,
                                                  std::static_pointer_cast<const query::cluster::prepared_plan>(std::move(sent)));
}

}  // namespace query::runtime
