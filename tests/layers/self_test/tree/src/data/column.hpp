#pragma once
#include "runtime/graph.hpp"
#include "runtime/memory/budget.hpp"
