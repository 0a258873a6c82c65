// How messages between master and containers begin (connection.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include <query/session.hpp>

#include "cluster/bytes.hpp"
#include "cluster/program.hpp"

namespace query::cluster {

enum class rows_of : std::uint32_t { source, capture, vertex };

// A page of rows; the last message of a table has none, and says which table it is.
struct rows_header {
  rows_of of = rows_of::source;
  std::uint32_t last = 0;
  std::uint64_t number = 0, part = 0, rows = 0;
};
// Of an exchange: who gets the page.
struct page_header {
  std::uint64_t receiver = 0, rows = 0;
};

// The first message to a container.
struct hello {
  session_options options;
};
inline void write_modules(byte_writer& to, const std::vector<program::module_name>& modules) {
  to.put(std::uint64_t{modules.size()});
  for (const auto& m : modules) {
    to.put_text(m.path);
    to.put_text(m.build_id);
  }
}
inline std::vector<program::module_name> read_modules(byte_reader& from) {
  std::vector<program::module_name> all;
  for (std::size_t n = from.get_count(2 * sizeof(std::uint64_t)); n; --n) {
    std::string path = from.get_text();
    all.push_back({std::move(path), from.get_text()});
  }
  return all;
}
inline void write_hello(byte_writer& to, const hello& h) {
  const session_options& o = h.options;
  to.put(o.threads);
  to.put(std::uint64_t{o.memory_limit});
  to.put_text(o.temp_folder);
  to.put(std::uint64_t{o.temp_limit});
  to.put(static_cast<std::uint8_t>(o.interpret));
  to.put(static_cast<std::uint8_t>(o.checked));
}
inline hello read_hello(byte_reader& from) {
  hello h;
  session_options& o = h.options;
  o.gpu = gpu_use::off;
  o.threads = from.get<int>();
  o.memory_limit = from.get<std::uint64_t>();
  o.temp_folder = from.get_text();
  o.temp_limit = from.get<std::uint64_t>();
  o.interpret = from.get<std::uint8_t>() != 0;
  o.checked = from.get<std::uint8_t>() != 0;
  return h;
}

}  // namespace query::cluster
