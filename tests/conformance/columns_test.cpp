// Results as columns, and joins that run over columns: their records are never put together, or only where something needs them.
#include <sys/mman.h>
#include <unistd.h>

#include <memory>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

struct priced {
  std::int32_t id;
  std::string name;
  double worth;
  std::int64_t factor;
  std::string other;
  std::optional<std::int32_t> lot;
};
QUERY_RECORD(priced, id, name, worth, factor, other, lot);

const auto trade_key = [](auto t) { return t.key; };
const auto rate_key = [](auto r) { return r.key; };
const auto mixed = [](auto t, auto r) {
  return query::make<priced>(t.id, t.name, t.price * 2.0, r.factor, r.name, t.lot);
};
priced mixed_of(const trade& t, const rate& r) { return {t.id, t.name, t.price * 2.0, r.factor, r.name, t.lot}; }

// All of a field, through the chunks.
template <std::size_t I, class T> auto column_of(const query::column_chunks<T>& c) {
  std::vector<query::field_t<T, I>> all;
  for (const auto& chunk : c)
    for (const auto& v : chunk.template get<I>()) all.emplace_back(v);
  return all;
}
template <class T> std::vector<T> rows_of(const query::column_chunks<T>& c) {
  std::vector<T> rows(static_cast<std::size_t>(c.size()));
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto fill = [&]<std::size_t F>(std::integral_constant<std::size_t, F>) {
      auto values = column_of<F>(c);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        auto fields = query::meta<T>::fields(rows[i]);
        std::get<F>(fields) = std::move(values[i]);
      }
    };
    (fill(std::integral_constant<std::size_t, I>{}), ...);
  }(query::field_indices<T>{});
  return rows;
}

template <class Make> void joins_of(const engine_config& e, Make source_of) {
  for (const auto& l : trades()) {
    for (const auto& r : rates()) {
      SCOPED_TRACE(l.name + " with " + r.name);
      const auto found = matches(l.rows, r.rows, [](const trade& t) { return t.key; }, [](const rate& m) { return m.key; });
      std::vector<priced> wanted;
      std::vector<std::pair<trade, rate>> pairs;
      std::vector<trade> semi, anti;
      for (std::size_t i = 0; i < l.rows.size(); ++i) {
        for (const rate& m : found[i]) wanted.push_back(mixed_of(l.rows[i], m));
        for (const rate& m : found[i]) pairs.emplace_back(l.rows[i], m);
        (found[i].empty() ? anti : semi).push_back(l.rows[i]);
      }
      const auto left_columns = query::from(l.rows).to_vectors();
      const auto right_columns = query::from(r.rows).to_vectors();
      const auto a = on(e, source_of(l.rows, left_columns));
      const auto b = on(e, source_of(r.rows, right_columns));
      const auto joined = a.join(b, trade_key, rate_key, mixed);
      EXPECT_SAME_ROWS(joined.to_vector(), wanted);
      EXPECT_ROWS(joined.as_ordered().to_vector(), wanted);
      EXPECT_ROWS(rows_of(joined.as_ordered().to_columns()), wanted);
      EXPECT_EQ(joined.count(), std::ssize(wanted));
      EXPECT_SAME_ROWS(a.join(b, trade_key, rate_key).to_vector(), pairs);
      EXPECT_SAME_ROWS(a.semi_join(b, trade_key, rate_key).to_vector(), semi);
      EXPECT_SAME_ROWS(a.anti_join(b, trade_key, rate_key).to_vector(), anti);
      // What comes after: a test, a projection, a black box, another join of the result.
      const auto dear = [](auto p) { return p.worth > 1.0; };
      EXPECT_SAME_ROWS(joined.where(dear).to_vector(), kept(wanted, dear));
      EXPECT_SAME_ROWS(joined.where(dear).select([](auto p) { return p.other; }).to_vector(),
                       selected(kept(wanted, dear), [](const priced& p) { return p.other; }));
      EXPECT_SAME_ROWS(joined.where([](const priced& p) { return p.name < p.other; }).to_vector(),
                       kept(wanted, [](const priced& p) { return p.name < p.other; }));
      EXPECT_EQ(joined.sum([](auto p) { return p.factor; }), [&] {
        std::int64_t sum = 0;
        for (const priced& p : wanted) sum += p.factor;
        return sum;
      }());
      const auto twice = matches(wanted, r.rows, [](const priced& p) { return p.other; }, [](const rate& m) { return m.name; });
      std::vector<std::pair<std::int32_t, std::string>> wanted_twice;
      for (std::size_t i = 0; i < wanted.size(); ++i)
        for (const rate& m : twice[i]) wanted_twice.emplace_back(wanted[i].id, m.name);
      EXPECT_SAME_ROWS(joined
                           .join(b, [](auto p) { return p.other; }, [](auto m) { return m.name; },
                                 [](auto p, auto m) { return std::pair(p.id, m.name); })
                           .to_vector(),
                       wanted_twice);
    }
  }
}

