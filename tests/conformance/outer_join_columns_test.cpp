// left, right and full joins over columns: rows without a partner, nulls beside missing rows, and what comes after such a join.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

// Of a row that may be missing: parts under another name, as optionals or with a value instead, and computed ones.
struct taken {
  std::int32_t id;
  std::string name;
  std::optional<std::string> partner;
  std::optional<std::int32_t> lot;     // null without a partner, and where the partner's is
  std::optional<std::int64_t> factor;
  bool found;
  std::int64_t factor_or;
  std::string partner_or;
  double worth;
  std::string both;
};
QUERY_RECORD(taken, id, name, partner, lot, factor, found, factor_or, partner_or, worth, both);

const auto take = [](auto t, auto r) {
  if (!r)
    return query::make<taken>(t.id, t.name, std::nullopt, std::nullopt, std::nullopt, false, std::int64_t{-1},
                              "a name that takes more than twelve characters", t.price, t.name);
  return query::make<taken>(t.id, t.name, r->name, r->lot, r->factor, true, r->factor, r->name, t.price * query::cast<double>(r->factor),
                            t.name + r->name);
};
taken take_of(const trade& t, const rate* r) {
  if (!r) return {t.id, t.name, {}, {}, {}, false, -1, "a name that takes more than twelve characters", t.price, t.name};
  return {t.id, t.name, r->name, r->lot, r->factor, true, r->factor, r->name, t.price * static_cast<double>(r->factor), t.name + r->name};
}

template <std::size_t I, class T> auto column_of(const query::column_chunks<T>& c) {
  std::vector<query::field_t<T, I>> all;
  for (const auto& chunk : c)
    for (const auto& v : chunk.template get<I>()) all.emplace_back(v);
  return all;
}
template <class T> std::vector<T> rows_of(const query::column_chunks<T>& c) {
  std::vector<T> rows(static_cast<std::size_t>(c.size()));
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto fill = [&]<std::size_t F>(std::integral_constant<std::size_t, F>) {
      auto values = column_of<F>(c);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        auto fields = query::meta<T>::fields(rows[i]);
        std::get<F>(fields) = std::move(values[i]);
      }
    };
    (fill(std::integral_constant<std::size_t, I>{}), ...);
  }(query::field_indices<T>{});
  return rows;
}

// Left rows with each of their partners, or with none.
template <class LF, class RF> std::vector<taken> left_joined(const std::vector<trade>& l, const std::vector<rate>& r, LF lf, RF rf) {
  std::vector<taken> all;
  const auto found = matches(l, r, lf, rf);
  for (std::size_t i = 0; i < l.size(); ++i) {
    for (const rate& m : found[i]) all.push_back(take_of(l[i], &m));
    if (found[i].empty()) all.push_back(take_of(l[i], nullptr));
  }
  return all;
}

// Every second pair of sets, as columnar sources and as records with strings. check(left query, right query, left rows, right rows)
template <class Check> void each_pair(const engine_config& e, Check check) {
  bool left_out = true;
  for (const auto& l : trades()) {
    for (const auto& r : rates()) {
      if ((left_out = !left_out)) continue;
      SCOPED_TRACE(l.name + " with " + r.name);
      const auto left = query::from(l.rows).to_vectors();
      const auto right = query::from(r.rows).to_vectors();
      check(on(e, query::from(query::columns(left))), on(e, query::from(query::columns(right))), l.rows, r.rows);
      check(source(e, l.rows), source(e, r.rows), l.rows, r.rows);
    }
  }
}

const auto key = [](auto row) { return row.key; };
const auto lot = [](auto row) { return row.lot; };
const auto name = [](auto row) { return row.name; };

template <class A, class B, class Key>
void left_joins_by(const A& a, const B& b, const std::vector<trade>& l, const std::vector<rate>& r, Key k) {
  const std::vector<taken> wanted = left_joined(l, r, k, k);
  const auto joined = a.left_join(b, k, k, take);
  EXPECT_ROWS(joined.as_ordered().to_vector(), wanted);
  EXPECT_ROWS(rows_of(joined.as_ordered().to_columns()), wanted);
  EXPECT_EQ(joined.count(), std::ssize(wanted));
}

