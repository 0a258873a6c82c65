#pragma once
#include <span>
