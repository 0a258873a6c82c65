// How many values a key can have at most, as far as its expression tells: i % 100 has 100, a bool two.
//
//   if (const auto most = values_of(key.root, captured_rows)) groups = std::min(groups, *most);
#pragma once

#include <functional>
#include <optional>

#include <query/detail/node.hpp>

namespace query::runtime {

// Nothing where the expression does not tell. `captured`: the rows of a collection, by its slot, if they are known.
std::optional<double> values_of(const ir::node* key, const std::function<std::optional<double>(std::uint64_t)>& captured);

}  // namespace query::runtime
