// Parquet by Arrow C++: what data/columnar_file.hpp asks of a format.
#pragma once

#include <memory>
#include <string>

#include "data/columnar_file.hpp"

namespace query::arrow_files {

std::unique_ptr<data::columnar_file> open_parquet(const std::string& path);
std::unique_ptr<data::columnar_output> create_parquet(data::output_file& to, ArrowSchema& schema, const data::columnar_options& options);

}  // namespace query::arrow_files
