// Dataflows of one's own whose rows stay on the device: what goes through edges, back edges and ports is a cached query. On the driver
// double, which computes these queries by device_row_kernels.hpp, and on a GPU. Every result is compared with plain C++'s.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <query/dataflow.hpp>
#include <query/query.hpp>

#include "gpu_engine/device_row_kernels.hpp"
#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/on_device.hpp"
#include "planned_there.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;
using device_rows_there::Reading;
namespace flow = query::dataflow;

using readings = query::Query<Reading>;
using table = std::map<std::int32_t, std::int64_t>;  // the sum of each sensor's values

std::atomic<std::size_t> sent_bytes = 0, fetched_bytes = 0;
const driver* under = nullptr;

driver with_counted_bytes(const driver& of) {
  driver d = of;
  under = &of;
  d.cuMemcpyHtoDAsync = [](device_address to, const void* from, std::size_t n, stream_handle s) {
    sent_bytes += n;
    return under->cuMemcpyHtoDAsync(to, from, n, s);
  };
  d.cuMemcpyDtoHAsync = [](void* to, device_address from, std::size_t n, stream_handle s) {
    fetched_bytes += n;
    return under->cuMemcpyDtoHAsync(to, from, n, s);
  };
  return d;
}

// Those of the queries below, in plain C++.
std::vector<Reading> plain_halved(const std::vector<Reading>& rows) {
  std::vector<Reading> kept;
  for (const Reading& r : rows)
    if (r.value % 2 == 0) kept.push_back({r.sensor, r.value / 2});
  return kept;
}
void add_to(table& sums, const std::vector<Reading>& rows) {
  for (const Reading& r : rows) sums[r.sensor] += r.value;
}
std::vector<Reading> rows_of(const table& sums) {
  std::vector<Reading> rows;
  for (const auto& [sensor, value] : sums) rows.push_back({sensor, value});
  return rows;
}

readings halved(const readings& q) {
  return q.where([](auto r) { return r.value % 2 == 0; }).select([](auto r) { return query::make<Reading>(r.sensor, r.value / 2); });
}
readings summed(const readings& q) {
  return q.group_by([](auto r) { return r.sensor; }).select([](auto g) {
    return query::make<Reading>(g.key(), g.sum([](auto r) { return r.value; }));
  });
}
// Computed now.
readings there(const readings& q) {
  readings kept = q.cached();
  (void)kept.count();
  return kept;
}

