// Each operator by itself, beside what one writes by hand with oneTBB; results are columns that the engine owns, arrays by hand.
//
//   operators ROWS FOLDER               writes the tables to FOLDER, for bench/operators/peers.py
//   operators ROWS - query|tbb [NAMES]   answers four times each; a JSON line a question (questions.hpp)
//
// bench/operators/run does it all, beside DuckDB, Polars and DataFusion, compares the answers and prints the ratios.
#include <cstdlib>
#include <span>
#include <string_view>

#include <tbb/global_control.h>

#include "operators/by_hand.hpp"
#include "operators/inputs.hpp"
#include "questions.hpp"

namespace {

using namespace operators;
using bench::make;
using bench::question;
using checked = std::function<std::vector<double>()>;

struct key_sum { std::int32_t key; double sum; std::int64_t n; };
QUERY_RECORD(key_sum, key, sum, n);
struct matched { std::int32_t key; double d, v; };
QUERY_RECORD(matched, key, d, v);
struct number_row { std::int32_t k; double d; };
QUERY_RECORD(number_row, k, d);
struct keyed_row { std::int32_t a, b, k; double d; };
QUERY_RECORD(keyed_row, a, b, k, d);
struct text_row { std::string text; double d; };
QUERY_RECORD(text_row, text, d);
struct key_only { std::int32_t key; };
QUERY_RECORD(key_only, key);
struct text_only { std::string text; };
QUERY_RECORD(text_only, text);
struct number { double d; };
QUERY_RECORD(number, d);
struct middle { std::int32_t key; double median; };
QUERY_RECORD(middle, key, median);

const auto d_of = [](auto r) { return r.d; };
const auto key_of = [](auto r) { return r.key; };

template <class T, class Key> question groups(const char* name, const T& t, Key key) {
  return make<0, 1, 2>(name, t.group_by(key).select([](auto g) { return query::make<key_sum>(g.key(), g.sum(d_of), g.count()); }));
}
template <class T, class Key> question join(const char* name, const T& t, const query::columns_of<Side>& side, Key key) {
  return make<0, 1, 2>(name, t.join(query::from(query::columns(side)), key, key_of, [key](auto r, auto s) {
    return query::make<matched>(key(r), r.d, s.v);
  }));
}

std::vector<question> of_query(const inputs& in) {
  const auto t = query::from(query::columns(in.t));
  const auto numbers = t.select([](auto r) { return query::make<number_row>(r.k, r.d); });
  const auto few = t.take(in.rows / 100);
  std::vector<question> all;
  all.push_back({"filter+sum", [t] {
                   const double sum = t.where([](auto r) { return r.k < 500'000'000 && r.d > 50; }).sum(d_of);
                   return checked([sum] { return std::vector<double>{1, sum}; });
                 }});
  all.push_back(make<0, 1>("filter", t.where([](auto r) { return r.d > 50; }).select([](auto r) {
    return query::make<number_row>(r.k, r.d);
  })));
  all.push_back(groups("group 100", t, [](auto r) { return r.hundred; }));
  all.push_back(groups("group 10,000", t, [](auto r) { return r.thousands; }));
  all.push_back(groups("group a million", t, [](auto r) { return r.million; }));
  all.push_back(groups("group a key a row", t, [](auto r) { return r.each; }));
  all.push_back(groups("group Zipf", t, [](auto r) { return r.zipf; }));
  all.push_back(groups("group sorted", t, [](auto r) { return r.sorted; }));
  all.push_back(groups("group clustered", t, [](auto r) { return r.clustered; }));
  all.push_back(join("join 1,000", t, in.one, [](auto r) { return r.hundred; }));
  all.push_back(join("join as large", t, in.large, [](auto r) { return r.each; }));
  all.push_back(join("join, 10 matches", t.take(in.rows / 10), in.ten, [](auto r) { return r.hundred; }));
  all.push_back(join("join, 100 matches", few, in.hundred, [](auto r) { return r.hundred; }));
  all.push_back(join("join, 1,000 matches", t.take(in.rows / 1'000), in.thousand, [](auto r) { return r.hundred; }));
  all.push_back(make<0>("sort numbers", t.select([](auto r) { return query::make<number>(r.d); }).order_by(d_of)));
  all.push_back(make<0, 1>("sort rows", numbers.order_by([](auto r) { return r.k; })));
  all.push_back(make<0, 1, 2, 3>("sort by three keys", t.select([](auto r) {
    return query::make<keyed_row>(r.hundred, r.thousands, r.k, r.d);
  }).order_by([](auto r) { return std::tuple(r.a, r.b, r.k); })));
  all.push_back(make<1>("sort strings", t.select([](auto r) { return query::make<text_row>(r.text, r.d); }).order_by([](auto r) {
    return r.text;
  })));
  all.push_back(make<0>("top 100", t.select([](auto r) { return query::make<number>(r.d); }).order_by_descending(d_of).take(100)));
  all.push_back(make<0>("distinct", t.select([](auto r) { return query::make<key_only>(r.million); }).distinct()));
  all.push_back(make<>("distinct strings", t.select([](auto r) { return query::make<text_only>(r.text); }).distinct()));
  all.push_back(make<0, 1>("median", t.group_by([](auto r) { return r.thousands; }).select([](auto g) {
    return query::make<middle>(g.key(), g.median(d_of));
  })));
  all.push_back(make<0>("window", t.select(d_of).window(100, [](std::span<const double> w) {
    double sum = 0;
    for (const double x : w) sum += x;
    return sum;
  }).select([](auto d) { return query::make<number>(d); })));
  return all;
}

template <class... Column> checked sums_of(std::size_t rows, Column... column) {
  std::vector<double> answer{static_cast<double>(rows)};
  const auto add = [&](auto at) {
    double sum = 0;
    for (std::size_t i = 0; i < rows; ++i) sum += static_cast<double>(at(i));
    answer.push_back(sum);
  };
  (add(column), ...);
  return [answer] { return answer; };
}

std::vector<question> of_tbb(const inputs& in) {
  const auto& [c2, c4, c6, cn, cz, cs, cc, k, d, text] = in.t.fields;
  const std::size_t million = std::min<std::size_t>(in.rows, 1'000'000);
  std::vector<question> all;
  // Only `ask` is timed; its answer is kept, and added up afterwards.
  const auto add = [&](const char* name, auto ask, auto check) {
    all.push_back({name, [ask, check] {
                     auto answer = std::make_shared<decltype(ask())>(ask());
                     return checked([answer, check] { return check(*answer)(); });
                   }});
  };
  add("filter+sum", [&k, &d] { return by_hand::filter_sum(k, d); },
      [](double sum) { return checked([sum] { return std::vector<double>{1, sum}; }); });
  add("filter", [&k, &d] { return by_hand::filter(k, d); }, [](const by_hand::kept_rows& r) {
    return sums_of(r.k.size(), [&](std::size_t i) { return r.k[i]; }, [&](std::size_t i) { return r.d[i]; });
  });
  const auto group = [&](const char* name, const std::vector<std::int32_t>& keys, std::size_t n) {
    add(name, [&keys, &d, n] { return by_hand::group_sums(keys, d, n); }, [](const std::vector<std::vector<by_hand::group>>& parts) {
      double rows = 0, key = 0, sum = 0, count = 0;
      for (const auto& part : parts)
        for (const auto& g : part) {
          ++rows;
          key += g.key;
          sum += g.sum;
          count += static_cast<double>(g.n);
        }
      return checked([=] { return std::vector<double>{rows, key, sum, count}; });
    });
  };
  group("group 100", c2, 100);
  group("group 10,000", c4, 10'000);
  group("group a million", c6, million);
  group("group a key a row", cn, in.rows);
  group("group Zipf", cz, million);
  group("group sorted", cs, million);
  group("group clustered", cc, million);
  const auto join = [&](const char* name, const query::columns_of<Side>& side, const std::vector<std::int32_t>& keys, std::size_t n) {
    // The first n rows; the loops take whole arrays.
    auto some = std::make_shared<std::pair<std::vector<std::int32_t>, std::vector<double>>>();
    const bool whole = n == keys.size();
    if (!whole) {
      some->first.assign(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(n));
      some->second.assign(d.begin(), d.begin() + static_cast<std::ptrdiff_t>(n));
    }
    add(name, [=, &side, &keys, &d] { return whole ? by_hand::join(keys, d, side) : by_hand::join(some->first, some->second, side); },
        [](const by_hand::joined& r) {
          return sums_of(r.d.size(), [&](std::size_t i) { return r.k[i]; }, [&](std::size_t i) { return r.d[i]; },
                         [&](std::size_t i) { return r.v[i]; });
        });
  };
  join("join 1,000", in.one, c2, in.rows);
  join("join as large", in.large, cn, in.rows);
  join("join, 10 matches", in.ten, c2, in.rows / 10);
  join("join, 100 matches", in.hundred, c2, in.rows / 100);
  join("join, 1,000 matches", in.thousand, c2, in.rows / 1'000);
  add("sort numbers", [&d] { return by_hand::sorted(d); },
      [](const std::vector<double>& r) { return sums_of(r.size(), [&](std::size_t i) { return r[i]; }); });
  add("sort rows", [&k, &d] { return by_hand::sorted_rows(k, d); }, [](const std::vector<by_hand::pair_row>& r) {
    return sums_of(r.size(), [&](std::size_t i) { return r[i].k; }, [&](std::size_t i) { return r[i].d; });
  });
  add("sort by three keys", [&in] { return by_hand::sorted_by_three(in.t); }, [](const std::vector<by_hand::three_keys>& r) {
    return sums_of(r.size(), [&](std::size_t i) { return r[i].a; }, [&](std::size_t i) { return r[i].b; },
                   [&](std::size_t i) { return r[i].c; }, [&](std::size_t i) { return r[i].d; });
  });
  add("sort strings", [&text] { return by_hand::sorted_texts(text); }, [&d](const std::vector<std::uint32_t>& r) {
    return sums_of(r.size(), [&](std::size_t i) { return d[r[i]]; });
  });
  add("top 100", [&d] { return by_hand::top(d, 100); },
      [](const std::vector<double>& r) { return sums_of(r.size(), [&](std::size_t i) { return r[i]; }); });
  add("distinct", [&c6, &d, million] { return by_hand::group_sums(c6, d, million); },
      [](const std::vector<std::vector<by_hand::group>>& parts) {
        double rows = 0, key = 0;
        for (const auto& part : parts)
          for (const auto& g : part) ++rows, key += g.key;
        return checked([=] { return std::vector<double>{rows, key}; });
      });
  add("median", [&c4, &d] { return by_hand::medians(c4, d, 10'000); }, [](const std::vector<std::vector<by_hand::middle>>& parts) {
    double rows = 0, key = 0, median = 0;
    for (const auto& part : parts)
      for (const auto& g : part) ++rows, key += g.key, median += g.median;
    return checked([=] { return std::vector<double>{rows, key, median}; });
  });
  add("window", [&d] { return by_hand::windows(d); },
      [](const by_hand::array<double>& r) { return sums_of(r.size(), [&](std::size_t i) { return r[i]; }); });
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || (std::string_view(argv[2]) == "-" && argc < 4)) {
    std::fputs("usage: operators ROWS FOLDER | operators ROWS - query|tbb [NAMES]\n", stderr);
    return 2;
  }
  const inputs in(std::strtoull(argv[1], nullptr, 10));
  if (std::string_view(argv[2]) != "-") {
    in.write(argv[2]);
    return 0;
  }
  const char* const threads = std::getenv("QUERY_THREADS");
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  threads ? std::strtoul(threads, nullptr, 10) : tbb::this_task_arena::max_concurrency());
  const bool ours = std::string_view(argv[3]) == "query";
  bench::answer(ours ? of_query(in) : of_tbb(in), argc > 4 ? argv[4] : "", argv[3]);
}
