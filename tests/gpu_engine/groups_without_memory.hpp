// Groups of a generator, which hands each row out once, in a session whose device memory others take: the rows, the questions, and how
// memory runs out. The double's kernels do nothing, so results count on a GPU alone.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/faulty_device.hpp"
#include "planned_there.hpp"

namespace groups_of_generators {

using namespace query::gpu_engine;
using query::gpu_engine::device_kind;

struct Event {
  std::int64_t key, value, at;
};
QUERY_RECORD(Event, key, value, at);
struct Summary {
  std::int64_t key, a, b, c, d;
  auto operator<=>(const Summary&) const = default;
};
QUERY_RECORD(Summary, key, a, b, c, d);
struct Pair {
  std::int64_t first;
  std::int32_t second;
};
QUERY_RECORD(Pair, first, second);
struct Titled {
  std::string title;
  std::int64_t value;
};
QUERY_RECORD(Titled, title, value);

inline constexpr std::size_t mib = std::size_t{1} << 20;
inline constexpr std::size_t host_memory = 128 * mib;  // a sixteenth is all that is kept of a generator's first rows

class groups_without_memory : public faulty_device {
 protected:
  using rows = std::vector<Summary>;
  enum class keys { distinct, skewed, few };
  struct question {
    std::string name;
    std::function<rows(query::Session&, bool once)> rows_in;  // once: of a generator, or of the same rows in memory
  };

  // What the kernels of a real device, or their like, compute.
  virtual bool counts() const { return real(); }

  Event event(std::int64_t i) const {
    const std::int64_t key = keys_ == keys::distinct ? i * 0x9e3779b1 % 1'000'000'007 : keys_ == keys::few ? i % 700 : i % 4 ? 7 : i;
    return {key, i * 7919 % 100'003 - 50'000, i};
  }
  // At row `taken_at_` all memory that the session has left goes to somebody else, until the query has ended. From row `starved_at_` on
  // there is none at all, once more after each fifth of the rows, up to row `given_back_at_`. At row `broken_at_` the device is lost.
  auto events() {
    next_ = 0;
    return query::generate([this]() -> std::optional<Event> {
      if (next_ == taken_at_) take_all();
      if (next_ == broken_at_) faulty_->break_now(cuda_result::launch_failed);
      if (next_ == given_back_at_) memory().fail_allocation(0);
      else if (starves()) memory().fail_allocation(1, true);
      return next_ < many_ ? std::optional(event(next_++)) : std::nullopt;
    });
  }
  bool starves() const {
    if (starved_at_ < 0 || next_ < starved_at_ || (given_back_at_ >= 0 && next_ > given_back_at_)) return false;
    return (next_ - starved_at_) % (many_ / 5) == 0;
  }
  void take_all() {
    const scoped_context here(*device_);
    if (!others_) others_.emplace(*device_);
    for (std::size_t bytes = memory().available(); bytes >= 512;) {
      try {
        taken_.push_back(memory().allocate(bytes, *others_));
      } catch (const out_of_memory&) {
        bytes /= 2;
      }
    }
  }
  std::vector<Event> all_events() const {
    std::vector<Event> all;
    for (std::int64_t i = 0; i < many_; ++i) all.push_back(event(i));
    return all;
  }
  void use_memory(std::size_t bytes, std::size_t block_rows = 0) {
    taken_.clear();
    others_.reset();
    use(block_rows, bytes, host_memory);
  }

  template <class F> question asked(std::string name, F f) {
    return {std::move(name), [this, f](query::Session& s, bool once) {
              rows found;
              if (once) {
                const auto q = f(events().as_accelerated()).in(s);
                try {
                  found = q.to_vector();
                } catch (...) {
                  taken_.clear();
                  throw;
                }
                taken_.clear();
                plan_ = q.explain();
              } else {
                found = f(query::from(all_events())).in(s).to_vector();
              }
              std::sort(found.begin(), found.end());
              return found;
            }};
  }
  std::vector<question> questions() {
    const auto key = [](auto e) { return e.key; };
    const auto value = [](auto e) { return e.value; };
    std::vector<question> all;
    all.push_back(asked("sum, count, min, max", [=](auto q) {
      return q.group_by(key).select([=](auto g) {
        return query::make<Summary>(g.key(), g.sum(value), g.count(), g.min(value), g.max(value));
      });
    }));
    all.push_back(asked("a state of one's own", [=](auto q) {
      return q.group_by(key).select([=](auto g) {
        const auto hash = g.aggregate(
            Pair{0, 0}, [](auto s, auto e) { return query::make<Pair>(s.first + e.value * e.at, s.second + 1); },
            [](auto a, auto b) { return query::make<Pair>(a.first + b.first, a.second + b.second); },
            [](auto s) { return s.first + query::cast<std::int64_t>(s.second); });
        return query::make<Summary>(g.key(), hash, g.count(), g.min(value), g.sum([](auto e) { return e.at; }));
      });
    }));
    all.push_back(asked("keys of two words", [=](auto q) {
      return q.where([](auto e) { return e.value % 11 != 0; })
          .group_by([](auto e) { return query::make<Pair>(e.key, query::cast<std::int32_t>(e.key % 3)); })
          .select([=](auto g) {
            return query::make<Summary>(g.key().first, query::cast<std::int64_t>(g.key().second), g.count(), g.min(value), g.max(value));
          });
    }));
    return all;
  }
  bool fell() const { return session_->state()->history.fallbacks().first > 0; }
  bool spilled() const { return plan_.find("of groups to host memory") != std::string::npos; }
  void expect_rows(const question& q, const rows& wanted) {
    rows mine;
    EXPECT_NO_THROW(mine = q.rows_in(*session_, true));
    EXPECT_TRUE(planned_there(plan_)) << plan_;
    if (counts() || fell()) {
      EXPECT_TRUE(mine == wanted) << mine.size() << " of " << wanted.size() << " groups\n" << plan_;
    }
    EXPECT_EQ(memory().counters().used, 0u);
  }
  void TearDown() override {
    taken_.clear();
    others_.reset();
    faulty_device::TearDown();
  }

  keys keys_ = keys::distinct;
  std::int64_t next_ = 0, many_ = 360'000, taken_at_ = -1, starved_at_ = -1, broken_at_ = -1, given_back_at_ = -1;
  std::vector<device_buffer> taken_;
  std::optional<stream> others_;
  std::string plan_;
};

}  // namespace groups_of_generators