CONFORMS(columns, joins_of_columnar_sources, "join", "semi_join", "anti_join", "columns", "to_columns", "to_vectors") {
  joins_of(e, [](const auto&, const auto& columns) { return query::from(query::columns(columns)); });
}
CONFORMS(columns, joins_of_records_with_strings, "join", "semi_join", "anti_join", "to_columns") {
  joins_of(e, [](const auto& rows, const auto&) { return query::from(rows); });
}
CONFORMS(columns, joins_of_filtered_columns, "join", "where", "to_columns") {
  const std::vector<trade>& rows = few_trades();
  const auto odd = [](auto t) { return t.id % 2 == 1; };
  for (const auto& r : rates()) {
    SCOPED_TRACE(r.name);
    const auto left = query::from(rows).to_vectors();
    const auto right = query::from(r.rows).to_vectors();
    const std::vector<trade> some = kept(rows, odd);
    const auto found = matches(some, r.rows, [](const trade& t) { return t.name; }, [](const rate& m) { return m.name; });
    std::vector<priced> wanted;
    for (std::size_t i = 0; i < some.size(); ++i)
      for (const rate& m : found[i]) wanted.push_back(mixed_of(some[i], m));
    const auto joined = on(e, query::from(query::columns(left)))
                            .where(odd)
                            .join(query::from(query::columns(right)), [](auto t) { return t.name; }, [](auto m) { return m.name; }, mixed)
                            .as_ordered();
    EXPECT_ROWS(joined.to_vector(), wanted);
    EXPECT_ROWS(rows_of(joined.to_columns()), wanted);
  }
}

CONFORMS(columns, results_are_those_of_to_vector, "to_columns", "to_vectors") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto hot = [](auto t) { return t.hot; };
    EXPECT_ROWS(rows_of(source(e, d.rows).to_columns()), d.rows);
    EXPECT_ROWS(rows_of(source(e, d.rows).where(hot).to_columns()), kept(d.rows, hot));
    const auto vectors = source(e, d.rows).to_vectors();
    const auto q = on(e, query::from(query::columns(vectors)));
    EXPECT_ROWS(rows_of(q.to_columns()), d.rows);
    EXPECT_ROWS(rows_of(q.where(hot).to_columns()), kept(d.rows, hot));
    EXPECT_ROWS(rows_of(q.order_by([](auto t) { return t.name; }).to_columns()),
                source(e, d.rows).order_by([](auto t) { return t.name; }).to_vector());
  }
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto p = [](auto t) { return t.amount > 10; };
    const auto chunks = source(e, d.rows).where(p).to_columns();
    EXPECT_ROWS(rows_of(chunks), kept(d.rows, p));
    for (const auto& c : chunks) EXPECT_LE(c.size(), std::size_t{1} << 16);
  }
}

