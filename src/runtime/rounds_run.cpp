#include "runtime/rounds_run.hpp"

namespace query::runtime {

namespace {

constexpr std::uint64_t before_any = 2;  // one that brings what stays, and one that is watched

}  // namespace

void rounds_run::repeated(std::uint64_t first, std::uint64_t rounds, std::string_view how) {
  if (rounds == 0) return;
  ranges_ += ranges_.empty() ? "" : ", ";
  ranges_ += std::to_string(first);
  if (rounds > 1) ranges_ += " to " + std::to_string(first + rounds - 1);
  repeated_ += rounds;
  how_ = how;
}

std::string rounds_run::told(std::uint64_t all, std::string_view why) const {
  const std::uint64_t others = all - repeated_;
  const std::string reason = ": " + std::string(why.empty() ? "too few to repeat one" : why);
  if (repeated_ == 0) return std::to_string(all) + (all == 1 ? " round" : " rounds") + " vertex by vertex" + reason;
  const std::string what = (repeated_ == 1 ? "round " : "rounds ") + ranges_ + " " + how_;
  return others <= before_any ? what : what + ", the other " + std::to_string(others) + " vertex by vertex" + reason;
}

}  // namespace query::runtime
