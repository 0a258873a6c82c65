// A query whose rows stay on the device: cached() anew each time, as a user keeps rows for the next query. What a run gives back is
// one row, so that it ends with the host's knowing that the rows are there; the line `one row fetched` says what that takes.
#pragma once

#include "gpu_speed/speed.hpp"

namespace bench::speed {

template <class Make> double materialised_ms(const Make& make) {
  return median_ms([&] { (void)make().cached().take(1).to_vector(); });
}
// The rows themselves, to be looked at.
template <class Make> auto materialised(const Make& make) {
  auto rows = make().cached();
  (void)rows.take(1).to_vector();
  return rows;
}

}  // namespace bench::speed