CONFORMS(outer_join_columns, left_joins_by_every_kind_of_key, "left_join", "to_columns", "as_ordered") {
  each_pair(e, [](const auto& a, const auto& b, const auto& l, const auto& r) {
    left_joins_by(a, b, l, r, lot);
    left_joins_by(a, b, l, r, name);
    left_joins_by(a, b, l, r, [](auto row) { return row.key / 2 + 1; });
  });
}

// All rows have a partner, or none has: the other side is empty or has other keys.
CONFORMS(outer_join_columns, all_rows_match_or_none_does, "left_join", "to_columns") {
  std::vector<trade> l = few_trades();
  std::vector<rate> all, none;
  for (std::int32_t i = 0; i < 7; ++i) {
    all.push_back({i, i * 3, "a partner with a long name " + std::to_string(i), i % 2 ? std::optional(i) : std::nullopt});
    none.push_back({100 + i, i, "far", 1});
  }
  for (trade& t : l) t.key = t.id % 7;
  const auto columns = query::from(l).to_vectors();
  for (const std::vector<rate>& r : {all, none, std::vector<rate>()}) {
    const auto other = query::from(r).to_vectors();
    left_joins_by(source(e, l), source(e, r), l, r, key);
    left_joins_by(on(e, query::from(query::columns(columns))), on(e, query::from(query::columns(other))), l, r, key);
    left_joins_by(source(e, std::vector<trade>()), source(e, r), std::vector<trade>(), r, key);
  }
}

CONFORMS(outer_join_columns, what_comes_after_a_left_join, "left_join", "where", "select", "group_by", "sum", "to_vectors", "join") {
  each_pair(e, [](const auto& a, const auto& b, const auto& l, const auto& r) {
    const std::vector<taken> wanted = left_joined(l, r, key, key);
    const auto joined = a.left_join(b, key, key, take);
    const auto with_lot = [](auto t) { return t.lot.has_value(); };
    const auto without = [](auto t) { return !t.partner.has_value(); };
    const auto same = [](auto t) { return t.partner == t.name; };
    const auto numbers = [](auto t) { return t.factor_or < 2 && t.id > 3; };  // the constant of a missing row counts
    EXPECT_SAME_ROWS(joined.where(numbers).to_vector(), kept(wanted, numbers));
    EXPECT_SAME_ROWS(joined.where(with_lot).to_vector(), kept(wanted, with_lot));
    EXPECT_SAME_ROWS(joined.where(without).to_vector(), kept(wanted, without));
    EXPECT_SAME_ROWS(joined.where(same).to_vector(), kept(wanted, same));
    EXPECT_SAME_ROWS(joined.where([](const taken& t) { return t.partner.value_or("") < t.name; }).to_vector(),
                     kept(wanted, [](const taken& t) { return t.partner.value_or("") < t.name; }));
    EXPECT_SAME_ROWS(joined.select([](auto t) { return t.partner; }).to_vector(),
                     selected(wanted, [](const taken& t) { return t.partner; }));
    EXPECT_SAME_ROWS(joined.where(with_lot).select([](auto t) { return std::pair(t.partner_or, t.lot.value_or(3) + 1); }).to_vector(),
                     selected(kept(wanted, with_lot), [](const taken& t) { return std::pair(t.partner_or, t.lot.value_or(3) + 1); }));
    EXPECT_EQ(joined.sum([](auto t) { return t.factor_or; }), [&] {
      std::int64_t sum = 0;
      for (const taken& t : wanted) sum += t.factor_or;
      return sum;
    }());
    const auto vectors = joined.as_ordered().to_vectors();
    EXPECT_ROWS(query::from(query::columns(vectors)).to_vector(), wanted);
    const auto counted = [&](auto k) {
      std::vector<std::pair<std::decay_t<decltype(k(wanted[0]))>, std::int64_t>> groups;
      for (const auto& [g, of] : grouped(wanted, k)) groups.emplace_back(g, std::ssize(of));
      EXPECT_SAME_ROWS(joined.group_by(k).select([](auto g) { return std::pair(g.key(), g.count()); }).to_vector(), groups);
    };
    counted([](auto t) { return t.partner; });
    counted([](auto t) { return t.lot; });
    counted([](auto t) { return std::tuple(t.partner_or, t.factor, t.found); });
    std::vector<std::pair<std::string, std::int64_t>> sums;
    for (const auto& [g, of] : grouped(wanted, name)) {
      std::int64_t sum = 0;
      for (const taken& t : of) sum += t.factor_or + t.lot.value_or(0);
      sums.emplace_back(g, sum);
    }
    EXPECT_SAME_ROWS(joined.group_by(name).select([](auto g) {
      return std::pair(g.key(), g.sum([](auto t) { return t.factor_or; }) + g.sum([](auto t) {
        return query::cast<std::int64_t>(t.lot.value_or(0));
      }));
    }).to_vector(), sums);
  });
}

