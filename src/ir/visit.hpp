// Visits each node below a root once, kids first, without recursion: unrolled loops make deep trees.
//
//   each_node(root, [&](const node* n) { ... });
#pragma once

#include <unordered_set>
#include <vector>

#include <query/detail/node.hpp>

namespace query::ir {

template <class F> void each_node(const node* root, F visit) {
  struct entry {
    const node* n;
    std::size_t next;
  };
  std::unordered_set<const node*> seen{root};
  std::vector<entry> stack{{root, 0}};
  while (!stack.empty()) {
    entry& e = stack.back();
    if (e.next < e.n->kids.size()) {
      const node* k = e.n->kids[e.next++];
      if (seen.insert(k).second) stack.push_back({k, 0});
      continue;
    }
    const node* n = e.n;
    stack.pop_back();
    visit(n);
  }
}

}  // namespace query::ir
