// Device memory that nobody else gets, given out again and again: for work that has to go on where the pool has nothing left.
//
//   reserved_room room(run.gpu().memory(), 1 << 20, run.on());
//   {
//     const reserved_room::serving from_it(&room);
//     device_buffer b = run.allocate(4096);   // of the room; where that has not so much in one piece, of the pool
//   }
//
// Parts are buffers like others: released in the order of their stream, and free for the next who asks. They may outlive the room's object:
// its memory goes back to the pool when the last of them has.
#pragma once

#include <cstddef>
#include <memory>

#include "gpu_engine/device_memory.hpp"

namespace query::gpu_engine {

class reserved_room {
 public:
  // Throws out_of_memory.
  reserved_room(device_memory& from, std::size_t bytes, const stream& s);
  ~reserved_room();
  reserved_room(const reserved_room&) = delete;
  reserved_room& operator=(const reserved_room&) = delete;

  // What a part of so many bytes takes.
  static constexpr std::size_t bytes_of(std::size_t part) { return (part + 255) / 256 * 256; }

  // While it lives its thread's allocations from the room's pool are parts of the room, where they fit. Null: none are, for memory that
  // is held longer than the work that the room is for. Where several live, the last counts.
  class serving {
   public:
    explicit serving(const reserved_room* room);
    ~serving();
    serving(const serving&) = delete;
    serving& operator=(const serving&) = delete;
    static bool here();  // does any room serve this thread? What lies there is not kept for later

   private:
    const reserved_room* before_;
  };

 private:
  friend class device_memory_state;
  std::shared_ptr<class device_memory_state> pool_;
  device_address at_ = 0;
};

}  // namespace query::gpu_engine
