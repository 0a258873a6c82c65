#include "gpu_engine/driver.hpp"

#include <gtest/gtest.h>

#include <string>

#include <query/errors.hpp>

namespace query::gpu_engine {
namespace {

template <class Error, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "no such exception";
  return {};
}

TEST(driver, says_why_it_is_not_there) {
  if (driver::find() == nullptr) {
    EXPECT_NE(driver::why_not().find("gpu: "), std::string::npos) << driver::why_not();
  } else {
    EXPECT_EQ(driver::why_not(), "");
  }
}

TEST(driver, names_a_library_that_cannot_be_loaded) {
  const std::string what = message_of<resource_error>([] { driver::load("libno_such_driver.so.1"); });
  EXPECT_NE(what.find("no NVIDIA driver: libno_such_driver.so.1"), std::string::npos) << what;
}

TEST(driver, names_a_function_that_a_library_lacks) {
  const std::string what = message_of<resource_error>([] { driver::load("libm.so.6"); });
  EXPECT_NE(what.find("libm.so.6 has no cuInit"), std::string::npos) << what;
}

TEST(driver, tells_lack_of_memory_and_lost_devices_from_defects) {
  const driver d;
  EXPECT_NO_THROW(d.check(cuda_result::success, "cuInit"));
  const std::string what = message_of<resource_error>([&] { d.check(cuda_result::out_of_memory, "cuMemAlloc"); });
  EXPECT_NE(what.find("no memory left: cuMemAlloc: CUDA error 2"), std::string::npos) << what;
  EXPECT_NE(message_of<resource_error>([&] { d.check(cuda_result::ecc_uncorrectable, "cuStreamQuery"); }).find("device is lost"),
            std::string::npos);
  EXPECT_NE(message_of<internal_error>([&] { d.check(cuda_result::invalid_value, "cuStreamCreate"); }).find("cuStreamCreate"),
            std::string::npos);
}

TEST(driver, gives_the_drivers_own_words) {
  driver d;
  d.cuGetErrorName = [](int, const char** text) {
    *text = "CUDA_ERROR_X";
    return 0;
  };
  d.cuGetErrorString = [](int, const char** text) {
    *text = "something happened";
    return 0;
  };
  EXPECT_EQ(d.text(7), "CUDA_ERROR_X: something happened");
}

}  // namespace
}  // namespace query::gpu_engine