struct chained {
  std::int32_t id;
  std::optional<std::string> first, second;
  std::optional<std::int32_t> lot;
  std::string last;
};
QUERY_RECORD(chained, id, first, second, lot, last);

// The second join's key is a part of the row that the first one may not have found.
CONFORMS(outer_join_columns, a_left_join_by_what_a_left_join_gave, "left_join", "to_columns") {
  each_pair(e, [](const auto& a, const auto& b, const auto& l, const auto& r) {
    const std::vector<taken> once = left_joined(l, r, key, key);
    const auto found = matches(once, r, [](const taken& t) { return t.lot; }, [](const rate& m) { return m.lot; });
    std::vector<chained> wanted;
    for (std::size_t i = 0; i < once.size(); ++i) {
      for (const rate& m : found[i]) wanted.push_back({once[i].id, once[i].partner, m.name, m.lot, m.name});
      if (found[i].empty()) wanted.push_back({once[i].id, once[i].partner, {}, {}, once[i].partner_or});
    }
    const auto q = a.left_join(b, key, key, take).left_join(b, lot, lot, [](auto t, auto m) {
      if (m) return query::make<chained>(t.id, t.partner, m->name, m->lot, m->name);
      return query::make<chained>(t.id, t.partner, std::optional<std::string>(), std::optional<std::int32_t>(), t.partner_or);
    }).as_ordered();
    EXPECT_ROWS(q.to_vector(), wanted);
    EXPECT_ROWS(rows_of(q.to_columns()), wanted);
  });
}

CONFORMS(outer_join_columns, pairs_and_parts_of_them, "left_join", "select") {
  each_pair(e, [](const auto& a, const auto& b, const auto& l, const auto& r) {
    std::vector<std::pair<trade, std::optional<rate>>> wanted;
    const auto found = matches(l, r, key, key);
    for (std::size_t i = 0; i < l.size(); ++i) {
      for (const rate& m : found[i]) wanted.emplace_back(l[i], m);
      if (found[i].empty()) wanted.emplace_back(l[i], std::nullopt);
    }
    const auto pairs = a.left_join(b, key, key);
    EXPECT_SAME_ROWS(pairs.to_vector(), wanted);
    EXPECT_ROWS(pairs.as_ordered().to_vector(), wanted);
    const auto missing = [](auto p) { return !p.second.has_value(); };
    EXPECT_SAME_ROWS(pairs.where(missing).to_vector(), kept(wanted, missing));
    const auto sum = [](auto p) {
      if (p.second) return std::pair(p.first.name, p.second->factor);
      return std::pair(p.first.name, query::cast<std::int64_t>(p.first.id));
    };
    const auto sum_of = [](const std::pair<trade, std::optional<rate>>& p) {
      return std::pair(p.first.name, p.second ? p.second->factor : std::int64_t{p.first.id});
    };
    EXPECT_SAME_ROWS(pairs.select(sum).to_vector(), selected(wanted, sum_of));
  });
}

// Of rows either of which may be missing.
struct sided {
  std::optional<std::int32_t> id;
  std::optional<std::string> left, right;
  std::optional<std::int32_t> lot;
  std::string name_or;
  std::int64_t factor_or;
};
QUERY_RECORD(sided, id, left, right, lot, name_or, factor_or);

sided both_of(const trade* t, const rate* r) {
  if (!t) return {{}, {}, r->name, r->lot, r->name, r->factor + 1};
  if (!r) return {t->id, t->name, {}, t->lot, t->name, -1};
  return {t->id, t->name, r->name, r->lot, t->name, r->factor + 1};
}
const auto both = [](auto t, auto r) {
  const auto made = [](auto id, auto left, auto right, auto lot, auto name_or, auto factor_or) {
    return query::make<sided>(id, left, right, lot, name_or, factor_or);
  };
  if (!t) return made(std::nullopt, std::nullopt, r->name, r->lot, r->name, r->factor + std::int64_t{1});
  if (!r) return made(t->id, t->name, std::nullopt, t->lot, t->name, std::int64_t{-1});
  return made(t->id, t->name, r->name, r->lot, t->name, r->factor + std::int64_t{1});
};
const auto of_right = [](auto t, auto r) {
  const auto made = [&](auto id, auto left, auto name_or) { return query::make<sided>(id, left, r.name, r.lot, name_or, r.factor + 1); };
  return t ? made(t->id, t->name, t->name) : made(std::nullopt, std::nullopt, r.name);
};

