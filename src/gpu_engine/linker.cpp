#include "gpu_engine/linker.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>

#include <query/detail/failure.hpp>
#include <query/errors.hpp>

#include "gpu_engine/library_functions.hpp"
#include "runtime/engine_failure.hpp"

namespace query::gpu_engine {

namespace {

struct opaque_link;
using link_handle = opaque_link*;

constexpr std::size_t log_shown = 4000;

std::vector<std::string> candidates() {
  if (const char* named = std::getenv("QUERY_NVJITLINK"); named != nullptr && *named != 0) return {named};
  const std::string files[] = {"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"};
  std::vector<std::string> names(std::begin(files), std::end(files)), folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* folder = std::getenv(variable); folder != nullptr && *folder != 0) folders.emplace_back(folder);
  folders.emplace_back("/usr/local/cuda");
  for (const std::string& folder : folders)
    for (const std::string& file : files) names.push_back(folder + "/lib64/" + file);
  return names;
}

// nvJitLinkInputType.
int input_type(device_form f) {
  switch (f) {
    case device_form::ptx:
      return 2;
    case device_form::lto_ir:
      return 3;
    default:
      return 1;
  }
}

}  // namespace

// The linker's functions, with its own ABI.
struct linker::library {
  int (*nvJitLinkCreate)(link_handle*, std::uint32_t options, const char** texts) = nullptr;
  int (*nvJitLinkDestroy)(link_handle*) = nullptr;
  int (*nvJitLinkAddData)(link_handle, int type, const void* data, std::size_t size, const char* name) = nullptr;
  int (*nvJitLinkComplete)(link_handle) = nullptr;
  int (*nvJitLinkGetLinkedCubinSize)(link_handle, std::size_t*) = nullptr;
  int (*nvJitLinkGetLinkedCubin)(link_handle, void*) = nullptr;
  int (*nvJitLinkGetErrorLogSize)(link_handle, std::size_t*) = nullptr;
  int (*nvJitLinkGetErrorLog)(link_handle, char*) = nullptr;
  int (*nvJitLinkVersion)(unsigned*, unsigned*) = nullptr;  // not in the first ones
  int version = 0;

  bool bind(void* loaded, const std::string& name, std::string& why) {
    library_functions of(loaded, name);
    of.bind(nvJitLinkCreate, "nvJitLinkCreate");
    of.bind(nvJitLinkDestroy, "nvJitLinkDestroy");
    of.bind(nvJitLinkAddData, "nvJitLinkAddData");
    of.bind(nvJitLinkComplete, "nvJitLinkComplete");
    of.bind(nvJitLinkGetLinkedCubinSize, "nvJitLinkGetLinkedCubinSize");
    of.bind(nvJitLinkGetLinkedCubin, "nvJitLinkGetLinkedCubin");
    of.bind(nvJitLinkGetErrorLogSize, "nvJitLinkGetErrorLogSize");
    of.bind(nvJitLinkGetErrorLog, "nvJitLinkGetErrorLog");
    of.bind_if_there(nvJitLinkVersion, "nvJitLinkVersion");
    why = of.missing();
    unsigned major = 0, minor = 0;
    if (nvJitLinkVersion != nullptr && nvJitLinkVersion(&major, &minor) == 0) version = static_cast<int>(major * 1000 + minor * 10);
    return why.empty();
  }
};

struct linker::search {
  const linker* found = nullptr;
  std::string why_not;
};

namespace {

// nvJitLink 13.0 keeps a lock of the whole process in the thread whose link failed: every other thread that links would wait for
// ever, the same one goes on. So one thread does all links. Never destroyed: it ends with the process.
class link_thread {
 public:
  static link_thread& of_process() {
    static link_thread& t = *std::make_unique<link_thread>().release();
    return t;
  }
  link_thread() {
    try {
      std::thread([this] { run(); }).detach();
    } catch (const std::system_error& e) {
      throw runtime::engine_failure(std::string("gpu: no thread to link kernels: ") + e.what());
    }
  }
  // Runs the task there and waits for it: links take milliseconds.
  void run_there(std::function<void()> task) {
    std::packaged_task<void()> given(std::move(task));
    std::future<void> done = given.get_future();
    {
      const std::lock_guard hold(lock_);
      tasks_.push_back(std::move(given));
    }
    more_.notify_one();
    done.get();
  }

 private:
  [[noreturn]] void run() {
    for (;;) {
      std::unique_lock hold(lock_);
      more_.wait(hold, [this] { return !tasks_.empty(); });
      std::packaged_task<void()> next = std::move(tasks_.front());
      tasks_.pop_front();
      hold.unlock();
      next();
    }
  }
  std::mutex lock_;
  std::condition_variable more_;
  std::deque<std::packaged_task<void()>> tasks_;
};

}  // namespace

// Never destroyed, as the driver.
const linker::search& linker::the_search() {
  static const search& s = *[] {
    auto made = std::make_unique<search>();
    for (const std::string& name : candidates()) {
      std::string problem;
      void* loaded = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (loaded == nullptr) {
        problem = ::dlerror();
      } else if (auto l = std::make_unique<library>(); l->bind(loaded, name, problem)) {
        made->found = std::unique_ptr<linker>(new linker(*l.release())).release();  // both are kept to the process's end
        made->why_not.clear();
        break;
      } else {
        ::dlclose(loaded);
      }
      if (made->why_not.empty()) made->why_not = "gpu: no linker for device functions (nvJitLink): " + problem;
    }
    return made.release();
  }();
  return s;
}
const linker* linker::find() { return the_search().found; }
const std::string& linker::why_not() { return the_search().why_not; }
int linker::version() const { return library_.version; }

