// The first rows of an order by strings that are made: they are selected before they are sorted, by the words that the strings begin with.
// On the driver double, whose kernels do nothing: that it is so, with numbers as results; on a GPU the rows, too.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/faulty_device.hpp"
#include "planned_there.hpp"

namespace {

using namespace query::gpu_engine;

struct Entry {
  std::string name;
  std::int64_t id;
  bool operator==(const Entry&) const = default;
};
QUERY_RECORD(Entry, name, id);

class first_of_made_strings : public faulty_device {
 protected:
  static constexpr std::size_t n = 5000, k = 40;

  void SetUp() override {
    faulty_device::SetUp();
    if (IsSkipped()) return;
    session_of(*engine_).select_from(n);
    if (fake_) fake_->add_generated("sample_first", [](const driver_double::generated_call&) {});
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t h = i * 2654435761u % 4099;
      entries_.push_back({std::string(h % 3, ' ') + (h % 2 ? "NAME" : "name") + std::to_string(h % 700), static_cast<std::int64_t>(i)});
    }
  }
  auto all() { return query::from(entries_).as_accelerated().in(*session_); }
  // `q` is selected where `selects`.
  template <class Q> void check(const char* what, const Q& q, bool selects = true) {
    SCOPED_TRACE(what);
    EXPECT_TRUE(planned_there(q.explain()));
    const std::size_t before = fake_ ? fake_->launches("sample_first") : 0;
    const auto mine = q.to_vector();
    EXPECT_EQ(q.explain().find("went to the cpu"), std::string::npos) << q.explain();
    if (fake_) {
      EXPECT_EQ(fake_->launches("sample_first") - before, selects ? 1u : 0u);
    } else {
      EXPECT_EQ(mine, q.in(cpu_).to_vector());
    }
  }

  std::vector<Entry> entries_;
};
QUERY_ON_DEVICES(first_of_made_strings);

TEST_P(first_of_made_strings, are_selected_before_they_are_sorted) {
  const auto lower = [](auto e) { return query::to_lower(e.name); };
  const auto id = [](auto e) { return e.id; };
  check("one key", all().order_by(lower).take(k).select(id));
  check("descending", all().order_by_descending(lower).take(k).select(id));
  check("then by a number", all().order_by(lower).then_by_descending(id).skip(3).take(k).select(id));
  // The words tell nothing: all rows are ties.
  check("with one beginning", all().order_by([](auto e) { return "a beginning that all have " + e.name; }).take(k).select(id));
  const auto named = all().select([](auto e) { return query::make<Entry>("<" + e.name + ">", e.id); });
  check("made in front of the order", named.order_by([](auto e) { return e.name; }).take(k).select(id));
  if (real()) check("whole rows", all().order_by(lower).take(k));
}

TEST_P(first_of_made_strings, of_fewer_rows_are_those_of_a_sort) {
  session_of(*engine_).select_from(n + 1);
  const auto lower = [](auto e) { return query::to_lower(e.name); };
  check("one key", all().order_by(lower).take(k).select([](auto e) { return e.id; }), false);
}

}  // namespace
