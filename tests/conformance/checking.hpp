// Sessions like those of the engines, that check: for what is checked only if a session asks for it.
#pragma once

#include "conformance/engines.hpp"

namespace conformance {

// One for each engine, made when it is first asked for: a cluster starts its processes once.
const engine_config& checking(const engine_config& e);

}  // namespace conformance
