// What the benchmarks beside other engines have in common: numbers from a fixed seed, and tables in files that columns.py reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

namespace bench {

// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
class numbers {
 public:
  explicit numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::int32_t up_to(std::uint64_t n) { return static_cast<std::int32_t>(next() % n) + 1; }
  double value() { return static_cast<double>(next() % 100'000'001) / 1e6; }

 private:
  std::uint64_t state_;
};

// NAME.FIELD.i4 and .f8 hold numbers, .len the lengths of strings (a byte each) and .txt their characters.
inline void write_bytes(const std::filesystem::path& path, const void* at, std::size_t bytes) {
  std::ofstream out(path, std::ios::binary);
  out.exceptions(std::ios::failbit | std::ios::badbit);
  out.write(static_cast<const char*>(at), static_cast<std::streamsize>(bytes));
}
inline void write_column(std::filesystem::path path, const std::vector<std::int32_t>& c) {
  write_bytes(path += ".i4", c.data(), 4 * c.size());
}
inline void write_column(std::filesystem::path path, const std::vector<double>& c) {
  write_bytes(path += ".f8", c.data(), 8 * c.size());
}
inline void write_column(const std::filesystem::path& path, const std::vector<std::string>& c) {
  std::string lengths, characters;
  for (const std::string& s : c) {
    lengths.push_back(static_cast<char>(s.size()));
    characters += s;
  }
  std::filesystem::path to = path;
  write_bytes(to += ".len", lengths.data(), lengths.size());
  to = path;
  write_bytes(to += ".txt", characters.data(), characters.size());
}
template <class T> void write_table(const std::filesystem::path& folder, const std::string& name, const query::columns_of<T>& c) {
  std::size_t f = 0;
  std::apply(
      [&](const auto&... column) {
        (write_column(folder / (name + "." + std::string(query::meta<T>::names[f++])), column), ...);
      },
      c.fields);
}

}  // namespace bench
