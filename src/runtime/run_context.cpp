#include "runtime/run_context.hpp"

#include <query/detail/failure.hpp>
#include <query/errors.hpp>

#include "runtime/engine_failure.hpp"

namespace query::runtime {

using detail::table;
using planner::vertex;

const table& run_context::fetched(vertex_rows& r) const {
  const std::lock_guard hold(fetching);
  if (r.here()) return r.rows;
  try {
    r.rows = r.kept->fetch(const_cast<run_context&>(*this));
  } catch (const engine_failure& e) {
    throw rows_lost(e.what(), std::string(r.kept->engine()));
  } catch (const internal_error& e) {  // a launch or a copy that failed
    throw rows_lost(e.what(), std::string(r.kept->engine()));
  }
  if (!r.kept->stays()) r.kept = nullptr;
  return r.rows;
}
const table& run_context::table_of(const vertex& v) const {
  const auto it = tables.find(&v);
  if (it == tables.end()) throw internal_error("query: a vertex was read before it ran");
  return fetched(it->second);
}
const table& run_context::variable(std::uint64_t slot) const {
  const auto it = variables.find(slot);
  if (it == variables.end()) throw detail::unplaced_error("a loop's placeholder was used outside its do_while");
  return fetched(it->second);
}
std::vector<detail::binding> run_context::bind(const std::vector<planner::binding>& captures) const {
  std::vector<detail::binding> b;
  for (const planner::binding& c : captures) {
    const table& t = table_of(*c.table);
    b.push_back({c.slot, t.rows, t.n});
  }
  return b;
}

void pieces_run::add(const pieces_run& of) {
  for (auto n : {&pieces_run::blocks, &pieces_run::partitions, &pieces_run::spills, &pieces_run::in_rooms, &pieces_run::waited,
                 &pieces_run::to_files})
    this->*n += of.*n;
}

std::string pieces_run::taken() {
  const auto times = [](std::uint64_t n, const char* one, const char* more) {
    return n ? std::to_string(n) + " " + (n == 1 ? one : more) : std::string();
  };
  std::string all;
  for (const std::string& part :
       {times(blocks.exchange(0), "block of rows", "blocks of rows"),
        times(partitions.exchange(0), "partition in host memory", "partitions in host memory"),
        times(spills.exchange(0), "spill of groups to host memory", "spills of groups to host memory"),
        times(in_rooms.exchange(0), "block in reserved memory", "blocks in reserved memory"),
        times((to_files.exchange(0) + 0xfffff) >> 20, "MiB of rows in a temporary file", "MiB of rows in temporary files")})
    if (!part.empty()) all += (all.empty() ? "" : ", ") + part;
  if (const std::uint64_t ms = waited.exchange(0)) all += (all.empty() ? "waited " : ", waited ") + std::to_string(ms) + " ms for memory";
  return all;
}

}  // namespace query::runtime
