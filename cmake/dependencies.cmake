# What the library is built with. None of it shows in a public header. scripts/install_dependencies gets it on Debian.
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_package(cereal REQUIRED)
if(NOT TARGET cereal::cereal)
  add_library(cereal::cereal ALIAS cereal)
endif()
find_library(QUERY_LZ4 lz4 REQUIRED)  # Debian's packages have no CMake files
find_library(QUERY_SODIUM sodium REQUIRED)

# Compressed files are read and written, and regular expressions work, if the machine has what it takes; else the library says so when
# it meets one.
include(CheckIncludeFileCXX)
foreach(header QUERY_ZLIB_HEADER QUERY_ZSTD_HEADER QUERY_RE2_HEADER)  # CMake keeps that a check failed; the header may have come since
  if(NOT ${header})
    unset(${header} CACHE)
  endif()
endforeach()
check_include_file_cxx(zlib.h QUERY_ZLIB_HEADER)
check_include_file_cxx(zstd.h QUERY_ZSTD_HEADER)
check_include_file_cxx(re2/re2.h QUERY_RE2_HEADER)
find_library(QUERY_ZLIB z)
find_library(QUERY_ZSTD zstd)
find_library(QUERY_RE2 re2)