class dataflow_device_rows : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const bool real = std::string(GetParam()) == "gpu";
    kernel_cache::settings s{.headers = {}, .options = {}, .folder = "", .compile = {}};
    if (real) {
      if (!driver::find() || !compiler::find())
        GTEST_SKIP() << "SKIPPED: no GPU: " << (driver::find() ? compiler::why_not() : driver::why_not());
      s = {.headers = embedded_sources(), .options = {}, .folder = {}, .compile = {}};
      part_rows_ = 100'000;
      sensors_ = 20'000;
    } else {
      device_rows_there::add_device_row_kernels(fake_.emplace());
      s.compile = [](std::string_view source, int) { return image_of(source); };
    }
    calls_ = with_counted_bytes(real ? *driver::find() : fake_->calls());
    on_.emplace(calls_, 0);
    kernels_.emplace(s);
    engine_ = make_engine(*on_, {std::size_t{1} << 28, 0}, *kernels_);
    session_.emplace(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    session_->state()->take_gpu(engine_);
  }

  std::vector<Reading> rows_of_part(int part, std::int64_t n) const {
    std::vector<Reading> rows;
    for (std::int64_t i = 0; i < n; ++i) rows.push_back({static_cast<std::int32_t>((i * 7 + part) % sensors_), i + part * 3});
    return rows;
  }
  std::vector<Reading> rows_of_part(int part) const { return rows_of_part(part, part_rows_); }
  readings source(std::vector<Reading> rows) { return query::from(std::move(rows)).as_accelerated().in(*session_); }
  // On the device, halved.
  readings part_there(int part, std::int64_t n) {
    readings q = there(halved(source(rows_of_part(part, n))));
    EXPECT_TRUE(planned_there(q.explain()));
    return q;
  }
  readings part_there(int part) { return part_there(part, part_rows_); }
  std::vector<readings> parts_there(int n) {
    std::vector<readings> parts;
    for (int part = 0; part < n; ++part) parts.push_back(part_there(part));
    return parts;
  }
  static table table_of(const readings& q) {
    table sums;
    add_to(sums, q.to_vector());
    return sums;
  }
  table plain_table_of_parts(int from, int to) const {
    table sums;
    for (int part = from; part < to; ++part) add_to(sums, plain_halved(rows_of_part(part)));
    return sums;
  }
  device_memory& memory() { return session_of(*engine_).memory(); }

  // A vertex with a state: the table of all parts so far goes round a back edge and meets another part in each round. What `end` says of
  // the table of each round goes on to the next.
  template <class Parts, class End> readings table_of_rounds(Parts write_parts, std::size_t capacity, End end) {
    flow::graph g;
    const auto first = g.edge_of<readings>("first"), result = g.edge_of<readings>("result"), parts = g.edge_of<readings>("parts", capacity);
    const auto again = g.back_edge_of<readings>("the table so far");
    std::optional<readings> last;
    g.vertex("parts", write_parts, flow::writes(parts));
    g.vertex("first", [this](flow::output<readings>& out) { out.row(there(source({{0, 0}}))); }, flow::writes(first));
    g.vertex("add", [&](flow::input<readings>& tables, flow::input<readings>& more, flow::output<readings>& back,
                        flow::output<readings>& out) {
      while (auto got = tables.receive()) {
        if (!got.has_rows()) {
          back.tell(got.what());
          continue;
        }
        readings so_far = got.rows[0];
        got.rows = {};
        if (const auto part = more.row()) back.row(end(there(summed(so_far.concat(*part)))));
        else out.row(std::move(so_far));
      }
    }, flow::iterates(flow::reads(first), again, 1000), flow::reads(parts), flow::writes(again), flow::writes(result));
    g.vertex("result", [&](flow::input<readings>& in) { last = in.row(); }, flow::reads(result));
    g.timeout(120).run();
    return last.value();
  }

  std::int64_t part_rows_ = 800;
  std::int32_t sensors_ = 300;
  driver calls_;
  std::optional<driver_double> fake_;
  std::optional<device> on_;
  std::optional<kernel_cache> kernels_;
  std::shared_ptr<query::runtime::engine> engine_;
  std::optional<query::Session> session_;
};
QUERY_ON_DEVICES(dataflow_device_rows);

TEST_P(dataflow_device_rows, are_a_table_that_goes_round_a_back_edge) {
  constexpr int parts = 8;
  const std::vector<readings> all = parts_there(parts);
  std::vector<std::pair<std::size_t, std::size_t>> rounds;  // bytes that went over the bus by the end of each
  sent_bytes = fetched_bytes = 0;
  const readings last = table_of_rounds([&](flow::output<readings>& out) {
    for (const readings& part : all) out.push(std::vector{part});
  }, 2, [&](readings so_far) {
    rounds.emplace_back(sent_bytes.load(), fetched_bytes.load());
    return so_far;
  });
  ASSERT_EQ(rounds.size(), static_cast<std::size_t>(parts));
  // Words of status, and less than any table or part.
  const std::size_t table_bytes = static_cast<std::size_t>(sensors_) * sizeof(Reading);
  for (std::size_t i = 1; i < rounds.size(); ++i) {
    EXPECT_LE(rounds[i].first - rounds[i - 1].first, 1024u) << "sent in round " << i;
    EXPECT_LE(rounds[i].second - rounds[i - 1].second, table_bytes / 2) << "fetched in round " << i;
  }
  table wanted = plain_table_of_parts(0, parts);
  wanted[0] += 0;
  EXPECT_EQ(table_of(last), wanted);
}

