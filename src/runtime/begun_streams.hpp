// Streams that an engine has begun to read, while it may still fail: a generator that counts in variables of somebody else's goes on where
// it was, however often it is opened, so who takes the vertex over begins with the rows that were taken already.
//
//   begun_reader rows(context.begun, branch.number, *branch.source, most_bytes);   // again, after a failure: the same rows once more
//   while (std::size_t n = rows.next(raw, most)) rows.keep({owner, raw, n});
//   context.begun.forget(branch.number);                                           // the vertex has run
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <query/detail/plan.hpp>
#include <query/errors.hpp>

namespace query::runtime {

// Its rows are gone: they were more than are kept.
struct stream_begun : resource_error {
  using resource_error::resource_error;
};

// By branch. Thread-safe.
class begun_streams {
 public:
  struct rows {
    std::shared_ptr<const void> owner;
    const void* at = nullptr;
    std::size_t n = 0;
  };
  struct stream {
    std::unique_ptr<detail::row_stream> rest;
    std::uint64_t taken = 0;   // rows that `rest` has given, if only to have them lost
    std::uint64_t kept = 0;    // rows, from the first on
    std::size_t bytes = 0;
    std::vector<rows> pieces;  // empty where there were too many
  };

  // The branch's stream, opened now if nobody did. Throws stream_begun where rows of it have been taken and are not kept.
  std::shared_ptr<stream> open(int branch, const detail::logical& source);
  bool has(int branch) const;
  void forget(int branch);

 private:
  mutable std::mutex lock_;
  std::unordered_map<int, std::shared_ptr<stream>> streams_;
};

// Reads a stream from its first row on. One owner; streams that tell how many rows they have are opened anew each time.
class begun_reader final : public detail::row_stream {
 public:
  // Up to `most_bytes` of rows are kept for who reads after this one.
  begun_reader(begun_streams& all, int branch, const detail::logical& source, std::size_t most_bytes);

  std::size_t next(void* raw, std::size_t most) override;
  // The rows that next() gave last, where they stay as they are.
  void keep(const begun_streams::rows& last);

 private:
  const ir::type* row_;
  std::size_t most_bytes_;
  std::shared_ptr<begun_streams::stream> stream_;
  std::size_t piece_ = 0, at_ = 0;  // the next of the rows that were taken before
  std::size_t again_ = 0;           // such pieces
};

// f takes over what an engine failed at, for the reason `why`.
template <class F> auto taken_over(const std::string& why, F&& f) {
  try {
    return f();
  } catch (const stream_begun& e) {
    throw resource_error(std::string(e.what()) + "; what read them failed: " + why);
  }
}

}  // namespace query::runtime
