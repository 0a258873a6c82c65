// How many rows a query gives, where its plan says so: of try_count().
#pragma once

#include <cstdint>
#include <optional>

namespace query::detail {

struct pipe;

std::optional<std::int64_t> known_count(const pipe& p);

}  // namespace query::detail
