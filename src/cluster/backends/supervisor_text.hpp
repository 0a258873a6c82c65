// backends/supervisor.py, carried in the library as text. Generated at build time by cmake/embed_text.cmake.
#pragma once

#include <string_view>

namespace query::cluster::backends {

std::string_view supervisor_text();

}  // namespace query::cluster::backends