// A cached query keeps what it was made of: here the parts and the tables of all rounds before. A table that is made anew from its own rows
// lets go of them.
TEST_P(dataflow_device_rows, are_few_at_a_time_where_a_table_starts_anew) {
  constexpr int parts = 48, anew_every = 4;
  const auto peak_of = [&](bool anew) {
    int round = 0;
    memory().trim();
    memory().reset_peak();
    const std::size_t before = memory().counters().used;
    const readings last = table_of_rounds([&](flow::output<readings>& out) {
      for (int part = 0; part < parts; ++part) out.push(std::vector{part_there(part)});
    }, 2, [&](readings so_far) { return anew && ++round % anew_every == 0 ? there(source(so_far.to_vector())) : so_far; });
    table wanted = plain_table_of_parts(0, parts);
    wanted[0] += 0;
    EXPECT_EQ(table_of(last), wanted);
    return memory().counters().peak - before;
  };
  const std::size_t all = peak_of(false), few = peak_of(true);
  EXPECT_LT(few, all / 2) << "the parts of four rounds and those on their way, and not all";
}

TEST_P(dataflow_device_rows, go_where_predicates_send_them) {
  constexpr int parts = 9;
  const auto length = [this](int part) { return part % 3 == 0 ? part_rows_ : part_rows_ / 4 + part; };
  const auto is_large = [limit = part_rows_ / 4](const readings& q) { return q.count() > limit; };
  const auto is_odd = [](const readings& q) { return q.count() % 2 == 1; };
  flow::graph g;
  const auto large = g.edge_of<readings>("large"), small = g.edge_of<readings>("small"), odd = g.edge_of<readings>("odd"),
             even = g.edge_of<readings>("even"), large_too = g.edge_of<readings>("large too");
  std::map<std::string, table> sums;
  std::mutex lock;
  const auto adds = [&](const char* name, flow::edge<readings> from) {
    g.vertex(name, [&, name](flow::input<readings>& in) {
      while (const auto part = in.row()) {
        const std::vector<Reading> rows = summed(*part).to_vector();
        const std::lock_guard hold(lock);
        add_to(sums[name], rows);
      }
    }, flow::reads(from));
  };
  g.vertex("sort out", [&](flow::output<readings>& blocks, flow::output<readings>& rows) {
    for (int part = 0; part < parts; ++part) {
      const readings q = part_there(part, length(part));
      blocks.push(std::vector{q});
      rows.row(q);
    }
  }, flow::writes(flow::when_block([=](const flow::block<readings>& b) { return is_large(b[0]); }, large), flow::otherwise(small)),
     flow::writes(flow::when(is_odd, odd), flow::when(is_large, large_too), flow::otherwise(even)));
  adds("large", large), adds("small", small), adds("odd", odd), adds("large too", large_too), adds("even", even);
  sent_bytes = 0;
  g.timeout(120).run();

  std::map<std::string, table> wanted;
  std::int64_t all_rows = 0;
  for (int part = 0; part < parts; ++part) {
    const std::vector<Reading> rows = plain_halved(rows_of_part(part, length(part)));
    const bool is_long = rows.size() > static_cast<std::size_t>(part_rows_ / 4), uneven = rows.size() % 2 == 1;
    add_to(wanted[is_long ? "large" : "small"], rows);
    if (uneven) add_to(wanted["odd"], rows);
    if (is_long) add_to(wanted["large too"], rows);
    if (!uneven && !is_long) add_to(wanted["even"], rows);
    all_rows += length(part);
  }
  EXPECT_EQ(wanted.size(), 5u);
  EXPECT_EQ(sums, wanted);
  const std::size_t once = static_cast<std::size_t>(all_rows) * sizeof(Reading);
  EXPECT_LE(sent_bytes, once + parts * 1024u) << "each part goes there once, however many read it";
}

