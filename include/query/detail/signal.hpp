// What travels through a dataflow's edges besides rows: where streams and iterations begin and end. They nest.
#pragma once

#include <cstdint>

namespace query::dataflow {

enum class signal : std::uint8_t { begin_stream, end_stream, begin_iteration, end_iteration };

constexpr bool begins(signal s) { return s == signal::begin_stream || s == signal::begin_iteration; }
constexpr bool of_stream(signal s) { return s == signal::begin_stream || s == signal::end_stream; }

}  // namespace query::dataflow
