// Kernels of two queries over rows of a number and a value, for the driver double: what is even is halved, and what has one number is added
// up. They compute, so that results mean something; tables of groups are the host's.
//
//   driver_double fake;
//   add_device_row_kernels(fake);
//   rows.where([](auto r) { return r.value % 2 == 0; }).select([](auto r) { return query::make<Reading>(r.sensor, r.value / 2); })
//   rows.group_by([](auto r) { return r.sensor; }).select([](auto g) { ... g.key(), g.sum([](auto r) { return r.value; }) ... })
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <regex>
#include <stdexcept>
#include <string>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/words_read.hpp"

namespace query::gpu_engine::device_rows_there {

struct Reading {
  std::int32_t sensor;
  std::int64_t value;
  bool operator==(const Reading&) const = default;
};
QUERY_RECORD(Reading, sensor, value);

// Rows as a program reads them: each field from a column of its own, or from whole rows.
class columns {
 public:
  explicit columns(const driver_double::generated_call& c) {
    static const std::regex load(R"(\(\(const (\w+)\* __restrict__\)p\.w\[(\d+)\]\)\[i\](\.f\d)?)");
    for (std::sregex_iterator i(c.program.begin(), c.program.end(), load), end; i != end; ++i) {
      const std::string type = (*i)[1];
      const std::uint64_t at = c.words.at(std::stoul((*i)[2]));
      if (type == "i32") sensors_ = {at, sizeof(std::int32_t)};
      else if (type == "i64") values_ = {at, sizeof(std::int64_t)};
      else sensors_ = {at + offsetof(Reading, sensor), sizeof(Reading)}, values_ = {at + offsetof(Reading, value), sizeof(Reading)};
    }
    if (!sensors_.at || !values_.at) throw std::logic_error("the double knows no such rows:\n" + c.program);
  }
  Reading operator[](std::uint64_t i) const { return {sensors_.get<std::int32_t>(i), values_.get<std::int64_t>(i)}; }

 private:
  struct column {
    std::uint64_t at = 0, step = 0;
    template <class T> T get(std::uint64_t i) const { return *reinterpret_cast<const T*>(at + i * step); }
  };
  column sensors_, values_;
};

inline void add_device_row_kernels(driver_double& fake) {
  using call = driver_double::generated_call;
  fake.add_generated("collect_rows", [](const call& c) {
    const columns rows(c);
    const auto w = read_by(c, "collect_rows");  // out, rows, temporary memory, kept
    std::uint64_t kept = 0;
    for (std::uint64_t i = 0; i < w.at(1); ++i)
      if (const Reading r = rows[i]; r.value % 2 == 0) reinterpret_cast<Reading*>(w[0])[kept++] = {r.sensor, r.value / 2};
    *reinterpret_cast<std::uint64_t*>(w.at(3)) = kept;
  });
  // Rows side by side, for concat.
  fake.add_generated("gather_rows", [](const call& c) {
    const columns rows(c);
    const auto w = read_by(c, "gather_rows");  // rows, out
    for (std::uint64_t i = 0; i < w.at(0); ++i) reinterpret_cast<Reading*>(w.at(1))[i] = rows[i];
  });
  // By the address of the device's table.
  using table = std::map<std::int32_t, std::int64_t>;
  const auto tables = std::make_shared<std::map<std::uint64_t, table>>();
  const auto table_of = [tables](const call& c) -> table& { return (*tables)[read_by(c, "the_table").at(0)]; };
  fake.add_generated("init_table", [=](const call& c) { table_of(c).clear(); });
  for (const std::string entry : {"aggregate_rows", "aggregate_shared_rows"})
    fake.add_generated(entry, [=](const call& c) {
      const columns rows(c);
      const std::uint64_t n = read_by(c, entry).at(0);
      for (std::uint64_t i = 0; i < n; ++i) table_of(c)[rows[i].sensor] += rows[i].value;
    });
  fake.add_generated("merge_partials", [](const call&) {});
  fake.add_generated("emit_table", [=](const call& c) {
    const auto w = read_by(c, "emit_group");  // room, out
    std::uint64_t n = 0;
    for (const auto& [sensor, value] : table_of(c))
      if (n++ < w.at(0)) reinterpret_cast<Reading*>(w.at(1))[n - 1] = {sensor, value};
    *reinterpret_cast<std::uint64_t*>(read_by(c, "emit_table").at(2)) = n;
  });
}

}  // namespace query::gpu_engine::device_rows_there
