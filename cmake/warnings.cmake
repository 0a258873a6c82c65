# query_own_target(target): the settings of every target written here: C++20 without extensions, warnings, no leaks to users.
function(query_own_target target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  # Clang's -Wconversion warns of signed/unsigned conversions too, GCC's does not: ask both for the same.
  # GCC 12's -Wrestrict is wrong about `"text" + std::string` at -O2 and above (GCC bug 105651).
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion
                                           $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<BOOL:${QUERY_WERROR}>:-Werror>)
endfunction()
