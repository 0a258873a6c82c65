// take, skip, their _last and _while forms, zip, index, default_if_empty, sample: all in source order.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

template <class T> std::vector<T> slice(const std::vector<T>& v, std::size_t from, std::size_t to) {
  to = std::min(to, v.size());
  from = std::min(from, to);
  return {v.begin() + static_cast<std::ptrdiff_t>(from), v.begin() + static_cast<std::ptrdiff_t>(to)};
}
constexpr std::size_t counts[] = {0, 1, 2, 1000, 1023, 1024, 1025, 65536, 199999, 1u << 30};

CONFORMS(sequence, take_and_skip, "take", "skip", "take_last", "skip_last") {
  for (const auto& d : ticks()) {
    for (const std::size_t n : counts) {
      SCOPED_TRACE(d.name + ", n = " + std::to_string(n));
      const std::size_t rest = d.rows.size() - std::min(n, d.rows.size());
      const auto q = source(e, d.rows);
      EXPECT_ROWS(q.take(n).to_vector(), slice(d.rows, 0, n));
      EXPECT_ROWS(q.skip(n).to_vector(), slice(d.rows, n, d.rows.size()));
      EXPECT_ROWS(q.take_last(n).to_vector(), slice(d.rows, rest, d.rows.size()));
      EXPECT_ROWS(q.skip_last(n).to_vector(), slice(d.rows, 0, rest));
    }
  }
}

CONFORMS(sequence, slices_of_filtered_rows, "take", "skip", "take_last", "skip_last", "where") {
  for (const auto& d : ticks()) {
    const auto p = [](auto t) { return t.amount % 4 == 1; };
    const std::vector<tick> rows = kept(d.rows, p);
    for (const std::size_t n : {0u, 1u, 250u, 1024u, 9000u}) {
      SCOPED_TRACE(d.name + ", n = " + std::to_string(n));
      const std::size_t rest = rows.size() - std::min(n, rows.size());
      const auto q = source(e, d.rows).where(p);
      EXPECT_ROWS(q.take(n).to_vector(), slice(rows, 0, n));
      EXPECT_ROWS(q.skip(n).take(300).to_vector(), slice(rows, n, n + 300));
      EXPECT_ROWS(q.take_last(n).to_vector(), slice(rows, rest, rows.size()));
      EXPECT_ROWS(q.skip_last(n).to_vector(), slice(rows, 0, rest));
      EXPECT_EQ(q.skip(n).count(), static_cast<std::int64_t>(rest));
      EXPECT_ROWS(source(e, d.rows).take(n).where(p).to_vector(), kept(slice(d.rows, 0, n), p));
    }
  }
}

CONFORMS(sequence, take_while_and_skip_while, "take_while", "skip_while") {
  for (const auto& d : ticks()) {
    for (const std::int32_t limit : {-1, 0, 1, 1023, 1024, 1025, 65536, 300000}) {
      SCOPED_TRACE(d.name + ", limit = " + std::to_string(limit));
      const auto border = static_cast<std::size_t>(std::max(limit, 0));
      const auto p = [limit](auto t) { return t.id < limit; };
      EXPECT_ROWS(source(e, d.rows).take_while(p).to_vector(), slice(d.rows, 0, border));
      EXPECT_ROWS(source(e, d.rows).skip_while(p).to_vector(), slice(d.rows, border, d.rows.size()));
    }
    // The first false decides, whatever comes after it.
    const auto p = [](auto t) { return t.amount < 900; };
    const auto first = static_cast<std::size_t>(std::find_if_not(d.rows.begin(), d.rows.end(), p) - d.rows.begin());
    EXPECT_ROWS(source(e, d.rows).take_while(p).to_vector(), slice(d.rows, 0, first));
    EXPECT_ROWS(source(e, d.rows).skip_while(p).to_vector(), slice(d.rows, first, d.rows.size()));
  }
}

CONFORMS(sequence, zip_is_as_long_as_the_shorter, "zip") {
  for (const auto& d : ticks()) {
    for (const std::size_t n : {0u, 1u, 1024u, 65000u, 300000u}) {
      SCOPED_TRACE(d.name + ", n = " + std::to_string(n));
      const std::vector<tick> evens = kept(d.rows, [](const tick& t) { return t.amount % 2 == 0; });
      const std::vector<tick> head = slice(d.rows, 0, n);
      std::vector<std::pair<std::int32_t, std::int64_t>> wanted;
      for (std::size_t i = 0; i < std::min(head.size(), evens.size()); ++i) wanted.emplace_back(head[i].id, evens[i].amount);
      const auto even = source(e, d.rows).where([](auto t) { return t.amount % 2 == 0; });
      EXPECT_ROWS(source(e, head).zip(even, [](const tick& a, const tick& b) { return std::pair(a.id, b.amount); }).to_vector(), wanted);
    }
  }
  const auto& rows = few_trades();
  const auto& right = rates()[2].rows;
  std::vector<std::pair<trade, rate>> pairs;
  for (std::size_t i = 0; i < right.size(); ++i) pairs.emplace_back(rows[i], right[i]);
  EXPECT_ROWS(source(e, rows).zip(source(e, right)).to_vector(), pairs);
}

