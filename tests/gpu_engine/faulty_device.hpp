// What tests share that make a device fail, or look at what it still holds: a session whose engine runs on the driver double or on a GPU,
// behind a driver that counts and one that fails. The double's kernels compute nothing.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/all_operators.hpp"
#include "gpu_engine/counted_driver.hpp"
#include "gpu_engine/device_lost.hpp"
#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/faulty_driver.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/on_device.hpp"
#include "runtime/session_state.hpp"

namespace query::gpu_engine {

class faulty_device : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (real()) {
      // Opened once for the whole process: what follows shares its context.
      if (!device::first()) GTEST_SKIP() << "SKIPPED: no GPU: " << device::why_not();
      if (!compiler::find()) GTEST_SKIP() << "SKIPPED: " << compiler::why_not();
      counted_.emplace(*driver::find());
    } else {
      fake_.emplace();
      allow_all_kernels();
      counted_.emplace(fake_->calls());
    }
    faulty_.emplace(counted_->calls());
    device_.emplace(faulty_->calls(), 0);
    load_anew();
    use();
  }
  // They do nothing, but for what fetches strings or lists: these are empty.
  void allow_all_kernels() {
    fake_->allow_unknown_kernels();
    fake_->add_kernel("pack_heap", [](void** arguments) {
      constexpr std::size_t a_view = 16;  // an address and a number: all of a row, or its first field
      std::memset(*static_cast<void**>(arguments[4]), 0, *static_cast<std::uint64_t*>(arguments[1]) * a_view);
    });
  }
  static bool real() { return std::string(GetParam()) == "gpu"; }
  // No kernel is loaded.
  void load_anew() {
    give_up();
    kernel_cache::settings s{.headers = {}, .options = {}, .folder = "", .compile = {}};
    if (real()) {
      s = {.headers = embedded_sources(), .options = {"--fmad=false"}, .folder = std::nullopt, .compile = {}};
    } else {
      s.compile = [this](std::string_view source, int) {
        if (!compiles_) throw query::internal_error("gpu: a generated kernel does not compile: on purpose");
        return image_of(source);
      };
    }
    kernels_.emplace(s);
  }
  // A session of its own, as what is lost stays lost in one.
  void use(std::size_t block_rows = 0, std::size_t memory = std::size_t{64} << 20, std::size_t host_memory = 0) {
    end_session();
    session_ = std::make_unique<query::Session>(
        query::session_options{.threads = 2, .memory_limit = host_memory, .gpu = query::gpu_use::off});
    engine_ = make_engine(*device_, {memory, 0}, *kernels_, block_rows);
    session_->state()->take_gpu(engine_);
  }
  void end_session() {
    if (faulty_) faulty_->mend();
    if (device_) forget_loss(*device_);
    session_.reset();
    engine_.reset();
  }
  // Everything but the device.
  void give_up() {
    end_session();
    kernels_.reset();
    if (fake_) fake_->run_all();
  }
  void TearDown() override { end_session(); }
  device_memory& memory() { return session_of(*engine_).memory(); }
  std::vector<all_operators::operation> each_operator() {
    return all_operators::operations(data_, *session_, faulty_->calls(), real());
  }

  const all_operators::sample_rows data_;
  bool compiles_ = true;
  std::optional<driver_double> fake_;
  std::optional<counted_driver> counted_;
  std::optional<faulty_driver> faulty_;
  std::optional<device> device_;
  std::optional<kernel_cache> kernels_;
  std::shared_ptr<query::runtime::engine> engine_;
  std::unique_ptr<query::Session> session_;
  query::Session cpu_{{.threads = 2, .gpu = query::gpu_use::off}};
};

// After these each later call fails.
inline constexpr int for_ever_lost[] = {cuda_result::launch_failed, cuda_result::illegal_address, cuda_result::ecc_uncorrectable,
                                        715 /* illegal instruction */, 999 /* unknown */};

}  // namespace query::gpu_engine
