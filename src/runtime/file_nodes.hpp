// Files as sources and as sinks, for read_csv and its like, and for those of other libraries of this project (src/arrow_files).
#pragma once

#include <memory>
#include <string>

#include <query/detail/execute.hpp>
#include <query/detail/plan.hpp>
#include <query/file_paths.hpp>

#include "data/file_source.hpp"

namespace query::runtime {

// The source of rows in these files; their paths come from `files`.
std::shared_ptr<const detail::logical> file_node(const file_paths& files, data::file_source source, const ir::type* row,
                                                 detail::call_site where);

// Runs the query, and writes its rows to a file, or to a folder if the path ends with '/'. Of `how` the format and its options count.
void write_file(const detail::pipe& p, const detail::settings& s, const std::string& path, data::folder_sink how, detail::call_site where);

}  // namespace query::runtime
