// Where rows come from: containers of all kinds, columns, ranges, generators, files, broadcast queries.
#include <atomic>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <list>
#include <map>
#include <ranges>
#include <set>
#include <span>

#include <unistd.h>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "temp_folder.hpp"

namespace conformance {
namespace {

const auto positive = [](auto x) { return x > 0; };

CONFORMS(sources, containers, "from") {
  const std::vector<int> rows = {3, -1, 4, -1, 5, -9};
  const std::vector<int> wanted = {3, 4, 5};
  EXPECT_ROWS(source(e, rows).where(positive).to_vector(), wanted);
  EXPECT_ROWS(on(e, query::from(std::vector<int>(rows))).where(positive).to_vector(), wanted);
  EXPECT_ROWS(on(e, query::from({3, -1, 4, -1, 5, -9})).where(positive).to_vector(), wanted);
  EXPECT_ROWS(on(e, query::from(std::span(rows).subspan(1, 4))).where(positive).to_vector(), std::vector<int>({4, 5}));
  const std::array<int, 6> array = {3, -1, 4, -1, 5, -9};
  EXPECT_ROWS(source(e, array).where(positive).to_vector(), wanted);
  const std::list<int> list(rows.begin(), rows.end());
  EXPECT_ROWS(source(e, list).where(positive).to_vector(), wanted);
  EXPECT_ROWS(on(e, query::from(std::list<int>(list))).where(positive).to_vector(), wanted);
  const std::set<std::string> set = {"b", "a", "c"};
  EXPECT_ROWS(source(e, set).to_vector(), std::vector<std::string>({"a", "b", "c"}));
  const std::string_view letters = "abc";  // its iterators are pointers
  EXPECT_ROWS(source(e, letters).where([](auto c) { return c > 'a'; }).to_vector(), std::vector<char>({'b', 'c'}));
}

CONFORMS(sources, maps, "from") {
  const std::map<std::int64_t, int> numbers = {{2, 2}, {1, -1}, {3, 3}};
  using pair = std::pair<std::int64_t, int>;  // its key is not const, so that rows can be sorted and assigned
  EXPECT_ROWS(source(e, numbers).where([](const auto& p) { return p.second > 0; }).to_vector(), std::vector<pair>({{2, 2}, {3, 3}}));
  EXPECT_ROWS(source(e, numbers).order_by_descending([](const auto& p) { return p.second; }).to_vector(),
              std::vector<pair>({{3, 3}, {2, 2}, {1, -1}}));
  if (e.accelerate) return;  // where rows come in blocks, and those that own memory are not put together from these
  const std::map<std::string, int> texts = {{"b", 2}, {"a", -1}, {"c", 3}};
  using entry = std::pair<std::string, int>;
  EXPECT_ROWS(source(e, texts).where([](const auto& p) { return p.second > 0; }).to_vector(), std::vector<entry>({{"b", 2}, {"c", 3}}));
  EXPECT_ROWS(source(e, texts).order_by_descending([](const auto& p) { return p.second; }).to_vector(),
              std::vector<entry>({{"c", 3}, {"b", 2}, {"a", -1}}));
}

// A view that keeps where its first row is, as std::views::filter does.
struct positive_from_first {
  const std::vector<int>* rows;
  std::size_t first = 0;
  auto begin() {
    while (first < rows->size() && (*rows)[first] <= 0) ++first;
    return rows->begin() + static_cast<std::ptrdiff_t>(first);
  }
  auto end() { return rows->end(); }
};

CONFORMS(sources, views_that_are_not_read_as_const, "from") {
  std::vector<int> rows = {3, -1, 4, -1, 5, -9};
  const auto own = on(e, query::from(positive_from_first{&rows}));
  EXPECT_ROWS(own.to_vector(), rows);
  rows[0] = -3;  // each run reads the rows as they are then
  EXPECT_ROWS(own.to_vector(), std::vector<int>({4, -1, 5, -9}));
  EXPECT_EQ(own.concat(own).count(), 8);
  rows[0] = 3;
#if !defined(__clang__) || __clang_major__ >= 16  // older ones do not compile the views of libstdc++
  const auto q = on(e, query::from(rows | std::views::filter(positive)));
  EXPECT_ROWS(q.to_vector(), std::vector<int>({3, 4, 5}));
  rows[0] = -3;
  EXPECT_ROWS(q.to_vector(), std::vector<int>({4, 5}));
  auto view = rows | std::views::filter(positive) | std::views::transform([](int x) { return x * 2; });
  const auto of_named = source(e, view);
  EXPECT_ROWS(of_named.select([](auto x) { return x + 1; }).to_vector(), std::vector<int>({9, 11}));
  EXPECT_ROWS(of_named.concat(of_named).to_vector(), std::vector<int>({8, 10, 8, 10}));
  EXPECT_EQ(on(e, query::from(std::vector<int>(rows) | std::views::transform([](int x) { return x + 10; }))).count(), 6);
#endif
}

CONFORMS(sources, long_streams, "from", "range", "repeat", "empty", "generate") {
  for (const std::size_t n : {0u, 1u, 1023u, 1024u, 1025u, 65537u, 200000u}) {
    SCOPED_TRACE(n);
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < n; ++i) numbers.push_back(static_cast<std::int64_t>(i) - 5);
    const std::list<std::int64_t> list(numbers.begin(), numbers.end());
    const auto odd = [](auto x) { return x % 2 != 0; };
    EXPECT_ROWS(source(e, list).where(odd).to_vector(), kept(numbers, odd));
    EXPECT_ROWS(on(e, query::range(std::int64_t{-5}, n)).where(odd).to_vector(), kept(numbers, odd));
    EXPECT_EQ(on(e, query::repeat(std::string("a string that is not short"), n)).count(), static_cast<std::int64_t>(n));
    const auto made = query::generate(
        [i = std::int64_t{-5}, n]() mutable { return i + 5 < static_cast<std::int64_t>(n) ? std::optional(i++) : std::nullopt; });
    EXPECT_ROWS(on(e, made).where(odd).to_vector(), kept(numbers, odd));
    EXPECT_ROWS(on(e, made).to_vector(), numbers);  // each run starts from a fresh copy
  }
  EXPECT_TRUE(on(e, query::empty<trade>()).to_vector().empty());
  EXPECT_EQ(on(e, query::empty<int>()).sum(), 0);
}

// More numbers than the largest int, from the smallest one on.
static_assert(query::detail::numbers<int>{std::numeric_limits<int>::min(), std::uint64_t{1} << 32}[std::uint64_t{1} << 31] == 0);
static_assert(query::detail::numbers<std::int64_t>{std::numeric_limits<std::int64_t>::min(), ~std::uint64_t{0}}[~std::uint64_t{0}] ==
              std::numeric_limits<std::int64_t>::max());
CONFORMS(sources, ranges_from_the_smallest_number_on, "range") {
  constexpr int least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
  EXPECT_ROWS(on(e, query::range(least, std::int64_t{3'000'000'000})).take(2).to_vector(), (std::vector<int>{least, least + 1}));
  EXPECT_ROWS(on(e, query::range(most - 1, 2)).to_vector(), (std::vector<int>{most - 1, most}));
  std::vector<std::int8_t> all;
  for (int i = -128; i < 128; ++i) all.push_back(static_cast<std::int8_t>(i));
  EXPECT_ROWS(on(e, query::range(std::int8_t{-128}, 256)).to_vector(), all);
}

// It may wait for more after its end, as a reader of a queue does, or begin anew.
CONFORMS(sources, a_generator_is_not_asked_again_after_its_end, "generate", "take", "count") {
  for (const int n : {0, 1, 5, 63, 64, 65, 1023, 1024, 1025, 70'000}) {
    SCOPED_TRACE(n);
    std::atomic<int> asked = 0;
    const auto rows = on(e, query::generate([&asked, n, i = 0]() mutable {
      ++asked;
      const int at = i++ % (n + 1);
      return at == n ? std::nullopt : std::optional(at);
    }));
    EXPECT_EQ(rows.count(), n);
    EXPECT_EQ(asked, n + 1);
    EXPECT_EQ(std::ssize(rows.take(2 * n + 10).to_vector()), n);
    int read = 0;
    for (const int x : rows) read += x == read;
    EXPECT_EQ(read, n);
  }
}

CONFORMS(sources, endless_generators_end_with_take, "generate", "take", "take_while", "first") {
  const auto naturals = on(e, query::generate([i = std::int64_t{0}]() mutable { return std::optional(i++); }));
  std::vector<std::int64_t> wanted;
  for (std::int64_t i = 0; i < 3000; ++i) wanted.push_back(i * 3);
  const auto third = [](auto x) { return x % 3 == 0; };
  EXPECT_ROWS(naturals.where(third).take(3000).to_vector(), wanted);
  EXPECT_ROWS(naturals.where(third).take_while([](auto x) { return x < 9000; }).to_vector(), wanted);
  EXPECT_EQ(naturals.where([](auto x) { return x * x > 1000000; }).first(), 1001);
  EXPECT_EQ(naturals.take(70000).sum(), std::int64_t{70000} * 69999 / 2);
  EXPECT_TRUE(naturals.any([](auto x) { return x == 5000; }));
}

CONFORMS(sources, columns_are_read_without_the_other_fields, "columns", "to_vectors") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto id = selected(d.rows, [](const tick& t) { return t.id; }), key = selected(d.rows, [](const tick& t) { return t.key; });
    const auto amount = selected(d.rows, [](const tick& t) { return t.amount; });
    const auto price = selected(d.rows, [](const tick& t) { return t.price; });
    const auto q = on(e, query::from(query::columns<tick>(id, key, amount, price)));
    const auto p = [](auto t) { return t.amount > 10; };
    EXPECT_ROWS(q.to_vector(), d.rows);
    EXPECT_ROWS(q.where(p).to_vector(), kept(d.rows, p));
    EXPECT_ROWS(q.where(p).select([](auto t) { return t.id; }).to_vector(), selected(kept(d.rows, p), [](const tick& t) { return t.id; }));
    EXPECT_EQ(q.where(p).sum([](auto t) { return t.price; }), source(e, d.rows).where(p).sum([](auto t) { return t.price; }));
    EXPECT_ROWS(q.order_by([](auto t) { return t.amount; }).take(20).to_vector(),
                source(e, d.rows).order_by([](auto t) { return t.amount; }).take(20).to_vector());
    EXPECT_EQ(q.group_by([](auto t) { return t.key; }).count().count(), std::ssize(grouped(d.rows, [](const tick& t) { return t.key; })));
    const auto columns = source(e, d.rows).where(p).to_vectors();
    EXPECT_ROWS(on(e, query::from(query::columns(columns))).to_vector(), kept(d.rows, p));
  }
}

CONFORMS(sources, columns_of_strings_and_nulls, "columns", "to_vectors") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto columns = source(e, d.rows).to_vectors();
    const auto q = on(e, query::from(query::columns(columns)));
    EXPECT_ROWS(q.to_vector(), d.rows);
    EXPECT_ROWS(q.where([](auto t) { return t.lot.has_value() && t.name != ""; }).to_vector(),
                kept(d.rows, [](const trade& t) { return t.lot && !t.name.empty(); }));
    EXPECT_ROWS(q.select([](auto t) { return t.name; }).to_vector(), selected(d.rows, [](const trade& t) { return t.name; }));
  }
  const std::vector<std::int32_t> short_one = {1}, key = {1, 2};
  const std::vector<std::int64_t> amount = {1, 2};
  const std::vector<double> price = {1, 2};
  EXPECT_THROW(on(e, query::from(query::columns<tick>(short_one, key, amount, price))).to_vector(), query::user_error);
}

CONFORMS(sources, files_written_are_read_again, "write_csv", "read_csv") {
  for (const auto& d : ticks()) {
    if (d.rows.size() > 65537) continue;
    SCOPED_TRACE(d.name);
    const std::string path =
        (std::filesystem::temp_directory_path() / ("query_conformance_" + std::to_string(::getpid()) + ".csv")).string();
    const auto p = [](auto t) { return t.amount > 10; };
    source(e, d.rows).where(p).write_csv(path);
    const auto q = on(e, query::read_csv<tick>(path));
    EXPECT_ROWS(q.to_vector(), kept(d.rows, p));
    EXPECT_EQ(q.where([](auto t) { return t.key > 0; }).count(),
              std::ssize(kept(d.rows, [](const tick& t) { return t.amount > 10 && t.key > 0; })));
    std::filesystem::remove(path);
  }
}

CONFORMS(sources, binary_files_written_are_read_again, "write_binary", "read_binary") {
  const query::tests::temp_folder folder("binary_files");
  for (const auto& d : ticks()) {
    if (d.rows.size() > 65537) continue;
    SCOPED_TRACE(d.name);
    const auto p = [](auto t) { return t.amount > 10; };
    source(e, d.rows).where(p).write_binary(folder.name() + "/rows.bin");
    source(e, d.rows).where(p).write_binary(folder.name() + "/rows/");
    for (const char* written : {"/rows.bin", "/rows", "/rows/", "/rows/part-*.bin"}) {
      const auto q = on(e, query::read_binary<tick>(folder.name() + written));
      EXPECT_ROWS(q.to_vector(), kept(d.rows, p));
      EXPECT_EQ(q.where([](auto t) { return t.key > 0; }).count(),
                std::ssize(kept(d.rows, [](const tick& t) { return t.amount > 10 && t.key > 0; })));
    }
    const std::string file = folder.name() + "/rows.bin";
    const auto twice = on(e, query::read_binary<tick>({file, file})).to_vector();
    EXPECT_EQ(twice.size(), 2 * kept(d.rows, p).size());
  }
}

CONFORMS(sources, folders_written_are_read_again, "write_csv", "read_csv") {
  const query::tests::temp_folder folder("csv_folders");
  for (const auto& d : ticks()) {
    if (d.rows.size() > 65537) continue;
    SCOPED_TRACE(d.name);
    const auto p = [](auto t) { return t.amount > 10; };
    source(e, d.rows).where(p).write_csv(folder.name() + "/rows/");
    EXPECT_ROWS(on(e, query::read_csv<tick>(folder.name() + "/rows/")).to_vector(), kept(d.rows, p));
    source(e, d.rows).order_by([](auto t) { return t.id; }).write_csv(folder.name() + "/rows/", {.header = false});
    EXPECT_ROWS(on(e, query::read_csv<tick>(folder.name() + "/rows/part-*", {.header = false})).to_vector(),
                source(e, d.rows).order_by([](auto t) { return t.id; }).to_vector());
  }
}

CONFORMS(sources, json_lines_written_are_read_again, "write_json_lines", "read_json_lines") {
  const query::tests::temp_folder folder("json_lines");
  for (const auto& d : ticks()) {
    if (d.rows.size() > 65537) continue;
    SCOPED_TRACE(d.name);
    const auto p = [](auto t) { return t.amount > 10 && t.price > -1e300 && t.price < 1e300; };  // JSON has no nan
    source(e, d.rows).where(p).write_json_lines(folder.name() + "/rows.jsonl");
    source(e, d.rows).where(p).write_json_lines(folder.name() + "/rows/");
    for (const char* written : {"/rows.jsonl", "/rows/", "/rows/part-*.jsonl"}) {
      const auto q = on(e, query::read_json_lines<tick>(folder.name() + written));
      EXPECT_ROWS(q.to_vector(), kept(d.rows, p));
      EXPECT_EQ(q.where([](auto t) { return t.key > 0; }).count(),
                std::ssize(kept(d.rows, [&](const tick& t) { return p(t) && t.key > 0; })));
    }
  }
}

// The same rows whatever the engine: a line that is wrong in one field is left out even where no verb asks for that field.
CONFORMS(sources, bad_lines_are_left_out, "read_csv", "read_json_lines") {
  const query::tests::temp_folder folder("bad_lines");
  const std::string csv = folder.name() + "/rows.csv", json = folder.name() + "/rows.jsonl";
  std::vector<tick> right;
  std::string csv_text = "id,key,amount,price\n", json_text;
  for (int i = 0; i < 5000; ++i) {
    const bool bad = i % 7 == 3;
    const std::string n = std::to_string(i), price = bad ? "x" : "0.5";
    csv_text += n + ",1," + n + "," + price + "\n";
    json_text += "{\"id\":" + n + ",\"key\":1,\"amount\":" + n + ",\"price\":" + price + "}\n";
    if (!bad) right.push_back({i, 1, i, 0.5});
  }
  std::ofstream(csv) << csv_text;
  std::ofstream(json) << json_text;
  const auto q = on(e, query::read_csv<tick>(csv, {.on_error = query::bad_lines::skip}));
  const auto j = on(e, query::read_json_lines<tick>(json, {.on_error = query::bad_lines::skip}));
  EXPECT_ROWS(q.to_vector(), right);
  EXPECT_ROWS(j.to_vector(), right);
  EXPECT_EQ(q.count(), std::ssize(right));
  EXPECT_EQ(j.sum([](auto t) { return t.amount; }), q.sum([](auto t) { return t.amount; }));
}

CONFORMS(sources, repeated_values_are_as_many_as_they_should_be, "repeat", "range") {
  for (const int n : {0, 1, 1023, 1024, 5000}) {
    EXPECT_EQ(on(e, query::repeat(std::int16_t{-3}, n)).select([](auto x) { return std::int64_t{1} * x; }).sum(), -3 * n);
    const tick one{1, 2, 3, -0.0};
    EXPECT_ROWS(on(e, query::repeat(one, n)).where([](auto t) { return t.key == 2; }).to_vector(), std::vector<tick>(n, one));
    EXPECT_EQ(on(e, query::repeat(std::string("a string that is too long to be a part of its object"), n)).count(), n);
  }
}

CONFORMS(sources, a_lambda_looks_through_broadcast_rows, "broadcast") {
  const auto& rows = small_ticks()[3].rows;
  std::vector<std::int64_t> kept_keys = {-3, 0, 2}, wanted;
  for (const tick& t : rows)
    if (std::count(kept_keys.begin(), kept_keys.end(), t.key)) wanted.push_back(t.key * 10 + 2);
  const auto fixed = query::broadcast(kept_keys);
  const auto lazy = query::broadcast(source(e, kept_keys).where([](auto k) { return k < 100; }));
  const auto same = [](auto t, auto k) { return k == t.key; };
  const auto most = [](auto, auto k) { return k; };
  EXPECT_ROWS(source(e, rows)
                  .where([=](auto t) { return fixed.any(t, same); })
                  .select([=](auto t) { return t.key * 10 + fixed.max(t, most); })
                  .to_vector(),
              wanted);
  EXPECT_ROWS(source(e, rows)
                  .where([=](auto t) { return lazy.any(t, same); })
                  .select([=](auto t) { return t.key * 10 + lazy.max(t, most); })
                  .to_vector(),
              wanted);
}

}  // namespace
}  // namespace conformance
