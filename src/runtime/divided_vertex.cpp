#include "runtime/divided_vertex.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "runtime/executor.hpp"
#include "runtime/row_range.hpp"
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

// One engine's range on its way.
struct part {
  const engine_share* share;
  engine* by;
  bool local;  // by the CPU engine
  row_range range;
  branch rows;
  std::string failed = {};  // why it is the CPU's now
};

using part_work = function_ref<void(std::size_t number, engine& by, const branch& rows, run_context& context)>;

// Runs all parts at once and returns when all have ended. One thread for each engine but the CPU's, which this one drives.
class parts_run {
 public:
  parts_run(const branch& b, const std::vector<engine_share>& shares, const std::vector<planner::binding>& captures, session_state& session,
            run_context& context)
      : session_(&session), context_(&context), stop_([&context] { return context.cancel.stopped(); }, std::nullopt),
        watched_(session.deadlines.follow(stop_)) {
    const std::uint64_t rows = rows_in(*b.source);
    for (const engine_share& s : shares) {
      engine* other = session.engine_named(s.engine);
      // What the container has grown by since it was planned is the last one's.
      const std::uint64_t end = &s == &shares.back() ? rows : s.end;
      part p{&s, other ? other : session.cpu.get(), !other, row_range(*b.source, s.first, end), b};
      if (!p.range.size()) continue;
      p.rows.source = p.range.node();
      if (!p.rows.part_of) p.rows.part_of = &b;
      parts_.push_back(std::move(p));
    }
    // All of them read these: brought here once.
    for (const planner::binding& c : captures) (void)context.table_of(*c.table);
  }

  std::size_t size() const { return parts_.size(); }

  // What engines failed with; theirs has then run on the CPU.
  std::string run(part_work work) {
    {
      std::vector<std::thread> threads;
      const struct joined {
        std::vector<std::thread>& all;
        ~joined() {
          for (std::thread& t : all) t.join();
        }
      } at_the_end{threads};
      for (std::size_t i = 0; i < parts_.size(); ++i)
        if (!parts_[i].local) start(threads, i, work);
      for (std::size_t i = 0; i < parts_.size(); ++i)
        if (parts_[i].local) attempt(i, *session_->cpu->make_scheduler(parts_[i].share->threads), context_->progress, work);
    }
    context_->cancel.check();
    if (error_) std::rethrow_exception(error_);
    std::string why;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      part& p = parts_[i];
      if (p.failed.empty()) continue;
      why += (why.empty() ? "" : "; ") + std::string(p.by->name()) + ": " + p.failed;
      work(i, *session_->cpu, p.rows, *context_);
    }
    return why;
  }

 private:
  void start(std::vector<std::thread>& threads, std::size_t i, part_work work) {
    try {
      threads.emplace_back([this, i, work] {
        try {
          thread_pool pool(parts_[i].share->threads);
          attempt(i, pool, nullptr, work);
        } catch (const std::exception& e) {
          parts_[i].failed = e.what();  // no threads for the pool
        }
      });
    } catch (const std::system_error& e) {
      parts_[i].failed = e.what();
    }
  }

  // Throws nothing of the engine's: trouble that another engine may not have stays with the part, all else stops the others.
  void attempt(std::size_t i, scheduler& threads, progress* told, part_work work) {
    part& p = parts_[i];
    const detail::stop_scope scope(stop_.state());
    try {
      std::string why;
      for (int times = 0; times <= (p.local ? 0 : p.by->retries()); ++times) {
        try {
          run_context own{threads, context_->pool, stop_};
          own.progress = told;
          own.local = context_->local;
          own.pieces = context_->pieces;
          own.tables = context_->tables;
          own.too_large = context_->too_large;
          work(i, *p.by, p.rows, own);
          p.failed.clear();
          return;
        } catch (const resource_error& trouble) {
          if (p.local) throw;
          why = trouble.what();
        } catch (const cluster_error& trouble) {
          if (p.local) throw;
          why = trouble.what();
        } catch (const internal_error& trouble) {
          if (p.local) throw;
          why = trouble.what();
        }
        p.failed = why;
        stop_.check();
      }
    } catch (...) {
      const std::lock_guard hold(lock_);
      if (!error_) error_ = std::current_exception();
      stop_.cancel();
    }
  }

  session_state* session_;
  run_context* context_;
  std::vector<part> parts_;
  cancel_flag stop_;  // of all parts; asks the query's own
  std::unique_ptr<deadline_watch::watched> watched_;
  std::mutex lock_;
  std::exception_ptr error_;  // the first
};

