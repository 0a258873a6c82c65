// One vertex on its way through the GPU: its inputs there, kernels launched with their parameter words, errors fetched.
//
//   vertex_run run(gpu, v.captures, context);
//   const auto rows = run.input(v.inputs[0], fields, "where");
//   kernel_source k; ...generate...
//   run.launch(k, "compact_rows", {.grid = 132}, {rows.get()}, {out.address(), run.status_word(1)});
//   run.finish(k);                                   // waits; throws what a row failed with
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "gpu_engine/codegen/kernel_source.hpp"
#include "gpu_engine/device_rows.hpp"
#include "gpu_engine/launch.hpp"
#include "gpu_engine/round_recording.hpp"

namespace query::gpu_engine {

class vertex_run {
 public:
  static constexpr std::size_t words = status_words;  // of the status block: word 0 holds the first error
  static constexpr std::size_t room_word = words - 1;  // bytes of new strings

  vertex_run(std::shared_ptr<gpu_session> gpu, const std::vector<planner::binding>& captures, runtime::run_context& context);
  // Others may free what it reads as soon as it does not hold it any more: waits, where a query failed or was stopped.
  ~vertex_run() { on().drain(); }
  vertex_run(const vertex_run&) = delete;
  vertex_run& operator=(const vertex_run&) = delete;

  gpu_session& gpu() { return *gpu_; }
  const std::shared_ptr<gpu_session>& shared_gpu() { return gpu_; }
  const stream& on() const { return *stream_; }
  runtime::run_context& context() { return *context_; }

  // The rows that a branch starts from: those supplied, if any; with at least those of these top-level fields that anybody reads.
  std::shared_ptr<const device_rows> input(const planner::branch& b, const std::vector<bool>& of_these);
  std::shared_ptr<const device_rows> table(const planner::vertex& v, const std::vector<bool>& fields);
  // Null: none from now on. `first`: number of the first of them in their source.
  void supply(std::shared_ptr<const device_rows> rows, std::uint64_t first = 0) {
    supplied_ = reads(std::move(rows));
    supplied_first_ = first;
  }

  device_buffer allocate(std::size_t bytes) { return gpu_->memory().allocate(bytes, on()); }
  device_buffer zeroed(std::size_t bytes);
  // Memory for the next kernel, of which the first `zero` bytes are zero, until the next call; aligned to 256. Where it lies behind
  // the status block, one fill does for both: ask for it before status_word().
  device_address zeroed_for_launch(std::size_t bytes, std::size_t zero);
  void fill(device_address at, unsigned char value, std::size_t bytes);
  void copy(device_address to, device_address from, std::size_t bytes);

  // Words of the status block, zero at the beginning, for counters that kernels write.
  device_address status_word(std::size_t i) {
    placed_ = true;
    return status_.address() + 8 * i;
  }
  // After finish. What the host reads it may act upon: a repeated round (round_recording.hpp) goes on as long as it finds
  // the same there. hint() is for what only makes things faster.
  std::uint64_t read(std::size_t i) const;
  std::uint64_t hint(std::size_t i) const { return values_[i]; }

  std::shared_ptr<const kernel> compile(const kernel_source& k, const char* entry);
  std::vector<hash128> compiled() const;  // the programs so far
  void launch(const kernel_source& k, const kernel& f, launch_shape shape, std::span<const device_rows* const> inputs,
              std::span<const std::uint64_t> arguments);

  // Of 256 threads each, for a kernel that loops over so many items: one a thread, but no more than fill the device. At least 1.
  unsigned blocks(std::uint64_t items) const;

  // Do functions capture the rows of this vertex?
  bool captures(const planner::vertex& v) const;
  // How many rows a captured collection has.
  std::uint64_t captured_rows(const collection_use& c) { return collection(c).size(); }
  // The same while a program is generated (kernel_source::place_collections), in which a container is not brought over yet.
  captured_size captured_sizes();
  // Bytes of dynamic shared memory that launch() adds for the collections of a program.
  std::size_t shared_for_captured(const kernel_source& k);

  // The rows of a result. Where they view strings and lists, those of everything that this run has read stay with them.
  std::shared_ptr<device_rows> result(const ir::type* row, device_buffer rows, std::uint64_t n);

  // Waits for the device and reads the status block; throws user_error, or what the CPU would throw, for a row that failed.
  void finish(const kernel_source& k);
  // The same, and gives what throw_row_error takes; 0: no row failed.
  std::uint64_t finish_or_error();
  // The same for kernels that make strings: false if those wanted more room than there was. The room is then larger, the
  // status block is zero, and the kernel is to run once more.
  bool finish_texts(const kernel_source& k);
  void make_room(std::uint64_t bytes);
  void guess_room(std::uint64_t rows);             // the first room, for strings of so many rows
  void give_up_room() noexcept { room_.reset(); }  // nobody will read the strings
  void reset_status() { clear_ = false; }  // before the next work that uses it

 private:
  void clear_status();
  bool in_status(device_address at) const { return at >= status_.address() && at < status_.address() + 8 * words; }
  std::shared_ptr<const device_rows> here(const runtime::vertex_rows& r) const;
  std::shared_ptr<device_rows> uploaded(const void* key, const detail::row_block& rows, const ir::type* row,
                                        const std::vector<bool>& fields);
  const device_rows& collection(const collection_use& c);
  std::uint64_t place_in_shared(const kernel_source& k, std::uint64_t slot);  // of a slot that it has not: where all end
  device_address text(const std::string& characters);
  void look();  // reads the status block
  // Rows that the run reads; what they view may be in its result.
  std::shared_ptr<const device_rows> reads(std::shared_ptr<const device_rows> rows);
  std::uint64_t resolve(const kernel_source& k, const word& w, std::span<const device_rows* const> inputs,
                        std::span<const std::uint64_t> arguments);

  std::shared_ptr<gpu_session> gpu_;
  runtime::run_context* context_;
  std::vector<std::tuple<std::uint64_t, std::string, std::shared_ptr<const kernel>>> compiled_;  // stay while the stream may run them
  stream_lease stream_;
  const std::vector<planner::binding>* captures_;
  std::shared_ptr<const device_rows> supplied_;
  std::uint64_t supplied_first_ = 0;
  device_buffer status_, for_launch_;
  bool clear_ = false;   // is the status block zero, or written by kernels since it was?
  bool placed_ = false;  // does somebody know where it lies?
  std::array<std::uint64_t, words> values_{};
  std::vector<std::pair<std::uint64_t, std::shared_ptr<const device_rows>>> collections_;
  std::vector<std::pair<std::string, std::shared_ptr<const device_buffer>>> texts_;
  std::vector<std::weak_ptr<const device_buffer>> heaps_;  // of the rows that were read and are still there
  std::shared_ptr<const device_buffer> room_;                // of new strings
};

// Throws the error that a status word tells of.
void throw_row_error(std::uint64_t status, const std::vector<error_site>& sites);

}  // namespace query::gpu_engine
