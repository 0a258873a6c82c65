#include "gpu_engine/kernel_parts.hpp"

#include <cctype>

namespace query::gpu_engine {

namespace {

constexpr std::string_view head = "\nextern \"C\" __global__ ", last_line = "\n}\n";

// "f" of `__launch_bounds__(256) f(const words p) {`; "" if there is none: the name is before the last `(` that is outside of all others.
std::string name_in(std::string_view line) {
  int depth = 0;
  for (std::size_t i = line.size(); i-- > 0;) {
    if (line[i] == ')') ++depth;
    if (line[i] != '(' || --depth != 0) continue;
    std::size_t from = i;
    while (from > 0 && (std::isalnum(static_cast<unsigned char>(line[from - 1])) || line[from - 1] == '_')) --from;
    return std::string(line.substr(from, i - from));
  }
  return {};
}

}  // namespace

std::vector<kernel_part> kernel_parts(std::string_view program) {
  std::vector<kernel_part> parts;
  for (std::size_t at = program.find(head); at != program.npos;) {
    const std::size_t from = at + 1, line_end = program.find('\n', from), next = program.find(head, from);
    if (line_end == program.npos || program[line_end - 1] != '{') return {};
    const std::size_t end = program.find(last_line, line_end);
    if (end == program.npos || end > next) return {};
    std::string name = name_in(program.substr(from, line_end - from));
    if (name.empty()) return {};
    parts.push_back({std::move(name), from, end + last_line.size()});
    at = next;
  }
  if (parts.size() < 2) parts.clear();
  return parts;
}

std::string text_of(std::string_view program, const std::vector<kernel_part>& parts, const kernel_part& which) {
  std::string text;
  std::size_t done = 0;
  for (const kernel_part& part : parts) {
    if (&part == &which) continue;
    text += program.substr(done, part.from - done);
    done = part.to;
  }
  text += program.substr(done);
  return text;
}

}  // namespace query::gpu_engine
