#include <query/detail/failure.hpp>

#include "ir/running.hpp"

namespace query::detail {

std::string place_of(call_site at) {
  const std::string_view file = at.file;
  return std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(at.line);
}

void fail(std::string_view verb, std::string_view what, call_site at) {
  throw user_error(std::string(verb) + ": " + std::string(what) + " (" + place_of(at) + ")");
}

void fail_at(const unplaced_error& e, const logical& verb) { fail(ir::verb_of(verb), e.what(), verb.where); }
void fail_at(const unplaced_error& e, call_site at) { throw user_error(std::string(e.what()) + " (" + place_of(at) + ")"); }

void no_row_at_edge(std::string_view edge) {
  const std::string name(edge);
  throw unplaced_error("there is no " + name + " row of no rows; ask count() as well, or use " + name + "_or_none() of the query");
}

void fail_negative(std::string_view verb, std::int64_t n, call_site at) {
  if (verb.starts_with("element_at"))
    fail(verb, "a position must not be negative: " + std::to_string(n) + "; use last() or slice(" + std::to_string(n) + ")", at);
  fail(verb, "a number of rows must not be negative: " + std::to_string(n), at);
}
void fail_not_positive(std::string_view verb, std::int64_t n, call_site at) {
  const std::string what = verb == "window" ? "the length and the step" : "the number";  // it is not known which of the two
  fail(verb, what + " must be positive: " + std::to_string(n), at);
}
void row_does_not_fit(std::string_view verb, const std::string& number, std::size_t bytes, call_site at) {
  fail(verb, number + " does not fit the rows, which are integers of " + std::to_string(8 * bytes) +
                 " bits; give one that does, or make the rows wider first: select([](auto x) { return query::cast<std::int64_t>(x); })",
       at);
}
void fail_past_last(std::string_view verb, std::string_view numbers, std::string_view last, call_site at) {
  fail(verb,
       std::string(numbers) + " pass " + std::string(last) +
           ", the largest of their type; give the first another type: " + std::string(verb) + "(std::int64_t{0}, n)",
       at);
}

void check_checkpoint_name(std::string_view name, call_site at) {
  constexpr std::string_view fit = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  constexpr std::size_t longest = 100;
  if (!name.empty() && name.size() <= longest && name.front() != '.' && name.find_first_not_of(fit) == name.npos) return;
  fail("checkpoint",
       "a name has 1 to 100 letters, digits, '-', '_' and '.', and does not begin with '.': \"" + std::string(name) + "\"", at);
}

}  // namespace query::detail
