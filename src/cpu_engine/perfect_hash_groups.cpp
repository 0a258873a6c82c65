#include "cpu_engine/perfect_hash_groups.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <query/detail/stop.hpp>

#include "cpu_engine/group_output.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t word_bits = 64;
constexpr std::size_t most_slices = 64, least_slice = 1 << 12;  // keys, a multiple of word_bits

std::size_t slice_of(const key_range& range) {
  const std::size_t even = (static_cast<std::size_t>(range.size) + most_slices - 1) / most_slices;
  return std::max(least_slice, (even + word_bits - 1) / word_bits * word_bits);
}

}  // namespace

perfect_hash_groups::perfect_hash_groups(const shared& of)
    : of_(&of),
      states_(of.program->states(*of.pool)),
      present_(of.pool->allocate_array<std::uint64_t>(words(of.range))),
      key_at_(of.columns ? std::nullopt : part_of_row(of.node->functions[0])),
      keys_(of.node->key, *of.pool) {
  std::memset(present_.data(), 0, present_.size());
  states_->grow_to(static_cast<std::size_t>(of.range.size));
  if (of.columns) key_columns_.emplace(*of.columns, *of.pool);
}

bool perfect_hash_groups::find(const key_part& keys, std::size_t n) {
  auto* const present = present_.as<std::uint64_t>();
  if (of_->range.places(keys, n, places_) < of_->range.size) {
    for (std::size_t i = 0; i < n; ++i) present[places_[i] / word_bits] |= std::uint64_t{1} << places_[i] % word_bits;
    return true;
  }
  inside_count_ = outside_count_ = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t place = of_->range.place_at(keys, i);
    if (place >= of_->range.size) {
      outside_[outside_count_++] = static_cast<std::uint32_t>(i);
      continue;
    }
    present[place / word_bits] |= std::uint64_t{1} << place % word_bits;
    places_[inside_count_] = static_cast<std::uint32_t>(place);
    inside_[inside_count_++] = static_cast<std::uint32_t>(i);
  }
  return false;
}

group_table& perfect_hash_groups::others() {
  if (!others_) others_ = of_->new_table();
  return *others_;
}

void perfect_hash_groups::update(const void* rows, std::size_t n) {
  const std::size_t size = of_->node->functions[0].row->size;
  for (std::size_t from = 0; from < n; from += batch_rows) {
    const std::size_t k = std::min(batch_rows, n - from);
    const auto* const base = static_cast<const std::byte*>(rows) + from * size;
    key_part keys = side_by_side(*of_->node->key, nullptr);
    if (key_at_) {
      keys.base = base + *key_at_;
      keys.stride = size;
    } else {
      keys_.clear();
      of_->key->map(base, nullptr, k, keys_.extend(k), scratch_);
      keys_.grow(k);
      keys.base = static_cast<const std::byte*>(keys_.data());
    }
    if (find(keys, k)) {
      states_->update(places_, base, nullptr, k);
      continue;
    }
    if (inside_count_) states_->update(places_, base, inside_, inside_count_);
    keys.select = outside_;
    others().update_keyed(base, outside_, keys, outside_count_);
  }
}

void perfect_hash_groups::update(const column_batch& rows) {
  if (find(key_columns_->run(rows).front(), rows.n)) return states_->update(places_, rows);
  if (inside_count_) states_->update(places_, {narrowed_.narrow(rows.columns, inside_, inside_count_), inside_count_});
  others().update({narrowed_.narrow(rows.columns, outside_, outside_count_), outside_count_});
}

std::size_t perfect_hash_groups::present(std::size_t first, std::size_t n, std::uint32_t* places) const {
  std::size_t found = 0;
  const std::size_t end = std::min(first + n, static_cast<std::size_t>(of_->range.size));
  for (std::size_t at = first; at < end; at += word_bits)
    for (std::uint64_t word = bits()[at / word_bits]; word; word &= word - 1)
      places[found++] = static_cast<std::uint32_t>(at + static_cast<std::size_t>(std::countr_zero(word)));
  return found;
}

