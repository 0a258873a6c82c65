// One query for each operator that the GPU runs, and one for each fold, for tests that make the device fail in each of them.
//
//   const sample_rows rows;
//   for (const operation& o : operations(rows, session, driver)) EXPECT_EQ(o.rows(), o.rows_on(cpu)) << o.name << o.explain();
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/driver.hpp"

namespace query::gpu_engine::all_operators {

struct Trade {
  std::int64_t id;
  std::int32_t symbol;
  double price;
};
QUERY_RECORD(Trade, id, symbol, price);
struct Symbol {
  std::int32_t id;
  double rate;
};
QUERY_RECORD(Symbol, id, rate);
struct Spot {
  std::int64_t id;
  std::array<float, 20> x;
};
QUERY_RECORD(Spot, id, x);
struct Named {
  std::string name;
  std::array<std::int32_t, 3> legs;
};
QUERY_RECORD(Named, name, legs);
struct Packet {  // of nothing but bytes, more than 16: sorts put it together field by field
  std::array<std::uint8_t, 10> address;
  std::array<std::uint8_t, 20> payload;
  std::int8_t port;
};
QUERY_RECORD(Packet, address, payload, port);

// Numbers of which any sum is exact.
struct sample_rows {
  std::vector<Trade> trades;
  std::vector<Symbol> symbols;
  std::vector<Spot> spots, middles;
  std::vector<Named> names, loud_names;
  std::vector<Packet> packets;
  sample_rows() {
    for (int i = 0; i < 6000; ++i) trades.push_back({i, i % 7, i * 0.5});
    for (int i = 0; i < 50; ++i) symbols.push_back({i, 1.0 + i});
    for (int i = 0; i < 3000; ++i) spots.push_back(spot(i, i * 7 % 101));
    for (int i = 0; i < 30; ++i) middles.push_back(spot(i, i * 3));
    for (int i = 0; i < 2000; ++i) names.push_back({"a name that is not stored in place " + std::to_string(i % 90), {i, i + 1, 2}});
    for (int i = 0; i < 60; ++i) loud_names.push_back({"A NAME THAT IS NOT STORED IN PLACE " + std::to_string(i), {i, 3, 4}});
    for (int i = 0; i < 1500; ++i) packets.push_back(packet(i));
  }

 private:
  static Spot spot(int id, int place) {
    Spot s{id, {}};
    s.x.fill(static_cast<float>(place));
    return s;
  }
  static Packet packet(int i) {
    Packet p{{}, {}, static_cast<std::int8_t>(i % 100)};
    p.address.fill(static_cast<std::uint8_t>(i * 37));
    p.address.back() = static_cast<std::uint8_t>(i / 256);
    p.payload.fill(static_cast<std::uint8_t>(i));
    return p;
  }
};

// Rows in any order: their number, and a sum of their hashes.
using digest = std::pair<std::size_t, std::uint64_t>;

inline std::uint64_t hash_of(const std::string& s) { return std::hash<std::string>()(s); }
template <class T>
  requires std::is_arithmetic_v<T>
std::uint64_t hash_of(T x) {
  return std::hash<T>()(x) * 0x9e3779b97f4a7c15ull ^ 0x7fb5d329728ea185ull;
}
template <class T> std::uint64_t hash_of(const std::vector<T>& list) {
  std::uint64_t h = list.size();
  for (const T& x : list) h = h * 31 + hash_of(x);
  return h * 0x9e3779b97f4a7c15ull;
}
template <class Rows> digest digest_of(const Rows& rows) {
  digest d{rows.size(), 0};
  for (const auto& r : rows) {
    const std::uint64_t h = hash_of(r);
    d.second += (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
  }
  return d;
}

struct operation {
  std::string name;
  std::function<digest()> rows;                   // as planned
  std::function<digest(Session&)> rows_on;        // of another session
  std::function<std::string()> explain;
};

template <class Q> operation operation_of(std::string name, const Q& q) {
  return {std::move(name), [q] { return digest_of(q.to_vector()); }, [q](Session& s) { return digest_of(q.in(s).to_vector()); },
          [q] { return q.explain(); }};
}

// `calls`: of the driver that the session's device has; apply's function for the GPU copies by it. `computes`: the device is no double,
// whose answers would not end a loop.
std::vector<operation> operations(const sample_rows& rows, Session& session, const driver& calls, bool computes);

struct fold_operation {
  std::string name;
  std::function<double()> value;
  std::function<double(Session&)> value_on;
  std::function<std::string()> explain;
};
std::vector<fold_operation> folds(const sample_rows& rows, Session& session);

}  // namespace query::gpu_engine::all_operators