CONFORMS(columns, texts_of_every_length, "to_columns") {
  struct word_rows {
    std::vector<rate> rows;
  } all;
  for (std::size_t n = 0; n < 70; ++n) {
    std::string s(n, 'x');
    for (std::size_t i = 0; i < n; ++i) s[i] = static_cast<char>(i % 7 == 3 ? '\0' : 'a' + i % 26);
    s.reserve(n % 3 ? 0 : 200);  // short ones on the heap, too
    all.rows.push_back({static_cast<std::int32_t>(n), 0, std::move(s), {}});
  }
  const auto chunks = source(e, all.rows).to_columns();
  ASSERT_EQ(chunks.size(), all.rows.size());
  EXPECT_ROWS(column_of<2>(chunks), selected(all.rows, [](const rate& r) { return r.name; }));
}

struct remark {
  std::int32_t id;
  std::optional<std::string> text;
};
QUERY_RECORD(remark, id, text);
struct remarks {
  std::int32_t id;
  std::optional<std::string> own, others;
};
QUERY_RECORD(remarks, id, own, others);

// Missing, empty, short, of 12 and 13 characters, with zeros, long: in an order without a period that batches have.
std::vector<remark> remark_rows(std::int32_t n) {
  std::vector<remark> rows;
  for (std::int32_t i = 0; i < n; ++i) {
    rows.push_back({i, std::nullopt});
    if (i % 7 == 3) continue;
    constexpr std::size_t sizes[] = {0, 1, 12, 13, 5, 40, 300, 11, 0};
    std::string s(sizes[static_cast<std::size_t>(i % 9)], 'a');
    for (std::size_t c = 0; c < s.size(); ++c) s[c] = static_cast<char>(c % 5 == 4 ? '\0' : 'a' + (static_cast<std::size_t>(i) + c) % 26);
    rows.back().text = std::move(s);
  }
  return rows;
}
std::vector<remark> part(const std::vector<remark>& rows, std::size_t first, std::size_t n) {
  std::vector<remark> some;
  for (std::size_t i = first; i < std::min(rows.size(), first + n); ++i) some.push_back(rows[i]);
  return some;
}

