#pragma once
#include <iostream>
#include <vector>
#include <query/good.hpp>
#include "ir/node.hpp"
