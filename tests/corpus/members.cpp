#include "corpus/forms.hpp"

namespace corpus {

std::vector<form> members() {
  collector to("member functions");
  const Vec3 low{-4, -4, -4}, high{4, 4, 4};
  const Phase phase{2, 0.5};
  const auto centres = query::broadcast(std::vector<Vec3>{{1, 2, 3}, {-4, 5, -6}, {0, 0, 0}, {7, -8, 2}});
  TRACED("member without arguments", [](auto t) { return t.pos.square(); });
  TRACED("member of an element", [](auto t) { return t.legs[1].total(); });
  TRACED("member with a branch", [](auto t) { return t.pos.largest(); });
  TRACED("member with a number", [](auto t) { return t.pos.scaled(3.0f).y; });
  TRACED("member with a field", [](auto t) { return t.pos.scaled(t.weight); });
  TRACED("member with a captured number", [k = 2.5f](auto t) { return t.pos.scaled(k); });
  TRACED("member with a captured record", [low](auto t) { return t.pos.along(low); });
  TRACED("member with two captured records", [low, high](auto t) { return t.pos.inside(low, high); });
  TRACED("member with a nested record", [](auto t) { return t.pos.along(t.pos.scaled(t.price)); });
  TRACED("member of a captured record", [high](auto t) { return high.along(t.pos); });
  TRACED("member that calls members", [high](auto t) { return t.pos.mirrored(high); });
  TRACED("member of a member's result", [](auto t) { return t.pos.scaled(2.0f).scaled(t.weight).square(); });
  TRACED("member of a made record", [](auto t) { return query::make<Leg>(t.qty, t.price).total(); });
  TRACED("member of query::iff", [](auto t) { return query::iff(t.hot, t.legs[0], t.legs[1]).total(); });
  TRACED("member of a local", [](auto t) { auto p = t.pos; p.x += 1; return p.square(); });
  TRACED("member of structured bindings", [](auto t) { auto [qty, price] = t.legs[0]; return query::make<Leg>(qty, price).bought(t.lots); });
  TRACED("member that changes a copy", [](auto t) { return t.legs[0].bought(t.qty).total(); });
  TRACED("member with a constant of the struct", [](auto t) { return t.legs[0].lots() * Leg::lot; });
  TRACED("member with a type of the struct", [](auto t) { return t.legs[0].step(); });
  TRACED("member in a branch", [low, high](auto t) { if (t.pos.inside(low, high)) return t.pos.square(); return t.pos.largest(); });
  TRACED("member in an inner lambda", [](auto t) { auto f = [](auto v) { return v.square(); }; return f(t.pos); });
  TRACED("member in a fold over an array", [](auto t) { return query::sum(t.legs, [](auto l) { return l.total(); }); });
  TRACED("member in a captured collection", [centres](auto t) { return centres.arg_min([&](auto c) { return c.along(t.pos); }); });
  TRACED("member of a collection's element", [centres](auto t) { return centres[t.qty & 3].scaled(t.weight); });
  OPAQUE("member with a declared result", PLAIN, [](auto t) { return t.legs[0].typed_total(); });
  TRACED_ORDER("member of a list's element", [](auto t) { if (t.legs.empty()) return t.price; return t.legs[0].total(); });
  TRACED_ORDER("member in a fold over a list", [](auto t) { return query::sum(t.legs, [](auto l) { return l.total(); }); });
  TRACED_ORDER("member of an optional record", [](auto t) { return t.place ? t.place->square() : t.place.value_or(Vec3{1, 2, 3}).largest(); });
  TRACED("own operator*", [](auto t) { const auto p = query::make<Phase>(t.price, t.weight); return p * p; });
  TRACED("own operator* with a captured record", [phase](auto t) { return query::make<Phase>(t.price, t.weight) * phase; });
  TRACED("own operator* of a captured record", [phase](auto t) { return phase * query::make<Phase>(t.price, t.weight); });
  TRACED("own operator+ beside query::operators", [phase](auto t) { using namespace query::operators; return query::make<Phase>(t.price, 1) + phase; });
  TRACED("own operator+ of two plain records beside query::operators", [phase](auto t) { using namespace query::operators; return (phase + phase).im * t.price; });
  TRACED("own unary operator-", [](auto t) { using namespace query::operators; return -query::make<Phase>(t.price, t.weight); });
  TRACED("own operator==", [phase](auto t) { return query::make<Phase>(t.qty, t.price) == phase || phase == query::make<Phase>(t.symbol, t.price); });
  TRACED("own operator!=, by ==", [phase](auto t) { return query::make<Phase>(t.qty, t.price) != phase; });
  TRACED("own operator< with a branch", [phase](auto t) { return query::make<Phase>(t.qty, t.price) < phase; });
  TRACED("own operator()", [](auto t) { return query::make<Phase>(t.qty, t.price)(t.weight); });
  TRACED("own operator template with a number before", [](auto t) { return 2.0 * query::make<Phase>(t.qty, t.price); });
  TRACED("own operator template with a field before", [](auto t) { using namespace query::operators; return t.price * query::make<Phase>(t.qty, t.price); });
  return std::move(to.forms);
}

}  // namespace corpus
