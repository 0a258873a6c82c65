// Rows with times, durations and nulls for the verbs that must not compile.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <query/query.hpp>

struct Trip {
  std::string name;
  std::chrono::sys_seconds at;
  std::chrono::minutes delay;
  int seats;
  std::optional<std::string> note;
};
QUERY_RECORD(Trip, name, at, delay, seats, note);

inline const std::vector<Trip> trips;
inline const auto from_trips = query::from(trips);
inline const auto name_of = [](auto t) { return t.name; };
inline const auto at_of = [](auto t) { return t.at; };
inline const auto delay_of = [](auto t) { return t.delay; };
inline const auto seats_of = [](auto t) { return t.seats; };
