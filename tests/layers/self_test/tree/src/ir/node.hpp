#pragma once
#include <iostream>
#include <query/good.hpp>
