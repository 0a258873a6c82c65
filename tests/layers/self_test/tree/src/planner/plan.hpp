#pragma once
#include "../ir/node.hpp"
  #  include "../cpu_engine/scheduler.hpp"