TEST_P(dataflow_device_rows, that_are_urgent_come_first) {
  flow::graph g;
  const auto urgent = g.edge_of<readings>("urgent", 10), usual = g.edge_of<readings>("usual", 10);
  const auto start = g.edge_of<int>("start");
  const std::vector<readings> all = parts_there(6);
  std::vector<table> seen;
  // Both edges are full before the merge is read.
  g.vertex("write", [&](flow::output<readings>& low, flow::output<readings>& high, flow::output<int>& go) {
    for (std::size_t part = 0; part < 3; ++part) low.push(std::vector{all[part]});
    for (std::size_t part = 3; part < 6; ++part) high.push(std::vector{all[part]});
    go.row(0);
  }, flow::writes(usual), flow::writes(urgent), flow::writes(start));
  g.vertex("read", [&](flow::input<int>& go, flow::input<readings>& in) {
    EXPECT_TRUE(go.row());
    while (const auto part = in.row()) seen.push_back(table_of(summed(*part)));
  }, flow::reads(start), flow::merges(flow::reads(urgent), flow::reads(usual)));
  g.timeout(120).run();
  std::vector<table> wanted;
  for (const int part : {3, 4, 5, 0, 1, 2}) wanted.push_back(plain_table_of_parts(part, part + 1));
  EXPECT_EQ(seen, wanted);
}

// An initial table lies on the device once, and comes first in each stream of each run, whatever the streams before made of it.
TEST_P(dataflow_device_rows, are_an_initial_table_of_each_stream) {
  constexpr int days = 3, parts_of_day = 2;
  std::vector<Reading> before;
  for (std::int32_t s = 0; s < sensors_; s += 3) before.push_back({s, 1'000'000 + s});
  const readings initial = there(source(before));
  const std::vector<readings> all = parts_there(days * parts_of_day);
  flow::graph g;
  const auto parts = g.edge_of<readings>("parts");
  std::vector<table> seen;
  g.vertex("write", [&](flow::output<readings>& out) {
    for (int day = 0; day < days; ++day) {
      out.tell(flow::signal::begin_stream);
      for (int i = 0; i < parts_of_day; ++i) out.push(std::vector{all[static_cast<std::size_t>(day * parts_of_day + i)]});
      out.tell(flow::signal::end_stream);
    }
  }, flow::writes(parts));
  g.vertex("add", [&](flow::input<readings>& in) {
    while (in.next_stream()) {
      readings sums = in.row().value();
      EXPECT_EQ(static_cast<std::size_t>(sums.count()), before.size());
      while (const auto part = in.row()) sums = there(summed(sums.concat(*part)));
      seen.push_back(table_of(sums));
    }
  }, flow::initially(std::vector{initial}, flow::reads(parts)));
  std::vector<table> wanted;
  for (int day = 0; day < days; ++day) {
    table sums = plain_table_of_parts(day * parts_of_day, (day + 1) * parts_of_day);
    add_to(sums, before);
    wanted.push_back(std::move(sums));
  }
  sent_bytes = 0;
  for (int run = 0; run < 2; ++run) {
    seen.clear();
    g.timeout(120).run();
    EXPECT_EQ(seen, wanted) << "run " << run;
  }
  EXPECT_LE(sent_bytes, 2u * days * 1024u);
}

