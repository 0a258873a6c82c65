#include "runtime/divided_vertex.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "runtime/executor.hpp"
#include "runtime/row_range.hpp"
#include "runtime/run_history.hpp"
#include "runtime/shared_rows.hpp"
#include "runtime/thread_pool.hpp"

namespace query::runtime {

using planner::branch;
using planner::engine_share;
using planner::stage;

namespace {

std::uint64_t rows_in(const detail::logical& source) {
  detail::row_block rows;
  source.view(source.source.get(), rows);
  return rows.n;
}

// `place`: 0 of the CPU's rows, which are the source's first, if there are any; else the number of the first that `rows` reads, from 1.
using part_work = function_ref<void(std::uint64_t place, engine& by, const branch& rows, run_context& context)>;

// All engines at work on one branch at once, until no row is left; returns when all have ended. One thread for each engine but the CPU's,
// which this one drives.
class parts_run {
 public:
  parts_run(const branch& b, const std::vector<engine_share>& shares, const std::vector<planner::binding>& captures, session_state& session,
            run_context& context)
      : branch_(b), rows_(rows_in(*b.source)), session_(&session), context_(&context),
        stop_([&context] { return context.cancel.stopped(); }, std::nullopt), watched_(session.deadlines.follow(stop_)) {
    stop_.check_divisions(context.cancel.checks_them());
    stop_.count_in(context.pool);
    for (const engine_share& s : shares) {
      if (engine* const other = session.engine_named(s.engine)) others_.emplace_back(s, *other, rows_);
      else local_threads_ = s.threads;
    }
    // All of them read these: brought here once.
    for (const planner::binding& c : captures) (void)context.table_of(*c.table);
  }

  // What engines failed with; the CPU has then run what they had taken last, and what they would have taken.
  std::string run(part_work work) {
    {
      std::vector<std::thread> threads;
      const struct joined {
        std::vector<std::thread>& all;
        ~joined() {
          for (std::thread& t : all) t.join();
        }
      } at_the_end{threads};
      for (other& o : others_) start(threads, o, work);
      run_local(work);
    }
    context_->cancel.check();
    if (error_) std::rethrow_exception(error_);
    std::string why;
    for (const other& o : others_) {
      if (o.failed.empty()) continue;
      why += (why.empty() ? "" : "; ") + std::string(o.by->name()) + ": " + o.failed;
      if (o.left.size()) on_range(o.left, [&](const branch& rows) { work(o.left.first + 1, *session_->cpu, rows, *context_); });
    }
    return why;
  }
  bool in_place() const { return rows_.in_place; }

 private:
  struct other {
    other(const engine_share& s, engine& e, shared_rows& rows) : share(&s), by(&e), chunks(rows, s.share), first(chunks.next()) {}
    const engine_share* share;
    engine* by;
    shared_rows::taker chunks;
    row_span first;           // taken before the CPU, which is quick to start, can have all
    row_span left = {};       // the chunk that it failed on
    std::string failed = {};  // with what
  };

  void start(std::vector<std::thread>& threads, other& o, part_work work) {
    try {
      threads.emplace_back([this, &o, work] {
        const detail::stop_scope scope(stop_.state());
        std::optional<thread_pool> pool;
        try {
          pool.emplace(o.share->threads);
        } catch (const std::system_error& e) {
          give_up(o, e);
          return;
        }
        try {
          for (row_span chunk = o.first; chunk.size(); chunk = o.chunks.next())
            if (!run_chunk(o, chunk, *pool, work)) return;
        } catch (...) {
          end_all();
        }
      });
    } catch (const std::system_error& e) {
      give_up(o, e);
    }
  }
  // Before it has begun: there are no threads.
  static void give_up(other& o, const std::exception& why) {
    o.failed = why.what();
    o.left = o.first;
  }

