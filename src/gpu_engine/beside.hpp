// Work for the query at hand that goes on beside it.
//
//   std::future<table> rows = beside([&] { return fetch(); });    // ...
//   use(rows.get());
#pragma once

#include <future>
#include <system_error>
#include <type_traits>

#include <query/detail/stop.hpp>

namespace query::gpu_engine {

// In a thread of its own, whose waits end where the caller's query stops; where the system has no thread to give, in the one that asks for
// the result.
template <class Work> std::future<std::invoke_result_t<Work>> beside(Work work) {
  auto stopping = [work = std::move(work), &stop = *detail::stop_here]() mutable {
    const detail::stop_scope scope(stop);
    return work();
  };
  try {
    return std::async(std::launch::async, stopping);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, stopping);
  }
}

}  // namespace query::gpu_engine
