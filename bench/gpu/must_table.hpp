// Rows of the table of required speeds: what a case took, what a peer took in the same process on the same data, whether that is enough.
//
//   must_rows::add("sort of f64 keys, 2^28", ms, must_rows::measured_rate(rows / ms * 1e-6, "Grow/s"),
//                  must_rows::peer_time("CUB", peer_ms), must_rows::times_of_peer(1.0));
//
// Each prints a line that begins with "MUST |", so that a script finds those of several programs and shows them together.
#pragma once

#include <cstdio>
#include <string>

namespace must_rows {

// What is asked for: a rate, or the peer's time divided by ours, or both.
struct demand {
  double rate = 0;
  double times = 0;
};
inline demand rate_of(double rate) { return {rate, 0}; }
inline demand times_of_peer(double times) { return {0, times}; }

// Rates are asked of an H200, whose copies reach 4290 GB/s; of a card with slower memory in proportion.
inline double scaled(double rate, double copy_gbs) { return copy_gbs > 4000 ? rate : rate * copy_gbs / 4290; }

// Constructors for templates' sake: nvcc loses braces around values that depend on a parameter.
struct measured_rate {
  double value;
  const char* unit;
  measured_rate(double v, const char* u) : value(v), unit(u) {}
};
struct peer_time {
  const char* name;
  double ms;  // 0: there is none
  peer_time(const char* n, double t) : name(n), ms(t) {}
};

inline std::string text_of(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// `right`: the answers were compared and agree.
inline bool add(const std::string& name, double ms, measured_rate rate, peer_time peer, demand must, bool right = true) {
  const double times = peer.ms > 0 ? peer.ms / ms : 0;
  const bool met = right && rate.value >= must.rate && times >= must.times;
  std::string asked;
  if (must.rate > 0) asked = text_of("%.4g ", must.rate) + rate.unit;
  if (must.times > 0) asked += (asked.empty() ? "" : ", ") + text_of("%.2fx", must.times);
  std::printf("MUST | %s | %.3f | %.4g %s | %s | %s | %s | %s | %s\n", name.c_str(), ms, rate.value, rate.unit,
              peer.ms > 0 ? peer.name : "-", peer.ms > 0 ? text_of("%.3f", peer.ms).c_str() : "-",
              peer.ms > 0 ? text_of("%.2f", times).c_str() : "-", asked.empty() ? "-" : asked.c_str(),
              !right ? "WRONG ANSWER" : asked.empty() ? "" : met ? "yes" : "NO");
  std::fflush(stdout);
  return met;
}

}  // namespace must_rows