CONFORMS(sequence, index_numbers_the_rows, "index") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto p = [](auto t) { return t.amount > 100; };
    std::vector<std::pair<std::int64_t, std::int32_t>> all, some;
    for (const tick& t : d.rows) all.emplace_back(static_cast<std::int64_t>(all.size()), t.id);
    for (const tick& t : kept(d.rows, p)) some.emplace_back(static_cast<std::int64_t>(some.size()), t.id);
    const auto pair = [](const query::indexed<tick>& r) { return std::pair(r.index, r.value.id); };
    EXPECT_ROWS(source(e, d.rows).index().select(pair).to_vector(), all);
    EXPECT_ROWS(source(e, d.rows).where(p).index().select(pair).to_vector(), some);
    EXPECT_ROWS(selected(source(e, d.rows).where(p).index().to_vector(), pair), some);
    // Its rows are a record: functions over them trace.
    EXPECT_ROWS(source(e, d.rows).index().select([](auto r) { return std::pair(r.index, r.value.id); }).to_vector(), all);
    EXPECT_EQ(source(e, d.rows).where(p).index().where([](auto r) { return r.index % 2 == 1; }).count(), std::ssize(some) / 2);
  }
}

// The rows that index() gives are records: functions over them trace, sorts and groups take them as keys, tables and columns show them.
CONFORMS(sequence, index_gives_records, "index", "to_vectors", "table") {
  static_assert(query::ir::described_v<query::indexed<trade>>);
  const auto& rows = few_trades();
  const auto q = source(e, rows).index();
  const auto p = [](auto r) { return r.index % 3 == 1 && r.value.amount > 10; };
  const auto pick = [](auto r) { return std::tuple(r.index, r.value.name); };
  EXPECT_TRUE(query::trace<query::indexed<trade>>(p)) << query::trace<query::indexed<trade>>(p).reason;
  std::vector<std::tuple<std::int64_t, std::string>> wanted;
  std::vector<query::indexed<trade>> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    all.push_back({static_cast<std::int64_t>(i), rows[i]});
    if (i % 3 == 1 && rows[i].amount > 10) wanted.emplace_back(static_cast<std::int64_t>(i), rows[i].name);
  }
  EXPECT_ROWS(q.to_vector(), all);
  EXPECT_ROWS(q.where(p).select(pick).to_vector(), wanted);
  std::reverse(wanted.begin(), wanted.end());
  EXPECT_ROWS(q.where(p).order_by_descending([](auto r) { return r.index; }).select(pick).to_vector(), wanted);
  const auto columns = q.to_vectors();
  EXPECT_EQ(columns.size(), rows.size());
  EXPECT_EQ(columns.template get<0>()[7], 7);
  EXPECT_EQ(columns.template get<1>()[7].name, rows[7].name);
  const std::string shown = q.select([](const auto& r) { return query::indexed<std::int64_t>{r.index, r.value.amount}; }).table(2);
  EXPECT_NE(shown.find("│ index ┆ value │"), std::string::npos) << shown;
}

CONFORMS(sequence, default_if_empty_fills_in_one_row, "default_if_empty") {
  const tick other{7, 8, 9, 0.5};
  for (const auto& d : small_ticks()) {
    SCOPED_TRACE(d.name);
    const auto p = [](auto t) { return t.amount > 995; };
    std::vector<tick> some = kept(d.rows, p);
    if (some.empty()) some.push_back(other);
    EXPECT_ROWS(source(e, d.rows).where(p).default_if_empty(other).to_vector(), some);
    EXPECT_ROWS(source(e, d.rows).default_if_empty().to_vector(), d.rows.empty() ? std::vector<tick>{tick{}} : d.rows);
    EXPECT_EQ(source(e, d.rows).where([](auto t) { return t.amount > 5000; }).default_if_empty(other).sum([](auto t) { return t.key; }), 8);
  }
}

CONFORMS(sequence, sample_draws_rows_without_replacement_in_order, "sample") {
  for (const auto& d : ticks()) {
    for (const std::size_t n : {0u, 1u, 100u, 5000u, 300000u}) {
      SCOPED_TRACE(d.name + ", n = " + std::to_string(n));
      const auto ids = [&](std::uint64_t s) {
        return selected(source(e, d.rows).sample(n, s).to_vector(), [](const tick& t) { return t.id; });
      };
      const std::vector<std::int32_t> drawn = ids(3);
      EXPECT_EQ(drawn.size(), std::min(n, d.rows.size()));
      EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end()));
      EXPECT_EQ(std::adjacent_find(drawn.begin(), drawn.end()), drawn.end());
      EXPECT_EQ(ids(3), drawn);
      if (n == 100 && d.rows.size() > 1000) {
        EXPECT_NE(ids(4), drawn);
      }
      static std::map<std::string, std::vector<std::int32_t>> first;  // of all engines
      EXPECT_EQ(first.try_emplace(d.name + " " + std::to_string(n), drawn).first->second, drawn);
    }
  }
}

}  // namespace
}  // namespace conformance
