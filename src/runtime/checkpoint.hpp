// Rows of a checkpoint: files that outlive the program, in a folder of the session's under the name that the user gave. The same query of
// the same program, over the same rows, begins with the newest of them when it is started again.
//
//   checkpoint kept(n, session, context);                    // throws user_error, if the files are another query's
//   if (auto known = kept.newest(row)) ...                   // the rows behind round known->round
//   if (kept.is_worth_it()) kept.keep(round, rows);          // written while the next rounds run
//
// A file is written without a name, synced, and then linked to its number: a number is there as a whole or not at all, and of two programs
// that keep the same rounds the second one fails. A round is kept once the rounds since the last one have taken 20 times as long as
// keeping that did, so at most 5% of the time goes to it. The two newest files stay, in case that the newest one turns out damaged.
// Source: J. W. Young, A First Order Approximation to the Optimum Checkpoint Interval, CACM 1974, for why the interval follows the cost.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include <query/detail/plan.hpp>

#include "runtime/row_pages.hpp"
#include "runtime/run_context.hpp"
#include "runtime/session_state.hpp"

namespace query::runtime {

// What makes the rows, as far as two programs can compare it.
struct fingerprint {
  std::uint64_t program = 0;  // its code
  std::uint64_t query = 0;    // verbs, functions, and what these have captured
  std::uint64_t rows = 0;     // of its sources, and of captured collections
  bool operator==(const fingerprint&) const = default;
};
// Of the verb and of all that it reads. Throws unplaced_error for what two programs cannot compare. Defined by src/cluster, which knows
// functions as other processes do.
fingerprint fingerprint_of(const detail::logical& n, run_context& context);

class checkpoint {
 public:
  checkpoint(const detail::logical& n, const session_state& session, run_context& context);
  ~checkpoint();
  checkpoint(const checkpoint&) = delete;
  checkpoint& operator=(const checkpoint&) = delete;

  struct kept {
    std::uint64_t round = 0;
    detail::table rows;
  };
  std::optional<kept> newest(const ir::type* row);
  bool is_worth_it();
  // A disk or a memory without room, say, costs the round and not the query: told() has the reason.
  void keep(std::uint64_t round, vertex_rows& rows);
  void wait();               // until what is being written is there
  std::string told() const;  // "begun behind round 12, 3 rounds kept"; "": nothing

 private:
  using clock = std::chrono::steady_clock;
  struct outcome {
    std::string trouble;
    bool taken = false;  // by a program whose rows are others
    clock::duration took{};
  };
  outcome write(std::uint64_t round, std::uint64_t rows, const row_pages& pages) const;
  enum class found { well, gone, damaged };
  found read(const std::filesystem::path& file, std::uint64_t& round, fingerprint& of, row_pages& pages) const;
  std::vector<std::pair<std::uint64_t, std::filesystem::path>> files() const;  // the newest first
  [[noreturn]] void fail(const std::string& what) const;

  const detail::logical* node_;
  run_context* context_;
  std::filesystem::path folder_;
  fingerprint mine_;
  std::future<outcome> writing_;
  clock::time_point last_{};
  clock::duration cost_{};
  std::uint64_t begun_behind_ = 0, rounds_kept_ = 0;
  std::string trouble_;
};

}  // namespace query::runtime
