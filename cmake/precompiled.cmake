# query_cache_headers(target): precompiled headers of the target come from the compiler cache only where the text of all files in them is
# the same. ccache's other way, by what the preprocessor leaves, passes over comments; g++ then takes a file with another comment for
# another file, and `#pragma once` does not keep it out.
function(query_cache_headers target)
  if("${CMAKE_CXX_COMPILER_LAUNCHER}" MATCHES "ccache")  # ours, or that of a project which takes the library in
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;CCACHE_DEPEND=1;${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endfunction()