// Rows that own no memory, one table behind the other.
detail::table side_by_side(std::vector<detail::table>& all, const ir::type* row, run_context& context) {
  std::erase_if(all, [](const detail::table& t) { return t.n == 0; });
  if (all.size() == 1) return all.front();
  detail::table t;
  t.type = row;
  for (const detail::table& x : all) t.n += x.n;
  auto memory = std::make_shared<buffer>(context.pool.allocate(buffer_pool::checked_bytes(t.n ? t.n : 1, row->size)));
  std::byte* to = memory->as<std::byte>();
  constexpr std::size_t piece = std::size_t{1} << 20;
  for (const detail::table& x : all) {
    const std::size_t bytes = x.n * row->size;
    context.scheduler.for_each((bytes + piece - 1) / piece, [&](std::size_t i) {
      std::memcpy(to + i * piece, static_cast<const std::byte*>(x.rows) + i * piece, std::min(piece, bytes - i * piece));
    }, context.cancel);
    to += bytes;
  }
  t.rows = memory->data();
  t.owner = std::move(memory);
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

std::optional<divided> divided_among(const branch& b, std::span<const offer> offers, int threads) {
  std::vector<part_costs> costs;
  for (const offer& o : offers) costs.push_back(o.costs);
  const auto d = divide(costs, threads);
  if (!d) return std::nullopt;
  const std::uint64_t rows = rows_in(*b.source);
  const std::vector<row_span> ranges = d->rows_of(rows);
  if (std::count_if(ranges.begin(), ranges.end(), [](const row_span& r) { return r.size() > 0; }) < 2) return std::nullopt;
  divided made;
  std::string alone;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const bool cpu = i == offers.size();
    const std::string name(cpu ? "cpu" : offers[i].by->name());
    made.shares.push_back({name, ranges[i].first, ranges[i].end, d->threads[i]});
    const double percent = 100.0 * static_cast<double>(ranges[i].size()) / static_cast<double>(rows);
    made.why += (i ? ", " : "") + std::to_string(std::lround(percent)) + "% " + name + (cpu ? "" : ": " + offers[i].costs.on);
    alone += (i == 0 ? "" : cpu ? " and " : ", ") + shown_seconds(d->alone[i]);
  }
  made.why += ": " + shown_seconds(d->seconds) + " here; " + alone + " alone";
  return made;
}

vertex_rows run_divided(const planner::vertex& v, session_state& session, run_context& context, std::string& failed) {
  branch whole = v.inputs.front();
  whole.part_of = &v;
  parts_run run(whole, v.shares, v.captures, session, context);
  std::vector<detail::table> tables(run.size());
  failed = run.run([&](std::size_t i, engine& by, const branch& rows, run_context& own) {
    planner::vertex part = v;
    part.engine = std::string(by.name());
    part.shares.clear();
    part.inputs.front() = rows;
    vertex_rows made = run_on(by, part, *session.cpu, own);
    tables[i] = own.fetched(made);
  });
  return side_by_side(tables, v.row(), context);
}

void fold_divided(const branch& b, const std::vector<engine_share>& shares, const std::vector<planner::binding>& captures,
                  detail::fold_kind kind, detail::fold_state& state, session_state& session, run_context& context, std::string& failed) {
  parts_run run(b, shares, captures, session, context);
  std::vector<detail::fold_state> states(run.size());
  failed = run.run([&](std::size_t i, engine& by, const branch& rows, run_context& own) {
    detail::fold_state made;
    by.fold(rows, captures, kind, made, own);
    states[i] = made;
  });
  for (const detail::fold_state& s : states) session.cpu->merge(kind, b.row, state, s);
}

}  // namespace query::runtime
