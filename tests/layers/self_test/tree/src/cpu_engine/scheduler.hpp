#pragma once
#include <tbb/task_group.h>
#include "planner/plan.hpp"
