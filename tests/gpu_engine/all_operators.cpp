#include "gpu_engine/all_operators.hpp"

#include <optional>

namespace query::gpu_engine::all_operators {

namespace {

device_address address_of(const void* at) { return reinterpret_cast<device_address>(at); }

double number_of(std::int64_t n) { return static_cast<double>(n); }
double number_of(double x) { return x; }
double number_of(std::optional<double> x) { return x.value_or(-1.0); }

}  // namespace

std::vector<operation> operations(const sample_rows& rows, Session& session, const driver& calls, bool computes) {
  std::vector<operation> all_of_them;
  const auto f = [&](const char* name, const auto& q) { all_of_them.push_back(operation_of(name, q)); };
  const auto all = query::from(rows.trades).as_accelerated().in(session);
  const auto symbol = [](auto t) { return t.symbol; };
  const auto price = [](auto t) { return t.price; };
  f("where, select", all.where([](auto t) { return t.id > 10; }).select(price));
  f("group_by", all.group_by(symbol).select([](auto g) { return g.sum([](auto t) { return t.price; }); }));
  f("group_by, firsts", all.group_by(symbol).select([](auto g) { return g.first([](auto t) { return t.price; }); }));
  f("order_by", all.order_by(price).select([](auto t) { return t.id; }));
  f("top", all.order_by(price).take(5).select([](auto t) { return t.id; }));
  f("join",
    all.join(query::from(rows.symbols), symbol, [](auto s) { return s.id; }, [](auto t, auto s) { return t.price * s.rate; }));
  f("cached", all.select(price).cached());
  const auto other = query::from(rows.symbols).as_accelerated();
  const auto id = [](auto s) { return s.id; };
  const auto either = [](auto t, auto s) {
    return query::iff(t.has_value(), t->price, 0.5) + query::iff(s.has_value(), s->rate, 0.25);
  };
  f("left_join", all.left_join(other, symbol, id, [](auto t, auto s) { return t.price + query::iff(s.has_value(), s->rate, 0.25); }));
  f("right_join", all.right_join(other, symbol, id, [](auto t, auto s) { return s.rate + query::iff(t.has_value(), t->price, 0.5); }));
  f("full_join", all.full_join(other, symbol, id, either));
  f("semi_join", all.semi_join(other, symbol, id).select(price));
  f("anti_join", all.anti_join(other, symbol, id).select(price));
  f("group_join",
    all.group_join(other, symbol, id, [](auto t, auto own) { return t.price + query::sum(own, [](auto s) { return s.rate; }); }));
  f("cross_join", all.take(100).cross_join(other, [](auto t, auto s) { return t.price * s.rate; }));
  f("distinct", all.select(symbol).distinct());
  f("union_with", all.select(symbol).union_with(other.select(id)));
  f("intersect", all.select(symbol).intersect(other.select(id)));
  f("except", all.select(symbol).except(other.select(id)));
  f("window", all.select(price).window(3, [](auto run) { return query::sum(run); }));
  f("reverse", all.select(price).reverse());
  f("aggregate", all.aggregate([](auto g) { return g.sum([](auto t) { return t.price; }); }));
  f("median", all.group_by(symbol).select([](auto g) { return g.median([](auto t) { return t.price; }); }));
  f("aggregate of one's own, by group", all.group_by(symbol).select([](auto g) {
    return g.aggregate(0.0, [](auto s, auto t) { return s + t.price; }, [](auto a, auto b) { return a + b; });
  }));
  const auto table = query::broadcast(rows.middles);
  f("nearest", query::from(rows.spots)
                   .as_accelerated()
                   .in(session)
                   .group_by([table](auto p) {
                     return table.arg_min(p, [](auto p, auto m) { return query::squared_distance(p.x, m.x); });
                   })
                   .select([](auto g) { return g.count(); }));
  const auto named = query::from(rows.names).as_accelerated().in(session);
  const auto name = [](auto n) { return n.name; };
  f("select_many", named.select_many([](auto n) { return n.legs; }));
  f("take", all.select(price).take(2000));
  f("skip", all.select(price).skip(2000));
  f("take_while behind rows that are dropped",
    all.where([](auto t) { return t.id % 3 != 0; }).select(price).take_while([](auto p) { return p < 2000.0; }));
  f("skip_while behind rows that are dropped",
    all.where([](auto t) { return t.id % 3 != 0; }).select(price).skip_while([](auto p) { return p < 100.0; }));
  f("take_while", all.select(price).take_while([](auto p) { return p < 100.0; }));
  f("zip", all.zip(other, [](auto t, auto s) { return t.price + s.rate; }));
  f("concat", all.select(price).concat(other.select([](auto s) { return s.rate; })));
  f("sample", all.select(price).sample(100));
  f("chunk", all.select(price).chunk(4, [](auto run) { return query::sum(run); }));
  f("collect", all.group_by(symbol).select([](auto g) { return g.collect([](auto t) { return t.price; }); }));
  f("groups", all.group_by(symbol).groups().select([](const Group<std::int32_t, Trade>& g) { return g.count(); }));  // which are fetched
  const auto several = [](auto g) { return g.count() > 2; };
  f("groups that are tested", all.group_by(symbol).where(several).select([](auto g) { return g.sum([](auto t) { return t.price; }); }));
  f("groups with their rows, tested",
    all.group_by(symbol).groups().where(several).select([](auto g) { return g.first([](auto t) { return t.price; }); }));
  // Put together from columns that lie on the device.
  const auto rates = query::broadcast(query::from(rows.symbols).as_accelerated().cached());
  f("captured rows that are cached", all.where([rates](auto t) {
                                          return rates.any(t, [](auto t, auto s) { return s.id == t.symbol && s.rate > 3.0; });
                                        }).select(price));
  f("strings as keys", named.group_by(name).select([](auto g) { return g.count(); }));
  f("strings as results", named.select(name).distinct());
  f("strings that are made", named.select([](auto n) { return n.name + "!"; }));
  const auto lower = [](auto n) { return query::to_lower(n.name); };
  f("keys that are made", named.group_by(lower).select([](auto g) { return g.count(); }));
  f("arguments of aggregates that are made",
    named.group_by([](auto n) { return n.legs[0] % 7; }).select([](auto g) { return g.max([](auto n) { return n.name + "!"; }); }));
  f("results of groups that are made", named.group_by(name).select([](auto g) { return "<" + g.key() + ">"; }));
  f("join by keys that are made", named.join(query::from(rows.loud_names).as_accelerated(), lower, lower,
                                             [](auto n, auto loud) { return n.legs[0] + loud.legs[0]; }));
  f("order_by keys that are made", named.order_by([](auto n) { return n.name + "?"; }).select([](auto n) { return n.legs[0]; }));
  f("distinct_by keys that are made", named.select(name).distinct_by([](auto n) { return query::to_lower(n); }));
  f("order_by, records of bytes", query::from(rows.packets)
                                      .as_accelerated()
                                      .in(session)
                                      .order_by([](auto p) { return p.address; })
                                      .select([](auto p) { return p.port; }));
  f("order_by strings", named.order_by(name).select([](auto n) { return n.name; }));
  f("apply", all.select(price).apply_all([](std::span<const double> in) { return std::vector<double>(in.begin(), in.end()); },
                                         query::on_gpu([&calls](auto& in) {
                                           const double* from = in.rows();
                                           double* to = in.results(in.size());
                                           QUERY_CUDA(calls, cuMemcpyDtoDAsync, address_of(to), address_of(from), in.size() * 8,
                                                      static_cast<stream_handle>(in.stream()));
                                         })));
  f("hash_partitioned_by", all.hash_partitioned_by(symbol, 5).select(price));
  f("range_partitioned_by", all.range_partitioned_by(price, 300).select(price));
  f("range_partitioned_by strings", named.range_partitioned_by(name, 4).select(name));
  f("partitioned", all.select(price).partitioned(3).where([](auto p) { return p > 10.0; }));
  f("apply by partition", all.select(price)
                              .hash_partitioned_by([](auto p) { return p; }, 3)
                              .apply([](std::span<const double> in) { return std::vector<double>(in.begin(), in.end()); },
                                     query::on_gpu([&calls](auto& in) {
                                       const double* from = in.rows();
                                       double* to = in.results(in.size());
                                       if (in.size())
                                         QUERY_CUDA(calls, cuMemcpyDtoDAsync, address_of(to), address_of(from), in.size() * 8,
                                                    static_cast<stream_handle>(in.stream()));
                                     })));
  f("do_while", all.select(price).do_while([](auto q) { return q.select([](auto x) { return x + 1.0; }); }, query::times(5)));
  if (computes)
    f("do_while, by a condition",
      all.select(price).do_while([](auto q) { return q.select([](auto x) { return x + 1000.0; }); },
                                 [](auto, auto next) { return query::value_of(next).all([](auto x) { return x < 4500.0; }); }));
  f("three vertices", all.select(price).reverse().order_by([](auto p) { return p; }).distinct());
  return all_of_them;
}

std::vector<fold_operation> folds(const sample_rows& rows, Session& session) {
  std::vector<fold_operation> all_of_them;
  const auto f = [&](const char* name, const auto& q) {
    const std::string which = name;
    const auto add = [&](const char* fold, auto value) {
      all_of_them.push_back({which + ", " + fold, [q, value] { return number_of(value(q)); },
                             [q, value](Session& s) { return number_of(value(q.in(s))); }, [q, fold] { return q.explain(fold); }});
    };
    add("count", [](const auto& r) { return r.count(); });
    add("sum", [](const auto& r) { return r.sum(); });
    add("min", [](const auto& r) { return r.min(); });
    add("max", [](const auto& r) { return r.max(); });
  };
  const auto all = query::from(rows.trades).as_accelerated().in(session);
  f("of rows", all.where([](auto t) { return t.id > 10; }).select([](auto t) { return t.price; }));
  f("of a sort", all.order_by_descending([](auto t) { return t.price; }).select([](auto t) { return t.price * 2.0; }));
  f("of a vertex's rows", all.select([](auto t) { return t.price; }).reverse().select([](auto p) { return p * 2.0; }));
  f("of a join", all.join(query::from(rows.symbols).as_accelerated(), [](auto t) { return t.symbol; }, [](auto s) { return s.id; },
                          [](auto t, auto s) { return t.price * s.rate; }));
  return all_of_them;
}

}  // namespace query::gpu_engine::all_operators