bool linker::link(std::span<const link_input> inputs, int compute_capability, std::vector<std::byte>& cubin, std::string& log,
                  bool with_fast_math) const {
  bool linked = false;
  link_thread::of_process().run_there([&] { linked = link_here(inputs, compute_capability, cubin, log, with_fast_math); });
  return linked;
}

bool linker::link_here(std::span<const link_input> inputs, int compute_capability, std::vector<std::byte>& cubin, std::string& log,
                       bool with_fast_math) const {
  const library& l = library_;
  struct program {
    const library& l;
    link_handle handle = nullptr;
    ~program() {
      if (handle != nullptr) l.nvJitLinkDestroy(&handle);
    }
  } p{l};
  const std::string architecture = "-arch=sm_" + std::to_string(compute_capability);
  std::vector<const char*> options{architecture.c_str()};
  if (std::any_of(inputs.begin(), inputs.end(), [](const link_input& i) { return i.form == device_form::lto_ir; })) {
    // LTO-IR becomes machine code here, so what was said to the compiler of it is said again: the linker fuses products unless told not to.
    options.push_back("-lto");
    if (with_fast_math) options.insert(options.end(), {"-fma=1", "-ftz=1", "-prec-div=0", "-prec-sqrt=0"});
    else options.push_back("-fma=0");
  }
  int result = l.nvJitLinkCreate(&p.handle, static_cast<std::uint32_t>(options.size()), options.data());
  for (const link_input& i : inputs)
    if (result == 0) result = l.nvJitLinkAddData(p.handle, input_type(i.form), i.code.data(), i.code.size(), i.name.c_str());
  if (result == 0) result = l.nvJitLinkComplete(p.handle);
  std::size_t size = 0;
  if (result == 0) result = l.nvJitLinkGetLinkedCubinSize(p.handle, &size);
  if (result == 0) {
    cubin.resize(size);
    result = l.nvJitLinkGetLinkedCubin(p.handle, cubin.data());
  }
  if (result == 0) return true;
  if (p.handle != nullptr && l.nvJitLinkGetErrorLogSize(p.handle, &size) == 0 && size > 1) {
    log.resize(size);
    if (l.nvJitLinkGetErrorLog(p.handle, log.data()) != 0) log.clear();
    log.resize(std::min(log.find('\0'), log.size()));
  }
  if (log.empty()) log = "nvJitLink: error " + std::to_string(result);
  log.resize(std::min(log.size(), log_shown));
  return false;
}

namespace {

std::string described(const device_code& c) {
  const device_function& f = c.function->function;
  return "the device function " + f.symbol + " (" + std::string(detail::name_of(f.form)) + ") of accelerated(...) at " +
         detail::place_of(c.function->where);
}

std::string_view text_of(const std::vector<std::byte>& b) { return {reinterpret_cast<const char*>(b.data()), b.size()}; }

}  // namespace

compiled link_program(std::string_view kernels, std::span<const device_code> functions, std::span<const named_source> headers,
                      std::span<const std::string> options, int compute_capability) {
  const auto start = std::chrono::steady_clock::now();
  const compiler* c = compiler::find();
  if (c == nullptr) throw resource_error(compiler::why_not());
  const linker* l = linker::find();
  if (l == nullptr) throw resource_error(linker::why_not());

  const bool fast = kernels.starts_with(fast_math);
  // Kernels and sources travel as LTO-IR: small functions are inlined into the kernels that call them.
  std::vector<std::string> relocatable(options.begin(), options.end());
  relocatable.push_back(compiler::link_later);
  std::vector<compiled> made;
  made.reserve(functions.size() + 1);
  std::vector<link_input> inputs;
  const auto add = [&](compiled code, std::string name) {
    made.push_back(std::move(code));
    inputs.push_back({device_form::lto_ir, text_of(made.back().cubin), std::move(name)});
  };
  add(c->compile(kernels, headers, compute_capability, relocatable), "query.cu");
  for (const device_code& d : functions) {
    const device_function& f = d.function->function;
    if (f.form != device_form::cuda) {
      inputs.push_back({f.form, f.code, f.symbol});
      continue;
    }
    try {
      const std::string source = std::string(fast ? fast_math : "") + d.before + "#line 1 \"" + f.symbol + "\"\n" + f.code + "\n" + d.after;
      add(c->compile(source, headers, compute_capability, relocatable), f.symbol);
    } catch (const internal_error& e) {
      std::string log = e.what();
      log.erase(0, log.find('\n') == log.npos ? 0 : log.find('\n'));
      detail::fail(d.verb, described(d) + " does not compile, or its records differ from the host's:" + log, d.where);
    }
  }
  compiled all;
  std::string log;
  if (!l->link(inputs, compute_capability, all.cubin, log, fast)) {
    // The log names symbols and files; one function at a time would cost a link each.
    const auto named = std::find_if(functions.begin(), functions.end(),
                                    [&](const device_code& d) { return log.find(d.function->function.symbol) != log.npos; });
    const device_code& d = named == functions.end() ? functions.front() : *named;
    detail::fail(d.verb, described(d) + " does not link for sm_" + std::to_string(compute_capability) + ":\n" + log, d.where);
  }
  all.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return all;
}

}  // namespace query::gpu_engine
