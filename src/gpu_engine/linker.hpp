// NVIDIA's device linker, loaded at run time: kernels and the user's device functions put together into machine code.
//
// Between the run-time compiler and the kernel cache, for kernels that call functions of query::accelerated only.
//
//   const device_code f{"value", device_form::ptx, text, ...};
//   link_program(kernels, {&f, 1}, embedded_sources(), {}, 90).cubin
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_engine/nvrtc.hpp"
#include "ir/device_function.hpp"

namespace query::gpu_engine {

// A function of the user's that a kernel calls.
struct device_code {
  std::shared_ptr<const detail::held_device_function> function;
  std::string before, after;  // of CUDA source: the records of its row and result; what compares them with the host's
  std::string verb;           // that calls it, for errors
  detail::call_site where;
};

struct link_input {
  device_form form = device_form::cubin;
  std::string_view code;
  std::string name;
};

// Thread-safe.
class linker {
 public:
  // Loaded once a process and kept: the library that QUERY_NVJITLINK names, or the first of libnvJitLink.so.13, .12 and .so on
  // the loader's path and where compiler::find looks. Null if there is none.
  static const linker* find();
  static const std::string& why_not();  // "" if there is one

  int version() const;  // 13000; 0: one that does not say

  // Machine code for sm_<capability>. False, with the linker's log, if it does not link.
  // Of LTO-IR, with_fast_math says what nvrtc.hpp's line of that name says of sources; without it floats are IEEE's.
  bool link(std::span<const link_input> inputs, int compute_capability, std::vector<std::byte>& cubin, std::string& log,
            bool with_fast_math = false) const;

 private:
  struct library;
  struct search;
  explicit linker(const library& l) : library_(l) {}
  static const search& the_search();
  bool link_here(std::span<const link_input> inputs, int compute_capability, std::vector<std::byte>& cubin, std::string& log,
                 bool with_fast_math) const;
  const library& library_;
};

// Compiles the kernels and the functions that are CUDA source, and links all. Throws user_error, with the verb of the function,
// its place and the log, for what is wrong with a function; resource_error without linker.
compiled link_program(std::string_view kernels, std::span<const device_code> functions, std::span<const named_source> headers,
                      std::span<const std::string> options, int compute_capability);

}  // namespace query::gpu_engine
