#include "conformance/checking.hpp"

#include <map>
#include <string>

#include "runtime/session_state.hpp"

namespace conformance {

const engine_config& checking(const engine_config& e) {
  static std::map<std::string, engine_config> known;
  const auto found = known.find(e.name);
  if (found != known.end()) return found->second;
  engine_config c = e;
  if (e.accelerate) {
    c.session = query::Session({.threads = 4, .checked = true, .gpu_min_rows = 0});
  } else {
    const query::session_options& known_options = e.session.state()->options;
    const query::session_options options{.threads = e.session.threads(),
                                         .verify = known_options.verify,
                                         .interpret = known_options.interpret,
                                         .checked = true,
                                         .gpu = query::gpu_use::off};
    c.session = in_processes(e) ? query::Session::cluster("local:3", options) : query::Session(options);
    c.session.state()->partitions = e.session.state()->partitions;
    c.session.state()->most_broadcast = e.session.state()->most_broadcast;
    c.session.state()->least_spread = e.session.state()->least_spread;
  }
  return known.emplace(e.name, std::move(c)).first->second;
}

}  // namespace conformance
