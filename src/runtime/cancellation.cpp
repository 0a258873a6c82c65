#include "runtime/cancellation.hpp"

#include <charconv>
#include <memory>

#include "ir/running.hpp"

namespace query::runtime {

namespace {
std::string seconds_text(double s) {
  if (s < 1e-300) return "0";  // timeout(0): the least there is, as 0 means none
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, s).ptr};
}
}  // namespace

void fail_at(const unplaced_cancelled& e, std::string_view verb, detail::call_site where) {
  throw cancelled(ir::while_running(e.what(), verb, where));
}
void fail_at(const unplaced_cancelled& e, const detail::logical& verb) { fail_at(e, ir::verb_of(verb), verb.where); }

const cancel_flag& cancel_flag::here() {
  static const cancel_flag& never = *std::make_unique<cancel_flag>().release();  // static sessions may end after it would
  const detail::stop_state& s = *detail::stop_here;
  return s.raise == &throw_reason ? static_cast<const cancel_flag&>(s) : never;
}

void cancel_flag::throw_cancelled(stop_reason why) const {
  std::string text = why == stop_reason::deadline ? "query: cancelled: deadline" : "query: cancelled: stop requested";
  if (limits_ && why == stop_reason::deadline) text += " of timeout(" + seconds_text(*limits_) + ")";
  else if (limits_) text += " by stop_on";
  if (place_.empty()) throw unplaced_cancelled(text);
  throw cancelled(text + ", while running " + place_);
}

}  // namespace query::runtime
