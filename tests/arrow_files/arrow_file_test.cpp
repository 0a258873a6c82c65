// Arrow IPC files that this library writes and reads.
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "columnar_fixture.hpp"

namespace arrow_files_test {

struct noted {
  std::int64_t id = 0;
  std::optional<std::string> note;
  std::vector<double> values;
  bool flag = false;
  bool operator==(const noted&) const = default;
};
QUERY_RECORD(noted, id, note, values, flag);

std::vector<noted> notes(int n) {
  std::vector<noted> all;
  for (int i = 0; i < n; ++i)
    all.push_back({i, i % 3 ? std::optional("note " + std::to_string(i % 10)) : std::nullopt,
                   std::vector<double>(static_cast<std::size_t>(i % 4), i / 2.0), i % 2 == 0});
  return all;
}

class arrow_ipc_files : public columnar_test {};

TEST_F(arrow_ipc_files, keep_rows) {
  using query::file_compression;
  for (const int n : {0, 1, 10'000})
    for (const file_compression c : {file_compression::none, file_compression::lz4, file_compression::zstd}) {
      query::write_arrow_file(query::from(notes(n)), at("n.arrow"), {.batch_rows = 1000, .compression = c});
      EXPECT_EQ(query::read_arrow_file<noted>(at("n.arrow")).to_vector(), notes(n)) << n << " rows";
    }
}

TEST_F(arrow_ipc_files, are_read_as_far_as_fields_are_used) {
  query::write_arrow_file(query::from(notes(10'000)), at("n.arrow"), {.batch_rows = 1000});
  const auto all = query::read_arrow_file<noted>(at("n.arrow"));
  EXPECT_EQ(cost_of([&] { EXPECT_EQ(all.where([](auto n) { return n.id < 100; }).count(), 100); }), (cost{10, 0, 10}));
}

TEST_F(arrow_ipc_files, that_are_damaged_are_refused_or_read) {
  query::write_arrow_file(query::from(notes(100)), at("n.arrow"));
  const std::string bytes = bytes_of(at("n.arrow"));
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    std::string wrong = bytes;
    for (int k = 0; k < 3; ++k) wrong[8 + random() % (wrong.size() - 16)] = static_cast<char>(random());
    put(at("wrong.arrow"), wrong);
    const std::string error = error_of([&] { (void)query::read_arrow_file<noted>(at("wrong.arrow")).to_vector(); });
    EXPECT_TRUE(error == "no user_error" || error.starts_with("read_arrow_file: wrong.arrow: ")) << error;
  }
}

}  // namespace arrow_files_test
