#include <query/detail/known_count.hpp>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include <query/detail/plan.hpp>

namespace query::detail {

namespace {

using rows = std::optional<std::uint64_t>;

rows of_source(const logical& n) {
  if (n.view) {
    row_block b;
    n.view(n.source.get(), b);
    return b.n;
  }
  // range and repeat; any other stream has no number, and neither have those two of no rows.
  if (n.what == verb::source_stream && n.count) return n.count;
  return std::nullopt;
}

// `in`: what the inputs give, each of them known.
rows given(const logical& n, const std::vector<std::uint64_t>& in) {
  const std::uint64_t first = in.front();
  switch (n.what) {
    case verb::select:
    case verb::index:
    case verb::position:
    case verb::order_by:
    case verb::reverse:
    case verb::partition:
    case verb::cached: return first;
    case verb::aggregate: return 1;
    case verb::take:
    case verb::take_last:
    case verb::sample: return std::min(first, n.count);
    case verb::skip:
    case verb::skip_last: return first - std::min(first, n.count);
    case verb::default_if_empty: return std::max<std::uint64_t>(first, 1);
    case verb::zip: return *std::min_element(in.begin(), in.end());
    case verb::concat: {
      std::uint64_t all = 0;
      for (const std::uint64_t i : in)
        if (__builtin_add_overflow(all, i, &all)) return std::nullopt;
      return all;
    }
    case verb::cross_join: {
      std::uint64_t pairs = 0;
      if (n.functions.size() != 1) return std::nullopt;  // join_where
      if (in.size() != 2 || __builtin_mul_overflow(in[0], in[1], &pairs)) return std::nullopt;
      return pairs;
    }
    case verb::chunk:
      if (!n.all) return std::nullopt;  // its function may give a range
      return first / n.count + (first % n.count != 0);
    case verb::window:
      if (!n.all) return std::nullopt;
      return first < n.count ? 0 : (first - n.count) / n.step + 1;
    default: return std::nullopt;
  }
}
bool is_source(const logical& n) { return n.inputs.empty(); }

}  // namespace

// Plans may be long, deep on either side, and name one query many times: a loop, which visits each node once.
std::optional<std::int64_t> known_count(const pipe& p) {
  std::unordered_map<const logical*, rows> known;
  std::vector<const logical*> open{p.node.get()};
  while (!open.empty()) {
    const logical& n = *open.back();
    if (known.contains(&n)) {
      open.pop_back();
      continue;
    }
    if (is_source(n)) {
      known[&n] = of_source(n);
      continue;
    }
    bool ready = true;
    std::vector<std::uint64_t> in;
    bool all_known = true;
    for (const pipe& i : n.inputs) {
      const auto at = known.find(i.node.get());
      if (at == known.end()) {
        open.push_back(i.node.get());
        ready = false;
      } else if (at->second) {
        in.push_back(*at->second);
      } else {
        all_known = false;
      }
    }
    if (ready) known[&n] = all_known || n.what == verb::aggregate ? given(n, all_known ? in : std::vector<std::uint64_t>{0}) : std::nullopt;
  }
  const rows n = known[p.node.get()];
  if (!n || *n > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<std::int64_t>(*n);
}

}  // namespace query::detail
