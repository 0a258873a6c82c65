// Orders rows by keys: order_by, top-k and everything else that needs rows in an order.
//
// All are stable, and their results do not depend on the number of threads. A key becomes an unsigned integer (order_keys)
// that is radix sorted together with its row id (radix_sort); ties that the integer cannot decide are compared.
//
//   sort_key by_price{.type = ir::describe<double>(), .base = &rows[0].price, .stride = sizeof(Trade), .descending = true};
//   permutation p = sort_rows({&by_price, 1}, rows.size(), scheduler, pool, cancel);
#pragma once

#include <cstddef>
#include <span>

#include <query/detail/type.hpp>

#include "cpu_engine/order_keys.hpp"
#include "cpu_engine/permutation.hpp"
#include "runtime/buffer_pool.hpp"
#include "runtime/scheduler.hpp"

namespace query::cpu {

// Returns the ids of rows [0, n) in the order of the keys, most significant key first; rows that tie keep their order.
// Time: a few passes over (word, id) pairs; memory: two such arrays, 8 to 24 bytes a row each. Throws user_error for keys
// without an order, resource_error and cancelled.
permutation sort_rows(std::span<const sort_key> keys, std::size_t n, runtime::scheduler& scheduler,
                      runtime::buffer_pool& pool, const runtime::cancel_flag& cancel);

// Returns the first min(k, n) ids of what sort_rows gives, at the price of one pass over the keys when k is small.
permutation top_k(std::span<const sort_key> keys, std::size_t n, std::size_t k, runtime::scheduler& scheduler,
                  runtime::buffer_pool& pool, const runtime::cancel_flag& cancel);

// Writes the n adjacent arithmetic values (boolean to f64) at `from` to `to` in order; both may be the same place. Stable: NaNs
// keep their payloads and zeros their signs in the order in which they came. Memory: little more, but where both are the same place: one
// more array.
void sort_values(const void* from, void* to, std::size_t n, ir::kind kind, bool descending, runtime::scheduler& scheduler,
                 runtime::buffer_pool& pool, const runtime::cancel_flag& cancel);

}  // namespace query::cpu
