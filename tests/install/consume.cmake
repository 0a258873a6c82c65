# Builds and runs the consumer project of the folder `way`; for find_package, installs the library into a fresh prefix first.
function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(prefix "${work}/prefix")
set(build "${work}/build")
file(REMOVE_RECURSE "${prefix}" "${build}")

set(arguments -D CMAKE_CXX_COMPILER=${compiler} -D QUERY_ARROW=${arrow} -D QUERY_PYTHON=${python})
if(launcher)
  set(ENV{CCACHE_SLOPPINESS} pch_defines,time_macros)  # as in the library's own CMakeLists.txt
  list(APPEND arguments -D CMAKE_CXX_COMPILER_LAUNCHER=${launcher})
endif()
if(way STREQUAL find_package)
  step("${CMAKE_COMMAND}" --install "${library_build}" --prefix "${prefix}")
  list(APPEND arguments -D CMAKE_PREFIX_PATH=${prefix})
else()
  list(APPEND arguments -D library_source=${library_source})
endif()
step("${CMAKE_COMMAND}" -G "${generator}" -S "${CMAKE_CURRENT_LIST_DIR}/${way}" -B "${build}" ${arguments})
step("${CMAKE_COMMAND}" --build "${build}")
step("${build}/consumer")
# Where the library was built with query::arrow, its users get that too.
if(EXISTS "${build}/arrow_consumer")
  step("${CMAKE_COMMAND}" -E chdir "${build}" ./arrow_consumer)
elseif(arrow)
  message(FATAL_ERROR "the project has no target query::arrow")
endif()
