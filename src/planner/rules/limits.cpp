#include "planner/rules/limits.hpp"

namespace query::planner::rules {

using detail::verb;

wanted_rows rows_wanted(const rewriting& r, const edge_index& edges, const vertex& v) {
  const edge e = edges.only_reader(v);
  if (e.how != edge::kind::rows || !e.reader || !keeps_count(r, *e.through)) return {};
  const vertex& reader = *e.reader;
  const auto by = r.limited_by.find(&reader);
  const wanted_rows of_reader{reader.limit, by == r.limited_by.end() ? nullptr : by->second};
  if (!reader.node) return of_reader;
  const std::uint64_t n = reader.node->count;
  switch (reader.node->what) {
    case verb::take: return reader.limit < n ? of_reader : wanted_rows{n, reader.node};
    case verb::skip:
    case verb::skip_last:
      if (reader.limit >= no_limit - n) return {};
      return {reader.limit + n, of_reader.because};
    case verb::take_while:
    case verb::concat:
    case verb::zip:
    case verb::default_if_empty: return of_reader;
    default: return {};
  }
}

}  // namespace query::planner::rules
