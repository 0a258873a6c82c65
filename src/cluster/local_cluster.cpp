// A session's queries in several processes, the first of which is the session's own: "local:4", or those of a Ray cluster.
#include <algorithm>
#include <atomic>
#include <thread>
#include <unordered_map>
#include <utility>

#include <query/detail/failure.hpp>

#include "cluster/backends/backend.hpp"
#include "cluster/container.hpp"
#include "cluster/local_process.hpp"
#include "cluster/messages.hpp"
#include "cluster/program.hpp"
#include "cluster/sent_errors.hpp"
#include "cluster/sent_pages.hpp"
#include "cluster/sent_plan.hpp"
#include "runtime/cluster.hpp"
#include "runtime/default_memory.hpp"
#include "runtime/local_engine.hpp"
#include "runtime/partition_bounds.hpp"

namespace query::cluster {

namespace {

using runtime::row_page;
using runtime::row_pages;

// Is all of a value known to the library? What it does not know may hold addresses.
bool is_described(const ir::type& t) {
  if (t.k == ir::kind::opaque) return false;
  if (t.element && !is_described(*t.element)) return false;
  return std::ranges::all_of(t.fields(), [](const ir::field& f) { return is_described(*f.of); });
}

struct prepared_plan final : runtime::cluster::prepared {
  std::vector<program::module_name> modules;  // as places in the plan number them
  sent_plan plan;
};

class partition_there final : public runtime::remote_partition {
 public:
  partition_there(std::shared_ptr<local_process> process, std::uint64_t query, const planner::machine_graph& g,
                  runtime::run_context& context)
      : process_(std::move(process)), query_(query), box_(process_->open(query)), context_(context) {
    for (const auto& v : g.vertices) numbers_.emplace(v.get(), numbers_.size());
  }
  ~partition_there() override { process_->close(query_); }

  void begin(const prepared_plan& query, std::size_t partition, std::size_t partitions) {
    const sent_plan& plan = query.plan;
    byte_writer head;
    write_modules(head, query.modules);
    head.put(static_cast<std::uint8_t>(context_.verify));
    head.put(std::uint64_t{context_.left_to_joins.size()});
    for (const planner::vertex* v : context_.left_to_joins) head.put(numbers_.at(v));
    process_->send(message_kind::plan, query_, context_.cancel, head.bytes(), plan.bytes);
    for (std::size_t s = 0; s < plan.sources.size(); ++s) {
      const sent_source& source = plan.sources[s];
      detail::row_block whole;
      source.node->view(source.node->source.get(), whole);
      const auto parts = parts_of(*source.node, runtime::even_end(whole.n, partitions, partition),
                                  runtime::even_end(whole.n, partitions, partition + 1));
      for (std::size_t i = 0; i < parts.size(); ++i)
        if (context_.verify || source.reads(i)) send_table(parts[i], rows_of::source, s, i);
    }
    for (std::size_t c = 0; c < plan.captured.size(); ++c) {
      detail::table t;
      t.rows = plan.captured[c]->data;
      t.n = plan.captured[c]->size;
      t.type = plan.captured[c]->element;
      send_table(t, rows_of::capture, c, 0);
    }
  }

