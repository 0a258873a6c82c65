#include "gpu_engine/nvrtc.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>

#include <query/errors.hpp>

#include "gpu_engine/disk_cache.hpp"
#include "gpu_engine/library_functions.hpp"

namespace query::gpu_engine {
namespace {

struct opaque_program;
using program_handle = opaque_program*;

constexpr int nvrtc_success = 0, nvrtc_compilation_error = 6;
constexpr std::size_t log_shown = 4000;
constexpr int knows_minimal = 12040;  // the first version

std::vector<std::string> candidates() {
  if (const char* named = std::getenv("QUERY_NVRTC"); named != nullptr && *named != 0) return {named};
  std::vector<std::string> names = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  std::vector<std::string> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* folder = std::getenv(variable); folder != nullptr && *folder != 0) folders.push_back(folder);
  folders.push_back("/usr/local/cuda");
  for (const std::string& folder : folders)
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) names.push_back(folder + "/lib64/" + name);
  return names;
}

// Where QUERY_GPU_KEEP_SOURCE names a folder: writes the source there and returns its path, else "".
std::string keep_source(std::string_view source) {
  const char* folder = std::getenv("QUERY_GPU_KEEP_SOURCE");
  if (folder == nullptr || *folder == 0) return {};
  const std::string path = std::string(folder) + "/" + hash_text(source).hex() + ".cu";
  std::ofstream file(path, std::ios::binary);
  file.write(source.data(), static_cast<std::streamsize>(source.size()));
  return file.flush() ? path : std::string();
}

}  // namespace

// The compiler's functions, with its own ABI; those that are not there in old versions may be null.
struct compiler::library {
  int (*nvrtcVersion)(int*, int*) = nullptr;
  int (*nvrtcGetNumSupportedArchs)(int*) = nullptr;
  int (*nvrtcGetSupportedArchs)(int*) = nullptr;
  int (*nvrtcCreateProgram)(program_handle*, const char* source, const char* name, int headers, const char* const* texts,
                            const char* const* names) = nullptr;
  int (*nvrtcDestroyProgram)(program_handle*) = nullptr;
  int (*nvrtcCompileProgram)(program_handle, int options, const char* const*) = nullptr;
  int (*nvrtcGetPTXSize)(program_handle, std::size_t*) = nullptr;
  int (*nvrtcGetPTX)(program_handle, char*) = nullptr;
  int (*nvrtcGetCUBINSize)(program_handle, std::size_t*) = nullptr;
  int (*nvrtcGetCUBIN)(program_handle, char*) = nullptr;
  int (*nvrtcGetLTOIRSize)(program_handle, std::size_t*) = nullptr;
  int (*nvrtcGetLTOIR)(program_handle, char*) = nullptr;
  int (*nvrtcGetProgramLogSize)(program_handle, std::size_t*) = nullptr;
  int (*nvrtcGetProgramLog)(program_handle, char*) = nullptr;
  const char* (*nvrtcGetErrorString)(int) = nullptr;
  int version = 0;
  std::vector<int> architectures;  // ascending: 75, 80, ... those it makes machine code for

