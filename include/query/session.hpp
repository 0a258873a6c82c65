// A session holds engines and limits: threads, memory, temporary space. Queries run in the standard one unless they name
// another with .in(session). Nothing else in the library is global.
//
//   query::Session two_threads({.threads = 2, .memory_limit = 4ull << 30});
//   auto n = query::from(rows).in(two_threads).where(p).count();
//
// Environment of the standard session: QUERY_THREADS, QUERY_MEMORY_LIMIT (bytes, or 512M, 8G), QUERY_TEMP (a folder),
// QUERY_TEMP_LIMIT (bytes), QUERY_VERIFY=1, QUERY_CHECKED=1, QUERY_FORM=interpreter (run traced functions by the interpreter),
// QUERY_GPU=off, QUERY_GPU_MEMORY (bytes, or 4G), QUERY_GPUS (numbers: 0,1), QUERY_CLUSTER=local:4.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include <query/detail/call_site.hpp>
#include <query/detail/function_ref.hpp>

namespace query {

namespace runtime {
class session_state;
class engine;
}

enum class gpu_use { allowed, off };

struct session_options {
  int threads = 0;                // 0: one for each core that this process may use
  std::size_t memory_limit = 0;   // bytes for tables, partitions and results; 0: three quarters of the machine's memory
  std::string temp_folder = {};   // must exist; for rows that memory has no room for; empty: TMPDIR, or /tmp
  std::size_t temp_limit = 0;     // bytes in temporary files; 0: QUERY_TEMP_LIMIT, else what the folder's disk has room for
  std::string checkpoint_folder = {};  // for checkpoint("name"): files that stay; empty: none
  bool verify = false;            // interpret a sample of rows beside every native run and compare
  bool interpret = false;         // run traced functions by the interpreter instead of natively
  bool checked = false;           // integer / and % without a result, and in traced functions values of null optionals, are user_errors
  gpu_use gpu = gpu_use::allowed; // may accelerated queries use a GPU?
  std::size_t gpu_memory = 0;     // bytes of memory of each GPU; 0: nine tenths of what is free when it is first used
  std::size_t gpu_min_rows = 32768;  // inputs known to have fewer stay on the CPU, others go where they cost less; 0: to the GPU
  std::vector<int> gpus = {};     // which of the machine's GPUs, by their numbers: {0, 1}; empty: the first
  std::string cluster = {};       // "local:4": queries run in four processes of this machine (docs/cluster.md); empty: in this one
};

// Processes of a cluster are started as this program, and enter here: the call returns in the program itself and not in them. Programs
// that link query::query by CMake need no call, as their main() begins with it; in others it is the first line of main(). A session
// with a cluster throws user_error where nobody has entered here.
void container_main();

class Session {
 public:
  // Throws user_error for options that make no sense.
  explicit Session(const session_options& options = {}, detail::call_site at = detail::call_site::here());
  // Adds an engine that vertices may be placed on, before the CPU engine (docs/design, src/runtime/engine.hpp).
  void add_engine(std::shared_ptr<runtime::engine> e);

  static Session& standard();  // configured by environment, made at its first use
  // The same as the option: Session::cluster("local:4").
  static Session cluster(std::string where, session_options options = {}, detail::call_site at = detail::call_site::here());

  int threads() const;
  std::size_t memory_limit() const;
  std::size_t memory_used() const;   // bytes in tables of running queries and of results that are alive
  std::size_t memory_peak() const;   // since the last reset
  void reset_memory_peak();
  std::string gpu_status() const;    // why accelerated queries of this session run on the CPU; "" if there is a GPU for them
  void trim();                       // gives memory kept for reuse back to the system

  const std::shared_ptr<runtime::session_state>& state() const { return state_; }

 private:
  std::shared_ptr<runtime::session_state> state_;
};

namespace detail {

// A token that stops a query, and a function that is told of its progress.
struct stop_call {
  std::shared_ptr<const void> token;
  bool (*stop_requested)(const void* token) = nullptr;
  const std::type_info* type = nullptr;  // a std::stop_token calls back; others are asked now and then
};
struct progress_call {
  std::shared_ptr<const void> f;
  void (*report)(const void* f, double fraction) = nullptr;
};
// Calls that queries grown from each other share: one more, or those of another list, cost the same however many there are.
template <class Call> class call_list {
 public:
  bool empty() const { return !last_; }
  void add(Call c);
  void add(const call_list& more);
  std::vector<Call> all() const;  // each once

 private:
  struct link;
  std::shared_ptr<const link> last_;
};
extern template class call_list<stop_call>;
extern template class call_list<progress_call>;

// How one query wants to be run; shared by the queries that grow from it.
struct run_settings {
  std::shared_ptr<runtime::session_state> session;  // null: the standard session
  call_list<stop_call> stops;                       // each of them stops it
  double seconds = 0;                               // deadline after the start; 0: none
  bool verify = false;
  call_list<progress_call> progress;                // each of them is told
};
using settings = std::shared_ptr<const run_settings>;  // null: all defaults

// Of a query that `verb` puts together from two (docs/sessions.md): one session, all tokens, the earlier deadline. Throws
// user_error where they name two sessions.
settings merged(const settings& a, const settings& b, std::string_view verb, call_site at);
// a's session, stopped by what stops either: for terminal verbs that run two queries side by side.
settings stopped_by_both(const settings& a, const settings& b);
// Does a query run by s keep to the session, tokens and deadline that `part` asks for?
bool covers(const settings& s, const settings& part);

}  // namespace detail
}  // namespace query
