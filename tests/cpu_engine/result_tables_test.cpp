// A group_by with many groups gives its rows as several tables: whoever reads them, in whatever way, reads the same rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

namespace query::tests {

struct Word {
  std::int64_t id;
  std::string text;
};
QUERY_RECORD(Word, id, text);
struct Seen {
  std::string text;
  std::int64_t times;
};
QUERY_RECORD(Seen, text, times);

namespace {

constexpr std::int64_t words = 120'000, texts = 60'000;

const std::vector<Word>& all_words() {
  static const std::vector<Word> all = [] {
    std::vector<Word> v;
    for (std::int64_t i = 0; i < words; ++i) v.push_back({i, "the text that has number " + std::to_string(i * 7919 % texts)});
    return v;
  }();
  return all;
}

bool by_text(const Seen& a, const Seen& b) { return a.text < b.text; }
bool same(const Seen& a, const Seen& b) { return a.text == b.text && a.times == b.times; }

struct reader {
  query::Session session;
  std::vector<Seen> wanted;  // in the order in which the query gives them

  auto groups() const {
    return query::from(all_words()).in(session).group_by(query::opaque([](const Word& w) { return w.text; })).select([](auto g) {
      return query::make<Seen>(g.key(), g.count());
    });
  }
  explicit reader(int threads) : session({.threads = threads}), wanted(groups().to_vector()) {}

  void expect(const std::vector<Seen>& got) const {
    ASSERT_EQ(got.size(), wanted.size());
    EXPECT_TRUE(std::equal(got.begin(), got.end(), wanted.begin(), same));
  }
};

template <class Check> void on_threads(Check check) {
  for (const int threads : {1, 5}) {
    SCOPED_TRACE(threads);
    const reader r(threads);
    ASSERT_EQ(r.wanted.size(), static_cast<std::size_t>(texts));
    check(r);
  }
}

TEST(result_tables, rows_are_right) {
  on_threads([](const reader& r) {
    std::map<std::string, std::int64_t> times;
    for (const Word& w : all_words()) ++times[w.text];
    for (const Seen& s : r.wanted) EXPECT_EQ(s.times, times[s.text]);
  });
}

TEST(result_tables, terminal_verbs) {
  on_threads([](const reader& r) {
    const auto q = r.groups();
    std::vector<Seen> got;
    for (const Seen& s : q) got.push_back(s);
    r.expect(got);
    got.clear();
    q.for_each([&](const Seen& s) { got.push_back(s); });
    r.expect(got);
    for (const Seen& s : q)  // a reader that goes away
      if (s.times > 0) break;
    EXPECT_EQ(q.count(), texts);
    EXPECT_EQ(q.sum([](auto s) { return s.times; }), words);
    EXPECT_TRUE(same(q.first(), r.wanted.front()));
    EXPECT_TRUE(same(q.last(), r.wanted.back()));
    const auto vectors = q.to_vectors();
    const auto chunks = q.to_columns();
    std::size_t i = 0;
    for (const auto& chunk : chunks)
      for (const auto& text : chunk.template get<0>()) EXPECT_EQ(std::string_view(text), r.wanted[i++].text);
    EXPECT_EQ(i, r.wanted.size());
    EXPECT_EQ(q.to_lookup([](auto s) { return s.text; }).size(), static_cast<std::size_t>(texts));
  });
}

TEST(result_tables, verbs_behind_them) {
  on_threads([](const reader& r) {
    const auto q = r.groups();
    const auto text = [](auto s) { return s.text; };
    const auto kept = q.where([](auto s) { return s.times == 2; }).select([](auto s) { return s; }).to_vector();
    r.expect(kept);
    EXPECT_TRUE(same(q.take(70).to_vector().back(), r.wanted[69]));
    EXPECT_TRUE(same(q.skip(59'000).to_vector().front(), r.wanted[59'000]));
    auto reversed = q.reverse().to_vector();
    std::reverse(reversed.begin(), reversed.end());
    r.expect(reversed);
    auto sorted = r.wanted;
    std::stable_sort(sorted.begin(), sorted.end(), by_text);
    const auto got = q.order_by(text).to_vector();
    EXPECT_TRUE(std::equal(got.begin(), got.end(), sorted.begin(), sorted.end(), same));
    EXPECT_TRUE(same(q.order_by(text).take(3).to_vector().front(), sorted.front()));
    EXPECT_EQ(q.distinct().count(), texts);
    EXPECT_EQ(q.group_by([](auto s) { return s.times; }).count().to_vector().size(), 1u);
    EXPECT_EQ(q.group_by(text).count().to_vector().size(), static_cast<std::size_t>(texts));
    EXPECT_EQ(q.select_many([](const Seen& s) { return std::vector<std::int64_t>{s.times, s.times}; }).sum(), 2 * words);
    EXPECT_EQ(q.window(3, [](std::span<const Seen> w) { return w.size(); }).count(), texts - 2);
  });
}

TEST(result_tables, read_twice_in_one_query) {
  on_threads([](const reader& r) {
    const auto q = r.groups();
    const auto text = [](auto s) { return s.text; };
    EXPECT_EQ(q.concat(q).count(), 2 * texts);
    EXPECT_EQ(q.join(q, text, text, [](const Seen& a, const Seen& b) { return a.times * b.times; }).sum(), 4 * texts);
    const auto found = query::from(all_words()).in(r.session).join(q, [](auto w) { return w.text; }, text, [](auto w, auto s) {
      return w.id + s.times;
    });
    EXPECT_EQ(found.count(), words);
    EXPECT_EQ(q.zip(q, [](const Seen& a, const Seen& b) { return same(a, b); }).where([](bool b) { return b; }).count(), texts);
    EXPECT_EQ(q.union_with(q).count(), texts);
    EXPECT_EQ(q.except(q).count(), 0);
    const auto cached = q.cached();
    r.expect(cached.to_vector());
    r.expect(cached.to_vector());
    EXPECT_EQ(cached.where([](auto s) { return s.times == 2; }).count(), texts);
  });
}

}  // namespace
}  // namespace query::tests
