// How messages between master and containers begin (connection.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <query/session.hpp>

#include "cluster/bytes.hpp"
#include "cluster/master/tasks.hpp"
#include "cluster/program.hpp"

namespace query::cluster {

enum class rows_of : std::uint32_t { source, capture };

// A page of rows; the last message of a table has none, and says which table it is.
struct rows_header {
  rows_of of = rows_of::source;
  std::uint32_t last = 0;
  std::uint64_t number = 0, part = 0, rows = 0;
};

// The first message to a container.
struct hello {
  session_options options;
  std::string token;  // of the session
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
  to.put_text(h.token);
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
  h.token = from.get_text();
  return h;
}

// Lists of plain values.
template <class T> void write_list(byte_writer& to, const std::vector<T>& all) {
  to.put(std::uint64_t{all.size()});
  for (const T& x : all) to.put(x);
}
template <class T> std::vector<T> read_list(byte_reader& from) {
  std::vector<T> all(from.get_count(sizeof(T)));
  for (T& x : all) x = from.get<T>();
  return all;
}
inline std::vector<std::byte> read_bytes(byte_reader& from) {
  const auto raw = from.get_raw(from.get_count(1));
  return {raw.begin(), raw.end()};
}
inline void write_bytes(byte_writer& to, const std::vector<std::byte>& bytes) {
  to.put(std::uint64_t{bytes.size()});
  to.put_raw(bytes.data(), bytes.size());
}

inline void write_task(byte_writer& to, const task& t) {
  to.put(t.id);
  to.put(t.does);
  to.put(t.vertex);
  write_list(to, t.reads);
  write_list(to, t.blocks);
  write_list(to, t.only);
  write_bytes(to, t.argument);
}
inline task read_task(byte_reader& from) {
  task t;
  t.id = from.get<task_id>();
  t.does = from.get<work>();
  if (t.does > work::hold) throw cluster_error("cluster: work that no container knows");
  t.vertex = from.get<std::uint64_t>();
  t.reads = read_list<step_id>(from);
  t.blocks = read_list<block>(from);
  t.only = read_list<std::uint32_t>(from);
  t.argument = read_bytes(from);
  return t;
}

// Of a task that is done.
inline void write_result(byte_writer& to, const task_id& t, const task_result& r) {
  to.put(t);
  to.put(r.rows);
  write_list(to, r.blocks);
  write_bytes(to, r.answer);
}
inline task_result read_result(byte_reader& from, task_id& t) {
  t = from.get<task_id>();
  task_result r;
  r.rows = from.get<std::uint64_t>();
  r.blocks = read_list<block_size>(from);
  r.answer = read_bytes(from);
  return r;
}

// A block of a task: another in its place, or one that is not to be had.
struct task_block {
  task_id task;
  cluster::block block;
  std::uint32_t gone = 0;
  std::uint32_t milliseconds = 0;  // it was tried for
};

}  // namespace query::cluster
