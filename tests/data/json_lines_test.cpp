// JSON lines: what is read, what is refused and with which words, and that what is written reads back.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "data/csv_fixture.hpp"
#include "data/json_file.hpp"
#include "data/json_writer.hpp"

namespace query::data {

enum class colour : std::uint8_t { red, green };
struct json_place { double x, y; };
QUERY_RECORD(json_place, x, y);
struct any_json {
  std::int8_t i8; std::uint16_t u16; std::int64_t i64; std::uint64_t u64; float f32; double f64; bool b; char c; colour e;
  std::string s; json_place at; std::array<std::int32_t, 3> three; std::vector<std::string> list; std::vector<json_place> spots;
  std::optional<std::int32_t> maybe; std::optional<json_place> maybe_at; std::optional<std::vector<std::optional<bool>>> nested;
};
QUERY_RECORD(any_json, i8, u16, i64, u64, f32, f64, b, c, e, s, at, three, list, spots, maybe, maybe_at, nested);
struct event { std::int32_t id; std::string text; std::optional<double> weight; };
QUERY_RECORD(event, id, text, weight);
inline bool operator==(const event& a, const event& b) { return a.id == b.id && a.text == b.text && a.weight == b.weight; }

namespace {

class json_lines_test : public csv_test {
 protected:
  template <class T> std::vector<T> read(std::string_view text, json_options options = {}) const {
    return read_json_lines<T>(file(text, "a.jsonl"), options).to_vector();
  }
  template <class T> std::string error(std::string_view text, json_options options = {}) const {
    std::string what = error_of([&] { (void)read<T>(text, std::move(options)); });
    if (const std::size_t place = what.rfind(" ("); place != std::string::npos) what.resize(place);
    return what;
  }
};

TEST_F(json_lines_test, objects_are_rows) {
  const std::string text =
      "\xEF\xBB\xBF{\"id\":1,\"text\":\"a\",\"weight\":0.5}\r\n\n { \"weight\" : null , \"text\":\"\", \"id\" : -2 } \n"
      "{\"text\":\"no weight\",\"more\":{\"a\":[1,2,{\"b\":\"}\"}],\"c\":true},\"id\":3}\n{\"id\":4,\"text\":\"t\",\"weight\":1e2}";
  EXPECT_EQ(read<event>(text), (std::vector<event>{{1, "a", 0.5}, {-2, "", {}}, {3, "no weight", {}}, {4, "t", 100.0}}));
  EXPECT_TRUE(read<event>("").empty());
  EXPECT_TRUE(read<event>("\n\r\n\n").empty());
  EXPECT_EQ(read<double>("1\n-0.25\n1e3\n"), (std::vector<double>{1, -0.25, 1000}));
  EXPECT_EQ(read<std::vector<std::int32_t>>("[]\n[1, 2]\n"), (std::vector<std::vector<std::int32_t>>{{}, {1, 2}}));
  EXPECT_EQ((read<std::pair<std::int32_t, std::string>>("{\"first\":1,\"second\":\"a\"}")),
            (std::vector<std::pair<std::int32_t, std::string>>{{1, "a"}}));
}

TEST_F(json_lines_test, the_last_of_equal_keys_counts_whole) {
  const std::string line = R"({"first":{"id":1,"text":"a","weight":5},"first":{"id":2,"text":"b"},"second":1})";
  const auto rows = read<std::pair<event, std::int32_t>>(line);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows.front().first, (event{2, "b", {}}));
}

TEST_F(json_lines_test, strings_have_escapes_and_surrogates) {
  const auto text = [&](std::string_view json) { return read<std::string>(json).at(0); };
  EXPECT_EQ(text(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(text(R"("\u0041\u00e9\u20AC\ud83d\ude00")"), "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(text(R"("a\u0000b")"), std::string("a\0b", 3));
  EXPECT_EQ(text("\"\xC3\xA9 as it is\""), "\xC3\xA9 as it is");
  for (const char* half : {R"("\ud83d")", R"("\ud83d\u0041")", R"("\ude00")", R"("\ud83dx")"})
    EXPECT_NE(error<std::string>(half).find("half of a surrogate pair"), std::string::npos) << half;
  for (const char* bad : {R"("\x")", R"("\u12")", R"("\u12g4")", R"("\)"})
    EXPECT_NE(error<std::string>(bad).find("read_json_lines: a.jsonl:1:2: "), std::string::npos) << bad << error<std::string>(bad);
  EXPECT_NE(error<std::string>("\"a\tb\"").find("a control character in a string"), std::string::npos);
  EXPECT_NE(error<std::string>("\"a").find("the string that begins here does not end in its line"), std::string::npos);
}

TEST_F(json_lines_test, errors_name_line_field_and_fix) {
  const std::string good = "{\"id\":1,\"text\":\"a\"}\n", where = "read_json_lines: a.jsonl:2:";
  EXPECT_EQ(error<event>(good + "{\"id\":\"7\",\"text\":\"a\"}"), where + "7: field 'id': expected i32, found \"7\"");
  EXPECT_EQ(error<event>(good + "{\"id\":1.5,\"text\":\"a\"}"),
            where + "7: field 'id': expected i32, found '1.5'; make the field a double");
  EXPECT_EQ(error<event>(good + "{\"id\":3000000000,\"text\":\"a\"}"),
            where + "7: field 'id': out of range of i32: '3000000000'; make the field a std::int64_t");
  EXPECT_EQ(error<event>(good + "{\"id\":null,\"text\":\"a\"}"),
            where + "7: field 'id': expected i32, found null: make the field std::optional to allow nulls");
  EXPECT_EQ(error<event>(good + "{\"id\":1}"), where + "8: field 'text': it is missing: make it std::optional to allow that");
  EXPECT_EQ(error<event>(good + "{\"id\":1,\"text\":5}"), where + "16: field 'text': expected a string, found 5");
  EXPECT_EQ(error<event>(good + "{\"id\":1,\"text\":\"a\""),
            where + "19: expected ',' or '}', and the line ends: each value is on one line");
  EXPECT_EQ(error<event>(good + "{\"id\":1,\"text\":\"a\"} x"), where + "21: text after the value: each line holds one");
  EXPECT_NE(error<event>(good + "{\"id\":1 \"text\":\"a\"}").find(where + "9: expected ',' or '}', found \"text\""), std::string::npos);
  EXPECT_NE(error<event>("[{\"id\":1}]").find("a.jsonl:1:1: expected an object, found an array: each row is one line"), std::string::npos);
  EXPECT_NE(error<event>("{\n\"id\":1}").find("a.jsonl:1:2: expected a key in quotes, and the line ends"), std::string::npos);
  EXPECT_NE(error<any_json>("{\"at\":{\"x\":1,\"y\":true}}").find("field 'at.y': expected f64, found true"), std::string::npos);
  EXPECT_NE(error<any_json>("{\"spots\":[{\"x\":1,\"y\":2},{\"x\":[]}]}").find("field 'spots[1].x': expected f64, found ["),
            std::string::npos);
  EXPECT_NE(error<any_json>("{\"three\":[1,2]}").find("the array has 2 values, and the field takes 3"), std::string::npos);
  EXPECT_NE(error<any_json>("{\"three\":[1,2,3,4]}").find("the array has more than 3 values"), std::string::npos);
  EXPECT_NE(error<any_json>("{\"c\":\"ab\"}").find("a char is one letter"), std::string::npos);
  for (const char* number : {"01", "1.", ".5", "+1", "1e", "-", "nan", "0x10", "1e+", "--1"})
    EXPECT_NE(error<double>(number), "no error") << number;
  // Too large is an error, and too close to zero is zero.
  const std::string nines(400, '9'), zeros(400, '0');
  for (const std::string& number : {nines, "-" + nines, nines + ".5", std::string("1e400")})
    EXPECT_NE(error<double>(number).find("out of range of f64"), std::string::npos) << error<double>(number);
  EXPECT_EQ(read<double>("0." + zeros + "7\n1e-400\n0." + zeros + "1e401\n"), (std::vector<double>{0, 0, 1}));
}

TEST_F(json_lines_test, keys_without_a_field_are_passed_over_or_refused) {
  const std::string text = "{\"id\":1,\"text\":\"a\",\"other\":[{\"deep\":null}]}";
  EXPECT_EQ(read<event>(text), (std::vector<event>{{1, "a", {}}}));
  EXPECT_NE(error<event>(text, {.unknown = unknown_fields::refuse}).find("a.jsonl:1:20: no field of event has the key 'other'"),
            std::string::npos);
  EXPECT_NE(error<event>("{\"id\":1,\"text\":\"a\",\"other\":[1,]}").find("expected a value, found ]"), std::string::npos);
  const std::string deep = "{\"id\":1,\"text\":\"a\",\"other\":" + std::string(100'000, '[');
  EXPECT_NE(error<event>(deep).find("nested more than 200 levels deep"), std::string::npos);
}

TEST_F(json_lines_test, keys_may_have_other_names_than_the_fields) {
  EXPECT_EQ(read<event>("{\"the id\":1,\"text\":\"a\"}", {.columns = {{"id", "the id"}}}), (std::vector<event>{{1, "a", {}}}));
  EXPECT_NE(error<any_json>("{\"at\":{\"X\":true}}", {.columns = {{"at.x", "X"}}}).find("field 'at.X': expected f64, found true"),
            std::string::npos);
  EXPECT_NE(error<any_json>("{}", {.columns = {{"at.z", "y"}}})
                .find(".columns names a field that any_json does not have: 'at.z'"), std::string::npos);
  EXPECT_NE(error<event>("{}", {.columns = {{"id", "text"}}}).find("two fields of event have the key 'text'"), std::string::npos);
}

TEST_F(json_lines_test, fields_that_nobody_reads_are_not_converted) {
  file("{\"id\":1,\"text\":7}\n{\"id\":2}\n", "a.jsonl");
  const auto q = read_json_lines<event>(path("a.jsonl"));
  EXPECT_EQ(q.sum([](auto e) { return e.id; }), 3);
  EXPECT_NE(error_of([&] { (void)q.to_vector(); }), "no error");
}

TEST_F(json_lines_test, bad_lines_are_collected) {
  file("{\"id\":1,\"text\":\"a\"}\n{\"id\":x}\n\n{\"id\":2,\"text\":\"b\"}\n[]\n{\"id\":3,\"text\":3}\n", "a.jsonl");
  const rejected_lines rejected;
  const auto q = read_json_lines<event>(path("a.jsonl"), {.on_error = bad_lines::collect, .rejected = rejected});
  EXPECT_EQ(q.to_vector(), (std::vector<event>{{1, "a", {}}, {2, "b", {}}}));
  const auto lines = rejected.lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].line, 2u);
  EXPECT_EQ(lines[0].column, "id");
  EXPECT_EQ(lines[0].text, "{\"id\":x}");
  EXPECT_EQ(lines[0].reason, "field 'id': expected i32, found x");
  EXPECT_EQ(lines[1].line, 5u);
  EXPECT_EQ(lines[1].column, "");
  EXPECT_EQ(lines[2].line, 6u);
  EXPECT_EQ(lines[2].column, "text");
}

bool same(const std::optional<json_place>& a, const std::optional<json_place>& b) {
  return a.has_value() == b.has_value() && (!a || (a->x == b->x && a->y == b->y));
}
bool same(const any_json& a, const any_json& b) {
  bool all = a.i8 == b.i8 && a.u16 == b.u16 && a.i64 == b.i64 && a.u64 == b.u64 && a.b == b.b && a.c == b.c && a.e == b.e && a.s == b.s &&
             std::bit_cast<std::uint32_t>(a.f32) == std::bit_cast<std::uint32_t>(b.f32) &&
             std::bit_cast<std::uint64_t>(a.f64) == std::bit_cast<std::uint64_t>(b.f64) && same(a.at, b.at) && a.three == b.three &&
             a.list == b.list && a.maybe == b.maybe && same(a.maybe_at, b.maybe_at) && a.nested == b.nested &&
             a.spots.size() == b.spots.size();
  for (std::size_t i = 0; all && i < a.spots.size(); ++i) all = same(a.spots[i], b.spots[i]);
  return all;
}

TEST_F(json_lines_test, rows_of_every_type_read_back_as_they_were_written) {
  std::mt19937_64 random;
  const auto text = [&] {
    std::string s;
    for (std::uint64_t n = random() % 12; n > 0; --n) s += static_cast<char>(random() % 256);
    return s;
  };
  const auto f64 = [&] {
    for (;;)
      if (const double x = std::bit_cast<double>(random()); std::isfinite(x))
        return random() % 3 ? x : static_cast<double>(random() % 1000);
  };
  const auto place = [&] { return json_place{f64(), 0.5}; };
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random.seed(seed);
    std::vector<any_json> rows(random() % 200);
    for (any_json& r : rows) {
      r.i8 = static_cast<std::int8_t>(random());
      r.u16 = static_cast<std::uint16_t>(random());
      r.i64 = static_cast<std::int64_t>(random());
      r.u64 = random();
      r.f32 = static_cast<float>(static_cast<int>(random() % 10000)) / 7;
      r.f64 = f64();
      r.b = random() % 2;
      r.c = static_cast<char>(random() % 256);
      r.e = random() % 2 ? colour::red : colour::green;
      r.s = text();
      r.at = place();
      r.three = {static_cast<std::int32_t>(random()), 0, -1};
      for (std::uint64_t n = random() % 10; n > 0; --n) r.list.push_back(text());
      for (std::uint64_t n = random() % 10; n > 0; --n) r.spots.push_back(place());
      if (random() % 2) r.maybe = static_cast<std::int32_t>(random());
      if (random() % 2) r.maybe_at = place();
      if (random() % 2) r.nested = std::vector<std::optional<bool>>{true, std::nullopt, false};
    }
    json_writer writer(path("r.jsonl"), {}, ir::describe<any_json>());
    writer.write(rows.data(), rows.size());
    writer.finish(false);
    const auto back = read_json_lines<any_json>(path("r.jsonl")).to_vector();
    ASSERT_EQ(back.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_TRUE(same(rows[i], back[i])) << "row " << i;
  }
}

TEST_F(json_lines_test, what_json_has_no_number_for_is_null) {
  const double inf = std::numeric_limits<double>::infinity();
  query::from(std::vector<double>{1, inf, std::nan(""), -inf}).write_json_lines(path("n.jsonl"));
  EXPECT_EQ(text_of("n.jsonl"), "1\nnull\nnull\nnull\n");
  EXPECT_EQ(read_json_lines<std::optional<double>>(path("n.jsonl")).to_vector(), (std::vector<std::optional<double>>{1, {}, {}, {}}));
}

// Any bytes at all: rows or a user_error, and the same ones whatever the chunks and blocks.
TEST_F(json_lines_test, arbitrary_text_reads_the_same_in_blocks_of_any_size) {
  static constexpr const char* pieces[] = {"{", "}", "[", "]", ",", ":", "\"id\":1", "\"text\":\"a\"", "\"text\"", "null", "\n", "\r\n",
                                           " ", "{\"id\":5,\"text\":\"b\"}\n", "\"\\ud83d", "\\", "\"", "1e5", "-", "\x80",
                                           "{\"id\":1,\"text\":\"a\"}"};
  std::mt19937_64 random;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    random.seed(seed);
    std::string text;
    for (std::uint64_t n = random() % 40; n > 0; --n)
      text += random() % 8 == 0 ? std::string(1, static_cast<char>(random())) : pieces[random() % std::size(pieces)];
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    const auto in_blocks = [&](std::size_t block, std::size_t chunk, std::vector<event>& rows, rejections* to) {
      return error_of([&] {
        json_file f(file(text), {}, ir::describe<event>(), chunk);
        while (f.index_block(serially, block, to)) {
          std::allocator<event> memory;
          event* some = memory.allocate(f.rows() + 1);
          std::exception_ptr wrong;
          const std::size_t n = f.read_until_wrong(serially, {}, some, wrong, to);
          rows.insert(rows.end(), std::make_move_iterator(some), std::make_move_iterator(some + n));
          std::destroy_n(some, n);
          memory.deallocate(some, f.rows() + 1);
          if (wrong) std::rethrow_exception(wrong);
        }
      });
    };
    std::vector<event> whole, parts, good, good_parts;
    const std::size_t block = 1 + random() % 40, chunk = 1 + random() % 20;
    EXPECT_EQ(in_blocks(1 << 20, 1 << 20, whole, nullptr), in_blocks(block, chunk, parts, nullptr));
    EXPECT_EQ(whole, parts);
    const rejected_lines all, some;
    rejections to_all(all), to_some(some);
    EXPECT_EQ(in_blocks(1 << 20, 1 << 20, good, &to_all), in_blocks(block, chunk, good_parts, &to_some));
    EXPECT_EQ(good, good_parts);
    EXPECT_EQ(all.count(), some.count());
  }
}

}  // namespace
}  // namespace query::data
