// What every query holds whatever its rows are, and how verbs put their nodes on it: out of the templates, which the user's compiler
// makes anew for each lambda.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include <query/detail/plan.hpp>
#include <query/session.hpp>

namespace query::detail {

struct query_state {
  query_state(pipe from, settings how);  // no row-wise verb behind `from`
  query_state(pipe from, std::shared_ptr<const logical> last, settings how);
  query_state(const query_state&) noexcept;
  query_state& operator=(const query_state&) noexcept;
  ~query_state();

  pipe origin;  // what the chain of row-wise verbs reads
  std::shared_ptr<const logical> node;
  settings how;
};

// The query with a row-wise verb more: a function of its rows, over the rows of `origin`.
query_state extended(const query_state& of, const pipe& origin, verb v, const char* label, user_function f, const ir::type* row,
                     call_site at);

// A new node over these inputs; it keeps what they asked for.
std::shared_ptr<logical> new_node(verb v, std::string label, const ir::type* row, call_site at, std::initializer_list<pipe> inputs);
// The query of the node, run as its inputs and the queries that its functions capture want to be run.
query_state finished(std::shared_ptr<logical> n, std::initializer_list<const settings*> inputs);

// What was said of groups before it is known what becomes of them.
struct said_of_groups {
  bool accelerated = false, gpu_required = false, fast_math = false, ordered = false;
  std::optional<engine> ordered_to = {};
  std::string name = {};
};
std::shared_ptr<logical> group_node(const char* label, const ir::type* row, call_site at, const pipe& input, const said_of_groups& said,
                                    const ir::type* key, const key_calls& keys);

std::shared_ptr<logical> copy_of(const logical& n);
std::shared_ptr<run_settings> copy_of(const settings& s);  // null: all defaults

}  // namespace query::detail
