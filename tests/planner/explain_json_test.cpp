// The plan as JSON: what it holds, that any reader of JSON can read it, and that asking for it changes nothing.
#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "planner/cluster_graph.hpp"
#include "planner/json_text.hpp"
#include "planner/plan_fixture.hpp"
#include "runtime/local_engine.hpp"
#include "runtime/session_state.hpp"

namespace explain_json_test {

using namespace planner_test;  // rows and golden files

// Reads JSON as RFC 8259 has it, and stricter: no name twice in an object.
class reader {
 public:
  explicit reader(std::string_view text) : text_(text) {}
  // Where it is none; nothing: it is JSON.
  std::optional<std::size_t> wrong() {
    if (value(0) && (blanks(), at_ == text_.size())) return std::nullopt;
    return at_;
  }

 private:
  static constexpr int deepest = 10'000;

  void blanks() {
    while (at_ < text_.size() && std::string_view(" \n\t\r").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool take(std::string_view word) {
    blanks();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  bool string(std::string* to = nullptr) {
    if (!take("\"")) return false;
    const std::size_t begin = at_;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return false;
      if (text_[at_] != '\\') continue;
      if (++at_ == text_.size()) return false;
      if (text_[at_] == 'u') {
        for (int i = 0; i < 4; ++i)
          if (++at_ == text_.size() || !std::isxdigit(static_cast<unsigned char>(text_[at_]))) return false;
      } else if (std::string_view("\"\\/bfnrt").find(text_[at_]) == std::string_view::npos) {
        return false;
      }
    }
    if (to) *to = text_.substr(begin, at_ - begin);
    return take("\"");
  }
  bool number() {
    static const std::regex form("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?");
    std::cmatch found;
    const char *const begin = text_.data() + at_, *const end = text_.data() + text_.size();
    if (!std::regex_search(begin, end, found, form, std::regex_constants::match_continuous)) return false;
    at_ += static_cast<std::size_t>(found.length());
    return true;
  }
  bool value(int depth) {
    blanks();
    if (depth > deepest || at_ == text_.size()) return false;
    if (text_[at_] == '"') return string();
    if (take("true") || take("false") || take("null")) return true;
    if (take("[")) {
      if (take("]")) return true;
      do {
        if (!value(depth + 1)) return false;
      } while (take(","));
      return take("]");
    }
    if (!take("{")) return number();
    if (take("}")) return true;
    std::vector<std::string> names;
    do {
      names.emplace_back();
      if (!string(&names.back()) || !take(":") || !value(depth + 1)) return false;
      if (std::count(names.begin(), names.end(), names.back()) != 1) return false;
    } while (take(","));
    return take("}");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};
void expect_json(const std::string& text) {
  const auto wrong = reader(text).wrong();
  EXPECT_FALSE(wrong) << "at " << *wrong << " of\n" << text;
}
// Without the numbers of this file's lines, in members and in notes.
std::string here(const std::string& text) {
  return std::regex_replace(without_lines(text, "explain_json_test.cpp"), std::regex("(explain_json_test.cpp):[0-9]+"), "$1");
}
// The clock's rate is known better the longer it has been watched.
std::string without_seconds(const std::string& text) { return std::regex_replace(text, std::regex("seconds\": [-+.e0-9]+"), "seconds"); }
bool says(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

TEST(explain_json, its_own_reader_refuses_what_is_none) {
  for (const char* bad : {"", "{", "{\"a\"}", "{\"a\": 1,}", "[1 2]", "\"\n\"", "\"\\x\"", "{\"a\": 1, \"a\": 2}", "01", "nan", "{} {}"})
    EXPECT_TRUE(reader(bad).wrong()) << bad;
  for (const char* good : {"{}", "[]", "[1, -2.5e-3, \"\\u00e9\", null]", "{\"a\": {\"b\": [true]}}"})
    EXPECT_FALSE(reader(good).wrong()) << good;
}

TEST(explain_json, strings_are_escaped) {
  using query::planner::json_quoted;
  using namespace std::string_view_literals;
  EXPECT_EQ(json_quoted("say \"a\\b\"\n\tend"), R"("say \"a\\b\"\n\tend")");
  EXPECT_EQ(json_quoted("\0\x1F\x7F"sv), R"("\u0000\u001f\u007f")");
  EXPECT_EQ(json_quoted("Zürich €😀"), "\"Zürich €😀\"");
  // Cut off, alone, longer than need be, half of a pair, beyond the last.
  for (const std::string_view bad :
       {"\xC3"sv, "\xA9"sv, "\xC0\xAF"sv, "\xE0\x80\x80"sv, "\xED\xA0\x80"sv, "\xF4\x90\x80\x80"sv, "\xFF"sv}) {
    const std::string q = json_quoted(bad);
    EXPECT_TRUE(q.starts_with("\"\\ufffd")) << q;
    expect_json(q);
  }
}

const auto joined = [](const auto& l, const auto& r) {
  return l.join(r, [](auto t) { return t.symbol; }, [](auto s) { return s.symbol; },
                [](auto t, auto s) { return query::make<Priced>(t.symbol, s.sector, t.price); });
};

TEST(explain_json, of_one_partition) {
  const auto q = joined(query::from(trades).where([](auto t) { return t.venue == 1; }), query::from(stocks))
                     .order_by([](auto p) { return p.value; })
                     .take(5);
  const auto graph = query::planner::make_machine_graph(q.to_pipe(), "", options(true));
  const std::string text = query::planner::explain_json(*graph);
  expect_json(text);
  expect_golden("json", here(text));
}

// Four partitions, whose rows a join exchanges: stages and what lies between them.
TEST(explain_json, of_four_partitions) {
  const auto groups = query::from(trades).group_by([](auto t) { return t.venue; }).select([](auto g) {
    return query::make<Stock>(g.key(), query::cast<std::int32_t>(g.count()));
  });
  const auto q = joined(query::from(trades), groups);
  const auto graph = query::planner::make_machine_graph(q.to_pipe(), "", options(true));
  const auto cpu = query::runtime::make_cpu_engine();
  query::planner::split_over_partitions(*graph, {4, 64, [&](const query::ir::type& row) { return cpu->can_travel(row); },
                                                 [&](const query::planner::vertex& v) { return cpu->why_rows_are_sent(v); },
                                                 [](const query::planner::vertex&) { return false; }, query::planner::reading::whole});
  const std::string text = query::planner::explain_json(*graph);
  expect_json(text);
  expect_golden("json_of_partitions", here(text));
}

TEST(explain_json, of_loops_files_and_strings) {
  const auto loop = query::from(stocks).do_while(
      [](query::Query<Stock> now) {
        const auto seen = query::broadcast(now);
        return now.where([seen](auto s) { return seen.any(s, [](auto a, auto b) { return a.symbol < b.symbol; }); });
      },
      query::times(3));
  expect_json(loop.explain_json());
  EXPECT_TRUE(says(loop.explain_json(), "\"times\": 3"));
  const auto file = query::read_csv<Stock>("a \"folder\"\\\n\xFF.csv").where([](auto s) { return s.sector > 1; });
  expect_json(file.explain_json());
  EXPECT_TRUE(says(file.explain_json(), R"(a \"folder\"\\\n\ufffd.csv)")) << file.explain_json();
  expect_json(query::from(std::vector<Stock>()).explain_json("count"));
  expect_json(query::value_of(query::from(stocks)).count().explain_json());
  EXPECT_THROW((void)file.explain_json("where"), query::user_error);
}

TEST(explain_json, a_run_adds_what_was_observed) {
  const query::Session session({.threads = 2, .gpu = query::gpu_use::off});
  const auto q = query::from(trades).in(session).where([](auto t) { return t.venue == 1; }).order_by([](auto t) { return t.price; });
  EXPECT_FALSE(says(q.explain_json(), "observed"));
  const auto rows = q.to_vector();
  const std::string text = q.explain_json();
  expect_json(text);
  EXPECT_TRUE(says(text, "\"rows_out\": " + std::to_string(rows.size()))) << text;
  EXPECT_TRUE(says(text, "\"expected_rows\": " + std::to_string(trades.size()))) << text;
}

// Nothing that a later plan, run or profile could notice.
TEST(explain_json, nothing_changes_by_looking) {
  const query::Session session({.threads = 2, .gpu = query::gpu_use::off});
  session.state()->partitions = 3;
  session.state()->most_broadcast = 0;
  const auto q = joined(query::from(trades).in(session), query::from(stocks).in(session)).order_by([](auto p) { return p.value; });
  (void)q.to_vector();
  const auto profile = [&] {
    const auto p = session.state()->history.profiles.last_of(*q.to_pipe().node, "");
    return p.get();
  };
  const auto* const before = profile();
  const std::uint64_t sent = session.state()->sent_rows, peak = session.memory_peak();
  const std::string text = q.explain(), dot = q.explain_dot(), json = without_seconds(q.explain_json());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(q.explain(), text);
    EXPECT_EQ(q.explain_dot(), dot);
    EXPECT_EQ(without_seconds(q.explain_json()), json);
    (void)q.explain_json("count");
  }
  EXPECT_EQ(profile(), before);
  EXPECT_EQ(session.state()->sent_rows, sent);
  EXPECT_EQ(session.memory_peak(), peak);
  EXPECT_EQ(session.state()->history.fallbacks().first, 0u);
}

}  // namespace explain_json_test
