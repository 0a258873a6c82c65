// Verbs that give rows of their inputs again, over columns: the rows are those of records, however they are read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

#include "sanitized.hpp"
#include "temp_folder.hpp"

namespace query::tests {

struct parcel {
  std::int32_t id;
  std::string to;
  double weight;
  std::optional<std::int32_t> shelf;
  bool operator==(const parcel&) const = default;
};
QUERY_RECORD(parcel, id, to, weight, shelf);
struct parcel_number {
  std::int32_t id;
  double weight;
  bool operator==(const parcel_number&) const = default;
};
QUERY_RECORD(parcel_number, id, weight);
struct parcel_label {
  std::int32_t number;
  std::string text;
};
QUERY_RECORD(parcel_label, number, text);

namespace {

struct parcels {
  std::vector<std::int32_t> id;
  std::vector<std::string> to;
  std::vector<double> weight;
  std::vector<std::optional<std::int32_t>> shelf;
  std::vector<parcel> rows;
  std::vector<parcel_number> numbers;

  parcels(std::int32_t n, std::int32_t first) {
    for (std::int32_t i = first; i < first + n; ++i) {
      const auto x = static_cast<std::uint32_t>(i) * 2654435761u;
      rows.push_back({i % 1000, "receiver of number " + std::to_string(x % 500), x / 97.0,
                      x % 7 ? std::optional(static_cast<std::int32_t>(x % 11)) : std::nullopt});
      const parcel& p = rows.back();
      numbers.push_back({p.id, p.weight});
      id.push_back(p.id), to.push_back(p.to), weight.push_back(p.weight), shelf.push_back(p.shelf);
    }
  }
  auto columns() const { return query::columns<parcel>(id, to, weight, shelf); }
  auto number_columns() const { return query::columns<parcel_number>(id, weight); }
};

const auto odd = [](auto p) { return p.id % 2 == 1; };
const auto heavier = [](auto p) { return query::make<parcel>(p.id, p.to, p.weight + 1, p.shelf); };
const auto weight_of = [](auto p) { return p.weight; };
const auto id_of = [](auto p) { return p.id; };

std::vector<parcel> kept(const std::vector<parcel>& rows) {
  std::vector<parcel> all;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(all), [](const parcel& p) { return p.id % 2 == 1; });
  return all;
}
std::vector<parcel> changed(std::vector<parcel> rows) {
  for (parcel& p : rows) p.weight += 1;
  return rows;
}
template <class T> std::vector<T> together(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
template <class T> std::vector<T> first(std::vector<T> rows, std::size_t n) {
  rows.resize(std::min(n, rows.size()));
  return rows;
}

std::string shown(const parcel& p) { return std::to_string(p.id) + p.to + std::to_string(p.weight); }

// Every way to read the rows of a query gives those of `rows`, to the last bit.
template <class Q> void reads(const char* what, const Q& q, const std::vector<parcel>& rows, const query::Session& s) {
  SCOPED_TRACE(what);
  const auto same = query::from(rows).in(s);
  EXPECT_TRUE(q.to_vector() == rows);
  EXPECT_EQ(q.count(), rows.size());
  EXPECT_EQ(q.sum(weight_of), same.sum(weight_of));
  EXPECT_TRUE(q.where(odd).to_vector() == same.where(odd).to_vector());
  EXPECT_TRUE(q.select(heavier).to_vector() == same.select(heavier).to_vector());
  EXPECT_TRUE(q.select([](const parcel& p) { return shown(p); }).to_vector() ==
              same.select([](const parcel& p) { return shown(p); }).to_vector());
  std::size_t at = 0;
  for (const auto& chunk : q.to_columns())
    for (std::size_t i = 0; i < chunk.size(); ++i, ++at) {
      const parcel& p = rows.at(at);
      ASSERT_TRUE(chunk.template get<0>()[i] == p.id && std::string_view(chunk.template get<1>()[i]) == p.to &&
                  chunk.template get<2>()[i] == p.weight && chunk.template get<3>()[i] == p.shelf);
    }
  EXPECT_EQ(at, rows.size());
  const auto totals = [](auto in) {
    return in.group_by([](auto p) { return std::tuple(p.to, p.shelf); }).select([](auto g) {
      return std::tuple(g.key(), g.sum(weight_of), g.count());
    }).as_ordered();
  };
  EXPECT_TRUE(totals(q).to_vector() == totals(same).to_vector());
  EXPECT_TRUE(q.order_by(weight_of).take(50).to_vector() == same.order_by(weight_of).take(50).to_vector());
  EXPECT_TRUE(q.order_by(id_of).to_vector() == same.order_by(id_of).to_vector());
  EXPECT_TRUE(q.take(100).to_vector() == first(rows, 100));
  EXPECT_TRUE(q.reverse().take(10).to_vector() == same.reverse().take(10).to_vector());
  at = 0;
  for (const parcel& p : q) at += at < rows.size() && p == rows[at];
  EXPECT_EQ(at, rows.size());
  const auto matched = [](auto in) {
    return in.join(in.take(20), id_of, id_of, [](auto l, auto r) { return std::tuple(l.to, r.weight); }).as_ordered();
  };
  EXPECT_TRUE(matched(q).to_vector() == matched(same).to_vector());
  EXPECT_TRUE(q.concat(q.where(odd)).to_vector() == same.concat(same.where(odd)).to_vector());
}

void each_session(const std::function<void(const query::Session&)>& f, std::size_t memory = std::size_t{24} << 20) {
  for (const int threads : {1, 3}) f(query::Session({.threads = threads}));
  const temp_folder at("columns_of_inputs_test");
  f(query::Session({.threads = 2, .memory_limit = memory, .temp_folder = at.name()}));
}

void concatenations(const parcels& a, const parcels& b) {
  each_session([&](const query::Session& s) {
    const auto all = query::from(a.columns()).in(s);
    const auto more = query::from(b.columns()).in(s);
    const auto records = query::from(b.rows).in(s);
    reads("columns", all.concat(more), together(a.rows, b.rows), s);
    reads("filtered columns", all.where(odd).concat(more.where(odd)), together(kept(a.rows), kept(b.rows)), s);
    reads("made columns", all.select(heavier).concat(more), together(changed(a.rows), b.rows), s);
    reads("records behind columns", all.concat(records), together(a.rows, b.rows), s);
    reads("filtered records behind columns", all.where(odd).concat(records.where(odd)), together(kept(a.rows), kept(b.rows)), s);
    reads("columns behind records", records.concat(all), together(b.rows, a.rows), s);
    reads("records", records.where(odd).concat(records), together(kept(b.rows), b.rows), s);
    reads("three", all.concat(more.where(odd)).concat(all), together(together(a.rows, kept(b.rows)), a.rows), s);
    reads("nothing else", all.where([](auto p) { return p.id < 0; }).concat(more), b.rows, s);
    reads("sorted", all.order_by(id_of).concat(more), together(all.order_by(id_of).to_vector(), b.rows), s);
    reads("a row in front", all.prepend(b.rows[0]).append(b.rows[1]), together(together({b.rows[0]}, a.rows), {b.rows[1]}), s);
  });
}

TEST(columns_of_inputs, concat_of_few_rows) { concatenations(parcels(3, 0), parcels(2, 50)); }
TEST(columns_of_inputs, concat_of_many_rows) { concatenations(parcels(sanitized ? 5000 : 70'000, 0), parcels(3001, 50)); }

TEST(columns_of_inputs, concat_of_numbers) {
  const parcels a(70'000, 0), b(1000, 7);
  const auto q = query::from(a.number_columns()).concat(query::from(b.number_columns()));
  const auto rows = together(a.numbers, b.numbers);
  EXPECT_TRUE(q.to_vector() == rows);
  EXPECT_EQ(q.sum(weight_of), query::from(rows).sum(weight_of));
  EXPECT_EQ(q.where(odd).max(weight_of), query::from(rows).where(odd).max(weight_of));
  EXPECT_TRUE(q.concat(query::from(b.numbers)).to_vector() == together(rows, b.numbers));
}

// The first row of each key, as a set of records gives them.
template <class Key> std::vector<parcel> first_of(const std::vector<parcel>& rows, Key key) {
  std::set<decltype(key(rows[0]))> seen;
  std::vector<parcel> all;
  for (const parcel& p : rows)
    if (seen.insert(key(p)).second) all.push_back(p);
  return all;
}
template <class Key> std::vector<parcel> told_apart(const std::vector<parcel>& rows, const std::vector<parcel>& others, Key key, bool in) {
  std::set<decltype(key(rows[0]))> known;
  for (const parcel& p : others) known.insert(key(p));
  std::vector<parcel> all;
  for (const parcel& p : first_of(rows, key))
    if (known.contains(key(p)) == in) all.push_back(p);
  return all;
}

template <class Key> void sets(const parcels& a, const parcels& b, Key key) {
  each_session([&](const query::Session& s) {
    const auto all = query::from(a.columns()).in(s);
    const auto more = query::from(b.columns()).in(s);
    const auto records = query::from(b.rows).in(s);
    reads("distinct", all.distinct_by(key), first_of(a.rows, key), s);
    reads("distinct of filtered", all.where(odd).distinct_by(key), first_of(kept(a.rows), key), s);
    reads("distinct of made", all.select(heavier).distinct_by(key), first_of(changed(a.rows), key), s);
    reads("distinct of records", records.where(odd).distinct_by(key), first_of(kept(b.rows), key), s);
    reads("distinct of both", all.concat(records).distinct_by(key), first_of(together(a.rows, b.rows), key), s);
    reads("union", all.union_with_by(more, key), first_of(together(a.rows, b.rows), key), s);
    reads("union of three", all.union_with_by(records.where(odd), key).union_with_by(more, key),
          first_of(together(together(a.rows, kept(b.rows)), b.rows), key), s);
    reads("intersect", all.intersect_by(more.where(odd), key), told_apart(a.rows, kept(b.rows), key, true), s);
    reads("except", all.except_by(records.where(odd), key), told_apart(a.rows, kept(b.rows), key, false), s);
    reads("except of records", records.except_by(all.where(odd), key), told_apart(b.rows, kept(a.rows), key, false), s);
    EXPECT_TRUE(all.distinct_by(key).take(7).to_vector() == first(first_of(a.rows, key), 7));
    EXPECT_TRUE(all.union_with_by(more, key).take(5).to_vector() == first(first_of(together(a.rows, b.rows), key), 5));
  });
}

TEST(columns_of_inputs, sets_by_strings) { sets(parcels(2000, 0), parcels(300, 1900), [](auto p) { return p.to; }); }
TEST(columns_of_inputs, sets_by_numbers) {
  sets(parcels(sanitized ? 3000 : 70'000, 0), parcels(900, 300), [](auto p) { return p.weight; });
}
// Enough rows for tables a run of rows, and a partition.
TEST(columns_of_inputs, distinct_of_many_strings) {
  const std::size_t n = sanitized ? 140'000 : 400'000;
  for (const std::size_t different : {std::size_t{1000}, n / 3}) {
    std::vector<std::string> keys;
    std::vector<std::int32_t> number;
    std::vector<std::int32_t> wanted;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < n; ++i) {
      keys.push_back((i % 2 ? "a string of number " : "") + std::to_string(i * 2654435761u % different));
      number.push_back(static_cast<std::int32_t>(i));
      if (seen.insert(keys.back()).second) wanted.push_back(number.back());
    }
    for (const int threads : {1, 3}) {
      const auto rows = query::from(query::columns<parcel_label>(number, keys)).in(query::Session({.threads = threads}));
      const auto text = [](auto r) { return r.text; };
      const auto first = [](auto r) { return r.number; };
      EXPECT_TRUE(rows.distinct_by(text).select(first).to_vector() == wanted);
      EXPECT_TRUE(rows.concat(rows).distinct_by([](auto r) { return std::tuple(r.text, 1); }).select(first).to_vector() == wanted);
      EXPECT_TRUE(rows.intersect_by(rows.where([](auto r) { return r.number % 3 == 0; }), text).count() <= std::ssize(wanted));
    }
  }
}
TEST(columns_of_inputs, sets_by_several) {
  sets(parcels(1500, 0), parcels(500, 1400), [](auto p) { return std::tuple(p.shelf, p.id % 7, p.to); });
}
TEST(columns_of_inputs, sets_of_nothing) { sets(parcels(0, 0), parcels(10, 0), [](auto p) { return p.to; }); }

void zipped(const parcels& a, const parcels& b) {
  const auto both = [](auto l, auto r) { return query::make<parcel>(l.id, r.to, l.weight + r.weight, r.shelf); };
  const auto rows = [](const std::vector<parcel>& l, const std::vector<parcel>& r) {
    std::vector<parcel> all;
    for (std::size_t i = 0; i < std::min(l.size(), r.size()); ++i) all.push_back({l[i].id, r[i].to, l[i].weight + r[i].weight, r[i].shelf});
    return all;
  };
  each_session([&](const query::Session& s) {
    const auto all = query::from(a.columns()).in(s);
    const auto more = query::from(b.columns()).in(s);
    const auto records = query::from(b.rows).in(s);
    reads("columns", all.zip(more, both), rows(a.rows, b.rows), s);
    reads("filtered columns", all.where(odd).zip(more, both), rows(kept(a.rows), b.rows), s);
    reads("two filtered columns", all.where(odd).zip(more.where(odd), both), rows(kept(a.rows), kept(b.rows)), s);
    reads("made columns", more.zip(all.select(heavier).where(odd), both), rows(b.rows, kept(changed(a.rows))), s);
    reads("records", records.zip(all, both), rows(b.rows, a.rows), s);
    reads("records alone", records.where(odd).zip(records, both), rows(kept(b.rows), b.rows), s);
    reads("of two", all.concat(records).zip(records.concat(more), both), rows(together(a.rows, b.rows), together(b.rows, b.rows)), s);
    EXPECT_TRUE(all.zip(more, both).take(7).to_vector() == first(rows(a.rows, b.rows), 7));
  }, std::size_t{80} << 20);  // records of both sides are handed on in less, and other parts of them summed
}
TEST(columns_of_inputs, zip_of_few_rows) { zipped(parcels(20, 0), parcels(30, 50)); }
TEST(columns_of_inputs, zip_of_many_rows) { zipped(parcels(sanitized ? 5000 : 70'000, 0), parcels(sanitized ? 4000 : 90'000, 50)); }

TEST(columns_of_inputs, zip_fails_for_no_row_without_partner) {
  parcels a(300'000, 0), few(5, 1);
  for (std::int32_t& id : a.id) id = id % 999 + 1;
  a.id[250'000] = 0;
  const auto divided = query::from(a.columns()).where([](auto p) { return 1000 / p.id < 900; });
  const auto both = [](auto l, auto r) { return query::make<parcel>(l.id, r.to, l.weight, r.shelf); };
  const std::size_t n = query::from(few.columns()).zip(divided, both).count();
  EXPECT_EQ(n, 5u);
  EXPECT_EQ(divided.zip(query::from(few.columns()), both).count(), 5u);
  EXPECT_EQ(divided.zip(query::from(few.columns()).where(odd), both).count(), 3u);
}

// Rows [from, to) of some.
std::vector<parcel> range(const std::vector<parcel>& rows, std::size_t from, std::size_t to) {
  const auto at = [&](std::size_t i) { return rows.begin() + static_cast<std::ptrdiff_t>(std::min(i, rows.size())); };
  return {at(from), at(std::max(from, to))};
}
std::vector<parcel> backwards(std::vector<parcel> rows) {
  std::reverse(rows.begin(), rows.end());
  return rows;
}

void slices(const parcels& a, const parcels& b, std::size_t few) {
  each_session([&](const query::Session& s) {
    const auto all = query::from(a.columns()).in(s);
    const auto records = query::from(b.rows).in(s);
    const auto both = all.concat(records);
    const auto rows = together(a.rows, b.rows), some = kept(a.rows);
    const std::size_t n = rows.size();
    reads("skip", all.skip(few), range(a.rows, few, n), s);
    reads("skip of filtered", all.where(odd).skip(few), range(some, few, n), s);
    reads("skip and take", both.skip(few).take(3 * few), range(rows, few, 4 * few), s);
    reads("take", both.take(n - few), range(rows, 0, n - few), s);
    reads("take of filtered", all.where(odd).take(few), range(some, 0, few), s);
    reads("take of made", all.select(heavier).take(few), range(changed(a.rows), 0, few), s);
    reads("take_last", both.take_last(few), range(rows, n - few, n), s);
    reads("skip_last", both.skip_last(few), range(rows, 0, n - few), s);
    reads("reverse", both.reverse(), backwards(rows), s);
    reads("reverse of filtered", all.where(odd).reverse().skip(few), range(backwards(some), few, n), s);
    reads("reverse of records", records.where(odd).reverse(), backwards(kept(b.rows)), s);
    const auto early = [few](auto p) { return p.weight < 1e9 && p.id < 1000 - static_cast<std::int32_t>(few % 50); };
    const auto before = [&](std::vector<parcel> of, bool leading) {
      const auto end = std::find_if_not(of.begin(), of.end(), early);
      return leading ? std::vector<parcel>(of.begin(), end) : std::vector<parcel>(end, of.end());
    };
    reads("take_while", both.take_while(early), before(rows, true), s);
    reads("take_while of filtered", all.where(odd).take_while(early), before(some, true), s);
    reads("take_while of made", all.select(heavier).take_while(early), before(changed(a.rows), true), s);
    reads("take_while of all", all.where(odd).take_while([](auto p) { return p.id >= 0; }), some, s);
    reads("skip_while", both.skip_while(early), before(rows, false), s);
    reads("skip_while of filtered", all.where(odd).skip_while(early), before(some, false), s);
    reads("skip_while of records", records.where(odd).skip_while(early), before(kept(b.rows), false), s);
    reads("default_if_empty", all.where(odd).default_if_empty(b.rows[0]), some, s);
    reads("default of nothing", all.where([](auto p) { return p.id < 0; }).default_if_empty(b.rows[0]), {b.rows[0]}, s);
    reads("sample", both.sample(few, 7), query::from(rows).sample(few, 7).to_vector(), s);
    reads("sample of filtered", all.where(odd).sample(few, 7), query::from(some).sample(few, 7).to_vector(), s);
    EXPECT_TRUE(both.reverse().take(few).to_vector() == range(backwards(rows), 0, few));
  });
}
TEST(columns_of_inputs, slices_of_few_rows) { slices(parcels(50, 0), parcels(30, 50), 7); }
TEST(columns_of_inputs, slices_of_many_rows) { slices(parcels(sanitized ? 5000 : 70'000, 0), parcels(3000, 50), 2500); }

// An error behind the first row that fails the test is not met, whether the test or what comes before it would throw.
TEST(columns_of_inputs, take_while_ends_before_errors) {
  parcels a(300'000, 0);
  for (std::int32_t& id : a.id) id = id % 999 + 1;
  a.id[250'000] = 0;
  const auto all = query::from(a.columns());
  const auto fails = [](auto p) { return 1000 / p.id < 2000; };
  for (const std::int32_t last : {100, 249'999, 260'000}) {  // the second is tested together with the row of the error
    a.weight[static_cast<std::size_t>(last)] = -1;
    const auto early = [](auto p) { return p.weight >= 0 && 1000 / p.id < 2000; };
    if (last < 250'000) {
      EXPECT_EQ(all.take_while(early).count(), static_cast<std::size_t>(last));
      if (last == 100) {  // verbs in front run whole batches
        EXPECT_EQ(all.where(fails).take_while([](auto p) { return p.weight >= 0; }).count(), static_cast<std::size_t>(last));
      }
      EXPECT_EQ(all.skip_while(early).count(), a.id.size() - static_cast<std::size_t>(last));
    } else {
      EXPECT_THROW(all.take_while(early).count(), query::user_error);
      EXPECT_THROW(all.skip_while(early).count(), query::user_error);
    }
    a.weight[static_cast<std::size_t>(last)] = 1;
  }
}

// Chunks, windows and matches are records, of which the fields that their functions do not read are not copied.
TEST(columns_of_inputs, lists_of_rows_that_are_read_in_part) {
  const parcels a(3000, 0), b(500, 20);
  const auto all = query::from(a.columns()), more = query::from(b.columns());
  const auto records = query::from(a.rows), others = query::from(b.rows);
  const auto weights = [](auto rows) { return query::sum(rows, [](auto p) { return p.weight; }); };
  const auto ends = [](auto rows) { return query::cast<double>(rows[0].id) + rows.back().weight; };
  const auto name = [](auto rows) { return rows.front().to; };
  const auto matches = [](auto l, auto rows) { return std::pair(l.to, query::sum(rows, [](auto p) { return p.weight; })); };
  EXPECT_TRUE(all.chunk(7, weights).to_vector() == records.chunk(7, weights).to_vector());
  EXPECT_TRUE(all.window(5, ends).to_vector() == records.window(5, ends).to_vector());
  EXPECT_TRUE(all.chunk(9, name).to_vector() == records.chunk(9, name).to_vector());
  EXPECT_TRUE(all.chunk(9).to_vector() == records.chunk(9).to_vector());
  const auto joined = [&](auto l, auto r) { return l.group_join(r, id_of, id_of, matches).as_ordered(); };
  EXPECT_TRUE(joined(all, more).to_vector() == joined(records, others).to_vector());
  const auto reads_columns = [](const auto& q, const char* columns) {
    return q.explain().find(std::string("projection_pruning: reads ") + columns) != std::string::npos;
  };
  EXPECT_TRUE(reads_columns(all.chunk(7, weights), "weight of 4")) << all.chunk(7, weights).explain();
  EXPECT_TRUE(reads_columns(all.window(5, ends), "id, weight of 4")) << all.window(5, ends).explain();
  EXPECT_TRUE(reads_columns(joined(all, more), "id, weight of 4")) << joined(all, more).explain();
  EXPECT_FALSE(reads_columns(all.chunk(9), "")) << all.chunk(9).explain();
}

// Of rows of a full join, either of which may be missing.
const auto either = [](auto l, auto r) {
  if (!l) return query::make<parcel>(-1, r->to, r->weight, std::nullopt);
  if (!r) return query::make<parcel>(l->id, "nobody, whose name is long", 0.5, l->shelf);
  return query::make<parcel>(l->id, r->to, l->weight + r->weight, l->shelf);
};

void joined(const parcels& a, const parcels& b) {
  const auto right = [](auto l, auto r) {
    if (!l) return query::make<parcel>(-1, r.to, r.weight, std::nullopt);
    return query::make<parcel>(l->id, r.to, l->weight + r.weight, l->shelf);
  };
  const auto inner = [](auto l, auto r) { return query::make<parcel>(l.id, r.to, l.weight, r.shelf); };
  const auto in_memory = query::from(a.rows).as_ordered();
  each_session([&](const query::Session& s) {
    const auto all = query::from(a.columns()).in(s);
    const auto some = query::from(b.columns()).in(s).where(odd);
    const auto full = in_memory.full_join(query::from(b.rows).where(odd), weight_of, weight_of, either).as_ordered();
    reads("full join", all.full_join(some, weight_of, weight_of, either).as_ordered(), full.to_vector(), s);
    const auto rights = in_memory.where(odd).right_join(query::from(b.rows), weight_of, weight_of, right).as_ordered();
    const auto more = query::from(b.columns()).in(s);
    reads("right join", all.where(odd).right_join(more, weight_of, weight_of, right).as_ordered(), rights.to_vector(), s);
    const auto matches = all.join(some, weight_of, weight_of, inner).as_ordered();
    const auto rows = in_memory.join(query::from(b.rows).where(odd), weight_of, weight_of, inner).as_ordered().to_vector();
    reads("shared join", matches.concat(matches.where(odd)), together(rows, kept(rows)), s);
  }, std::size_t{80} << 20);
}
TEST(columns_of_inputs, joins_of_few_rows) { joined(parcels(50, 0), parcels(30, 40)); }
TEST(columns_of_inputs, joins_of_many_rows) { joined(parcels(sanitized ? 5000 : 70'000, 0), parcels(3000, 300)); }

TEST(columns_of_inputs, say_so) {
  const parcels a(10, 0);
  const auto says = [](const auto& q, const char* verb) {
    const std::string plan = q.explain();
    const auto at = plan.find(std::string(" ") + verb, plan.find("machine graph"));
    return plan.substr(at, plan.find('\n', at) - at).find(", over columns to columns") != std::string::npos;
  };
  const auto columns = query::from(a.columns());
  const auto more = columns.where(odd);
  EXPECT_TRUE(says(columns.concat(more), "concat")) << columns.concat(more).explain();
  EXPECT_TRUE(says(query::from(a.rows).concat(more), "concat"));
  EXPECT_TRUE(says(query::from(a.rows).concat(query::from(a.rows)), "concat"));
  EXPECT_FALSE(says(query::from(a.numbers).concat(query::from(a.numbers)), "concat"));
  const auto both = [](auto l, auto r) { return query::make<parcel>(l.id, r.to, l.weight, r.shelf); };
  EXPECT_TRUE(says(columns.zip(more, both), "zip")) << columns.zip(more, both).explain();
  EXPECT_TRUE(says(query::from(a.rows).zip(query::from(a.rows), both), "zip"));
  const auto full = columns.full_join(more, id_of, id_of, either);
  EXPECT_TRUE(says(full, "full_join")) << full.explain();
  EXPECT_TRUE(says(columns.skip(3), "skip"));
  EXPECT_TRUE(says(query::from(a.rows).where(odd).take_last(3), "take_last"));
  EXPECT_FALSE(says(query::from(a.rows).take_last(3), "take_last"));  // they lie side by side
  EXPECT_TRUE(says(query::from(a.rows).reverse(), "reverse"));
  EXPECT_TRUE(says(columns.sample(3), "sample"));
  EXPECT_TRUE(says(columns.take_while(odd), "take_while"));
  EXPECT_TRUE(says(more.skip_while(odd), "skip_while"));
  EXPECT_TRUE(says(more.default_if_empty(a.rows[0]), "default_if_empty"));
  EXPECT_FALSE(says(columns.take_while(query::opaque([](const parcel& p) { return p.id > 1; })), "take_while"));
  EXPECT_TRUE(says(columns.distinct_by(id_of), "distinct_by"));
  EXPECT_TRUE(says(columns.union_with_by(more, id_of), "union_with_by")) << columns.union_with_by(more, id_of).explain();
  EXPECT_TRUE(says(columns.intersect_by(query::from(a.rows), id_of), "intersect_by"));
  EXPECT_TRUE(says(query::from(a.rows).except_by(more, id_of), "except_by"));
  EXPECT_FALSE(says(query::from(a.numbers).distinct_by(id_of), "distinct_by"));
  EXPECT_FALSE(says(columns.distinct_by(query::opaque([](const parcel& p) { return p.id; })), "distinct_by"));
  EXPECT_FALSE(says(columns.concat(more.where(query::opaque([](const parcel& p) { return p.id > 1; }))), "concat"));
}

}  // namespace
}  // namespace query::tests
