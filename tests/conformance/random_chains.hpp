// Chains of verbs that are drawn at random (random_chains_test.cpp): their rows, a query beside the rows that it should give, and
// the steps that make both longer.
//
//   for (const step& s : further_steps()) s.apply(c, 3);   // c.q and c.rows: the same verb, by the library and by a loop
#pragma once

#include <functional>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"

namespace random_chains {

struct item {
  std::int32_t k;
  std::optional<std::int32_t> o;
  double d;
  std::string s;
  bool operator==(const item&) const = default;
};
QUERY_RECORD(item, k, o, d, s);

using items = std::vector<item>;
using lazy = query::Query<item>;

// A query and the rows that it should give.
struct chain {
  lazy q;
  items rows;
  const items* other;
  bool ordered = true;
  bool as_ordered = false;  // for the verb in hand, whose order is free

  lazy others() const { return query::from(*other); }
  void free_order(lazy next) {
    q = as_ordered ? lazy(next.as_ordered()) : next;
    ordered = ordered && as_ordered;
  }
  std::ptrdiff_t at_most(std::int32_t a) const { return std::min<std::ptrdiff_t>(a, std::ssize(rows)); }
};

struct step {
  const char* name;
  bool reads_order;  // makes sense where the order of the rows is known
  std::function<void(chain&, std::int32_t)> apply;
};

inline const auto key = [](auto t) { return t.k; };
inline const auto whole = [](const item& t) { return std::make_tuple(t.k, t.o, t.d, t.s); };
inline bool same_key(const item& a, const item& b) { return a.o && b.o && *a.o == *b.o; }

const std::vector<step>& further_steps();

}  // namespace random_chains