  bool lost() const override { return process_->lost(); }
  void run(const planner::vertex& v) override {
    byte_writer to;
    to.put(numbers_.at(&v));
    ask(message_kind::run_vertex, to);
  }
  void sample(const planner::vertex& v, std::uint64_t share) override {
    byte_writer to;
    to.put(numbers_.at(&v));
    to.put(share);
    ask(message_kind::sample_vertex, to);
  }
  void send(const planner::vertex& v, std::size_t receivers, const row_pages& begins, std::uint64_t receiver) override {
    byte_writer to;
    to.put(numbers_.at(&v));
    to.put(std::uint64_t{receivers});
    to.put(receiver);
    to.put(std::uint64_t{begins.size()});
    for (const row_page& p : begins) {
      to.put(std::uint64_t{p.rows});
      to.put_text({p.bytes.as<const char>(), p.bytes.size()});
    }
    ask(message_kind::send_vertex, to);
  }
  void forget(const planner::vertex& v) override {
    const std::uint64_t n = numbers_.at(&v);
    process_->send(message_kind::forget_vertex, query_, context_.cancel, std::as_bytes(std::span(&n, 1)));
  }
  void verify_result() override {
    process_->send(message_kind::verify_result, query_, context_.cancel, {});
    ++asked_;
  }
  std::uint64_t finish() override {
    std::uint64_t rows = 0;
    for (; asked_; --asked_) rows = byte_reader(next(message_kind::done).bytes).get<std::uint64_t>();
    return rows;
  }
  // Pages as they come, of receivers one after the other.
  std::vector<row_pages> sent() override {
    std::vector<row_pages> all;
    for (;;) {
      const message m = box_->wait(*process_, context_.cancel);
      byte_reader from(m.bytes);
      if (m.kind == message_kind::done && asked_) {
        --asked_;
        const auto receivers = from.get<std::uint64_t>();
        if (receivers < all.size() || receivers > most_receivers) throw cluster_error("cluster: pages for partitions that are not there");
        all.resize(receivers);
        return all;
      }
      if (m.kind != message_kind::page) unexpected(m);
      const auto h = from.get<page_header>();
      if (h.receiver >= most_receivers) throw cluster_error("cluster: a page for a partition that is not there");
      if (h.receiver >= all.size()) all.resize(h.receiver + 1);
      all[h.receiver].push_back(read_page(from, h.rows, context_.pool));
    }
  }
  void receive(const planner::vertex& v, std::span<const row_page* const> pages) override {
    for (const row_page* p : pages) send_page(*p, rows_of::vertex);
    byte_writer last;
    last.put(rows_header{rows_of::vertex, 1, 0, 0, 0});
    last.put(numbers_.at(&v));
    process_->send(message_kind::receive_vertex, query_, context_.cancel, last.bytes());
    ++asked_;
  }
  void fold(detail::fold_kind k) override {
    process_->send(message_kind::fold_result, query_, context_.cancel, std::as_bytes(std::span(&k, 1)));
  }
  detail::fold_state folded() override {
    const message m = next(message_kind::folded);
    return byte_reader(m.bytes).get<detail::fold_state>();
  }

 private:
  static constexpr std::uint64_t most_receivers = 1024;
  void ask(message_kind kind, const byte_writer& what) {
    process_->send(kind, query_, context_.cancel, what.bytes());
    ++asked_;
  }
  void send_page(const row_page& page, rows_of of) {
    const rows_header h{of, 0, 0, 0, page.rows};
    process_->send(of == rows_of::vertex ? message_kind::receive_vertex : message_kind::rows, query_, context_.cancel,
                   std::as_bytes(std::span(&h, 1)), {page.bytes.as<const std::byte>(), page.bytes.size()});
  }
  // A few pages at a time: they take memory here.
  void send_table(const detail::table& rows, rows_of of, std::uint64_t number, std::uint64_t part) {
    constexpr std::size_t at_once = std::size_t{4} << 20;
    const std::size_t step = std::max<std::size_t>(at_once / rows.type->size, 1);
    for (std::size_t i = 0; i < rows.n; i += step) {
      context_.cancel.check();
      detail::table some = rows;
      some.rows = static_cast<const std::byte*>(rows.rows) + i * rows.type->size;
      some.n = std::min(step, rows.n - i);
      for (const row_page& p : context_.local->pages_of(some, context_)) send_page(p, of);
    }
    const rows_header last{of, 1, number, part, rows.n};
    process_->send(message_kind::rows, query_, context_.cancel, std::as_bytes(std::span(&last, 1)));
  }
  message next(message_kind kind) {
    message m = box_->wait(*process_, context_.cancel);
    if (m.kind != kind) unexpected(m);
    return m;
  }
  [[noreturn]] void unexpected(const message& m) {
    asked_ = 0;
    if (m.kind != message_kind::failed) throw cluster_error("cluster: " + process_->name() + " sent what nobody asked for");
    byte_reader from(m.bytes);
    rethrow(from, process_->name());
  }

