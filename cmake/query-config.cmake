include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(TBB)
include("${CMAKE_CURRENT_LIST_DIR}/query-targets.cmake")