// In two streams: rounds in which a part is halved until nothing is even, in rounds that begin with twice its values.
TEST_P(dataflow_device_rows, go_through_loops_in_loops) {
  constexpr int streams = 2;
  constexpr std::uint64_t outer_rounds = 3;
  flow::graph g;
  const auto first = g.edge_of<readings>("first"), inner = g.edge_of<readings>("inner");
  const auto outer_back = g.back_edge_of<readings>("doubled"), inner_back = g.back_edge_of<readings>("halved");
  const std::vector<readings> all = [&] {
    std::vector<readings> tables;
    for (const readings& part : parts_there(streams)) tables.push_back(there(summed(part)));
    return tables;
  }();
  std::vector<std::vector<std::size_t>> seen;  // rows in each inner round of each outer one
  g.vertex("write", [&](flow::output<readings>& out) {
    for (const readings& t : all) {
      out.tell(flow::signal::begin_stream);
      out.push(std::vector{t});
      out.tell(flow::signal::end_stream);
    }
  }, flow::writes(first));
  g.each("outer", [](flow::block<readings> b, flow::output<readings>& out) { out.push(std::move(b)); },
         flow::iterates(flow::reads(first), outer_back, outer_rounds), flow::writes(inner));
  g.vertex("inner", [&](flow::input<readings>& in, flow::output<readings>& again, flow::output<readings>& outer) {
    std::optional<readings> begun;
    while (auto got = in.receive()) {
      if (got.has_rows()) {
        const readings q = got.rows[0];
        if (!begun) {
          begun = q;
          seen.emplace_back();
        }
        seen.back().push_back(static_cast<std::size_t>(q.count()));
        // Zero is even for ever.
        readings half = there(halved(q));
        if (seen.back().size() < 5 && half.count() > 0) again.row(std::move(half));
        continue;
      }
      if (got.is(flow::signal::end_iteration) && got.depth() == 2) {
        outer.row(there(summed(begun->concat(*begun))));
        begun.reset();
      }
      again.tell(got.what());
      outer.tell(got.what());
    }
  }, flow::iterates(flow::reads(inner), inner_back, 100), flow::writes(inner_back), flow::writes(outer_back));
  sent_bytes = fetched_bytes = 0;
  g.timeout(120).run();
  EXPECT_LE(sent_bytes, streams * outer_rounds * 6u * 1024u);

  std::vector<std::vector<std::size_t>> wanted;
  for (int stream = 0; stream < streams; ++stream) {
    table sums = plain_table_of_parts(stream, stream + 1);
    for (std::uint64_t round = 0; round < outer_rounds; ++round) {
      auto& sizes = wanted.emplace_back();
      for (std::vector<Reading> rows = rows_of(sums); sizes.size() < 5 && !rows.empty(); rows = plain_halved(rows))
        sizes.push_back(rows.size());
      for (auto& [sensor, value] : sums) value *= 2;
    }
  }
  EXPECT_EQ(seen, wanted);
}

// The edge's capacity bounds how many parts lie on the device: those in the edge, the one that waits to be pushed, the one that is read.
TEST_P(dataflow_device_rows, on_the_device_are_as_many_as_the_edge_holds) {
  constexpr int parts = 60, capacity = 2;
  std::size_t part_bytes = 0, alone = 0;  // of one that is there, and most while it is made and summed
  {
    (void)table_of(summed(part_there(0)));  // what is made once
    (void)there(source({{0, 0}}));          // lets go of it
    memory().reset_peak();
    const std::size_t before = memory().counters().used;
    const readings part = part_there(0);
    part_bytes = memory().counters().used - before;
    (void)table_of(summed(part));
    alone = memory().counters().peak - before;
  }
  (void)there(source({{0, 0}}));
  ASSERT_GT(part_bytes, 0u);
  flow::graph g;
  const auto ready = g.edge_of<readings>("parts on the device", capacity);
  std::atomic<int> made = 0;
  table sums;
  memory().reset_peak();
  const std::size_t before = memory().counters().used;
  g.vertex("upload", [&](flow::output<readings>& out) {
    for (int part = 0; part < parts; ++part) {
      readings q = part_there(part);
      ++made;
      out.push(std::vector{std::move(q)});
    }
  }, flow::writes(ready));
  g.vertex("sum", [&](flow::input<readings>& in) {
    bool first = true;
    while (const auto part = in.row()) {
      if (std::exchange(first, false)) {
        // The stream's beginning took a place in the edge until it was read: all places are for parts now.
        while (made < capacity + 2) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        EXPECT_EQ(made, capacity + 2) << "the writer waits";
        EXPECT_LE(memory().counters().used - before, static_cast<std::size_t>(capacity + 2) * part_bytes + part_bytes / 2);
      }
      add_to(sums, summed(*part).to_vector());
    }
  }, flow::reads(ready));
  g.timeout(120).run();
  EXPECT_EQ(made, parts);
  EXPECT_EQ(sums, plain_table_of_parts(0, parts));
  // One more that nobody reads any longer, which the session lets go of with the next; two vertices compute at a time.
  EXPECT_LE(memory().counters().peak - before, static_cast<std::size_t>(capacity + 3) * part_bytes + 2 * alone);
  EXPECT_LT(static_cast<std::size_t>(capacity + 3) * part_bytes + 2 * alone, static_cast<std::size_t>(parts) * part_bytes);
}

}  // namespace
