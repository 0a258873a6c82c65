// TeraSort: sorts records of 100 bytes by their keys of 10 bytes.
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "program.hpp"

struct Record {
  std::array<std::uint8_t, 10> key;
  std::array<std::uint8_t, 90> value;
};
QUERY_RECORD(Record, key, value);

// query:begin
query::Query<Record> tera_sort(const query::Query<Record>& records) {
  return records.order_by([](auto r) { return r.key; });
}
// query:end

// loop:begin
std::vector<Record> tera_sort_by_hand(std::vector<Record> records) {
  std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) { return a.key < b.key; });
  return records;
}
// loop:end

// As the benchmark's own checker does: the keys are in order, and the number of records and the sum of their checksums
// are right.
struct summary {
  std::size_t records = 0;
  std::uint64_t sum = 0;
  bool in_order = true;

  bool operator==(const summary&) const = default;
};

std::uint64_t checksum(const Record& r) {
  std::array<std::uint64_t, 13> words{};
  std::memcpy(words.data(), &r, sizeof r);
  std::uint64_t sum = 14695981039346656037ull;  // FNV-1a, a word at a time
  for (const std::uint64_t word : words) {
    sum = (sum ^ word) * 1099511628211ull;
    sum ^= sum >> 32;
  }
  return sum;
}

summary summary_of(const std::vector<Record>& records) {
  summary s{records.size()};
  for (std::size_t i = 0; i < records.size(); ++i) {
    s.sum += checksum(records[i]);
    if (i && records[i].key < records[i - 1].key) s.in_order = false;
  }
  return s;
}

int main(int argc, char** argv) {
  const paper::options o = paper::read("tera_sort", std::span(argv, static_cast<std::size_t>(argc)),
                                       {{"test", 20'000},
                                        {"small", 1'000'000},
                                        {"middle", 10'000'000},
                                        {"large", 100'000'000}});
  paper::random random(5);
  std::vector<Record> records(static_cast<std::size_t>(o.rows));
  for (Record& r : records) {
    for (std::uint8_t& byte : r.key) byte = static_cast<std::uint8_t>(' ' + random.below(95));
    const std::uint64_t fill = random.bits();
    for (std::size_t i = 0; i < r.value.size(); ++i) r.value[i] = static_cast<std::uint8_t>(fill >> i % 8 * 8);
  }
  o.write("records", records);
  summary wanted = summary_of(records);
  wanted.in_order = true;
  return paper::run(
      o, [&] { return tera_sort_by_hand(records); },
      [&](const paper::way& on) { return tera_sort(on.rows(records)); },
      [&](const auto& a, const auto& b) {
        return summary_of(b) == wanted && std::ranges::equal(a, b, {}, &Record::key, &Record::key);
      });
}
