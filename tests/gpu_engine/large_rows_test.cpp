// Rows that a kernel's thread would have to hold whole: beyond two KiB they are left to the CPU, as code and the time that it takes to
// compile grow with their size (two minutes for 64 KiB). On the driver double.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"

namespace {

using namespace query::gpu_engine;

template <std::size_t Bytes> struct Page {
  std::int64_t id = 0;
  std::array<double, Bytes / 8 - 1> values{};
};
using Large = Page<65536>;
using Small = Page<1024>;
QUERY_RECORD(Large, id, values);
QUERY_RECORD(Small, id, values);

template <class Row> std::string plan_of_least(query::Session& session) {
  const std::vector<Row> rows(3);
  return query::from(rows)
      .as_accelerated()
      .in(session)
      .aggregate([](auto g) { return g.arg_min([](auto p) { return p.id; }); })
      .explain();
}

TEST(large_rows, that_a_kernel_would_hold_whole_are_the_cpus) {
  driver_double fake;
  fake.allow_unknown_kernels();
  const device d(fake.calls(), 0);
  kernel_cache kernels(
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }});
  query::Session session({.threads = 2, .gpu = query::gpu_use::off});
  session.add_engine(make_engine(d, {std::size_t{64} << 20, 0}, kernels));
  const std::string large = plan_of_least<Large>(session), small = plan_of_least<Small>(session);
  EXPECT_NE(large.find("arg_min of rows of 65536 bytes: a thread of a kernel holds at most 2048 of a row"), std::string::npos) << large;
  EXPECT_EQ(small.find("a thread of a kernel holds"), std::string::npos) << small;
}

}  // namespace
