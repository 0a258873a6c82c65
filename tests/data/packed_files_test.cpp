// Compressed files: read by their first bytes, a block at a time, and written by their names.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "data/csv_fixture.hpp"
#include "data/packed_bytes.hpp"

namespace query::data {

struct entry { std::int64_t id; std::string text; };
QUERY_RECORD(entry, id, text);
inline bool operator==(const entry& a, const entry& b) { return a.id == b.id && a.text == b.text; }

namespace {

// The parameter: what a name ends with.
class packed_files_test : public csv_test, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    try {
      (void)pack(packing_of_name(packed_name()), "");
    } catch (const query::user_error& e) {
      EXPECT_NE(std::string(e.what()).find("this build of the library has no"), std::string::npos);
      GTEST_SKIP() << e.what();
    }
  }
  std::string packed_name(const std::string& name = "a.csv") const { return name + GetParam(); }
  std::string packed(std::string_view text) const {
    std::string all;
    const auto take = [&](std::string_view some) { all += some; };
    const auto how = pack(packing_of_name(GetParam()), "");
    how->pack(text, false, take);
    how->pack({}, true, take);
    return all;
  }
  static std::vector<entry> entries(int n, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::vector<entry> all;
    for (int i = 0; i < n; ++i) {
      std::string text(random() % 20, static_cast<char>('a' + random() % 26));
      if (random() % 30 == 0) text += "\n,\"quoted\"\r\n";
      all.push_back({i, text});
    }
    return all;
  }
  template <class Q> std::string error(const Q& q) const {
    return error_of([&] { (void)q.to_vector(); });
  }
};

TEST_P(packed_files_test, are_written_by_their_name_and_read_whatever_it_is) {
  for (const int n : {0, 1, 10, 200'000}) {
    const auto rows = entries(n);
    query::from(rows).write_csv(path(packed_name()));
    EXPECT_EQ(packing_of(text_of(packed_name())), packing_of_name(packed_name()));
    std::filesystem::rename(path(packed_name()), path("plain.csv"));
    const auto q = read_csv<entry>(path("plain.csv"));
    EXPECT_TRUE(q.to_vector() == rows);
    EXPECT_EQ(q.count(), n);
    std::size_t at = 0;
    for (const entry& e : q) ASSERT_TRUE(e == rows[at++]);
    EXPECT_EQ(at, rows.size());
    EXPECT_EQ(q.take(7).count(), std::min(n, 7));
    query::from(rows).write_json_lines(path(packed_name("a.jsonl")));
    EXPECT_EQ(packing_of(text_of(packed_name("a.jsonl"))), packing_of_name(packed_name()));
    EXPECT_TRUE(read_json_lines<entry>(path(packed_name("a.jsonl"))).to_vector() == rows);
  }
}

TEST_P(packed_files_test, of_several_members_are_one_text) {
  const std::string text = "id,text\n1,a\n2,\"b\nc\"\n3,d\n";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    file(packed(text.substr(0, cut)) + packed(text.substr(cut)));
    EXPECT_TRUE(read_csv<entry>(path()).to_vector() == (std::vector<entry>{{1, "a"}, {2, "b\nc"}, {3, "d"}})) << cut;
  }
}

TEST_P(packed_files_test, beside_plain_ones_are_one_source) {
  file("id,text\n1,a\n", "1.csv");
  file(packed("id,text\n2,b\n"), "2.csv");
  file("id,text\n3,c\n", "3.csv");
  EXPECT_TRUE(read_csv<entry>(path("*.csv")).to_vector() == (std::vector<entry>{{1, "a"}, {2, "b"}, {3, "c"}}));
}

TEST_P(packed_files_test, that_were_cut_are_errors) {
  const auto rows = entries(3000);
  std::string text = "id,text\n";
  for (const entry& e : rows) text += std::to_string(e.id) + ",\"plain\"\n";
  const std::string whole = packed(text);
  for (std::size_t size = 4; size < whole.size(); size += 1 + whole.size() / 50) {
    file(whole.substr(0, size));
    const std::string what = error(read_csv<entry>(path()));
    EXPECT_NE(what.find("a.csv: the compressed data ("), std::string::npos) << what;
    EXPECT_NE(what.find("end too early"), std::string::npos) << what;
    // Nor does an option about lines hide that.
    EXPECT_NE(error(read_csv<entry>(path(), {.on_error = bad_lines::skip})), "no error");
  }
}

