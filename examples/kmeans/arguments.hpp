// What stands behind `./run kmeans`.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace kmeans {

inline constexpr std::size_t usual_clusters = 8, most_clusters = 1000;

// The number of clusters; nothing where the arguments are none that the program takes.
inline std::optional<std::size_t> clusters_asked(std::span<const char* const> arguments) {
  if (arguments.empty()) return usual_clusters;
  const std::string_view text = arguments[0];
  std::size_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (arguments.size() > 1 || !whole || n < 1 || n > most_clusters) return std::nullopt;
  return n;
}

}  // namespace kmeans
