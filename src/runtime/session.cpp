#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include <query/detail/discard.hpp>
#include <query/detail/failure.hpp>

#include "runtime/default_memory.hpp"
#include "runtime/engine_failure.hpp"
#include "runtime/gpu_placement.hpp"
#include "runtime/session_state.hpp"

namespace query {

namespace runtime {

std::size_t default_memory_limit() {
  std::ifstream info("/proc/meminfo");
  std::string word;
  std::size_t kilobytes = 0;
  while (info >> word)
    if (word == "MemTotal:" && info >> kilobytes) break;
  return kilobytes ? kilobytes / 4 * 3 * 1024 : 0;
}

namespace {

constexpr int most_threads = 4096;

// "4096", "512M", "512MB", "512MiB": a unit is always a power of 1024.
std::size_t bytes_of(const char* name, const std::string& text) {
  std::size_t end = 0;
  unsigned long long n = 0;
  try {
    if (text.find('-') == std::string::npos) n = std::stoull(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  std::size_t unit = 1;
  if (end > 0 && end < text.size()) {
    switch (std::toupper(static_cast<unsigned char>(text[end++]))) {
      case 'K': unit = 1ull << 10; break;
      case 'M': unit = 1ull << 20; break;
      case 'G': unit = 1ull << 30; break;
      case 'T': unit = 1ull << 40; break;
      default: end = 0;
    }
    if (end > 0 && (text.compare(end, 2, "iB") == 0 || text.compare(end, 2, "ib") == 0)) end += 2;
    else if (end > 0 && (text.compare(end, 1, "B") == 0 || text.compare(end, 1, "b") == 0)) end += 1;
  }
  if (end == 0 || end != text.size() || n > std::numeric_limits<std::size_t>::max() / unit)
    throw user_error(std::string(name) + ": expected bytes, such as 4096, 512M or 8GiB: found '" + text + "'");
  return static_cast<std::size_t>(n) * unit;
}

// "0,1": numbers of GPUs.
std::vector<int> gpus_of(const std::string& text) {
  constexpr int most_gpus = 1024;
  std::vector<int> all;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string number = text.substr(at, end - at);
    if (number.empty() || number.size() > 4 || number.find_first_not_of("0123456789") != std::string::npos || std::stoi(number) > most_gpus)
      throw user_error("QUERY_GPUS: expected numbers of GPUs, such as 0 or 0,1: found '" + text + "'");
    all.push_back(std::stoi(number));
    at = end + 1;
  }
  return all;
}

// Of a session's temporary files, where its options have none.
std::uint64_t temp_limit(const session_options& o) {
  if (o.temp_limit) return o.temp_limit;
  const char* m = std::getenv("QUERY_TEMP_LIMIT");
  return m && *m ? bytes_of("QUERY_TEMP_LIMIT", m) : 0;
}

}  // namespace

session_options options_from_environment() {
  session_options o;
  if (const char* t = std::getenv("QUERY_THREADS")) {
    char* end = nullptr;
    const long n = std::strtol(t, &end, 10);
    if (end == t || *end || n < 0 || n > most_threads)
      throw user_error("QUERY_THREADS: expected a number from 0 to " + std::to_string(most_threads) + ": found '" + t + "'");
    o.threads = static_cast<int>(n);
  }
  if (const char* m = std::getenv("QUERY_MEMORY_LIMIT")) o.memory_limit = bytes_of("QUERY_MEMORY_LIMIT", m);
  if (const char* t = std::getenv("QUERY_TEMP"); t && *t) {
    if (!std::filesystem::is_directory(t)) throw user_error(std::string("QUERY_TEMP: expected a folder: found '") + t + "'");
    o.temp_folder = t;
  }
  if (const char* c = std::getenv("QUERY_CHECKPOINTS")) o.checkpoint_folder = c;
  if (const char* v = std::getenv("QUERY_VERIFY"); v && *v) {
    if (std::string(v) != "0" && std::string(v) != "1")
      throw user_error(std::string("QUERY_VERIFY: expected 0 or 1: found '") + v + "'");
    o.verify = *v == '1';
  }
  if (const char* c = std::getenv("QUERY_CHECKED"); c && *c) {
    if (std::string(c) != "0" && std::string(c) != "1")
      throw user_error(std::string("QUERY_CHECKED: expected 0 or 1: found '") + c + "'");
    o.checked = *c == '1';
  }
  if (const char* g = std::getenv("QUERY_GPU")) {
    if (std::string(g) != "on" && std::string(g) != "off")
      throw user_error(std::string("QUERY_GPU: expected on or off: found '") + g + "'");
    o.gpu = std::string(g) == "on" ? gpu_use::allowed : gpu_use::off;
  }
  if (const char* m = std::getenv("QUERY_GPU_MEMORY")) o.gpu_memory = bytes_of("QUERY_GPU_MEMORY", m);
  if (const char* g = std::getenv("QUERY_GPUS"); g && *g) o.gpus = gpus_of(g);
  if (const char* c = std::getenv("QUERY_CLUSTER")) o.cluster = c;
  if (const char* f = std::getenv("QUERY_FORM")) {
    if (std::string(f) != "native" && std::string(f) != "interpreter")
      throw user_error(std::string("QUERY_FORM: expected native or interpreter: found '") + f + "'");
    o.interpret = std::string(f) == "interpreter";
  }
  return o;
}

session_state::session_state(const session_options& o)
    : options(o),
      cpu(make_cpu_engine()),
      pool(o.memory_limit ? o.memory_limit : default_memory_limit()),
      temp(o.temp_folder, temp_limit(o)) {
  if (!o.temp_folder.empty() && !std::filesystem::is_directory(o.temp_folder))
    throw detail::unplaced_error("Session: the temp folder is not a folder: " + o.temp_folder);
  if (o.threads < 0) throw detail::unplaced_error("Session: threads must not be negative: " + std::to_string(o.threads));
  if (o.threads > most_threads)
    throw detail::unplaced_error("Session: threads: expected at most " + std::to_string(most_threads) + ": found " +
                                 std::to_string(o.threads));
  for (const int gpu : o.gpus)
    if (gpu < 0) throw detail::unplaced_error("Session: gpus: numbers must not be negative: " + std::to_string(gpu));
  if (!o.cluster.empty()) processes = make_cluster(o);
  if (processes) partitions = processes->partitions();
  scheduler = cpu->make_scheduler(processes ? processes->threads() : o.threads);
}

const session_state::gpu_once& session_state::the_gpu() const {
  std::call_once(gpu_.made, [&] {
    if (options.gpu == gpu_use::off) gpu_.none.why = "the session does not use GPUs";
    else gpu_.found = make_gpu_engine({options.gpu_memory, options.gpu_min_rows, options.gpus}, gpu_.none);
    // Whoever shows it says that it is about a GPU.
    if (gpu_.none.why.rfind("gpu: ", 0) == 0) gpu_.none.why.erase(0, 5);
    if (gpu_.found && options.gpu_min_rows) weigh_against_cpu(*gpu_.found, *cpu, *scheduler);
    made_gpu_.store(gpu_.found.get(), std::memory_order_release);
  });
  return gpu_;
}
void session_state::take_gpu(std::shared_ptr<engine> e) {
  std::call_once(gpu_.made, [&] {
    gpu_.found = std::move(e);
    made_gpu_.store(gpu_.found.get(), std::memory_order_release);
  });
}
engine* session_state::gpu() const { return the_gpu().found.get(); }
const without_gpu& session_state::why_no_gpu() const { return the_gpu().none; }
engine* gpu_to_plan_for(const session_state& session) {
  engine* e = session.gpu();
  return e && e->lost().empty() ? e : nullptr;
}
std::string gpu_status(const session_state& session) {
  const engine* e = session.gpu();
  const std::string loss = e ? e->lost() : "";
  return loss.empty() ? session.why_no_gpu().why : std::string(gpu_was_lost) + loss;
}
bool gpu_is_lost(const session_state& session) {
  for (const auto& e : session.engines)
    if (!e->lost().empty()) return true;
  const engine* const e = session.gpu();
  return e ? !e->lost().empty() : session.why_no_gpu().lost;
}
engine* session_state::engine_named(std::string_view name) const {
  for (const auto& e : engines)
    if (e->name() == name) return e.get();
  engine* const own = gpu_if_made();
  return own && own->name() == name ? own : nullptr;
}
engine* session_state::gpu_to_ask() const {
  for (const auto& e : engines)
    if (e->is_gpu()) return e.get();
  return gpu();
}

std::shared_ptr<std::mutex> session_state::computing(const detail::logical& n) {
  const std::lock_guard hold(lock_);
  let_go();
  auto& slot = computing_[n.kept_as.get()];
  std::shared_ptr<std::mutex> m = slot.lock();
  if (!m) slot = m = std::make_shared<std::mutex>();
  return m;
}
void session_state::let_go() {
  if (++since_let_go_ < std::max(cached_.size(), computing_.size())) return;
  since_let_go_ = 0;
  std::erase_if(cached_, [](const auto& e) { return e.second.by.expired(); });
  std::erase_if(computing_, [](const auto& e) { return e.second.expired(); });
}
void session_state::forget_dead() {
  const std::lock_guard hold(lock_);
  std::erase_if(cached_, [](const auto& e) { return e.second.by.expired(); });
}
std::optional<session_state::cached_rows> session_state::find_cached(const detail::logical& n, bool in_order, cached_part p) {
  const std::lock_guard hold(lock_);
  let_go();
  const auto it = cached_.find({n.kept_as.get(), p});
  if (it == cached_.end() || (in_order && !it->second.rows.in_order)) return std::nullopt;
  return it->second.rows;
}
void session_state::keep_cached(const detail::logical& n, cached_rows rows, cached_part p) {
  const std::lock_guard hold(lock_);
  cached_[{n.kept_as.get(), p}] = {n.kept_as, std::move(rows)};
}
void session_state::forget_parts(const detail::logical& n) {
  const std::lock_guard hold(lock_);
  std::erase_if(cached_, [&](const auto& e) { return e.first.first == n.kept_as.get() && e.first.second.of > 1; });
}
void session_state::forget_cached(const detail::logical& n, std::string_view engine) {
  const std::lock_guard hold(lock_);
  const auto it = cached_.find({n.kept_as.get(), cached_part{}});
  if (it == cached_.end()) return;
  vertex_rows& rows = it->second.rows.rows;
  if (!rows.kept || rows.kept->engine() != engine) return;
  if (rows.here()) rows.kept = nullptr;
  else cached_.erase(it);
}

}  // namespace runtime

Session::Session(const session_options& o, detail::call_site at) try : state_(std::make_shared<runtime::session_state>(o)) {
} catch (const detail::unplaced_error& e) {
  detail::fail_at(e, at);
}
void Session::add_engine(std::shared_ptr<runtime::engine> e) { state_->engines.push_back(std::move(e)); }
Session& Session::standard() {
  // Objects that live longer than it, as static ones do that were made before, may run queries in their destructors.
  static bool gone = false;
  struct guarded {
    Session session{runtime::options_from_environment()};
    ~guarded() { gone = true; }
  };
  if (gone)
    throw user_error("query: the standard session is gone, as static objects are destroyed at the end of the program; give queries of "
                     "their destructors a Session that lives longer: q.in(session)");
  static guarded s;
  return s.session;
}
Session Session::cluster(std::string where, session_options options, detail::call_site at) {
  options.cluster = std::move(where);
  return Session(options, at);
}
int Session::threads() const { return state_->scheduler->concurrency(); }
std::size_t Session::memory_limit() const { return state_->pool.limit(); }
std::size_t Session::memory_used() const {
  state_->forget_dead();
  detail::wait_for_discarded();
  return state_->pool.used();
}
std::size_t Session::memory_peak() const { return state_->pool.peak(); }
void Session::reset_memory_peak() { state_->pool.reset_peak(); }
std::string Session::gpu_status() const { return runtime::gpu_status(*state_); }
void Session::trim() {
  state_->forget_dead();
  detail::wait_for_discarded();
  state_->pool.trim();
  for (const auto& e : state_->engines) e->trim();
  if (runtime::engine* gpu = state_->gpu_if_made()) gpu->trim();
}

}  // namespace query
