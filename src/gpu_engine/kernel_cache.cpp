#include "gpu_engine/kernel_cache.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <future>
#include <limits>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "gpu_engine/kernel_parts.hpp"

namespace query::gpu_engine {
namespace {

std::uint32_t attribute(const driver& calls, function_handle function, int which) {
  int value = 0;
  QUERY_CUDA(calls, cuFuncGetAttribute, &value, which, function);
  return static_cast<std::uint32_t>(value);
}

compiled compile_here(const kernel_cache::settings& s, std::string_view source, int capability) {
  const compiler* c = compiler::find();
  if (c == nullptr) throw resource_error(compiler::why_not());
  return c->compile(source, s.headers, capability, s.options);
}

// Seconds. Where many programs compile at once, as tests do, QUERY_GPU_PATIENCE says more.
double patience_here() {
  constexpr double by_default = 5;
  const char* text = std::getenv("QUERY_GPU_PATIENCE");
  if (text == nullptr || *text == 0) return by_default;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (*end != 0 || !(seconds >= 0)) throw user_error(std::string("QUERY_GPU_PATIENCE: expected seconds: found '") + text + "'");
  return seconds;
}

// Headers, options and compiler: what beside its source and architecture decides what a kernel compiles to. Headers enter
// by their hash, so that a key stays small.
std::string environment_of(const kernel_cache::settings& s) {
  std::string headers;
  for (const named_source& h : s.headers) {
    headers.append(h.name).push_back('\0');
    headers.append(h.text).push_back('\0');
  }
  const compiler* c = s.compile ? nullptr : compiler::find();
  std::string text = "nvrtc " + std::to_string(c != nullptr ? c->version() : 0) + "\nheaders " + hash_text(headers).hex() + "\n";
  for (const std::string& option : s.options) text += "option " + option + "\n";
  return text;
}

// Of kernels that are linked: the linker makes their machine code. Asked for when there is one, as others need no linker.
std::string linker_of(const kernel_cache::settings& s, bool own_link) {
  const linker* l = s.link_version || own_link ? nullptr : linker::find();
  return "nvjitlink " + std::to_string(s.link_version.value_or(l != nullptr ? l->version() : 0)) + "\n";
}

std::string place_of(const device& d, const std::string& key) { return std::to_string(reinterpret_cast<std::uintptr_t>(&d)) + " " + key; }

// Tasks of the process that compile. The compiler, the linker and the driver keep static objects, some of which they make while they work;
// those made last go first when the process ends, and a thread that still compiles then crashes. So no task outlives the main thread:
// objects of a thread, as that of `guarded` below, go before all static ones. Never destroyed.
class compiling_tasks {
 public:
  static compiling_tasks& of_process() {
    static compiling_tasks& t = *std::make_unique<compiling_tasks>().release();
    return t;
  }
  // One more, until the returned object goes; null where the process ends.
  std::shared_ptr<void> begin() {
    const std::lock_guard hold(lock_);
    if (ending_) return nullptr;
    ++under_way_;
    return std::shared_ptr<void>(this, [this](void*) {
      const std::lock_guard over(lock_);
      --under_way_;
      none_left_.notify_all();
    });
  }
  bool ending() const { return ending_; }
  // Compilations cannot be stopped; of those that have not begun none begins.
  void end_all() {
    std::unique_lock hold(lock_);
    ending_ = true;
    none_left_.wait(hold, [this] { return under_way_ == 0; });
  }

 private:
  std::mutex lock_;
  std::condition_variable none_left_;
  std::size_t under_way_ = 0;
  std::atomic<bool> ending_ = false;
};
// The thread that loads the library is nearly always the one that returns from main(). A library that another thread loads is not guarded.
[[maybe_unused]] const bool guarded = [] {
  struct process_end {
    const pid_t main_thread = ::getpid();
    ~process_end() {
      if (::gettid() == main_thread) compiling_tasks::of_process().end_all();  // not of a child, which has no other threads
    }
  };
  static thread_local process_end of_this_thread;
  (void)of_this_thread;
  return true;
}();

struct key_hash {
  std::size_t operator()(const std::string& key) const { return static_cast<std::size_t>(hash_text(key).low); }
  std::size_t operator()(const hash128& key) const { return static_cast<std::size_t>(key.low); }
};

}  // namespace

struct loaded_module {
  loaded_module(const device& d, const std::vector<std::byte>& cubin, const hash128& k) : on(d), key(k) {
    const scoped_context here(on);
    QUERY_CUDA(on.calls(), cuModuleLoadData, &handle, cubin.data());
  }
  ~loaded_module() {
    const scoped_context here(on);
    on.calls().cuModuleUnload(handle);
  }
  loaded_module(const loaded_module&) = delete;
  loaded_module& operator=(const loaded_module&) = delete;

