// Between host and device memory, through a ring of pinned staging buffers.
//
// The driver copies from plain memory at a sixth of the bus's speed (measured on an H200: 9 against 55 GB/s). So threads
// write pieces into pinned memory while the device's copy engine takes the pieces before; of a session's threads no more than it takes to
// keep the bus busy. One transfer serves a session: the pinned buffers are allocated at first use and kept. Transfers in one direction
// take turns; the directions overlap.
//
//   transfer t(*device);
//   t.upload_plain(column.address(), values.data(), bytes, s, scheduler, cancel);   // returns before the device has it all
//   t.upload_all(columns, s, scheduler, cancel);   // the same for several, whose pieces follow one another without a gap
//   t.download_plain(result.data(), sums.address(), n * 8, s, scheduler, cancel);   // returns with the data
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <query/detail/function_ref.hpp>

#include "gpu_engine/device.hpp"
#include "runtime/scheduler.hpp"

namespace query::gpu_engine {

struct transfer_counters {
  std::uint64_t bytes_up = 0, bytes_down = 0;
  std::uint64_t transfers = 0;           // calls that moved anything
  std::size_t pinned_bytes = 0;          // host memory held
  std::uint64_t pinned_allocations = 0;  // how often the driver was asked for it
};

// Thread-safe.
class transfer {
 public:
  struct sizes {
    std::size_t piece = std::size_t{8} << 20;  // bytes of a staging buffer, at most; short transfers use less of it
    int pieces = 4;                            // staging buffers of a direction
    std::size_t small = std::size_t{64} << 10;  // transfers up to this go in one piece, on the calling thread
  };
  explicit transfer(const device& d) : transfer(d, sizes()) {}
  transfer(const device& d, sizes s);
  ~transfer();  // waits, at most a few seconds, for copies under way
  transfer(const transfer&) = delete;
  transfer& operator=(const transfer&) = delete;

  // fill(first, n, to) writes the bytes [first, first + n) of the source to `to`; take(first, n, from) reads them.
  // Called on the scheduler's threads at once, on disjoint pieces that together are [0, bytes). Pieces start at multiples
  // of `granule` bytes (the size of one value; at most sizes().piece), and of 64 granules where those fit into a piece; then
  // `to` and `from` are aligned to 64 bytes.
  using fill_function = function_ref<void(std::size_t first, std::size_t n, void* to)>;
  using take_function = function_ref<void(std::size_t first, std::size_t n, const void* from)>;

  // Copies to the device in the order of `s`; returns when the source has been read and all copies have been given to `s`.
  // Throws cancelled, what `fill` throws, and resource_error; copies under way then end by themselves, in stream order.
  void upload(device_address to, std::size_t bytes, std::size_t granule, fill_function fill, const stream& s,
              runtime::scheduler& threads, const runtime::cancel_flag& cancel);
  void upload_plain(device_address to, const void* from, std::size_t bytes, const stream& s, runtime::scheduler& threads,
                    const runtime::cancel_flag& cancel);

  // Several uploads as if they were one: no thread waits for the others between them. Each is cut by itself. A part is n rows of
  // values that go to one place each, a column; fill(first, n, to) writes rows [first, first + n) of the source, the values of column
  // c side by side to to[c], so that rows which have them together are read once. What a part refers to lives until this returns.
  struct column {
    device_address to;
    std::size_t size;  // bytes of a value; those of all columns together: at most sizes().piece
  };
  using fill_rows_function = function_ref<void(std::size_t first, std::size_t n, std::byte* const* to)>;
  struct part {
    std::size_t n;
    std::span<const column> columns;
    fill_rows_function fill;
    std::size_t read = 0;  // bytes of the source that `fill` goes over for a row; 0: as many as it writes
  };
  void upload_all(std::span<const part> parts, const stream& s, runtime::scheduler& threads, const runtime::cancel_flag& cancel);

  // Copies from the device, after what `s` was given before; returns when everything has been taken.
  void download(take_function take, device_address from, std::size_t bytes, std::size_t granule, const stream& s,
                runtime::scheduler& threads, const runtime::cancel_flag& cancel);
  void download_plain(void* to, device_address from, std::size_t bytes, const stream& s, runtime::scheduler& threads,
                      const runtime::cancel_flag& cancel);

  // Gives the pinned memory that nothing uses now back to the system; the next transfers ask for it anew.
  void trim();

  transfer_counters counters() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace query::gpu_engine