  // False after trouble of the engine's, which the CPU may not have; all else stops the others.
  bool run_chunk(other& o, row_span chunk, scheduler& threads, part_work work) {
    std::string why;
    for (int times = 0; times <= o.by->retries(); ++times) {
      stop_.check();
      try {
        run_context own{threads, context_->pool, stop_};
        join(own);
        on_range(chunk, [&](const branch& rows) { work(chunk.first + 1, *o.by, rows, own); });
        return true;
      } catch (const resource_error& trouble) {
        why = trouble.what();
      } catch (const cluster_error& trouble) {
        why = trouble.what();
      } catch (const internal_error& trouble) {
        why = trouble.what();
      }
    }
    stop_.check();
    o.failed = why;
    o.left = chunk;
    return false;
  }

  void run_local(part_work work) {
    const detail::stop_scope scope(stop_.state());
    try {
      const auto threads = session_->cpu->make_scheduler(local_threads_);
      measured_scheduler measured(*threads, context_->profile.get());
      run_context own{measured, context_->pool, stop_};
      join(own);
      own.progress = context_->progress;
      own.shared = &rows_;
      work(0, *session_->cpu, branch_, own);
    } catch (...) {
      end_all();
    }
  }

  // The first exception is the query's.
  void end_all() {
    const std::lock_guard hold(lock_);
    if (!error_) error_ = std::current_exception();
    stop_.cancel();
  }

  void join(run_context& own) const {
    own.local = context_->local;
    own.pieces = context_->pieces;
    own.temp = context_->temp;
    own.profile = context_->profile;
    own.tables = context_->tables;
    own.too_large = context_->too_large;
  }
  template <class Work> void on_range(row_span span, Work work) {
    const row_range range(*branch_.source, span.first, span.end);
    branch rows = branch_;
    rows.source = range.node();
    work(rows);
  }

