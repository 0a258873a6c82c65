#include "cpu_engine/group_order.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <query/detail/stop.hpp>

#include "cpu_engine/key_column.hpp"

namespace query::cpu {

std::unique_ptr<group_table> in_order_of_hashes(std::unique_ptr<group_table> groups,
                                                function_ref<std::unique_ptr<group_table>()> make_table, const detail::logical& n,
                                                unsigned bits) {
  const std::size_t count = groups->groups.size(), key_size = n.key->size;
  const group_hash hash(*n.key, equality_of(n.keys));
  std::vector<std::uint64_t> hashes(count);
  hash(groups->groups.stored(), 0, count, hashes.data());
  std::vector<std::uint32_t> next((std::size_t{1} << bits) + 1), order(count), numbers(batch_rows);
  for (const std::uint64_t h : hashes) ++next[bucket_of(h, bits) + 1];
  for (std::size_t b = 1; b < next.size(); ++b) next[b] += next[b - 1];
  for (std::uint32_t g = 0; g < count; ++g) order[next[bucket_of(hashes[g], bits)]++] = g;
  const key_part from = groups->groups.stored().front();
  std::vector<std::byte> keys(count * key_size);
  for (std::size_t i = 0; i < count; ++i) std::memcpy(keys.data() + i * key_size, from.at(order[i]), key_size);

  auto to = make_table();
  to->open(keys.data(), count);
  const std::unique_ptr<group_states> states = groups->take_states();
  const detail::stop_point stop;
  for (std::size_t done = 0; done < count; done += batch_rows) {
    stop.check();
    const std::size_t k = std::min(batch_rows, count - done);
    for (std::size_t i = 0; i < k; ++i) numbers[i] = static_cast<std::uint32_t>(done + i);
    to->merge_numbered(numbers.data(), *states, {0, k, order.data() + done});
  }
  return to;
}

}  // namespace query::cpu
