// The files that read_csv and read_binary read as one source, in this order.
//
//   query::read_csv<Trade>("trades.csv")
//   query::read_csv<Trade>({"2025.csv", "2026.csv"})
//   query::read_csv<Trade>("trades/*.csv")            // a pattern, as a shell has it: in the order of their names
//   query::read_csv<Trade>("trades/")                 // all files of a folder whose names do not begin with '.' or '_', in this order
//
// Patterns and folders are looked at when a query runs. A file of exactly that name is no pattern.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace query {

class file_paths {
 public:
  template <class Path> requires(std::convertible_to<const Path&, std::string> && !std::same_as<Path, file_paths>)
  file_paths(const Path& path) : all_{std::string(path)} {}  // NOLINT: implicit, as a path is a list of one
  file_paths(std::vector<std::string> paths) : all_(std::move(paths)) {}          // NOLINT: implicit
  file_paths(std::initializer_list<std::string> paths) : all_(paths) {}           // NOLINT: implicit
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::vector<std::string> all_;
};

}  // namespace query