  branch branch_;
  shared_rows rows_;
  std::deque<other> others_;
  int local_threads_ = 1;
  session_state* session_;
  run_context* context_;
  cancel_flag stop_;  // of all; asks the query's own
  std::unique_ptr<deadline_watch::watched> watched_;
  std::mutex lock_;
  std::exception_ptr error_;  // the first
};

// What engines made, by its place. Thread-safe until it is read.
template <class T> class made_parts {
 public:
  void put(std::uint64_t place, T made) {
    const std::lock_guard hold(lock_);
    all_.insert_or_assign(place, std::move(made));
  }
  std::map<std::uint64_t, T>& in_order() { return all_; }

 private:
  std::mutex lock_;
  std::map<std::uint64_t, T> all_;
};

void copy(std::byte* to, const detail::table& from, std::size_t bytes, run_context& context) {
  constexpr std::size_t piece = std::size_t{1} << 20;
  context.scheduler.for_each((bytes + piece - 1) / piece, [&](std::size_t i) {
    std::memcpy(to + i * piece, static_cast<const std::byte*>(from.rows) + i * piece, std::min(piece, bytes - i * piece));
  }, context.cancel);
}

// Rows that own no memory, one table behind the other.
detail::table side_by_side(std::map<std::uint64_t, detail::table>& all, const ir::type* row, run_context& context) {
  std::erase_if(all, [](const auto& t) { return t.second.n == 0; });
  if (all.size() == 1) return all.begin()->second;
  detail::table t;
  t.type = row;
  for (const auto& [place, x] : all) t.n += x.n;
  auto memory = std::make_shared<buffer>(context.pool.allocate(buffer_pool::checked_bytes(t.n ? t.n : 1, row->size)));
  std::byte* to = memory->as<std::byte>();
  for (const auto& [place, x] : all) {
    copy(to, x, x.n * row->size, context);
    to += x.n * row->size;
  }
  t.rows = memory->data();
  t.owner = std::move(memory);
  return t;
}

// The CPU's table has room for the rows of all.
detail::table in_place(std::map<std::uint64_t, detail::table>& all, const ir::type* row, run_context& context) {
  detail::table t = all.at(0);
  for (const auto& [place, x] : all) {
    if (place == 0) continue;
    copy(static_cast<std::byte*>(const_cast<void*>(t.rows)) + (place - 1) * row->size, x, x.n * row->size, context);
    t.n += x.n;
  }
  return t;
}

}  // namespace

bool divisible(const branch& b) {
  // Functions of the row's number would count from the part's first row, and each engine would build a join's table. Whether the two
  // forms of an accelerated function compute the same nobody knows: rows of one result are to come of one of them.
  const auto one_form = [](const detail::logical* n) {
    return std::none_of(n->functions.begin(), n->functions.end(), [](const detail::user_function& f) { return f.device != nullptr; });
  };
  return b.source && b.source->view && !b.stages.empty() && std::all_of(b.stages.begin(), b.stages.end(), [&](const stage& s) {
    return s.what == stage::kind::rowwise && !(s.native && s.native->needs_position()) &&
           std::all_of(s.nodes.begin(), s.nodes.end(), one_form);
  });
}
bool divisible(const planner::vertex& v) {
  return !v.node && v.inputs.size() == 1 && v.slots.empty() && v.limit == ~0ull && !v.kept_if_it_fits && v.row()->trivial &&
         divisible(v.inputs.front());
}

divided divided_among(const planner::vertex& v, std::span<const offer> offers, int threads) {
  const branch& b = v.inputs.front();
  std::vector<part_costs> costs;
  for (const offer& o : offers) {
    costs.push_back(o.costs);
    costs.back().here = as_seen(o.costs.here, pass_seconds(b, o.by->name(), threads, v.folds));
    costs.back().cpu = as_seen(o.costs.cpu, pass_seconds(b, "cpu", threads, v.folds));
  }
  const auto seen = pass_seconds(b, "split", threads, v.folds);
  const auto d = divide(costs, threads, seen);
  if (!d && seen)
    if (const auto hoped = divide(costs, threads))
      return {{}, "not divided: " + shown_seconds(*seen) + " were seen so, " +
                      shown_seconds(*std::min_element(hoped->alone.begin(), hoped->alone.end())) + " alone"};
  if (!d) return {};
  // All have a fixed part at least.
  const double rows = static_cast<double>(rows_in(*b.source)), part = rows_of_fixed_part;
  if (std::count_if(d->shares.begin(), d->shares.end(), [&](double s) { return s * rows > part / 2; }) < 2) return {};
  divided made;
  std::string alone;
  for (std::size_t i = 0; i < d->shares.size(); ++i) {
    const bool cpu = i == offers.size();
    const std::string name(cpu ? "cpu" : offers[i].by->name());
    made.shares.push_back({name, d->shares[i], d->threads[i]});
    const std::string percent = std::to_string(std::lround(100 * d->shares[i])) + "% ";
    made.why += (i ? ", " : "about ") + percent + name + (cpu ? "" : ": " + offers[i].costs.on);
    alone += (i == 0 ? "" : cpu ? " and " : ", ") + shown_seconds(d->alone[i]);
  }
  made.why += ": " + shown_seconds(d->seconds) + " here; " + alone + " alone";
  return made;
}

vertex_rows run_divided(const planner::vertex& v, session_state& session, run_context& context, std::string& failed) {
  branch whole = v.inputs.front();
  whole.part_of = &v;
  parts_run run(whole, v.shares, v.captures, session, context);
  made_parts<detail::table> tables;
  failed = run.run([&](std::uint64_t place, engine& by, const branch& rows, run_context& own) {
    planner::vertex part = v;
    part.engine = std::string(by.name());
    part.shares.clear();
    part.inputs.front() = rows;
    vertex_rows made = run_on(by, part, *session.cpu, own);
    tables.put(place, own.fetched(made));
  });
  return run.in_place() ? in_place(tables.in_order(), v.row(), context) : side_by_side(tables.in_order(), v.row(), context);
}

}  // namespace query::runtime
