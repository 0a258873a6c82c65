// A few rows of 64 KiB ask for little more memory than they have: buffers begin by bytes, not by numbers of rows.
#include <array>
#include <span>
#include <variant>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"

namespace conformance {
namespace {

struct Page {
  std::int64_t id = 0;
  std::array<std::uint8_t, 65528> bytes{};
  bool operator==(const Page&) const = default;
};
QUERY_RECORD(Page, id, bytes);
static_assert(sizeof(Page) == 65536);

const std::vector<Page>& pages() {
  static const std::vector<Page> three = [] {
    std::vector<Page> v(3);
    for (std::int64_t i = 0; i < 3; ++i) {
      v[static_cast<std::size_t>(i)].id = 2 - i;
      v[static_cast<std::size_t>(i)].bytes[7] = static_cast<std::uint8_t>(i);
    }
    return v;
  }();
  return three;
}

// In a session of its own, which may have 12 MiB.
template <class Run> void check_small(const engine_config& e, const char* verb, Run run) {
  if (e.accelerate) return;
  SCOPED_TRACE(verb);
  query::Session small({.threads = 4,
                        .memory_limit = 12u << 20,
                        .interpret = std::string(e.column) == "interpreter",
                        .gpu = query::gpu_use::off});
  EXPECT_NO_THROW(run(query::from(pages()).in(small), small));
  EXPECT_LT(small.memory_peak(), 12u << 20);
}

constexpr auto id = [](const auto& p) { return p.id; };
auto made(query::Session& s) {
  return query::generate([i = std::size_t{0}]() mutable { return i < 3 ? std::optional(pages()[i++]) : std::nullopt; }).in(s);
}

CONFORMS(few_large_rows, need_little_memory, "where", "select", "join", "generate", "order_by", "distinct_by", "group_by", "zip", "chunk",
         "concat", "group_join", "cross_join", "min_by", "max_by", "reduce", "aggregate", "aggregate_by", "to_vectors", "top", "reverse",
         "union_with", "union_with_by", "count_by") {
  check_small(e, "where", [](auto q, auto&) { EXPECT_EQ(q.where([](auto p) { return p.id != 1; }).to_vector().size(), 2u); });
  check_small(e, "where, by hand", [](auto q, auto&) {
    EXPECT_EQ(q.where([](const Page& p) { return p.id != 1; }).to_vector().size(), 2u);
  });
  check_small(e, "select", [](auto q, auto&) {
    EXPECT_EQ(q.select([](const Page& p) { return p; }).to_vector(), pages());
  });
  check_small(e, "select and sort", [](auto q, auto&) {
    const auto sorted = q.select([](const Page& p) { return p; }).order_by(id).to_vector();
    ASSERT_EQ(sorted.size(), 3u);
    EXPECT_EQ(sorted.front(), pages().back());
  });
  check_small(e, "join", [](auto q, auto&) {
    const auto joined = q.join(q, id, id, [](const Page&, const Page& b) { return b; }).to_vector();
    EXPECT_EQ(joined.size(), 3u);
  });
  check_small(e, "group_join", [](auto q, auto&) {
    const auto first = [](const Page& a, const std::vector<Page>& b) { return b.empty() ? a : b.front(); };
    EXPECT_EQ(q.group_join(q, id, id, first).to_vector().size(), 3u);
  });
  check_small(e, "cross_join", [](auto q, auto&) {
    EXPECT_EQ(q.cross_join(q.take(1), [](const Page& a, const Page&) { return a; }).to_vector().size(), 3u);
  });
  check_small(e, "zip", [](auto q, auto&) {
    EXPECT_EQ(q.zip(q, [](const Page& a, const Page&) { return a; }).to_vector(), pages());
  });
  check_small(e, "distinct_by", [](auto q, auto&) { EXPECT_EQ(q.distinct_by(id).to_vector().size(), 3u); });
  check_small(e, "group_by", [](auto q, auto&) {
    EXPECT_EQ(q.group_by(id).select([](auto g) { return g.arg_min([](auto p) { return p.id; }); }).to_vector().size(), 3u);
  });
  check_small(e, "chunk", [](auto q, auto&) {
    EXPECT_EQ(q.chunk(2, [](std::span<const Page> r) { return r[0]; }).to_vector().size(), 2u);
  });
  check_small(e, "concat", [](auto q, auto&) { EXPECT_EQ(q.where([](auto p) { return p.id < 9; }).concat(q).to_vector().size(), 6u); });
  check_small(e, "generate", [](auto, query::Session& s) {
    EXPECT_EQ(made(s).to_vector(), pages());
    EXPECT_EQ(made(s).where([](auto p) { return p.id > 0; }).count(), 2);
  });
}

// States that hold a row, of every thread; sinks and sorts that keep rows.
CONFORMS(few_large_rows, of_states_need_little_memory, "min_by", "max_by", "reduce", "aggregate", "aggregate_by", "to_vectors", "top",
         "reverse", "union_with", "union_with_by", "count_by", "last", "order_by_descending", "distinct", "skip_last", "take_last") {
  const auto check_both = [&](const char* verb, auto run) {
    check_small(e, verb, [&](auto q, auto&) { run(q); });
    check_small(e, (std::string(verb) + " of a generator").c_str(), [&](auto, query::Session& s) { run(made(s)); });
  };
  namespace by = query::aggregates;
  const auto itself = [](const auto& p) { return p; };
  check_both("min_by", [](const auto& q) { EXPECT_EQ(q.min_by(id), pages()[2]); });
  check_both("max_by", [](const auto& q) { EXPECT_EQ(q.max_by(id), pages()[0]); });
  check_both("min_by, by hand", [](const auto& q) { EXPECT_EQ(q.min_by([](const Page& p) { return p.id; }), pages()[2]); });
  check_both("reduce", [](const auto& q) {
    EXPECT_EQ(q.reduce([](auto g) { return g.arg_max([](auto p) { return p.id; }); }), pages()[0]);
    EXPECT_EQ(q.reduce([](auto g) { return g.last().id; }), 0);
  });
  check_both("aggregate", [](const auto& q) {
    EXPECT_EQ(q.aggregate(by::arg_min(id), by::arg_max(id)), std::tuple(pages()[2], pages()[0]));
  });
  check_both("aggregate_by", [](const auto& q) {
    EXPECT_EQ(q.aggregate_by(id, by::arg_min(id)).order_by([](const auto& t) { return std::get<0>(t); }).to_vector().size(), 3u);
  });
  check_both("to_vectors", [](const auto& q) { EXPECT_EQ(q.to_vectors().size(), 3u); });
  check_both("top", [](const auto& q) { EXPECT_EQ(q.top(2, id).to_vector().front(), pages()[0]); });
  check_both("order_by_descending", [](const auto& q) { EXPECT_EQ(q.order_by_descending(id).to_vector(), pages()); });
  check_both("reverse", [](const auto& q) { EXPECT_EQ(q.reverse().to_vector().front(), pages()[2]); });
  check_both("union_with_by", [](const auto& q) { EXPECT_EQ(q.union_with_by(q, id).to_vector(), pages()); });
  check_both("union_with", [](const auto& q) { EXPECT_EQ(q.union_with(q).count(), 3); });
  check_both("distinct", [](const auto& q) { EXPECT_EQ(q.distinct().count(), 3); });
  check_both("count_by", [&](const auto& q) { EXPECT_EQ(q.count_by(itself).count(), 3); });
  check_both("last", [](const auto& q) { EXPECT_EQ(q.last(), pages()[2]); });
  check_both("skip_last", [](const auto& q) { EXPECT_EQ(q.skip_last(1).to_vector().size(), 2u); });
  check_small(e, "take_last of many", [](auto, query::Session& s) {
    const auto many = query::generate([i = std::size_t{0}]() mutable {
      return i < 1000 ? std::optional(pages()[i++ % 3]) : std::nullopt;
    }).in(s);
    EXPECT_EQ(many.take_last(8).to_vector().size(), 8u);
  });
}

// No QUERY_RECORD: nothing traces the 65,528 bytes one by one.
struct Sheet {
  std::int64_t id = 0;
  std::array<std::uint8_t, 65528> bytes{};
  bool operator==(const Sheet&) const = default;
};
const std::vector<Sheet>& sheets() {
  static const std::vector<Sheet> three{Sheet{2, {}}, Sheet{1, {1}}, Sheet{0, {2}}};
  return three;
}

// Verbs that are made of others, or search sorted rows.
CONFORMS(few_large_rows, in_verbs_made_of_others_need_little_memory, "slice", "shuffle", "over", "group_by.top", "asof_join", "join_where",
         "zip", "of_type", "chunk", "window", "hash_partitioned_by", "range_partitioned_by", "apply") {
  using rows = query::Query<Sheet>;
  const auto check_both = [&](const char* verb, auto run) {
    check_small(e, verb, [&](const auto&, query::Session& s) {
      const rows q = query::from(sheets()).in(s);
      run(q, q);
      run(rows(query::generate([i = std::size_t{0}]() mutable { return i < 3 ? std::optional(sheets()[i++]) : std::nullopt; }).in(s)), q);
    });
  };
  const auto number = [](const Sheet& p) { return p.id; };
  const auto nearest = [](const Sheet& a, const std::optional<Sheet>& b) { return b ? *b : a; };
  const auto sheets_of = [](const rows& q) { return std::ssize(q.to_vector()); };
  check_both("slice", [&](const rows& q, const rows&) {
    EXPECT_EQ(sheets_of(q.slice(0, 2)) + sheets_of(q.slice(-2)) + sheets_of(q.slice(-2, 5)) + sheets_of(q.slice(1, -1)), 7);
  });
  check_both("shuffle", [&](const rows& q, const rows&) { EXPECT_EQ(sheets_of(q.shuffle(3)), 3); });
  check_both("over", [&](const rows& q, const rows&) {
    EXPECT_EQ(q.over(number).select([](const Sheet& p, const auto&) { return p; }).to_vector(), sheets());
    const auto before = [](const Sheet&, const auto& w) { return w.lag([](const Sheet& p) { return p; }); };
    EXPECT_EQ(q.over().select(before).to_vector()[1], sheets()[0]);
    EXPECT_EQ(sheets_of(q.over(number).take(1)), 3);
  });
  check_both("group_by.top", [&](const rows& q, const rows&) { EXPECT_EQ(q.group_by(number).top(1, number).to_vector(), sheets()); });
  check_both("asof_join", [&](const rows& q, const rows& r) {
    EXPECT_EQ(q.asof_join(r, number, number, nearest).to_vector(), sheets());
    EXPECT_EQ(r.asof_join(q, number, number, number, number, nearest).to_vector(), sheets());
  });
  check_both("join_where", [&](const rows& q, const rows& r) {
    const auto right = [](const Sheet&, const Sheet& b) { return b; };
    EXPECT_EQ(sheets_of(q.join_where(r, [](const Sheet& a, const Sheet& b) { return a.id <= b.id; }, right)), 6);
  });
  check_both("zip of three", [](const rows& q, const rows& r) {
    EXPECT_EQ(q.zip(r, q, [](const Sheet&, const Sheet&, const Sheet& c) { return c; }).to_vector(), sheets());
  });
  check_both("of_type", [](const rows& q, const rows&) {
    EXPECT_EQ(q.select([](const Sheet& p) { return std::variant<int, Sheet>(p); }).of_type<Sheet>().to_vector(), sheets());
  });
  check_both("lists", [](const rows& q, const rows&) {
    EXPECT_EQ(q.chunk(2).to_vector().size() + q.window(2).to_vector().size(), 4u);
  });
  check_both("partitions", [&](const rows& q, const rows&) {
    const auto same = [](std::span<const Sheet> r) { return r; };
    EXPECT_EQ(sheets_of(q.hash_partitioned_by(number, 2).apply(same)) + sheets_of(q.range_partitioned_by(number, 2).apply(same)), 6);
  });
}

// Nobody knows how many rows a generator has: not even where memory has no limit do three of them ask for much.
CONFORMS(few_large_rows, of_a_generator_beside_others_need_little_memory, "right_join", "full_join", "group_join",
         "cross_join", "zip") {
  if (e.accelerate) return;
  const bool interpret = std::string(e.column) == "interpreter";
  query::Session any({.threads = 4, .interpret = interpret, .gpu = query::gpu_use::off});
  query::Session small({.threads = 4, .memory_limit = 12u << 20, .interpret = interpret, .gpu = query::gpu_use::off});
  const auto check = [&](const char* verb, auto run) {
    SCOPED_TRACE(verb);
    for (query::Session* session : {&any, &small}) {
      EXPECT_NO_THROW(run(query::from(pages()).in(*session), made(*session)));
      EXPECT_LT(session->memory_peak(), 12u << 20);
    }
  };
  const auto left = [](const Page& a, const Page&) { return a; };
  check("right_join", [](auto q, auto g) { EXPECT_EQ(q.right_join(g, id, id).to_vector().size(), 3u); });
  check("right_join of generators", [](auto, auto g) { EXPECT_EQ(g.right_join(g, id, id).count(), 3); });
  check("full_join", [](auto q, auto g) { EXPECT_EQ(q.full_join(g, id, id).to_vector().size(), 3u); });
  check("group_join", [](auto q, auto g) {
    EXPECT_EQ(q.group_join(g, id, id, [](const Page& a, const std::vector<Page>&) { return a; }).to_vector(), pages());
  });
  check("cross_join", [&](auto q, auto g) { EXPECT_EQ(q.cross_join(g, left).to_vector().size(), 9u); });
  check("zip", [&](auto q, auto g) { EXPECT_EQ(q.zip(g, left).to_vector(), pages()); });
}

// Pairs that are only counted come piece by piece, of 16 MiB at most.
CONFORMS(few_large_rows, pairs_of_few_numbers_need_little_memory, "cross_join") {
  if (e.accelerate) return;
  query::Session session({.threads = 4, .interpret = std::string(e.column) == "interpreter", .gpu = query::gpu_use::off});
  const auto numbers = query::range(std::int64_t{0}, 40).in(session);
  const auto pairs = numbers.cross_join(numbers, [](const std::int64_t& a, const std::int64_t& b) {
    Page p;
    p.id = a + b;
    return p;
  });
  EXPECT_EQ(pairs.reduce([](auto g) { return g.sum(id); }), 40 * 40 * 39);
  EXPECT_LT(session.memory_peak(), 40u << 20);
}

// More rows than a buffer begins with, in verbs whose batches have fewer rows of large types.
CONFORMS(few_large_rows, many_of_them_keep_their_order, "select", "where", "join", "chunk", "generate") {
  std::vector<Page> many(40);
  for (std::size_t i = 0; i < many.size(); ++i) many[i].id = static_cast<std::int64_t>(i);
  const auto q = source(e, many);
  EXPECT_EQ(q.select([](const Page& p) { return p; }).to_vector(), many);
  EXPECT_EQ(q.where([](const Page& p) { return p.id >= 0; }).to_vector(), many);
  EXPECT_EQ(q.join(q, id, id, [](const Page& a, const Page&) { return a; }).as_ordered().to_vector(), many);
  EXPECT_EQ(q.chunk(1, [](std::span<const Page> r) { return r[0]; }).to_vector(), many);
  const auto made = query::generate([i = std::size_t{0}, &many]() mutable {
    return i < many.size() ? std::optional(many[i++]) : std::nullopt;
  });
  EXPECT_EQ(on(e, made).to_vector(), many);
}

}  // namespace
}  // namespace conformance
