# Installs headers, library and package files, so that find_package(query) gives query::query.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/query")
install(TARGETS query query_gpu_primitives EXPORT query-targets)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/gpu_primitives" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/query/device"
        FILES_MATCHING PATTERN "*.cuh")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/query" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT query-targets NAMESPACE query:: DESTINATION "${package_dir}")

if(TARGET query_arrow)
  install(TARGETS query_arrow EXPORT query-arrow-targets)
  install(EXPORT query-arrow-targets NAMESPACE query:: DESTINATION "${package_dir}")
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/query-arrow.cmake" DESTINATION "${package_dir}")
endif()

write_basic_package_version_file("${PROJECT_BINARY_DIR}/query-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/query-config.cmake" "${PROJECT_BINARY_DIR}/query-config-version.cmake"
        DESTINATION "${package_dir}")