  // False, and `why`, if a function is missing.
  bool bind(void* loaded, const std::string& name, std::string& why) {
    library_functions of(loaded, name);
    of.bind(nvrtcVersion, "nvrtcVersion");
    of.bind(nvrtcGetNumSupportedArchs, "nvrtcGetNumSupportedArchs");
    of.bind(nvrtcGetSupportedArchs, "nvrtcGetSupportedArchs");
    of.bind(nvrtcCreateProgram, "nvrtcCreateProgram");
    of.bind(nvrtcDestroyProgram, "nvrtcDestroyProgram");
    of.bind(nvrtcCompileProgram, "nvrtcCompileProgram");
    of.bind(nvrtcGetPTXSize, "nvrtcGetPTXSize");
    of.bind(nvrtcGetPTX, "nvrtcGetPTX");
    of.bind(nvrtcGetCUBINSize, "nvrtcGetCUBINSize");
    of.bind(nvrtcGetCUBIN, "nvrtcGetCUBIN");
    of.bind(nvrtcGetLTOIRSize, "nvrtcGetLTOIRSize");
    of.bind(nvrtcGetLTOIR, "nvrtcGetLTOIR");
    of.bind(nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize");
    of.bind(nvrtcGetProgramLog, "nvrtcGetProgramLog");
    of.bind(nvrtcGetErrorString, "nvrtcGetErrorString");
    why = of.missing();
    if (!why.empty()) return false;
    int major = 0, minor = 0, n = 0;
    if (nvrtcVersion(&major, &minor) != nvrtc_success || nvrtcGetNumSupportedArchs(&n) != nvrtc_success || n < 1) {
      why = name + " does not say its version";
      return false;
    }
    version = major * 1000 + minor * 10;
    architectures.resize(static_cast<std::size_t>(n));
    check(nvrtcGetSupportedArchs(architectures.data()), "nvrtcGetSupportedArchs");
    std::sort(architectures.begin(), architectures.end());
    return true;
  }

  void check(int result, const char* call) const {
    if (result != nvrtc_success)
      throw resource_error(std::string("gpu: the run-time compiler failed: ") + call + ": " + nvrtcGetErrorString(result));
  }

  bool makes_code_for(int capability) const { return std::binary_search(architectures.begin(), architectures.end(), capability); }

  // The largest architecture up to the capability, or the smallest there is.
  int nearest(int capability) const {
    const auto after = std::upper_bound(architectures.begin(), architectures.end(), capability);
    return after == architectures.begin() ? *after : *std::prev(after);
  }
};

const compiler* compiler::load(std::string& why) {
  for (const std::string& name : candidates()) {
    void* loaded = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    std::string problem;
    if (loaded == nullptr) {
      problem = ::dlerror();
    } else {
      auto l = std::make_unique<library>();
      if (l->bind(loaded, name, problem)) {
        why.clear();
        return std::unique_ptr<compiler>(new compiler(*l.release())).release();  // both are kept to the process's end
      }
      ::dlclose(loaded);
    }
    if (why.empty()) why = "gpu: no run-time compiler (NVRTC): " + problem;  // the first name is the one to install
  }
  return nullptr;
}

struct compiler::search {
  const compiler* found = nullptr;
  std::string why_not;
};

// Never destroyed, as the driver.
const compiler::search& compiler::the_search() {
  static const search& s = *[] {
    auto made = std::make_unique<search>();
    made->found = load(made->why_not);
    return made.release();
  }();
  return s;
}

const compiler* compiler::find() { return the_search().found; }
const std::string& compiler::why_not() { return the_search().why_not; }
int compiler::version() const { return library_.version; }

compiled compiler::compile(std::string_view source, std::span<const named_source> headers, int compute_capability,
                           std::span<const std::string> options) const {
  const auto start = std::chrono::steady_clock::now();
  const std::string kept = keep_source(source);
  const library& l = library_;

  // The compiler takes texts that end in '\0'; string_views need not.
  std::vector<std::string> owned;
  owned.reserve(headers.size() * 2);
  std::vector<const char*> texts, names;
  for (const named_source& header : headers) {
    texts.push_back(owned.emplace_back(header.text).c_str());
    names.push_back(owned.emplace_back(header.name).c_str());
  }
  struct program {
    const library& l;
    program_handle handle = nullptr;
    ~program() {
      if (handle != nullptr) l.nvrtcDestroyProgram(&handle);
    }
  } p{l};
  l.check(l.nvrtcCreateProgram(&p.handle, std::string(source).c_str(), "query.cu", static_cast<int>(headers.size()), texts.data(),
                               names.data()),
          "nvrtcCreateProgram");

  // A GPU newer than the compiler takes code for a virtual architecture, which the driver translates.
  const bool lto = std::find(options.begin(), options.end(), link_later) != options.end();
  const bool machine_code = l.makes_code_for(compute_capability) && std::find(options.begin(), options.end(), to_ptx) == options.end();
  const char* const own = source.starts_with(architecture_specific) ? "a" : "";
  const std::string architecture =
      machine_code ? "sm_" + std::to_string(compute_capability) : "compute_" + std::to_string(l.nearest(compute_capability));
  std::vector<std::string> line = {"--gpu-architecture=" + architecture + own,
                                   "--std=c++20"};
  // Without declarations that generated kernels do not use (textures, the device's run-time library): 5 ms each. Sources that are linked
  // later are users' own and may use them.
  if (!lto && l.version >= knows_minimal) line.push_back("--minimal");
  const bool fast = source.starts_with(fast_math);
  for (const std::string& option : options)
    if ((!fast || option != separate_products) && option != to_ptx) line.push_back(option);
  if (fast) line.push_back("--use_fast_math");
  std::vector<const char*> arguments;
  for (const std::string& option : line) arguments.push_back(option.c_str());
  const int result = l.nvrtcCompileProgram(p.handle, static_cast<int>(arguments.size()), arguments.data());

  compiled c;
  std::size_t size = 0;
  if (l.nvrtcGetProgramLogSize(p.handle, &size) == nvrtc_success && size > 1) {
    c.log.resize(size);
    if (l.nvrtcGetProgramLog(p.handle, c.log.data()) != nvrtc_success) c.log.clear();
    c.log.resize(c.log.find('\0') == std::string::npos ? c.log.size() : c.log.find('\0'));
  }
  if (result == nvrtc_compilation_error)
    throw internal_error("gpu: generated source does not compile" + (kept.empty() ? "" : " (" + kept + ")") + ":\n" +
                         c.log.substr(0, log_shown));
  if (result != nvrtc_success && !c.log.empty())
    throw resource_error(std::string("gpu: the run-time compiler failed: ") + l.nvrtcGetErrorString(result) + ":\n" +
                         c.log.substr(0, log_shown));
  l.check(result, "nvrtcCompileProgram");

  const auto get_size = lto ? l.nvrtcGetLTOIRSize : machine_code ? l.nvrtcGetCUBINSize : l.nvrtcGetPTXSize;
  const auto get = lto ? l.nvrtcGetLTOIR : machine_code ? l.nvrtcGetCUBIN : l.nvrtcGetPTX;
  l.check(get_size(p.handle, &size), "nvrtcGetCUBINSize");
  c.cubin.resize(size);
  l.check(get(p.handle, reinterpret_cast<char*>(c.cubin.data())), "nvrtcGetCUBIN");
  c.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return c;
}

}  // namespace query::gpu_engine
