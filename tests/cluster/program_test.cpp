// Addresses as places in the program, and back.
#include "cluster/program.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include <query/errors.hpp>

namespace program_test {
namespace {

using query::cluster::program;

int doubled(int x) { return 2 * x; }
const int constant = 7;
int variable = 8;
struct shape {
  virtual ~shape() = default;
  virtual int corners() const { return 3; }
};

std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

TEST(program, tells_code_constants_and_variables_apart) {
  const program here;
  const auto code = here.find(reinterpret_cast<std::uintptr_t>(&doubled));
  ASSERT_TRUE(code);
  EXPECT_EQ(code->in, program::part::code);
  EXPECT_EQ(here.address_of(code->place, program::part::code), reinterpret_cast<void*>(&doubled));
  const auto number = here.find(address(&constant));
  ASSERT_TRUE(number);
  EXPECT_EQ(number->in, program::part::constant);
  const auto changing = here.find(address(&variable));
  ASSERT_TRUE(changing);
  EXPECT_EQ(changing->in, program::part::variable);
  const shape s;
  std::uintptr_t table;
  std::memcpy(&table, static_cast<const void*>(&s), sizeof table);
  const auto functions = here.find(table);  // written as the program was loaded, and not since
  ASSERT_TRUE(functions);
  EXPECT_EQ(functions->in, program::part::constant);
  const std::vector<int> heap(100);
  EXPECT_FALSE(here.find(address(heap.data())));
  EXPECT_FALSE(here.find(0));
}

TEST(program, matches_modules_by_their_builds) {
  const program here;
  auto names = here.names();
  ASSERT_FALSE(names.empty());
  const program again = program::matching(names);
  const auto place = here.find(reinterpret_cast<std::uintptr_t>(&doubled))->place;
  EXPECT_EQ(again.address_of(place, program::part::code), reinterpret_cast<void*>(&doubled));
  ASSERT_FALSE(names[0].build_id.empty());
  names[0].build_id[0] = names[0].build_id[0] == '0' ? '1' : '0';
  EXPECT_THROW(program::matching(names), query::cluster_error);
}

TEST(program, does_without_modules_of_the_host_that_are_others) {
  const program here;
  auto names = here.names();
  const auto call = here.find(reinterpret_cast<std::uintptr_t>(&::getppid));
  ASSERT_TRUE(call && call->place.module > 0);
  names[call->place.module].build_id = "of another host";
  const program there = program::matching(names);
  EXPECT_THROW(there.address_of(call->place, call->in), query::cluster_error);
  const auto place = here.find(reinterpret_cast<std::uintptr_t>(&doubled))->place;
  EXPECT_EQ(there.address_of(place, program::part::code), reinterpret_cast<void*>(&doubled));
}

TEST(program, calls_nothing_outside_its_code) {
  const program here;
  const auto place = here.find(reinterpret_cast<std::uintptr_t>(&doubled))->place;
  EXPECT_THROW(here.address_of(place, program::part::constant), query::cluster_error);
  EXPECT_THROW(here.address_of({place.module, ~std::uint64_t{0} / 2}, program::part::code), query::cluster_error);
  EXPECT_THROW(here.address_of({~0u, place.offset}, program::part::code), query::cluster_error);
}

}  // namespace
}  // namespace program_test
