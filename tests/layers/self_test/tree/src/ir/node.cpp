#include "node.hpp"
#include "planner/plan.hpp"
#include <tbb/task_group.h>
