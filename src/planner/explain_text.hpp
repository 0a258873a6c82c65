// The parts of explain(), one file each, and the text they are put together in.
//
//   text t;
//   t.line(1, "where", "@plan.cpp:12");      "  where                                          @plan.cpp:12"
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "planner/machine_graph.hpp"

namespace query::planner {

class text {
 public:
  // `depth` levels of two blanks, then `left`; `right` begins at a column of its own.
  void line(int depth, std::string_view left, std::string_view right = {});
  // The same of long expressions: what does not fit goes on in lines below.
  void wrapped(int depth, std::string_view left, std::string_view right);
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// What vertices are called: numbered as explain() writes them, loops before what they repeat; those that only make the hash table of a
// join say so.
class vertex_names {
 public:
  explicit vertex_names(const machine_graph& g);
  std::string number(const vertex& v) const;  // "v3"
  std::string verb(const vertex& v) const;    // "group_by", "collect", "hash table of join"
  // The joins whose hash table is made of the rows, which are a verb's: "join @plan.cpp:12"
  std::string hash_tables_of(const vertex& v) const;

 private:
  void add(const std::vector<vertex*>& vertices);
  void add(const vertex& v);
  std::unordered_map<const vertex*, int> numbers_;
  std::unordered_map<const vertex*, std::vector<const logical*>> joins_;  // that probe a hash table of the vertex's rows
};

// The query as it was written, source first; further inputs of a verb are indented below it.
void explain_logical(const machine_graph& g, text& to);
// Vertices in the order in which they run, with the forms of their stages and what the rules did.
void explain_machine(const machine_graph& g, text& to);

// "vector of Trade", "loop variable of Centre"
std::string source_text(const logical& n);
// "where, select"
std::string verbs_text(const stage& s);
// "native, branch-free", "interpreted", ... on the CPU, "generated" on a GPU, both where a vertex is split
std::string form_text(const stage& s, std::string_view engine);  // as engine_of_forms has it
// "price, qty of 5 columns"; empty for all of them
std::string wanted_text(const ir::type* row, const std::vector<bool>& wanted);
// A text in DOT: "a \"b\"\nc"
std::string dot_quoted(std::string_view s);

}  // namespace query::planner
