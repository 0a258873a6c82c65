// Functions of a library that is loaded while the program runs, by their names.
//
//   library_functions of(loaded, "libnvrtc.so.12");
//   of.bind(nvrtcVersion, "nvrtcVersion");
//   if (!of.missing().empty()) ...                   // "libnvrtc.so.12 has no nvrtcVersion"
#pragma once

#include <dlfcn.h>

#include <string>
#include <type_traits>
#include <utility>

namespace query::gpu_engine {

class library_functions {
 public:
  library_functions(void* loaded, std::string library) : loaded_(loaded), library_(std::move(library)) {}

  template <class Function> void bind(Function*& function, const char* symbol) {
    bind_if_there(function, symbol);
    if (function == nullptr && missing_.empty()) missing_ = library_ + " has no " + symbol;
  }
  // Null where the library has none.
  template <class Function> void bind_if_there(Function*& function, const char* symbol) const {
    static_assert(std::is_function_v<Function>);
    function = reinterpret_cast<Function*>(::dlsym(loaded_, symbol));
  }
  const std::string& missing() const { return missing_; }  // the first that was not there; "": all were

 private:
  void* loaded_;
  std::string library_, missing_;
};

}  // namespace query::gpu_engine
