// What another implementation of k-means took, a round of each shape: of a file that it wrote in the same run, lines of
//
//   name points dimensions centres milliseconds ...       # iter_*, graph_*: whole rounds; other lines are left out
//
// of which the fastest counts; or, where no file is given, figures that were measured once on an H200.
#pragma once

#include <cstddef>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

struct peer_figure {
  std::size_t points = 0;
  int dimensions = 0, centres = 0;
  double ms = 0;
  std::string name;
};

class peer_figures {
 public:
  // "": the constants.
  explicit peer_figures(const std::string& path = {}) {
    if (path.empty()) {
      const char* once = "torch and Triton tf32, an H200 once, not this run";
      all_ = {{1000000, 20, 10, 0.276, once},
              {1000000, 40, 80, 0.672, once},
              {10000000, 16, 64, 5.607, once},
              {8000000, 128, 1024, 17.697, once}};
      return;
    }
    std::ifstream file(path);
    if (!file) throw std::runtime_error("no peers' figures at " + path);
    for (std::string line; std::getline(file, line);) {
      peer_figure f;
      std::istringstream words(line);
      if (!(words >> f.name >> f.points >> f.dimensions >> f.centres >> f.ms) || f.ms <= 0) continue;
      if (!f.name.starts_with("iter_") && !f.name.starts_with("graph_")) continue;
      f.name += ", this run";
      all_.push_back(std::move(f));
    }
    if (all_.empty()) throw std::runtime_error("no whole round of k-means in " + path);
  }

  // The fastest of that shape; null if there is none.
  const peer_figure* of(std::size_t points, int dimensions, int centres) const {
    const peer_figure* best = nullptr;
    for (const peer_figure& f : all_)
      if (f.points == points && f.dimensions == dimensions && f.centres == centres && (!best || f.ms < best->ms)) best = &f;
    return best;
  }

 private:
  std::vector<peer_figure> all_;
};

}  // namespace bench
