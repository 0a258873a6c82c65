// Joins by keys that make strings, over rows and build sides that do not fit the device: both are parted by the key's hash, whose string is
// made for it. The results are the CPU's. Where there is no GPU these are skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/larger_than_memory.hpp"

namespace {

using namespace query::gpu_engine;
using namespace query::gpu_engine::larger_than_memory;

struct Person {
  std::int64_t id;
  std::string name;
  std::int64_t points;
};
QUERY_RECORD(Person, id, name, points);

// Short names and long ones, in upper and lower case, four rows each.
std::vector<Person> people(std::int64_t n, std::int64_t names, bool upper) {
  std::vector<Person> all(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t drawn = mixed(static_cast<std::uint64_t>(i) + (upper ? 7 : 0));
    const auto which = static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(names));
    std::string name = (upper ? "NAME " : "Name ") + std::to_string(which);
    if (which % 3 == 0) name += upper ? " OF MORE THAN SIXTEEN CHARACTERS" : " of more than sixteen characters";
    all[static_cast<std::size_t>(i)] = {i, std::move(name), static_cast<std::int64_t>(mixed(static_cast<std::uint64_t>(i)) % 1000)};
  }
  return all;
}

class made_keys_in_blocks : public fixture {
 protected:
  void SetUp() override {
    fixture::SetUp();
    if (!IsSkipped()) use(std::size_t{24} << 20, 20'000);
  }
  template <class Q> void same(const char* what, const Q& q) {
    SCOPED_TRACE(what);
    const auto there = q.in(*gpu_);
    auto mine = there.to_vector(), wanted = q.in(cpu_).to_vector();
    stayed_in_blocks(there);
    EXPECT_FALSE(wanted.empty());
    std::sort(mine.begin(), mine.end());
    std::sort(wanted.begin(), wanted.end());
    EXPECT_TRUE(mine == wanted) << mine.size() << " rows, not " << wanted.size();
  }

  const std::vector<Person> people_ = people(200'000, 50'000, false), others_ = people(150'000, 40'000, true);
};

constexpr auto lower = [](auto p) { return query::to_lower(p.name); };

TEST_F(made_keys_in_blocks, meet_build_sides_that_do_not_fit) {
  const auto all = query::from(people_).as_accelerated();
  const auto joined = all.join(query::from(others_), lower, lower, [](auto a, auto b) { return a.points * 1000 + b.points; });
  same("join", joined);
  EXPECT_EQ(joined.in(*gpu_).count(), joined.in(cpu_).count());
  EXPECT_EQ(joined.in(*gpu_).sum(), joined.in(cpu_).sum());
  same("left_join", all.left_join(query::from(others_), lower, lower, [](auto a, auto b) {
    return a.points * 1000 + query::iff(b.has_value(), std::int64_t{1}, std::int64_t{0});
  }));
  same("semi_join", all.semi_join(query::from(others_), lower, lower).select([](auto p) { return p.id; }));
  same("anti_join", all.anti_join(query::from(others_), lower, lower).select([](auto p) { return p.id; }));
}

TEST_F(made_keys_in_blocks, are_ordered_behind) {
  const auto joined = query::from(people_).as_accelerated().join(query::from(others_), lower, lower,
                                                                 [](auto a, auto b) { return a.id * 1'000'000 + b.id; });
  same_rows("order_by", joined.order_by([](auto x) { return x; }));
}

TEST_F(made_keys_in_blocks, may_be_made_before) {
  same("join", query::from(people_)
                   .as_accelerated()
                   .select([](auto p) { return query::make<Person>(p.id, p.name + "!", p.points); })
                   .join(query::from(others_), [](auto p) { return p.id; }, [](auto p) { return p.id; },
                         [](auto a, auto b) { return a.points * 1000 + b.points; }));
}

}  // namespace
