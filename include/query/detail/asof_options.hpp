// The options of asof_join: the direction, whether equal times match, and the tolerance. The plan holds them with the join.
//
//   asof_join(quotes, symbol, symbol, time, time, f, {.direction = query::nearest::forward, .exact = false, .tolerance = 5})
#pragma once

#include <cstdint>
#include <type_traits>

#include <query/detail/plan.hpp>

namespace query {

// Which right row an asof_join looks for: the last at or before the left row's time, the first at or after it, or the nearer of both.
enum class nearest { backward, forward, either };

// How far apart the times of a match may be, both ends included: a duration, or a number in the unit of the times. None: any distance.
class asof_tolerance {
 public:
  constexpr asof_tolerance() = default;
  template <class N> requires std::is_arithmetic_v<N>
  constexpr asof_tolerance(N n) : given_(true), valid_(n >= N{}) {  // NOLINT: a number is one
    if constexpr (std::is_integral_v<N>) {
      whole_ = valid_ ? static_cast<std::uint64_t>(n) : 0;
      real_ = static_cast<double>(whole_);
    } else {
      real_ = static_cast<double>(n);
      whole_ = !valid_ ? 0 : real_ < 0x1p64 ? static_cast<std::uint64_t>(real_) : ~std::uint64_t{0};
    }
  }
  template <ir::duration D> constexpr asof_tolerance(D d)  // NOLINT: a duration is one
      : asof_tolerance(d.count()) {
    unit_ = ir::unit_of<D>();
  }
  // A duration becomes a number in the unit of the times, rounded down. False: they have none.
  bool convert(const ir::unit& of_times) {
    if (!given_ || !unit_.ticks()) return true;
    if (!of_times.ticks()) return false;
    const double ratio = static_cast<double>(unit_.num) / static_cast<double>(unit_.den) * static_cast<double>(of_times.den) /
                         static_cast<double>(of_times.num);
    real_ *= ratio;
    __extension__ using wide = unsigned __int128;
    const auto more = static_cast<wide>(unit_.num) * static_cast<wide>(of_times.den);
    const auto less = static_cast<wide>(unit_.den) * static_cast<wide>(of_times.num);
    constexpr wide most = ~std::uint64_t{0};
    const wide scaled = whole_ > most * less / more ? most : whole_ * more / less;
    whole_ = static_cast<std::uint64_t>(scaled);
    unit_ = {};
    return true;
  }
  constexpr bool given() const { return given_; }
  // Neither negative nor NaN.
  constexpr bool valid() const { return valid_; }
  constexpr bool allows(std::uint64_t distance) const { return !given_ || distance <= whole_; }
  constexpr bool allows(double distance) const { return !given_ || distance <= real_; }
  // Its parts, as a plan that travels has them.
  template <class F> void each_part(const F& f) { f(given_), f(valid_), f(whole_), f(real_); }

 private:
  bool given_ = false, valid_ = true;
  std::uint64_t whole_ = 0;
  double real_ = 0;
  ir::unit unit_;  // of a duration, until convert() is called
};

// asof_join(quotes, symbol, symbol, time, time, f, {.direction = query::nearest::forward, .exact = false, .tolerance = 5})
struct asof_options {
  nearest direction = nearest::backward;
  bool exact = true;  // whether a right row of the same time matches
  asof_tolerance tolerance = {};
};

namespace detail {

// Of an asof_join: a left join whose keys are {key, time}, or times alone, and whose node's options these are. Null: another verb.
inline const asof_options* asof_of(const logical& n) {
  return n.what == verb::join ? static_cast<const asof_options*>(n.options.get()) : nullptr;
}

}  // namespace detail

}  // namespace query