TEST_P(packed_files_test, that_are_damaged_are_errors) {
  std::string text = "id,text\n";
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) text += std::to_string(random()) + ",text" + std::to_string(i) + "\n";
  const std::string whole = packed(text);
  for (int round = 0; round < 50; ++round) {
    std::string bytes = whole;
    const std::size_t at = 12 + random() % (bytes.size() - 12);
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    file(bytes);
    const std::string what = error(read_csv<entry>(path()));
    EXPECT_NE(what, "no error") << "byte " << at;
    EXPECT_NE(what.find("a.csv"), std::string::npos) << what;
  }
  file(whole + "text behind it");
  EXPECT_NE(error(read_csv<entry>(path())).find("are damaged"), std::string::npos);
}

TEST_P(packed_files_test, errors_in_them_name_the_line) {
  std::string text = "id,text\n";
  for (int i = 0; i < 300'000; ++i) text += (i == 250'000 ? "x" : std::to_string(i)) + (i % 9 ? ",a\n" : ",\"a\nb\"\n");
  file(packed(text));
  const auto q = read_csv<entry>(path());
  file(text, "plain.csv");
  std::string expected = error(read_csv<entry>(path("plain.csv")));
  EXPECT_NE(expected.find("found 'x'"), std::string::npos) << expected;
  expected.replace(expected.find("plain.csv"), 9, "a.csv");
  expected.resize(expected.rfind('('));
  EXPECT_EQ(error(q).substr(0, expected.size()), expected);
  EXPECT_EQ(error_of([&] { for (const entry& e : q) (void)e; }).substr(0, expected.size()), expected);
  const rejected_lines rejected, of_plain;
  EXPECT_EQ(read_csv<entry>(path(), {.on_error = bad_lines::collect, .rejected = rejected}).count(), 299'999);
  EXPECT_EQ(read_csv<entry>(path("plain.csv"), {.on_error = bad_lines::collect, .rejected = of_plain}).count(), 299'999);
  ASSERT_EQ(rejected.count(), 1u);
  EXPECT_EQ(rejected.lines()[0].line, of_plain.lines()[0].line);
}

TEST_P(packed_files_test, are_unpacked_in_pieces_of_any_size) {
  const std::string text(100'000, 'x'), bytes = packed(text) + packed("y");
  for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
    const auto from = unpack(bytes, "read_csv: a.csv");
    std::string all, some(size, '\0');
    while (const std::size_t n = from->read(some.data(), size)) all.append(some, 0, n);
    EXPECT_EQ(all, text + "y");
  }
}

TEST_P(packed_files_test, blocks_of_any_size_give_the_same_rows) {
  const auto rows = entries(300);
  query::from(rows).write_csv(path(packed_name()));
  for (const std::size_t block : {1, 17, 1000, 100'000})
    for (const std::size_t chunk : {10, 1000}) {
      csv_file f(path(packed_name()), {}, ir::describe<entry>(), chunk);
      std::vector<entry> got;
      while (f.index_block(serially, block)) {
        std::allocator<entry> memory;
        entry* some = memory.allocate(f.rows());
        std::exception_ptr wrong;
        const std::size_t n = f.read_until_wrong(serially, {}, some, wrong);
        EXPECT_FALSE(wrong);
        got.insert(got.end(), std::make_move_iterator(some), std::make_move_iterator(some + n));
        std::destroy_n(some, n);
        memory.deallocate(some, f.rows());
      }
      EXPECT_TRUE(got == rows) << block << ", " << chunk;
    }
}

// A bomb: a small file that is a single line of many bytes.
TEST_P(packed_files_test, lines_that_would_fill_the_memory_are_errors) {
  std::string bytes;
  const auto take = [&](std::string_view some) { bytes += some; };
  const auto how = pack(packing_of_name(GetParam()), "");
  how->pack("id,text\n1,", false, take);
  const std::string block(std::size_t{1} << 20, '\0');
  for (std::size_t n = 0; n <= record_file::longest_packed_record; n += block.size()) how->pack(block, false, take);
  how->pack({}, true, take);
  EXPECT_LT(bytes.size(), std::size_t{1} << 20);
  file(bytes);
  const std::string what = error(read_csv<entry>(path()));
  EXPECT_NE(what.find("a record of a compressed file has at most 256 MiB"), std::string::npos) << what;
}

INSTANTIATE_TEST_SUITE_P(all, packed_files_test, testing::Values(".gz", ".zst"),
                         [](const auto& info) { return std::string(info.param).substr(1); });

}  // namespace
}  // namespace query::data
