// Dataflows of your own: vertices are plain functions, edges are bounded channels of blocks of rows, and signals say where
// streams and iterations begin and end. (After PTask and Dandelion: ports, channels, datablocks.) docs/dataflow.md
//
//   namespace flow = query::dataflow;
//   flow::graph g;
//   auto words = g.edge_of<std::string>("words");
//   g.vertex("read", [&](flow::output<std::string>& out) { for (std::string w; in >> w;) out.row(w); }, flow::writes(words));
//   g.vertex("count", [&](flow::input<std::string>& in) { while (auto w = in.row()) ++counts[*w]; }, flow::reads(words));
//   g.run();
//
// Each vertex runs on a thread of its own. Not part of query.hpp.
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <query/detail/closure.hpp>
#include <query/detail/dataflow_plan.hpp>
#include <query/errors.hpp>

namespace query::dataflow {

// A datablock: rows side by side. Copies share the rows; they stay as they are while more than one block shows them.
template <class T> class block {
 public:
  block() = default;
  // Takes the rows over, without a copy of any.
  block(std::vector<T> rows) {  // NOLINT: a vector is a block
    auto all = std::make_shared<std::vector<T>>(std::move(rows));
    rows_ = detail::adopt(ir::describe<T>(), all->data(), all->size(), all);
  }
  explicit block(detail::flow_rows rows) : rows_(std::move(rows)) {}

  std::size_t size() const { return rows_.size(); }
  bool empty() const { return size() == 0; }
  const T* data() const { return rows_ ? static_cast<const T*>(rows_->rows) : nullptr; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  const T& operator[](std::size_t i) const { return data()[i]; }
  std::span<const T> rows() const { return {data(), size()}; }
  bool shared() const { return rows_.shared(); }  // do other blocks show these rows too?

  // The rows, to be changed in place. Where others show them too, this block gets a copy of its own first.
  std::span<T> writable() requires std::copy_constructible<T> {
    if (shared()) *this = block(std::vector<T>(begin(), end()));
    return {const_cast<T*>(data()), size()};
  }

  // For blocks that output::fresh() gave, until they are sent.
  std::size_t room() const { return rows_ ? rows_->room - rows_->n : 0; }  // rows that still fit
  void append(T row) {
    if (!room() || shared()) throw user_error("dataflow: append: the block is full, or was sent already");
    ::new (static_cast<void*>(static_cast<T*>(rows_->rows) + rows_->n)) T(std::move(row));
    ++rows_->n;
  }

  detail::flow_rows release() && { return std::move(rows_); }

 private:
  detail::flow_rows rows_;
};

// What a vertex receives: rows, or a signal; false when its edge has ended.
template <class T> class received {
 public:
  block<T> rows;

  explicit received(detail::flow_item i) : rows(std::move(i.rows)), what_(i.what), scope_(i.scope), depth_(i.depth) {}
  explicit operator bool() const { return what_ != detail::flow_item::kind::closed; }
  bool has_rows() const { return what_ == detail::flow_item::kind::rows; }
  bool is(signal s) const { return what_ == detail::flow_item::kind::scope && scope_ == s; }
  signal what() const { return scope_; }          // of a signal
  std::uint32_t depth() const { return depth_; }  // of its scope; 1: a stream that lies in no other

 private:
  detail::flow_item::kind what_;
  signal scope_;
  std::uint32_t depth_;
};

// The receiving port of a vertex. A vertex uses its ports from one thread at a time.
template <class T> class input {
 public:
  explicit input(detail::flow_input& port) : port_(&port) {}

  // Rows or a signal, whichever comes next. Waits; throws query::cancelled when the run stops.
  received<T> receive() { return received<T>(port_->receive()); }

  // For vertices to whom signals mean nothing: the next rows of this stream; false at its end.
  bool next(block<T>& rows) {
    rows = {};  // for the writer to fill again
    if (where_ == place::after) return false;
    for (;;) {
      received<T> got = receive();
      if (got.has_rows()) {
        where_ = place::inside;
        rows = std::move(got.rows);
        return true;
      }
      if (got && !(got.is(signal::end_stream) && got.depth() == 1)) continue;
      where_ = place::after;
      return false;
    }
  }
  // Its next row, one by one; nothing at its end. query::generate([&in] { return in.row(); }) makes a query of it.
  // A row that other readers have too is copied for that, others are moved. user_error if it would have to be and cannot.
  std::optional<T> row() {
    while (at_ == now_.size()) {
      at_ = 0;
      if (!next(now_)) return std::nullopt;
    }
    T& r = const_cast<T&>(now_[at_++]);
    if (!now_.shared()) return std::move(r);
    if constexpr (std::copy_constructible<T>) return std::as_const(r);
    else throw user_error("dataflow: row: other readers have this row too, and it cannot be copied");
  }
  // Goes to the next stream, over what is left of this one; false if there is none.
  bool next_stream() {
    block<T> over;
    while (where_ == place::inside && next(over)) {}
    at_ = 0;
    now_ = {};
    while (received<T> got = receive()) {
      if (!got.is(signal::begin_stream) || got.depth() != 1) continue;
      where_ = place::inside;
      return true;
    }
    where_ = place::after;
    return false;
  }

 private:
  enum class place : unsigned char { before, inside, after };  // of a stream
  detail::flow_input* port_;
  place where_ = place::before;
  block<T> now_;
  std::size_t at_ = 0;
};

// The sending port of a vertex. Rows that are sent outside of any stream begin one; what is open when the function returns is ended.
template <class T> class output {
  static_assert(alignof(T) <= 64, "query::dataflow: rows are aligned to at most 64 bytes");

 public:
  explicit output(detail::flow_output& port) : port_(&port) {}

  // Sends rows. Waits while a reader has as many unread as the edge's capacity. Throws query::cancelled when the run stops, and
  // when every vertex that this one writes to has returned.
  void push(block<T> rows) {
    flush();
    if (!rows.empty()) port_->push(std::move(rows).release());
  }
  // Sends a row, together with others: see flush().
  void row(T r) {
    if (!pending_.room()) {
      flush();
      pending_ = fresh();
    }
    pending_.append(std::move(r));
  }
  // Sends the rows that wait for more: so do tell(), push(), a full block and the function's return.
  void flush() {
    if (pending_.empty()) return;
    port_->push(std::exchange(pending_, {}).release());
  }
  // Begins or ends a stream or an iteration. user_error if it ends what is not the innermost open scope.
  void tell(signal s) {
    flush();
    port_->tell(s);
  }
  // An empty block from the graph's pool, of which there is always another: for append() and push(). 0 rows: as many as usual.
  block<T> fresh(std::size_t rows = 0) { return block<T>(port_->fresh(ir::describe<T>(), rows)); }

 private:
  detail::flow_output* port_;
  block<T> pending_;
};

// An edge of a graph: one vertex writes to it, one reads from it.
template <class T> class edge {
 public:
  using row = T;
  std::size_t number() const { return number_; }
  const void* graph() const { return graph_; }

 private:
  friend class graph;
  edge(const void* of, std::size_t number) : graph_(of), number_(number) {}
  const void* graph_;
  std::size_t number_;
};

// ---- receiving ports, as a graph wants them said
template <class T> struct source {
  using port = input<T>;
  detail::flow_source plan;
  const void* graph;  // to which its edges belong
};
template <class T> source<T> reads(edge<T> e) { return {{.edge = e.number()}, e.graph()}; }

// Several edges as one: rows of the first that has some, so the first is the most urgent. A signal passes once every edge has
// sent it: streams stay apart. user_error in the run where edges send different ones.
template <class T> source<T> merges(std::vector<source<T>> parts) {
  if (parts.empty()) throw user_error("dataflow: merges: nothing to merge");
  source<T> all{{.what = detail::flow_source::kind::merged}, parts.front().graph};
  for (source<T>& p : parts) {
    if (p.graph != all.graph) all.graph = nullptr;
    all.plan.parts.push_back(std::move(p.plan));
  }
  return all;
}
template <class T, class... More> source<T> merges(source<T> first, More... less_urgent) {
  static_assert((std::is_same_v<More, source<T>> && ...), "query::dataflow: merges: takes sources of the same rows: reads(a), reads(b)...");
  return merges(std::vector{std::move(first), std::move(less_urgent)...});
}
// An initialiser: each stream, as it begins, has these rows first.
template <class T> source<T> initially(block<T> rows, source<T> then) {
  source<T> all{{.what = detail::flow_source::kind::initial}, then.graph};
  all.plan.initial = std::move(rows).release();
  all.plan.parts.push_back(std::move(then.plan));
  return all;
}
template <class T> source<T> initially(std::vector<T> rows, source<T> then) {
  return initially(block<T>(std::move(rows)), std::move(then));
}
// An iterator. The rows of each stream of `first` are the first iteration; those that a later vertex sends over the back edge
// during an iteration are the next one. They lie between begin_iteration and end_iteration; the stream ends after the iteration
// in which no rows came back, or after most_rounds. Vertices of the loop hand signals on. In streams that hold iterations of an
// outer loop, each of these iterations is iterated.
template <class T> source<T> iterates(source<T> first, edge<T> back, std::uint64_t most_rounds) {
  if (!most_rounds) throw user_error("dataflow: iterates: at least one iteration");
  source<T> all{{.what = detail::flow_source::kind::iterated, .edge = back.number(), .most_rounds = most_rounds},
                back.graph() == first.graph ? first.graph : nullptr};
  all.plan.parts.push_back(std::move(first.plan));
  return all;
}

// ---- sending ports
template <class T> struct route {
  detail::flow_route plan;
  const void* graph;
};
// Rows for which f(row) holds. Each route of a port is asked: a row may go to several edges, or to none.
template <class T, class F> route<T> when(F f, edge<T> to) {
  constexpr bool called = std::is_invocable_r_v<bool, const F&, const T&>, copied = std::copy_constructible<T>;
  static_assert(called, "query::dataflow: when: the predicate takes a row, gives a bool and is not `mutable`");
  static_assert(copied, "query::dataflow: when: rows are copied to where they go; these cannot be: use when_block");
  route<T> r{{.edge = to.number(), .f = detail::keep(std::move(f))}, to.graph()};
  if constexpr (called && copied) {
    r.plan.mark = [](const void* p, const void* rows, std::size_t n, bool* takes) {
      for (std::size_t i = 0; i < n; ++i) takes[i] = (*static_cast<const F*>(p))(static_cast<const T*>(rows)[i]);
    };
  }
  return r;
}
// Blocks for which f(block) holds: whole, without a copy.
template <class T, class F> route<T> when_block(F f, edge<T> to) {
  constexpr bool called = std::is_invocable_r_v<bool, const F&, const block<T>&>;
  static_assert(called, "query::dataflow: when_block: the predicate takes a block, gives a bool and is not `mutable`");
  route<T> r{{.edge = to.number(), .f = detail::keep(std::move(f))}, to.graph()};
  if constexpr (called)
    r.plan.whole = [](const void* p, const detail::flow_rows& rows) -> bool { return (*static_cast<const F*>(p))(block<T>(rows)); };
  return r;
}
// What no predicate of this port took.
template <class T> route<T> otherwise(edge<T> to) { return {{.edge = to.number(), .otherwise = true}, to.graph()}; }
template <class T> route<T> always(edge<T> to) { return {{.edge = to.number()}, to.graph()}; }
template <class T> route<T> always(route<T> r) { return r; }

template <class T> struct sink {
  using port = output<T>;
  std::vector<detail::flow_route> plan;
  const void* graph;
};
// What is sent goes to each edge, and to each route what its predicate takes; signals go everywhere.
template <class T> sink<T> writes(std::vector<route<T>> routes) {
  if (routes.empty()) throw user_error("dataflow: writes: nowhere to");
  sink<T> all{{}, routes.front().graph};
  for (route<T>& r : routes) {
    if (r.graph != all.graph) all.graph = nullptr;
    all.plan.push_back(std::move(r.plan));
  }
  return all;
}
template <class... To> auto writes(To... to) { return writes(std::vector{always(std::move(to))...}); }

// ---- the graph
struct graph_options {
  std::size_t rows_of_block = 4096;  // of blocks that output::row and output::fresh fill
};

// Edges and vertices, put together first and run then, as often as one likes, by one thread at a time: each run starts from
// copies of the functions.
class graph {
 public:
  explicit graph(const graph_options& options = {}) {
    if (!options.rows_of_block) throw user_error("dataflow: a block needs at least one row");
    plan_->rows_of_block = options.rows_of_block;
  }

  // At most `capacity` blocks and signals wait in an edge; then its writer waits.
  template <class T> edge<T> edge_of(std::string name, std::size_t capacity = 4) {
    if (!capacity) throw user_error("dataflow: edge: nothing fits into: " + name);
    return add_edge<T>({std::move(name), capacity});
  }
  // An edge back to an iterates() before: it holds a whole iteration, so nobody waits to write to it.
  template <class T> edge<T> back_edge_of(std::string name) { return add_edge<T>({std::move(name), 0}); }

  // A vertex that calls f once, with an input or output for each port, in their order. What f throws ends the run.
  template <class F, class... Ports> graph& vertex(std::string name, F f, Ports... ports) {
    constexpr bool said = (port_said<Ports> && ...);
    static_assert(said, "query::dataflow: vertex: its ports are said by reads(edge), writes(edge) and their kin");
    if constexpr (said) {
      constexpr bool copied = std::copy_constructible<F>, called = std::is_invocable_v<F&, typename Ports::port&...>;
      static_assert(copied, "query::dataflow: vertex: each run starts from a copy of the function; this one cannot be copied");
      static_assert(called, "query::dataflow: vertex: the function takes input<T>& for each source and output<T>& for each sink, "
                            "in their order");
      if constexpr (copied && called) add_vertex(std::move(name), std::move(f), std::move(ports)...);
    }
    return *this;
  }
  // A vertex that calls f(rows, output) for each block, and hands signals on.
  template <class F, class T, class U> graph& each(std::string name, F f, source<T> from, sink<U> to) {
    constexpr bool called = std::is_invocable_v<F&, block<T>, output<U>&>;
    static_assert(called, "query::dataflow: each: the function takes block<T> and output<U>&");
    if constexpr (called) {
      vertex(std::move(name), [f = std::move(f)](input<T>& in, output<U>& out) mutable {
        while (received<T> got = in.receive()) {
          if (got.has_rows()) f(std::move(got.rows), out);
          else out.tell(got.what());
        }
      }, std::move(from), std::move(to));
    }
    return *this;
  }

  // Memory of blocks comes from this session's pool; without it, from the standard session's.
  graph& in(const Session& s) {
    plan_->how->session = s.state();
    plan_->pool = nullptr;
    return *this;
  }
  // The run throws query::cancelled after so many seconds, or when token.stop_requested(): a std::stop_token or anything like it.
  graph& timeout(double seconds) {
    if (!(seconds > 0)) throw user_error("dataflow: timeout: the seconds must be positive");
    plan_->how->seconds = seconds;
    return *this;
  }
  template <class Token> graph& stop_on(Token token) {
    static_assert(requires(const Token& t) { { t.stop_requested() } -> std::convertible_to<bool>; },
                  "query::dataflow: stop_on: takes a stop token: std::stop_token, or what has `bool stop_requested() const`");
    const auto asked = [](const void* t) -> bool { return static_cast<const Token*>(t)->stop_requested(); };
    plan_->how->stops.add({detail::keep(std::move(token)), asked, &typeid(Token)});
    return *this;
  }

  // The graph as a picture, for Graphviz.
  std::string explain_dot() const { return detail::dataflow_dot(*plan_); }

  // Runs the vertices until all have returned. Throws what the first vertex to fail threw, after all have ended; user_error for
  // edges without a reader or writer, and where no vertex can go on because each waits for another: it says who waits for what.
  run_report run() { return detail::run_dataflow(*plan_); }

 private:
  template <class Port> static constexpr bool port_said = requires { typename Port::port; };

  template <class F, class... Ports> void add_vertex(std::string name, F f, Ports... ports) {
    detail::flow_vertex v{.name = std::move(name)};
    (add_port(v, std::move(ports)), ...);
    v.f = detail::keep(std::move(f));
    v.call = [](const void* raw, detail::flow_input* const* in, detail::flow_output* const* out) {
      F copy = *static_cast<const F*>(raw);
      std::tuple<typename Ports::port...> opened{open<typename Ports::port>(in, out)...};
      std::apply([&](auto&... port) {
        copy(port...);
        (close(port), ...);
      }, opened);
    };
    plan_->vertices.push_back(std::move(v));
  }
  template <class T> edge<T> add_edge(detail::flow_edge e) {
    plan_->edges.push_back(std::move(e));
    return edge<T>(plan_.get(), plan_->edges.size() - 1);
  }
  void check(const void* of, const detail::flow_vertex& v) const {
    if (of != plan_.get()) throw user_error("dataflow: vertex: an edge of another graph: " + v.name);
  }
  template <class T> void add_port(detail::flow_vertex& v, source<T> s) const {
    check(s.graph, v);
    v.inputs.push_back(std::move(s.plan));
  }
  template <class T> void add_port(detail::flow_vertex& v, sink<T> s) const {
    check(s.graph, v);
    v.outputs.push_back(std::move(s.plan));
  }
  template <class Port> static Port open(detail::flow_input* const*& in, detail::flow_output* const*& out) {
    if constexpr (std::is_constructible_v<Port, detail::flow_input&>) return Port(**in++);
    else return Port(**out++);
  }
  template <class T> static void close(input<T>&) {}
  template <class T> static void close(output<T>& o) { o.flush(); }

  std::unique_ptr<detail::flow_plan> plan_ = std::make_unique<detail::flow_plan>();
};

}  // namespace query::dataflow
