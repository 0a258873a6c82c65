// What write_csv and its like do with the rows of one partition: files of a folder that takes its place as a whole.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/file_source.hpp"
#include "data/row_writer.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/local_engine.hpp"
#include "runtime/run_context.hpp"

namespace query::runtime {

// A writer of rows of this type, in the format and by the options of `how`; its errors are not placed.
std::unique_ptr<data::row_writer> writer_of(const data::folder_sink& how, const std::string& path, const ir::type* row,
                                            const local_engine& engine);

// Writes the rows of the result into a file of this name of the sink's folder, or files that are named after it. The writer's errors have
// the sink's place.
std::vector<data::written_file> write_rows(const planner::machine_graph& g, const data::folder_sink& to, const std::string& name,
                                           local_engine& engine, run_context& context);

}  // namespace query::runtime