  const device& on;
  const hash128 key;
  module_handle handle = nullptr;
};

struct kernel_cache::state {
  explicit state(settings given)
      : options(std::move(given)), environment(environment_of(options)), own_link(options.link != nullptr),
        files(options.folder ? *options.folder : disk_cache::default_folder(), options.folder_limit),
        threads(options.threads   ? *options.threads
                : options.compile ? 0
                                  : std::max(std::thread::hardware_concurrency(), 1u) - 1),
        patience(options.patience  ? *options.patience
                 : options.compile ? std::numeric_limits<double>::infinity()
                                   : patience_here()) {
    if (!options.compile)
      options.compile = [this](std::string_view source, int capability) { return compile_here(options, source, capability); };
    if (!options.link)
      options.link = [this](std::string_view source, std::span<const device_code> functions, int capability) {
        return link_program(source, functions, options.headers, options.options, capability);
      };
  }
  ~state() { ending = true; }  // the members' destructors wait for what is being made

  // What was asked for of one source on one device.
  struct program {
    std::vector<kernel_part> parts;  // none: the source as it is
    bool linked = false;             // calls functions of the user's
    std::uint64_t used = 0;          // when it was last asked for, in calls
    std::map<std::string, std::shared_ptr<const kernel>, std::less<>> kernels;
  };

  std::shared_ptr<const kernel> make_kernel(const std::string& entry, const device& d, std::shared_ptr<const loaded_module> from);
  struct future_module {
    std::shared_future<std::shared_ptr<const loaded_module>> made;
    std::chrono::steady_clock::time_point begun;
  };
  using task = std::function<void()>;
  std::pair<future_module, task> module_of(const std::string& source, const device& d, std::span<const device_code> functions);
  std::shared_ptr<const loaded_module> wait_for_module(const std::string& source, const device& d, std::span<const device_code> functions);
  std::shared_ptr<const compiled> compile_once(const std::string& key, const std::string& source, const device& d,
                                               std::span<const device_code> functions);
  std::shared_ptr<const loaded_module> make_module(const std::string& key, const std::string& source, const device& d,
                                                   std::span<const device_code> functions);
  void make_ahead(std::vector<std::string> sources, const device& d, std::span<const device_code> functions);
  bool begin(const task& t);
  struct leaving {  // unloaded without the lock, as the driver may wait for the device then
    std::vector<future_module> modules;
    std::vector<program> programs;
  };
  std::string key_of(const std::string& source, const device& d, bool linked) const;
  program& program_of(const std::string& source, const device& d, bool linked);
  leaving make_room(const device& d);

  settings options;
  const std::string environment;
  const bool own_link;
  const disk_cache files;
  const unsigned threads;
  const double patience;  // seconds

