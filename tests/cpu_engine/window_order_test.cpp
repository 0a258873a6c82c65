// Sorting a window's rows by comparisons ends soon after its query has been stopped.
#include <query/detail/window_order.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <query/detail/stop.hpp>

#include "runtime/cancellation.hpp"

namespace query::tests {
namespace {

TEST(window_order, notices_while_it_compares_that_its_query_stops) {
  constexpr std::size_t rows = 200'000, calls_before = 300'000;
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < rows; ++i) values.push_back(static_cast<std::int64_t>(i * 7919 % 100'003));
  struct counted {
    runtime::cancel_flag flag;
    std::size_t calls = 0;
  };
  const auto state = std::make_shared<counted>();
  detail::window_key key{.type = ir::describe<std::int64_t>(), .values = values.data()};
  key.custom.context = state;
  key.custom.less = [](const void* context, const void* a, const void* b) {
    auto& c = *static_cast<counted*>(const_cast<void*>(context));
    if (++c.calls == calls_before) c.flag.cancel();
    return *static_cast<const std::int64_t*>(a) < *static_cast<const std::int64_t*>(b);
  };
  const detail::stop_scope scope(state->flag.state());
  EXPECT_THROW(detail::window_order({key}, false, rows), cancelled);
  EXPECT_LT(state->calls, calls_before + 1000);
}

}  // namespace
}  // namespace query::tests
