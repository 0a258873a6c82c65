// What master and containers tell each other of a query's tasks. A step is one vertex of the machine graph that runs once; a task is that
// step in one partition. Each partition has a process of its own, a host, which may be lost: its next incarnation takes over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace query::cluster {

using step_id = std::uint64_t;  // counts from 1, in the order of the query; 0: none

enum class work : std::uint32_t {
  run,      // computes the vertex's table
  count,    // of an exchange: the rows that it will send, which stay there
  sample,   // some of these
  send,     // puts them apart into blocks, one for each receiver, or one for all
  receive,  // pulls its block of each sender, and makes the vertex's table of these
  fold,     // the terminal verb, of the partition's rows
  verify,
  find,     // of a file that partitions read in parts: is it there?
  look,     // how many quotes there are within some of its bytes
  place,    // the part that the partition reads from now on
  write,    // the terminal verb: the partition's rows to a file
  hold,     // pulls the blocks of all senders, and holds them as blocks of its own, one of each sender
};
// Does it leave blocks for others?
inline bool leaves_blocks(work w) { return w == work::send || w == work::hold; }
// Does a task leave something in its process that others read? Else its answer, which the master keeps, is all.
inline bool leaves_rows(work w) { return w == work::run || w == work::receive || w == work::place; }

// Who gets the rows of an exchange: those whom the plan says, or where sizes have shown another way to be better, all, or the sender alone.
enum class sent_to : std::uint32_t { as_planned, all, itself };

struct task_id {
  step_id step = 0;
  std::uint32_t partition = 0;
  std::uint32_t attempt = 0;  // counts from 1: what an earlier one has done is not wanted any more
  bool operator==(const task_id&) const = default;
};

// Which process: the host of a partition, and how many there were before it.
struct host_id {
  std::uint32_t partition = 0;
  std::uint32_t incarnation = 0;
  bool operator==(const host_id&) const = default;
};

struct block_size {
  std::uint64_t rows = 0, bytes = 0, checksum = 0;
  std::uint64_t repeatable = 1;  // 0: the same rows, computed again, may have other bytes, as some of these are no value's
  // Of the same bytes.
  bool operator==(const block_size& o) const { return rows == o.rows && bytes == o.bytes && checksum == o.checksum; }
  // Of the same rows, as far as one can tell.
  bool alike(const block_size& o) const {
    return rows == o.rows && bytes == o.bytes && (checksum == o.checksum || !repeatable || !o.repeatable);
  }
};

// What a sender holds for one receiver, or for all.
struct block {
  step_id step = 0;
  std::uint32_t bucket = 0;
  host_id at;
  std::uint32_t attempt = 0;  // 0: it is yet to be sent
  block_size size;
  bool operator==(const block&) const = default;
};

struct task {
  task_id id;
  work does = work::run;
  std::uint64_t vertex = 0;
  std::vector<step_id> reads;         // whose rows have to be there
  std::vector<block> blocks;          // receive: of all senders, in their order
  std::vector<std::uint32_t> only;    // send: the buckets that somebody waits for; empty: all
  std::vector<std::byte> argument;
};

// What a task gave.
struct task_result {
  std::uint64_t rows = 0;
  std::vector<std::byte> answer;
  std::vector<block_size> blocks;  // send: of all buckets, whatever `only` says
};

}  // namespace query::cluster