  std::mutex mutex;
  std::unordered_map<std::string, future_module, key_hash> modules;  // by device and full key
  std::map<const device*, std::unordered_map<std::string, program, key_hash>> programs;  // by source
  // Being compiled now, by full key: several devices that ask for one program at once compile it once.
  std::unordered_map<std::string, std::shared_future<std::shared_ptr<const compiled>>, key_hash> under_way;
  std::unordered_set<hash128, key_hash> loaded;  // keys of kernels' programs
  std::uint64_t asked = 0;                       // calls of get()
  kernel_cache_counters counted;
  std::atomic<bool> ending = false;
  std::vector<std::future<void>> ahead;  // last: waited for before the rest goes
};

// The other kernels of a program, by threads of their own that end with them. What fails here fails again where it is asked for.
void kernel_cache::state::make_ahead(std::vector<std::string> sources, const device& d, std::span<const device_code> functions) {
  struct work {
    std::vector<std::string> sources;
    std::vector<device_code> functions;
    std::atomic<std::size_t> next = 0;
  };
  const std::size_t workers = std::min<std::size_t>(threads, sources.size());
  if (workers == 0) return;
  const auto all = std::make_shared<work>();
  all->sources = std::move(sources);
  all->functions.assign(functions.begin(), functions.end());
  const auto run = [this, all, &d] {
    for (std::size_t i; !ending && !compiling_tasks::of_process().ending() && (i = all->next.fetch_add(1)) < all->sources.size();) {
      try {
        if (const task make = module_of(all->sources[i], d, all->functions).second) make();
      } catch (...) {
      }
    }
  };
  for (std::size_t i = 0; i < workers; ++i)
    if (!begin(run)) return;  // they are made when they are asked for
}

// False where the system has no more threads, or the process ends.
bool kernel_cache::state::begin(const task& t) {
  std::shared_ptr<void> counted_task = compiling_tasks::of_process().begin();
  if (!counted_task) return false;
  const std::lock_guard lock(mutex);
  std::erase_if(ahead, [](const std::future<void>& f) { return f.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  try {
    ahead.push_back(std::async(std::launch::async, [t, held = std::move(counted_task)]() mutable {
      t();
      held.reset();
    }));
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

std::string kernel_cache::state::key_of(const std::string& source, const device& d, bool linked) const {
  return environment + (linked ? linker_of(options, own_link) : "") + "sm " + std::to_string(d.compute_capability()) + "\n" + source;
}

// Under the lock.
kernel_cache::state::program& kernel_cache::state::program_of(const std::string& source, const device& d, bool linked) {
  const auto [at, fresh] = programs[&d].try_emplace(source);
  if (fresh) {
    at->second.parts = kernel_parts(source);
    at->second.linked = linked;
  }
  at->second.used = ++asked;
  return at->second;
}

// Under the lock, before one more program. Services that run for months see queries of every shape; parameters make none. Who holds a
// kernel keeps it; what is asked for again comes from the disk.
kernel_cache::state::leaving kernel_cache::state::make_room(const device& d) {
  leaving gone;
  auto& here = programs[&d];
  if (here.size() < std::max<std::size_t>(options.programs, 1)) return gone;
  std::vector<std::uint64_t> times;
  for (const auto& [source, p] : here) times.push_back(p.used);
  const auto last = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 4);
  std::nth_element(times.begin(), last, times.end());
  const auto leave = [&](const std::string& text, bool linked) {
    if (auto node = modules.extract(place_of(d, key_of(text, d, linked)))) gone.modules.push_back(std::move(node.mapped()));
  };
  for (auto next = here.begin(); next != here.end();) {
    const auto at = next++;
    program& p = at->second;
    if (p.used > *last) continue;
    if (p.parts.empty()) leave(at->first, p.linked);
    for (const kernel_part& part : p.parts) leave(text_of(at->first, p.parts, part), p.linked);
    for (const auto& [entry, k] : p.kernels) loaded.erase(k->key);
    gone.programs.push_back(std::move(p));
    here.erase(at);
    ++counted.evicted;
  }
  return gone;
}

// Who asks first for a source gets the task of making its module, which throws nothing; all wait for it. A failure reaches all of them,
// and the next who asks tries again.
std::pair<kernel_cache::state::future_module, kernel_cache::state::task> kernel_cache::state::module_of(
    const std::string& source, const device& d, std::span<const device_code> functions) {
  std::string key = key_of(source, d, !functions.empty()), place = place_of(d, key);
  const std::lock_guard lock(mutex);
  if (const auto found = modules.find(place); found != modules.end()) return {found->second, nullptr};
  const auto promise = std::make_shared<std::promise<std::shared_ptr<const loaded_module>>>();
  const future_module made =
      modules.emplace(place, future_module{promise->get_future().share(), std::chrono::steady_clock::now()}).first->second;
  return {made, [this, promise, key = std::move(key), place = std::move(place), source, &d,
                 of = std::vector<device_code>(functions.begin(), functions.end())] {
            try {
              promise->set_value(make_module(key, source, d, of));
            } catch (...) {
              {
                const std::lock_guard lock(mutex);
                modules.erase(place);
              }
              promise->set_exception(std::current_exception());
            }
          }};
}

// A compilation takes a tenth of a second, or minutes, and cannot be stopped; who waits for it can, and does after a while: a query that
// the CPU may run, too, is not to wait for a kernel longer than for its rows.
std::shared_ptr<const loaded_module> kernel_cache::state::wait_for_module(const std::string& source, const device& d,
                                                                          std::span<const device_code> functions) {
  constexpr std::chrono::milliseconds a_look{1};
  const auto [module, make] = module_of(source, d, functions);
  if (make && !begin(make)) make();
  const detail::stop_point stop;
  while (module.made.wait_for(a_look) != std::future_status::ready) {
    stop.check();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - module.begun;
    if (!waits_for_kernels::here() && passed.count() > patience)
      throw still_compiling("gpu: a kernel was still being compiled after " + std::to_string(static_cast<int>(passed.count())) +
                            " s; queries that come when it is done use it");
  }
  return module.made.get();
}

std::shared_ptr<const loaded_module> kernel_cache::state::make_module(const std::string& key, const std::string& source,
                                                                      const device& d, std::span<const device_code> functions) {
  if (const auto stored = files.find(key)) {
    try {
      auto loaded = std::make_shared<loaded_module>(d, *stored, hash_text(key));
      const std::lock_guard lock(mutex);
      ++counted.disk_hits;
      return loaded;
    } catch (const internal_error&) {  // a file that the driver refuses is no better than none
    }
  }
  return std::make_shared<loaded_module>(d, compile_once(key, source, d, functions)->cubin, hash_text(key));
}

std::shared_ptr<const compiled> kernel_cache::state::compile_once(const std::string& key, const std::string& source, const device& d,
                                                                  std::span<const device_code> functions) {
  std::promise<std::shared_ptr<const compiled>> promise;
  {
    std::unique_lock lock(mutex);
    if (const auto other = under_way.find(key); other != under_way.end()) {
      const auto made = other->second;
      lock.unlock();
      return made.get();
    }
    under_way.emplace(key, promise.get_future().share());
  }
  const auto ended = [&] {
    const std::lock_guard lock(mutex);
    under_way.erase(key);
  };
  try {
    auto made = std::make_shared<const compiled>(functions.empty() ? options.compile(source, d.compute_capability())
                                                                   : options.link(source, functions, d.compute_capability()));
    {
      const std::lock_guard lock(mutex);
      ++counted.compiled;
      counted.compile_seconds += made->seconds;
    }
    files.store(key, made->cubin);
    promise.set_value(made);
    ended();
    return made;
  } catch (...) {
    ended();
    promise.set_exception(std::current_exception());
    throw;
  }
}

kernel_cache::kernel_cache(settings s) : state_(std::make_unique<state>(std::move(s))) {}
kernel_cache::~kernel_cache() = default;

std::shared_ptr<const kernel> kernel_cache::get(const std::string& source, const std::string& entry, const device& d,
                                                std::span<const device_code> functions) {
  std::vector<std::string> others;
  std::string own;  // "": all of it
  if (entry.empty() && state_->threads == 0) return nullptr;
  state::leaving gone;
  {
    const std::lock_guard lock(state_->mutex);
    const bool fresh = !state_->programs[&d].contains(source);
    if (fresh) gone = state_->make_room(d);
    state::program& p = state_->program_of(source, d, !functions.empty());
    if (const auto known = p.kernels.find(entry); known != p.kernels.end()) {
      ++state_->counted.hits;
      return known->second;
    }
    if (entry.empty() && p.parts.empty() && fresh) others.push_back(source);
    for (const kernel_part& part : p.parts) {
      if (part.entry == entry) own = text_of(source, p.parts, part);
      else if (fresh) others.push_back(text_of(source, p.parts, part));
    }
  }
  if (!others.empty()) state_->make_ahead(std::move(others), d, functions);
  if (entry.empty()) {
    const std::lock_guard lock(state_->mutex);
    const auto& known = state_->program_of(source, d, !functions.empty()).kernels;
    return known.empty() ? nullptr : known.begin()->second;
  }
  auto made = state_->make_kernel(entry, d, state_->wait_for_module(own.empty() ? source : own, d, functions));
  const std::lock_guard lock(state_->mutex);
  state_->loaded.insert(made->key);
  return state_->program_of(source, d, !functions.empty()).kernels.try_emplace(entry, std::move(made)).first->second;
}

std::shared_ptr<const kernel> kernel_cache::state::make_kernel(const std::string& entry, const device& d,
                                                               std::shared_ptr<const loaded_module> from) {
  const scoped_context here(d);
  auto k = std::make_shared<kernel>();
  const int result = d.calls().cuModuleGetFunction(&k->function, from->handle, entry.c_str());
  if (result == cuda_result::not_found) throw internal_error("gpu: generated source has no function of this name: " + entry);
  d.calls().check(result, "cuModuleGetFunction");
  k->on = &d;
  k->registers = attribute(d.calls(), k->function, cuda_attribute::function_registers);
  k->static_shared = attribute(d.calls(), k->function, cuda_attribute::function_static_shared);
  k->local_bytes = attribute(d.calls(), k->function, cuda_attribute::function_local_bytes);
  k->max_threads = attribute(d.calls(), k->function, cuda_attribute::function_max_threads);
  k->key = from->key;
  k->module = std::move(from);
  return k;
}

bool kernel_cache::has(const hash128& key) const {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->loaded.contains(key)) return true;
  }
  return state_->files.has(key);
}

kernel_cache_counters kernel_cache::counters() const {
  const std::lock_guard lock(state_->mutex);
  return state_->counted;
}

}  // namespace query::gpu_engine
