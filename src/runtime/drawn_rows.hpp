// Which rows `sample` draws: every engine draws the same ones.
//
//   draw_rows(rows, wanted, seed, [&](std::uint64_t row) { ids.push_back(row); }, [&] { cancel.check(); });
#pragma once

#include <cstdint>

namespace query::runtime {

// A generator of 64-bit numbers: splitmix64 (Steele, Lea, Flood, OOPSLA 2014). The numbers are part of what `sample` promises.
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(seed) {}
  // Uniform in [0, n), n > 0.
  std::uint64_t below(std::uint64_t n) {
    __extension__ using u128 = unsigned __int128;
    return static_cast<std::uint64_t>(u128{next()} * n >> 64);
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

// The numbers of `wanted` of n rows, in their order, some at a time. wanted <= n.
// Knuth, The Art of Computer Programming 3.4.2, algorithm S.
class row_draw {
 public:
  row_draw(std::uint64_t n, std::uint64_t wanted, std::uint64_t seed) : random_(seed), n_(n), left_(wanted) {}
  // Calls take(row) for those before row `end` that have not been taken; look() now and then, so that a query can stop.
  template <class Take, class Look> void before(std::uint64_t end, Take take, Look look) {
    for (; row_ < end && left_; ++row_) {
      if (row_ % (1u << 20) == 0) look();
      if (random_.below(n_ - row_) >= left_) continue;
      take(row_);
      --left_;
    }
  }

 private:
  random_numbers random_;
  std::uint64_t n_, left_, row_ = 0;
};

// Calls take(row) for all of them.
template <class Take, class Look> void draw_rows(std::uint64_t n, std::uint64_t wanted, std::uint64_t seed, Take take, Look look) {
  row_draw(n, wanted, seed).before(n, take, look);
}

}  // namespace query::runtime
