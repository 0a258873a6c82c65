// What the snippets of the documentation may use without saying so: the library, a few standard headers, and data.
#pragma once

#include <cstdint>
#include <iostream>
#include <string>
#include <variant>
#include <vector>

#include <query/query.hpp>
