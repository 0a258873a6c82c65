#include <query/function.hpp>

#include <query/detail/failure.hpp>
#include <query/detail/tracer.hpp>

namespace query::detail {

ir::traced without_trace(std::string reason, bool must) {
  if (must) throw unplaced_error("query::must_trace: the function cannot be traced: " + reason);
  ir::traced t;
  t.reason = std::move(reason);
  return t;
}

ir::traced run_checked_trace(const ir::node* (*call)(const void* f), const void* f, bool must) {
  ir::traced t = ir::run_trace([&] { return call(f); });
  if (t)
    if (const char* escaped = escaped_row(t.root)) t.reason = escaped;
  return t.reason.empty() ? t : without_trace(std::move(t.reason), must);
}

std::string no_record(const undescribed_part& part) {
  const std::string_view name = part.name;
  if (name.starts_with("query::Group<"))
    return "its row holds a group with its rows, a query::Group: functions are traced that take the group itself, and of key and "
           "aggregates group_by(key).select([](auto g) {...})";
  // A number that no engine computes with, a pointer, a container such as std::map.
  if (!part.is_struct || name.starts_with("std::")) return "its rows are, or hold, values that are not traced: " + std::string(name);
  return "no QUERY_RECORD for " + std::string(name) + " (write it in the namespace of the struct, right after it)";
}

std::string types_differ(std::string_view traced, std::string_view native) {
  return "its results differ in type: natively " + std::string(native) + ", traced " + std::string(traced) +
         " (`?:` with a plain value? write query::iff; a function that only one of them finds, as C's abs(int)? write query::abs)";
}

}  // namespace query::detail