template <class A, class B, class Key>
void full_joins_by(const A& a, const B& b, const std::vector<trade>& l, const std::vector<rate>& r, Key k) {
  std::vector<sided> full, right;
  std::vector<std::pair<std::optional<trade>, std::optional<rate>>> pairs;
  const auto found = matches(l, r, k, k);
  const auto back = matches(r, l, k, k);
  for (std::size_t i = 0; i < l.size(); ++i) {
    for (const rate& m : found[i]) full.push_back(both_of(&l[i], &m)), right.push_back(both_of(&l[i], &m)), pairs.emplace_back(l[i], m);
    if (found[i].empty()) full.push_back(both_of(&l[i], nullptr)), pairs.emplace_back(l[i], std::nullopt);
  }
  for (std::size_t i = 0; i < r.size(); ++i)
    if (back[i].empty()) {
      full.push_back(both_of(nullptr, &r[i]));
      right.push_back(both_of(nullptr, &r[i]));
      pairs.emplace_back(std::nullopt, r[i]);
    }
  const auto joined = a.full_join(b, k, k, both);
  EXPECT_ROWS(joined.as_ordered().to_vector(), full);
  EXPECT_ROWS(rows_of(joined.as_ordered().to_columns()), full);
  EXPECT_EQ(joined.count(), std::ssize(full));
  EXPECT_ROWS(a.right_join(b, k, k, of_right).as_ordered().to_vector(), right);
  EXPECT_ROWS(a.full_join(b, k, k).as_ordered().to_vector(), pairs);
}

CONFORMS(outer_join_columns, right_and_full_joins, "right_join", "full_join", "to_columns", "as_ordered") {
  each_pair(e, [](const auto& a, const auto& b, const auto& l, const auto& r) {
    full_joins_by(a, b, l, r, lot);
  });
}

// Parts of rows that are optionals in the result alone: keys of groups, sorts, sets, joins and windows, and filters.
CONFORMS(outer_join_columns, what_comes_after_right_and_full_joins, "right_join", "full_join", "where", "group_by", "order_by", "distinct",
         "join", "over") {
  each_pair(e, [](const auto& a, const auto& b, const auto& l, const auto& r) {
    const auto check = [&](const auto& joined, const std::vector<sided>& wanted) {
      const auto by = [&](auto k) {
        using key_type = std::decay_t<decltype(k(wanted[0]))>;
        std::vector<std::pair<key_type, std::int64_t>> groups;
        std::vector<key_type> different;
        for (const auto& [g, of] : grouped(wanted, k)) groups.emplace_back(g, std::ssize(of)), different.push_back(g);
        EXPECT_SAME_ROWS(joined.group_by(k).select([](auto g) { return std::pair(g.key(), g.count()); }).to_vector(), groups);
        EXPECT_SAME_ROWS(joined.select(k).distinct().to_vector(), different);
        EXPECT_SAME_ROWS(joined.order_by(k).select(k).to_vector(), selected(wanted, k));
        EXPECT_SAME_ROWS(joined.over(k).select([](const sided&, auto w) { return w.count(); }).to_vector(), [&] {
          std::vector<std::int64_t> sizes;
          for (const auto& [g, n] : groups) sizes.insert(sizes.end(), static_cast<std::size_t>(n), n);
          return sizes;
        }());
        std::int64_t pairs = 0;
        for (const auto& [g, n] : groups)
          if (!is_null(g)) pairs += n;
        EXPECT_EQ(joined.join(query::from(different), k, [](auto x) { return x; }, [](auto, auto) { return 1; }).count(), pairs);
      };
      by([](auto t) { return t.id; });
      by([](auto t) { return t.left; });
      by([](auto t) { return std::tuple(t.id, t.right); });
      const auto few = [](auto t) { return t.id.value_or(-1) > 3; };
      EXPECT_SAME_ROWS(joined.where(few).to_vector(), kept(wanted, few));
      const auto same = [](auto t) { return t.left == t.right; };
      EXPECT_SAME_ROWS(joined.where(same).to_vector(), kept(wanted, same));
    };
    std::vector<sided> right, full;
    const auto found = matches(l, r, lot, lot);
    const auto back = matches(r, l, lot, lot);
    for (std::size_t i = 0; i < l.size(); ++i) {
      for (const rate& m : found[i]) right.push_back(both_of(&l[i], &m)), full.push_back(both_of(&l[i], &m));
      if (found[i].empty()) full.push_back(both_of(&l[i], nullptr));
    }
    for (std::size_t i = 0; i < r.size(); ++i)
      if (back[i].empty()) right.push_back(both_of(nullptr, &r[i])), full.push_back(both_of(nullptr, &r[i]));
    check(a.right_join(b, lot, lot, of_right), right);
    check(a.full_join(b, lot, lot, both), full);
  });
}

