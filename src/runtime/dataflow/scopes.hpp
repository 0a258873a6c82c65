// The streams and iterations that are open at a port, the innermost last: a signal is told with the depth of its scope.
//
//   scopes open;
//   open.tell(signal::begin_stream);   // 1
//   open.tell(signal::begin_iteration) // 2
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <query/detail/signal.hpp>
#include <query/errors.hpp>

namespace query::runtime {

constexpr const char* name_of(dataflow::signal s) {
  constexpr const char* names[] = {"begin_stream", "end_stream", "begin_iteration", "end_iteration"};
  return names[static_cast<std::size_t>(s)];
}

class scopes {
 public:
  bool any() const { return !open_.empty(); }
  // Throws user_error for what is not well nested; `who` names the vertex.
  std::uint32_t tell(dataflow::signal s, const std::string& who) {
    using dataflow::signal;
    if (begins(s)) {
      if (open_.empty() && s != signal::begin_stream)
        throw user_error("dataflow: an iteration lies in a stream: begin_stream first: in vertex '" + who + "'");
      open_.push_back(s);
      return static_cast<std::uint32_t>(open_.size());
    }
    if (open_.empty() || end_of(open_.back()) != s)
      throw user_error(std::string("dataflow: ") + name_of(s) + " where " + (open_.empty() ? "nothing" : name_of(open_.back())) +
                       " was the last to begin: in vertex '" + who + "'");
    const auto depth = static_cast<std::uint32_t>(open_.size());
    open_.pop_back();
    return depth;
  }
  // The signal that ends the innermost; nothing if none is open.
  std::optional<dataflow::signal> innermost_end() const {
    return open_.empty() ? std::nullopt : std::optional(end_of(open_.back()));
  }

 private:
  static dataflow::signal end_of(dataflow::signal s) {
    return s == dataflow::signal::begin_stream ? dataflow::signal::end_stream : dataflow::signal::end_iteration;
  }
  std::vector<dataflow::signal> open_;
};

}  // namespace query::runtime