  const std::shared_ptr<local_process> process_;
  const std::uint64_t query_;
  const std::shared_ptr<local_process::mailbox> box_;
  runtime::run_context& context_;
  std::unordered_map<const planner::vertex*, std::uint64_t> numbers_;
  std::size_t asked_ = 0;
};

class local_cluster final : public runtime::cluster {
 public:
  explicit local_cluster(const session_options& options)
      : backend_(backends::make_backend(options)), count_(backend_->containers() + 1) {
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    first_.options = options;
    if (!backend_->shares_machine()) return;
    if (!options.threads) first_.options.threads = std::max(1, cores / count_);
    if (!options.memory_limit) first_.options.memory_limit = runtime::default_memory_limit() / static_cast<std::size_t>(count_);
  }

  std::string name() const override { return backend_->name(); }
  int partitions() const override { return count_; }
  int threads() const override { return first_.options.threads; }
  bool can_travel(const ir::type& row) const override { return is_described(row); }

  std::shared_ptr<const prepared> prepare(const planner::machine_graph& g, const planner::column_options& forms) const override {
    auto made = std::make_shared<prepared_plan>();
    try {
      const program here;
      made->modules = here.names();
      made->plan = write_plan(g, forms, here);
    } catch (const verb_stays& e) {
      throw runtime::stays_here{(e.verb ? e.verb->label + " (" + detail::place_of(e.verb->where) + "): " : "") + e.why};
    } catch (const cannot_travel& e) {
      throw runtime::stays_here{e.why};
    }
    const auto check = [](const ir::type& row) {
      if (!is_described(row)) throw runtime::stays_here{"rows of " + std::string(row.name) + " cannot be sent to others"};
    };
    for (const auto& c : made->plan.captured) check(*c->element);
    for (const auto& s : made->plan.sources) check(*s.node->row);
    return made;
  }

  std::unique_ptr<runtime::remote_partition> begin(const prepared& query, const planner::machine_graph& g, runtime::run_context& context,
                                                   std::size_t partition) override {
    auto part = std::make_unique<partition_there>(living(partition), ++queries_, g, context);
    part->begin(static_cast<const prepared_plan&>(query), partition, static_cast<std::size_t>(count_));
    return part;
  }

 private:
  // One that was lost is started anew.
  std::shared_ptr<local_process> living(std::size_t partition) {
    const std::lock_guard hold(lock_);
    if (!can_be_container())
      throw detail::unplaced_error("cluster: " + name() +
                                   ": its processes are this program: call query::container_main() in the first line of main(), or link "
                                   "query::query by CMake, which does");
    processes_.resize(static_cast<std::size_t>(count_));
    std::shared_ptr<local_process>& p = processes_.at(partition);
    if (p && !p->lost()) return p;
    p = nullptr;  // ends what was lost
    return p = std::make_shared<local_process>("process " + std::to_string(partition + 1) + " of " + name(), backend_->start(partition - 1), first_);
  }

  const std::unique_ptr<backends::backend> backend_;
  const int count_;
  hello first_;
  std::atomic<std::uint64_t> queries_{0};
  std::mutex lock_;
  std::vector<std::shared_ptr<local_process>> processes_;  // by their partitions; the first is this one, and null
};

}  // namespace

}  // namespace query::cluster

namespace query::runtime {

std::unique_ptr<cluster> make_cluster(const session_options& o) {
  return std::make_unique<query::cluster::local_cluster>(o);
}

}  // namespace query::runtime
