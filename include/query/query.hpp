// query: LINQ for C++. Include this.
//
//   auto total = query::from(trades).where([](auto t) { return t.qty > 100; }).sum([](auto t) { return t.price * t.qty; });
#pragma once

#if __cplusplus < 202002L
#error "query: this is C++20: compile with -std=c++20, by g++ 12 or clang 14, or later ones"
#else

#include <query/accelerated.hpp>
#include <query/aggregates.hpp>
#include <query/broadcast.hpp>
#include <query/chain.hpp>
#include <query/errors.hpp>
#include <query/expr.hpp>
#include <query/functions.hpp>
#include <query/gpu_apply.hpp>
#include <query/group.hpp>
#include <query/members.hpp>
#include <query/record.hpp>
#include <query/session.hpp>
#include <query/sketches.hpp>
#include <query/sources.hpp>
#include <query/text.hpp>

#endif
