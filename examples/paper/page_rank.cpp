// PageRank: ten rounds in which each page passes its rank on over its links.
#include <cstdint>
#include <vector>

#include "../example_data.hpp"
#include "program.hpp"

struct Link {
  std::int32_t from, to;
};
QUERY_RECORD(Link, from, to);

struct Share {
  std::int32_t from, to;
  double part;  // of the rank of `from`
};
QUERY_RECORD(Share, from, to, part);

struct Page {
  std::int32_t id;
  double rank;
};
QUERY_RECORD(Page, id, rank);

// query:begin
query::Query<Page> page_rank(const query::Query<Link>& links, const query::Query<Page>& pages, double n, int rounds) {
  const auto from = [](auto link) { return link.from; };
  const auto id = [](auto page) { return page.id; };
  const auto shares = links.join(links.count_by(from), from, [](auto c) { return std::get<0>(c); }, [](auto l, auto c) {
    return query::make<Share>(l.from, l.to, 1.0 / query::cast<double>(std::get<1>(c)));
  });
  const auto ranks = pages.do_while([=](query::Query<Page> now) {
    const auto passed =
        shares.join(now, from, id, [](auto s, auto p) { return query::make<Page>(s.to, p.rank * s.part); })
            .group_by(id)
            .select([](auto g) { return query::make<Page>(g.key(), g.sum([](auto p) { return p.rank; })); });
    return pages.left_join(passed, id, id, [n](auto page, auto in) {
      return query::make<Page>(page.id, 0.15 / n + 0.85 * query::iff(in.has_value(), in->rank, 0.0));
    });
  }, query::times(rounds));
  return ranks.order_by(id);
}
// query:end

// loop:begin
std::vector<Page> page_rank_by_hand(const std::vector<Link>& links, std::vector<Page> pages, int rounds) {
  std::vector<double> out(pages.size()), next(pages.size());
  for (const Link& l : links) ++out[l.from];
  for (int round = 0; round < rounds; ++round) {
    std::fill(next.begin(), next.end(), 0.15 / static_cast<double>(pages.size()));
    for (const Link& l : links) next[l.to] += 0.85 * pages[l.from].rank / out[l.from];
    for (std::size_t i = 0; i < pages.size(); ++i) pages[i].rank = next[i];
  }
  return pages;
}
// loop:end

// 20 links a page on average; some pages get many of them.
std::vector<Link> some_links(std::int64_t pages) {
  paper::random random(2);
  std::vector<Link> links;
  for (std::int32_t i = 0; i < pages; ++i)
    for (std::int64_t n = 1 + random.below(39); n > 0; --n) {
      const double u = random.uniform();
      links.push_back({i, static_cast<std::int32_t>(u * u * u * static_cast<double>(pages))});
    }
  return links;
}

// `real` are the packages of Debian and what they depend on.
int main(int argc, char** argv) {
  const paper::options o = paper::read("page_rank", std::span(argv, static_cast<std::size_t>(argc)),
                                       {{"test", 500},
                                        {"small", 100'000},
                                        {"middle", 500'000},
                                        {"large", 1'000'000},
                                        {"real", 63'436}});
  const std::vector<Link> links = o.size == "real"
      ? query::read_csv<Link>(example_data("debian_dependencies.csv")).to_vector()
      : some_links(o.rows);
  std::vector<Page> pages;
  for (std::int32_t i = 0; i < o.rows; ++i) pages.push_back({i, 1.0 / static_cast<double>(o.rows)});
  const int rounds = 10;
  o.write("links", links);
  return paper::run(
      o, [&] { return page_rank_by_hand(links, pages, rounds); },
      [&](const paper::way& on) {
        return page_rank(on.rows(links), on.rows(pages), static_cast<double>(o.rows), rounds);
      },
      [](const auto& a, const auto& b) {
        return std::ranges::equal(a, b, [](const Page& x, const Page& y) {
          return x.id == y.id && std::abs(x.rank - y.rank) <= 1e-9 * x.rank;
        });
      });
}
