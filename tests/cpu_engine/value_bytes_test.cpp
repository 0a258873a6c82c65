// Values with memory of their own as bytes and back.
#include "cpu_engine/value_bytes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <query/query.hpp>

namespace query::tests {

struct BytesPart {
  std::string text;
  std::vector<std::int16_t> marks;
  char code[3];
};
QUERY_RECORD(BytesPart, text, marks, code);
struct BytesWhole {
  std::int32_t id;
  BytesPart part;
  std::optional<std::string> note;
  std::vector<std::vector<std::string>> lists;
  std::array<std::string, 2> names;
  std::optional<double> price;
};
QUERY_RECORD(BytesWhole, id, part, note, lists, names, price);
// What value-initialisation gives it is not what a null or empty one has.
struct BytesPreset {
  std::optional<std::string> note = "a note";
  std::vector<std::optional<std::string>> lines{std::string("one"), std::string("two")};
  std::string text = "some text";
};
QUERY_RECORD(BytesPreset, note, lines, text);

namespace {

// At addresses of any alignment, one value behind another.
template <class T> std::vector<T> there_and_back(const std::vector<T>& values) {
  const ir::type& t = *ir::describe<T>();
  EXPECT_TRUE(cpu::has_bytes(t));
  std::vector<std::byte> memory(1);
  for (const T& v : values) {
    const std::size_t from = memory.size();
    memory.resize(from + cpu::bytes_of(t, &v));
    EXPECT_EQ(cpu::write_bytes(t, &v, memory.data() + from), memory.data() + memory.size());
  }
  std::vector<T> back(values.size());
  const std::byte* from = memory.data() + 1;
  for (T& v : back) from = cpu::read_bytes(t, &v, from);
  EXPECT_EQ(from, memory.data() + memory.size());
  return back;
}

const std::string with_zeros("a\0b\0", 4), long_text(1000, 'x');

TEST(value_bytes, of_strings) {
  const std::vector<std::string> values{"", "short", with_zeros, long_text, "fifteen letters"};
  EXPECT_EQ(there_and_back(values), values);
}

TEST(value_bytes, of_lists_optionals_and_tuples) {
  const std::vector<std::vector<std::string>> lists{{}, {"", long_text}, {with_zeros}};
  EXPECT_EQ(there_and_back(lists), lists);
  const std::vector<std::vector<double>> numbers{{}, {1, -0.0}, std::vector<double>(500, 2)};
  EXPECT_EQ(there_and_back(numbers), numbers);
  const std::vector<std::optional<std::string>> optionals{std::nullopt, "", long_text};
  EXPECT_EQ(there_and_back(optionals), optionals);
  const std::vector<std::pair<std::int8_t, std::string>> pairs{{1, "one"}, {-1, long_text}};
  EXPECT_EQ(there_and_back(pairs), pairs);
  const std::vector<std::tuple<std::string, std::optional<std::int64_t>, std::vector<std::int8_t>>> tuples{{"", 3, {1}}, {"x", {}, {}}};
  EXPECT_EQ(there_and_back(tuples), tuples);
}

TEST(value_bytes, of_records) {
  const BytesWhole whole{7, {long_text, {1, 2, 3}, {'a', 'b', 'c'}}, "note", {{}, {"x", ""}}, {"first", long_text}, 2.5};
  const BytesWhole bare{-7, {"", {}, {}}, std::nullopt, {}, {}, std::nullopt};
  const auto back = there_and_back(std::vector<BytesWhole>{whole, bare});
  EXPECT_EQ(query::from(back).to_vector().size(), 2u);
  for (const auto& [a, b] : {std::pair(&whole, &back[0]), std::pair(&bare, &back[1])}) {
    EXPECT_EQ(a->id, b->id);
    EXPECT_EQ(a->part.text, b->part.text);
    EXPECT_EQ(a->part.marks, b->part.marks);
    EXPECT_EQ(std::string(a->part.code, 3), std::string(b->part.code, 3));
    EXPECT_EQ(a->note, b->note);
    EXPECT_EQ(a->lists, b->lists);
    EXPECT_EQ(a->names, b->names);
    EXPECT_EQ(a->price, b->price);
  }
}

TEST(value_bytes, of_records_with_initialisers) {
  const auto back = there_and_back(std::vector<BytesPreset>{{std::nullopt, {std::nullopt}, ""}, {"x", {}, "y"}, BytesPreset{}});
  EXPECT_FALSE(back[0].note);
  EXPECT_EQ(back[0].lines, (std::vector<std::optional<std::string>>{std::nullopt}));
  EXPECT_EQ(back[0].text, "");
  EXPECT_EQ(back[1].note, "x");
  EXPECT_TRUE(back[1].lines.empty());
  EXPECT_EQ(back[2].lines.size(), 2u);
  EXPECT_EQ(back[2].note, "a note");
}

TEST(value_bytes, of_groups) {
  using group = query::Group<std::string, std::int32_t>;
  const auto back = there_and_back(std::vector<group>{{"key", {1, 2}}, {}});
  EXPECT_EQ(back[0].key(), "key");
  EXPECT_EQ(back[0].rows(), (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(back[1].size(), 0u);
}

TEST(value_bytes, of_what_nobody_can_look_into) {
  struct without_default {
    explicit without_default(int x) : text(std::to_string(x)) {}
    std::string text;
  };
  EXPECT_FALSE(cpu::has_bytes(*ir::describe<std::shared_ptr<int>>()));
  EXPECT_FALSE(cpu::has_bytes(*ir::describe<std::vector<std::map<int, int>>>()));
  EXPECT_FALSE(cpu::has_bytes(*ir::describe<std::optional<without_default>>()));
  EXPECT_FALSE((cpu::has_bytes(*ir::describe<std::pair<int, std::shared_ptr<int>>>())));
}

TEST(heap_bytes, are_those_that_values_own) {
  const auto of = [](const auto& value) { return cpu::heap_bytes(*ir::describe<std::decay_t<decltype(value)>>(), &value, 1); };
  EXPECT_EQ(of(std::string("short")), 0u);
  EXPECT_EQ(of(std::string(1000, 'x')), 1024u);  // 1001, and a word before them, in steps of 16
  EXPECT_EQ(of(std::vector<double>()), 0u);
  EXPECT_EQ(of(std::vector<double>(100)), 816u);
  EXPECT_EQ(of(std::vector<std::string>(3, std::string(1000, 'x'))), 112u + 3 * 1024u);
  EXPECT_EQ(of(std::optional<std::string>()), 0u);
  EXPECT_EQ(of(std::optional<std::string>(std::string(1000, 'x'))), 1024u);
  EXPECT_EQ(of(std::pair<int, std::string>(1, std::string(1000, 'x'))), 1024u);
  EXPECT_EQ(of(std::array<std::string, 2>{std::string(1000, 'x'), "y"}), 1024u);
  EXPECT_EQ(of(std::make_shared<std::string>(1000, 'x')), 0u);
  const std::pair<int, std::string> rows[] = {{1, std::string(1000, 'x')}, {2, "y"}, {3, std::string(1000, 'z')}};
  EXPECT_EQ(cpu::heap_bytes(*ir::describe<std::pair<int, std::string>>(), rows, 3), 2 * 1024u);
}

TEST(heap_bytes, are_none_of_plain_types) {
  EXPECT_FALSE(cpu::owns_heap(*ir::describe<double>()));
  EXPECT_FALSE((cpu::owns_heap(*ir::describe<std::pair<int, std::optional<double>>>())));
  EXPECT_FALSE((cpu::owns_heap(*ir::describe<std::shared_ptr<int>>())));
  EXPECT_TRUE((cpu::owns_heap(*ir::describe<std::pair<int, std::optional<std::string>>>())));
  EXPECT_TRUE(cpu::owns_heap(*ir::describe<std::vector<int>>()));
}

}  // namespace
}  // namespace query::tests