namespace {

// The groups of the keys of a slice.
class slice_merge {
 public:
  slice_merge(const perfect_hash_groups::shared& of, const std::vector<std::unique_ptr<perfect_hash_groups>>& lanes)
      : of_(&of), lanes_(&lanes), key_size_(of.node->key->size) {}

  std::unique_ptr<group_table> operator()(std::size_t first, std::size_t n) const {
    auto table = of_->new_table();
    const std::size_t words = (n + word_bits - 1) / word_bits;
    std::vector<std::uint64_t> any(words);
    for (const auto& lane : *lanes_)
      for (std::size_t w = 0; w < words; ++w) any[w] |= lane->bits()[first / word_bits + w];
    std::vector<std::uint32_t> number_of(words * word_bits);
    std::uint32_t groups = 0;
    for (std::size_t i = 0; i < number_of.size(); ++i) {
      number_of[i] = groups;
      groups += static_cast<std::uint32_t>(any[i / word_bits] >> i % word_bits & 1);
    }
    if (!groups) return table;
    open(*table, first, any, groups);
    const detail::stop_point stop;
    std::vector<std::uint32_t> places(batch_rows), numbers(batch_rows);
    for (const auto& lane : *lanes_) {
      for (std::size_t at = 0; at < n; at += batch_rows) {
        stop.check();
        const std::size_t k = lane->present(first + at, std::min(batch_rows, n - at), places.data());
        for (std::size_t i = 0; i < k; ++i) numbers[i] = number_of[places[i] - first];
        if (k) table->merge_numbered(numbers.data(), lane->states(), {0, k, places.data()});
      }
    }
    return table;
  }

 private:
  // The table's groups, in the order of their keys.
  void open(group_table& table, std::size_t first, const std::vector<std::uint64_t>& any, std::size_t groups) const {
    std::vector<std::byte> all(word_bits * key_size_), keys(groups * key_size_);
    std::byte* to = keys.data();
    for (std::size_t w = 0; w < any.size(); ++w) {
      if (!any[w]) continue;
      of_->range.write_keys(*of_->node->key, first + w * word_bits, word_bits, all.data());
      for (std::uint64_t word = any[w]; word; word &= word - 1, to += key_size_)
        std::memcpy(to, all.data() + static_cast<std::size_t>(std::countr_zero(word)) * key_size_, key_size_);
    }
    table.open(keys.data(), groups);
  }

  const perfect_hash_groups::shared* of_;
  const std::vector<std::unique_ptr<perfect_hash_groups>>* lanes_;
  std::size_t key_size_;
};

}  // namespace

runtime::vertex_rows merged_lanes(const planner::vertex& v, std::vector<std::unique_ptr<perfect_hash_groups>> lanes,
                                  const perfect_hash_groups::shared& of, std::vector<std::shared_ptr<const void>> sources,
                                  runtime::run_context& context) {
  const vertex_tasks tasks(context, v.captures);
  const std::size_t a_slice = slice_of(of.range), range = static_cast<std::size_t>(of.range.size), slices = (range + a_slice - 1) / a_slice;
  const auto out = groups_in_memory(v, context, std::move(sources), slices + 1);
  const slice_merge merge(of, lanes);
  tasks.for_each(slices, [&](std::size_t s) {
    auto table = merge(s * a_slice, std::min(a_slice, range - s * a_slice));
    if (table->groups.size()) out->take(s, std::move(table), {});
    out->end_partition(s);
  });
  std::unique_ptr<group_table> others;
  for (auto& lane : lanes) {
    auto of_lane = lane->take_others();
    lane.reset();
    if (!of_lane) continue;
    context.cancel.check();
    if (others) others->merge(*of_lane);
    else others = std::move(of_lane);
  }
  if (others) out->take(slices, std::move(others), {});
  out->end_partition(slices);
  return out->rows(false);
}

}  // namespace query::cpu
