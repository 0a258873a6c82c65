#include "cpu_engine/key_runs.hpp"

#include <cstring>

namespace query::cpu {

void key_runs::add(key_view parts, std::size_t n) {
  constexpr std::size_t most = std::size_t{1} << 31;  // keys of a run that may be chosen by numbers of 32 bits
  for (std::size_t from = 0; from < n; from += most) {
    run& r = runs_.emplace_back(run{{parts.begin(), parts.end()}, nullptr});
    for (key_part& p : r.parts) {
      if (p.select) p.select += from;
      else p.base += from * p.stride;
    }
    ends_.push_back(size() + std::min(most, n - from));
  }
}

bool key_runs::are_adjacent() const {
  if (runs_.size() != 1) return false;
  const key_part* const whole = whole_key(runs_[0].parts, *type_);
  return whole && !whole->select && whole->stride == type_->size;
}

const void* key_runs::adjacent(std::size_t first, std::size_t n, void* room) const {
  if (are_adjacent()) return runs_[0].parts[0].at(first);
  auto* const to = static_cast<std::byte*>(room);
  each(first, n, [&](key_view view, std::size_t from, std::size_t m, std::size_t number) {
    for (const key_part& p : view)
      for (std::size_t i = 0; i < m; ++i) std::memcpy(to + (number - first + i) * type_->size + p.offset, p.at(from + i), p.type->size);
  });
  return room;
}

key_runs key_runs::chosen(const permutation& numbers, const vertex_tasks& tasks) const {
  key_runs some(type_, custom_);
  numbers.visit([&](const auto* ids) {
    const auto* const end = ids + numbers.size();
    const auto* at = ids;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      const auto* const next = std::lower_bound(at, end, ends_[r]);
      const auto n = static_cast<std::size_t>(next - at);
      if (n) {
        const auto kept = std::make_shared<std::vector<runtime::buffer>>();
        run& to = some.runs_.emplace_back(run{runs_[r].parts, kept});
        const std::uint32_t *before = nullptr, *now = nullptr;
        for (key_part& p : to.parts) {
          if (!now || p.select != before) {
            before = p.select;
            auto* const out = kept->emplace_back(tasks.pool().allocate_array<std::uint32_t>(n)).template as<std::uint32_t>();
            const std::size_t first = begin_of(r);
            tasks.chunks(n, [&](std::size_t from, std::size_t k) {
              for (std::size_t i = from; i < from + k; ++i) {
                const auto number = static_cast<std::size_t>(at[i]) - first;
                out[i] = before ? before[number] : static_cast<std::uint32_t>(number);
              }
            });
            now = out;
          }
          p.select = now;
        }
        some.ends_.push_back(some.size() + n);
      }
      at = next;
    }
  });
  return some;
}

}  // namespace query::cpu
