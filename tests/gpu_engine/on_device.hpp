// Tests that hold for the driver double and for a real GPU: each runs on both, the latter where there is one.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu_engine/device.hpp"
#include "gpu_engine/driver_double.hpp"

namespace query::gpu_engine {

class on_device : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "gpu") {
      on_ = device::first();
      if (on_ == nullptr) GTEST_SKIP() << "SKIPPED: no GPU: " << device::why_not();
    } else {
      fake_.emplace();
      pretended_.emplace(fake_->calls(), 0);
      on_ = &*pretended_;
    }
  }

  const device& gpu() const { return *on_; }
  driver_double* fake() { return fake_ ? &*fake_ : nullptr; }  // null on a GPU

  void set_bytes(device_address at, unsigned char value, std::size_t n, const stream& s) {
    const scoped_context here(gpu());
    QUERY_CUDA(gpu().calls(), cuMemsetD8Async, at, value, n, s.handle());
  }
  // What lies there when the stream has ended.
  std::vector<unsigned char> bytes_at(device_address at, std::size_t n, const stream& s) {
    std::vector<unsigned char> bytes(n);
    const scoped_context here(gpu());
    QUERY_CUDA(gpu().calls(), cuMemcpyDtoHAsync, bytes.data(), at, n, s.handle());
    s.synchronize(never_);
    return bytes;
  }

  runtime::cancel_flag never_;

 private:
  std::optional<driver_double> fake_;
  std::optional<device> pretended_;
  const device* on_ = nullptr;
};

inline std::string device_kind(const testing::TestParamInfo<const char*>& info) { return info.param; }

}  // namespace query::gpu_engine

#define QUERY_ON_DEVICES(suite) INSTANTIATE_TEST_SUITE_P(on, suite, testing::Values("double", "gpu"), device_kind)
