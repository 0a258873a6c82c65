// Computes the PageRank of each page of a small web in 50 rounds.
#include <cmath>
#include <vector>

#include <query/query.hpp>

#include "answer.hpp"

struct Link {
  std::int32_t from, to;
};
QUERY_RECORD(Link, from, to);

struct Share {
  std::int32_t from, to;
  double of_rank;  // the fraction of its page's rank that the link passes on
};
QUERY_RECORD(Share, from, to, of_rank);

struct Page {
  std::int32_t id;
  double rank;
};
QUERY_RECORD(Page, id, rank);

// Computes the same ranks with plain loops.
std::vector<Page> ranks_by_loops(const std::vector<Link>& links, std::vector<Page> pages) {
  for (int round = 0; round < 50; ++round) {
    std::vector<Page> next = pages;
    for (Page& p : next) p.rank = 0.15 / 4;
    for (const Link& l : links) {
      int out = 0;
      for (const Link& other : links) out += other.from == l.from;
      next[l.to].rank += 0.85 * pages[l.from].rank / out;
    }
    pages = next;
  }
  return pages;
}

int main() {
  const std::vector<Link> links{{0, 1}, {0, 2}, {1, 2}, {2, 0}, {3, 2}};
  const std::vector<Page> pages{{0, 0.25}, {1, 0.25}, {2, 0.25}, {3, 0.25}};
  const auto from = [](auto link) { return link.from; };
  const auto id = [](auto page) { return page.id; };

  const auto shares = query::from(links).over(from).select([](auto link, auto w) {
    return query::make<Share>(link.from, link.to, 1.0 / query::cast<double>(w.size()));
  });
  const auto ranks = query::from(pages).do_while([&](query::Query<Page> now) {
    const auto passed = shares.join(now, from, id, [](auto s, auto p) { return query::make<Page>(s.to, p.rank * s.of_rank); });
    return query::from(pages).group_join(passed, id, id, [](auto page, auto in) {
      return query::make<Page>(page.id, 0.15 / 4 + 0.85 * query::sum(in, [](auto p) { return p.rank; }));
    });
  }, query::times(50));

  return answer<Page>(ranks, ranks_by_loops(links, pages));
}