CONFORMS(columns, optional_strings_are_optional_texts, "to_columns", "skip", "take", "where") {
  static_assert(std::is_same_v<query::column_value_t<std::optional<std::string>>, std::optional<query::text>>);
  for (const std::int32_t n : {0, 1, 4, 1023, 3001, 70'003}) {
    SCOPED_TRACE(n);
    const std::vector<remark> rows = remark_rows(n);
    const auto vectors = query::from(rows).to_vectors();
    const auto check = [&](const auto& q) {
      EXPECT_ROWS(rows_of(q.to_columns()), rows);
      const auto odd = [](auto r) { return r.id % 2 == 1; };
      EXPECT_ROWS(rows_of(q.where(odd).to_columns()), kept(rows, odd));
      EXPECT_ROWS(rows_of(q.skip(1).take(2001).to_columns()), part(rows, 1, 2001));
      const auto there = [](auto r) { return r.text.has_value(); };
      EXPECT_ROWS(rows_of(q.where(there).to_columns()), kept(rows, there));
      EXPECT_ROWS(rows_of(q.where([](auto r) { return !r.text.has_value(); }).to_columns()),
                  kept(rows, [](const remark& r) { return !r.text; }));
      const auto by_text = [](auto r) { return r.text; };
      EXPECT_ROWS(rows_of(q.order_by(by_text).to_columns()), q.order_by(by_text).to_vector());
    };
    check(source(e, rows));
    check(on(e, query::from(query::columns(vectors))));
  }
}

CONFORMS(columns, optional_strings_of_joins, "to_columns", "left_join", "full_join") {
  const std::vector<remark> rows = remark_rows(5000);
  const auto id = [](auto r) { return r.id; };
  const auto both = [](auto l, auto r) {
    return r ? query::make<remarks>(l.id, l.text, r->text) : query::make<remarks>(l.id, l.text, std::nullopt);
  };
  for (const std::int32_t partners : {0, 1, 2500, 5000}) {
    SCOPED_TRACE(partners);
    std::vector<remark> others = part(rows, 0, static_cast<std::size_t>(partners));
    std::vector<remarks> wanted;
    for (const remark& r : rows) wanted.push_back({r.id, r.text, r.id < partners ? r.text : std::nullopt});
    const auto l = query::from(rows).to_vectors(), r = query::from(others).to_vectors();
    const auto columns = on(e, query::from(query::columns(l))).left_join(query::from(query::columns(r)), id, id, both);
    EXPECT_ROWS(rows_of(columns.as_ordered().to_columns()), wanted);
    EXPECT_ROWS(rows_of(source(e, rows).left_join(query::from(others), id, id, both).as_ordered().to_columns()), wanted);
  }
}

CONFORMS(columns, optional_texts_outlive_their_sources, "to_columns") {
  auto rows = std::make_unique<std::vector<remark>>(remark_rows(3000));
  const std::vector<remark> copy = *rows;
  const auto chunks = source(e, *rows).to_columns();
  rows.reset();
  const auto shared = chunks;
  EXPECT_ROWS(rows_of(shared), copy);
  const auto chunk = shared[0];
  EXPECT_FALSE(chunk.get<1>()[3].has_value());
  EXPECT_EQ(chunk.get<1>()[0], "");
  EXPECT_EQ(*chunk.get<1>()[1], copy[1].text);
}

CONFORMS(columns, results_outlive_their_sources, "to_columns", "join") {
  auto rows = std::make_unique<std::vector<rate>>();
  for (int i = 0; i < 3000; ++i) rows->push_back({i % 50, i, "a name that is longer than twelve characters " + std::to_string(i), i});
  const std::vector<rate> copy = *rows;
  const auto q = source(e, *rows);
  const auto chunks = q.to_columns();
  const auto joined = q.join(q, rate_key, rate_key, [](auto a, auto b) { return query::make<rate>(a.key, b.factor, a.name, b.lot); })
                          .where([](auto r) { return r.factor == 7; })
                          .as_ordered()
                          .to_columns();
  rows.reset();
  const auto shared = chunks;
  EXPECT_ROWS(rows_of(shared), copy);
  ASSERT_EQ(joined.size(), 60u);
  EXPECT_EQ(column_of<2>(joined).front(), copy[7].name);
}

// A column that nobody reads lies in pages that cannot be read.
CONFORMS(columns, unread_columns_are_not_touched, "columns", "join") {
  // An upload is planned by the GPU engine's own tests; without optimisation, compiled loops load whole rows.
  if (e.accelerate || std::string_view(e.column) != "cpu") return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  constexpr std::size_t n = 300'000;
  std::vector<std::int32_t> id(n), key(n);
  std::vector<std::int64_t> amount(n, 3);
  std::vector<double> price(n, 1.0);
  for (std::size_t i = 0; i < n; ++i) id[i] = key[i] = static_cast<std::int32_t>(i);
  const auto begin = (reinterpret_cast<std::uintptr_t>(price.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(price.data() + n) / page * page;
  struct closed {
    void* at;
    std::size_t bytes;
    closed(void* a, std::size_t b) : at(a), bytes(b) { EXPECT_EQ(::mprotect(at, bytes, PROT_NONE), 0); }
    ~closed() { ::mprotect(at, bytes, PROT_READ | PROT_WRITE); }
  };
  const closed pages(reinterpret_cast<void*>(begin), end - begin);
  const auto q = on(e, query::from(query::columns<tick>(id, key, amount, price)));
  const std::vector<rate> names = {{5, 2, "five", {}}, {9, 2, "nine", {}}};
  EXPECT_EQ(q.join(source(e, names), [](auto t) { return t.key; }, rate_key,
                   [](auto t, auto r) { return query::make<rate>(t.id, t.amount, r.name, r.lot); })
                .sum([](auto r) { return r.factor; }),
            6);
}

}  // namespace
}  // namespace conformance
