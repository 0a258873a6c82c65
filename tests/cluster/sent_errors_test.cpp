// Exceptions on their way from another process.
#include "cluster/sent_errors.hpp"

#include <gtest/gtest.h>

#include <new>
#include <optional>
#include <stdexcept>

#include <query/detail/failure.hpp>

namespace sent_errors_test {
namespace {

struct own : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class E> void sent_and_thrown_again(const E& e) {
  query::cluster::byte_writer to;
  try {
    throw e;
  } catch (...) {
    query::cluster::put_exception(to);
  }
  query::cluster::byte_reader from(to.bytes());
  query::cluster::rethrow(from, "process 2");
}
template <class E> void arrives(const E& e) {
  try {
    sent_and_thrown_again(e);
    FAIL();
  } catch (const std::exception& got) {
    EXPECT_EQ(typeid(got), typeid(E));
    EXPECT_STREQ(got.what(), e.what());
  }
}

TEST(sent_errors, known_ones_arrive_as_themselves) {
  arrives(query::user_error("where: no"));
  arrives(query::detail::unplaced_error("no"));
  arrives(query::resource_error("no memory"));
  arrives(query::cancelled("stopped"));
  arrives(query::internal_error("a defect"));
  arrives(std::runtime_error("one"));
  arrives(std::out_of_range("two"));
  arrives(std::invalid_argument("three"));
  arrives(std::bad_alloc());
  arrives(std::bad_optional_access());
}

TEST(sent_errors, others_name_their_type_and_process) {
  try {
    sent_and_thrown_again(own("mine"));
    FAIL();
  } catch (const query::remote_error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("process 2 threw "), text.npos) << text;
    EXPECT_NE(text.find("own: mine"), text.npos) << text;
  }
  EXPECT_THROW(sent_and_thrown_again(7), query::remote_error);
}

TEST(sent_errors, damage_is_an_error) {
  query::cluster::byte_writer to;
  to.put(std::uint32_t{3});
  to.put(std::uint64_t{1} << 60);
  query::cluster::byte_reader from(to.bytes());
  EXPECT_THROW(query::cluster::rethrow(from, "process 2"), query::cluster_error);
}

}  // namespace
}  // namespace sent_errors_test
