// Values in the names of folders: "year=2026/region=north%20sea", as other programs write and read them too.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <query/detail/type.hpp>

namespace query::data {

// The name of folders of nulls.
inline constexpr std::string_view null_folder = "__HIVE_DEFAULT_PARTITION__";

struct folder_value {
  std::string text;
  bool null = false;
};
// The value of a column that a folder of the path names: ".../column=value/file".
std::optional<folder_value> value_in_path(std::string_view path, std::string_view column);

// Appends "column=value"; `value`: of such a type, or of an optional of it.
void append_folder(std::string& to, std::string_view column, const ir::type* of, const void* value);

// Such types have values that are names.
bool names_folders(const ir::type* t);

}  // namespace query::data