// The left rows of a full join that a left join gave: their optionals are values there.
CONFORMS(outer_join_columns, a_full_join_of_what_a_left_join_gave, "left_join", "full_join") {
  each_pair(e, [](const auto& a, const auto& b, const auto& l, const auto& r) {
    const std::vector<taken> once = left_joined(l, r, key, key);
    const auto partner = [](const auto& t) { return t.partner; };
    const auto named = [](const rate& m) { return std::optional(m.name); };
    const auto found = matches(once, r, partner, named);
    const auto back = matches(r, once, named, partner);
    std::vector<chained> wanted;
    for (std::size_t i = 0; i < once.size(); ++i) {
      for (const rate& m : found[i]) wanted.push_back({once[i].id, once[i].partner, m.name, once[i].lot, once[i].partner_or});
      if (found[i].empty()) wanted.push_back({once[i].id, once[i].partner, {}, once[i].lot, once[i].partner_or});
    }
    for (std::size_t i = 0; i < r.size(); ++i)
      if (back[i].empty()) wanted.push_back({-1, {}, r[i].name, r[i].lot, r[i].name});
    const auto made = [](auto id, auto first, auto second, auto lot, auto last) {
      return query::make<chained>(id, first, second, lot, last);
    };
    EXPECT_SAME_ROWS(a.left_join(b, key, key, take).full_join(b, [](auto t) { return t.partner; }, name, [made](auto t, auto m) {
      if (!t) return made(std::int32_t{-1}, std::nullopt, m->name, m->lot, m->name);
      if (!m) return made(t->id, t->partner, std::nullopt, t->lot, t->partner_or);
      return made(t->id, t->partner, m->name, t->lot, t->partner_or);
    }).as_ordered().to_vector(), wanted);
  });
}

struct conditional {
  std::int32_t id;
  std::string name;
  std::int64_t factor;
  std::optional<std::int32_t> lot;
};
QUERY_RECORD(conditional, id, name, factor, lot);

// Conditions beside the one that a partner is there.
CONFORMS(outer_join_columns, conditions_of_the_missing_row, "left_join") {
  each_pair(e, [](const auto& a, const auto& b, const auto& l, const auto& r) {
    const auto found = matches(l, r, key, key);
    const auto wanted_of = [](const trade& t, const rate* m) -> conditional {
      if (m && m->lot && *m->lot > 2) return {t.id, m->name, m->factor / 2, m->lot};
      return {t.id, t.hot || !m ? t.name : m->name, 7, m ? m->lot : t.lot};
    };
    std::vector<conditional> wanted;
    for (std::size_t i = 0; i < l.size(); ++i) {
      for (const rate& m : found[i]) wanted.push_back(wanted_of(l[i], &m));
      if (found[i].empty()) wanted.push_back(wanted_of(l[i], nullptr));
    }
    EXPECT_SAME_ROWS(a.left_join(b, key, key, [](auto t, auto m) {
      const auto made = [&](auto id, auto n, auto f, auto lot) { return query::make<conditional>(id, n, f, lot); };
      if (m && m->lot && *m->lot > 2) return made(t.id, m->name, m->factor / std::int64_t{2}, m->lot);
      if (t.hot || !m) return m ? made(t.id, t.name, 7, m->lot) : made(t.id, t.name, 7, t.lot);
      return made(t.id, m->name, 7, m->lot);
    }).to_vector(), wanted);
  });
}

}  // namespace
}  // namespace conformance
