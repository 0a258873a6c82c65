#include "cpu_engine/perfect_hash_groups.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <query/detail/stop.hpp>

#include "cpu_engine/group_order.hpp"
#include "cpu_engine/group_output.hpp"
#include "cpu_engine/key_column.hpp"
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
      opened_(of.pool->allocate_array<std::uint32_t>(static_cast<std::size_t>(of.range.size) + 1)),
      key_at_(of.columns ? std::nullopt : part_of_row(of.node->functions[0])),
      keys_(of.node->key, *of.pool) {
  std::memset(present_.data(), 0, present_.size());
  states_->grow_to(static_cast<std::size_t>(of.range.size));
  if (of.columns) key_columns_.emplace(*of.columns, *of.pool);
}

bool perfect_hash_groups::find(const key_part& keys, std::size_t n) {
  auto* const present = present_.as<std::uint64_t>();
  auto* const opened = opened_.as<std::uint32_t>();
  std::size_t count = opened_count_;
  // Without a branch: a place that is not new is overwritten by the next one.
  const auto note = [&](std::uint32_t place) {
    std::uint64_t& word = present[place / word_bits];
    const std::uint64_t before = word, bit = std::uint64_t{1} << place % word_bits;
    opened[count] = place;
    count += !(before & bit);
    word = before | bit;
  };
  if (of_->range.places(keys, n, places_) < of_->range.size) {
    for (std::size_t i = 0; i < n; ++i) note(places_[i]);
    opened_count_ = count;
    return true;
  }
  inside_count_ = outside_count_ = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t place = of_->range.place_at(keys, i);
    if (place >= of_->range.size) {
      opened_before_[outside_count_] = count;
      outside_[outside_count_++] = static_cast<std::uint32_t>(i);
      continue;
    }
    note(static_cast<std::uint32_t>(place));
    places_[inside_count_] = static_cast<std::uint32_t>(place);
    inside_[inside_count_++] = static_cast<std::uint32_t>(i);
  }
  opened_count_ = count;
  return false;
}

group_table& perfect_hash_groups::others() {
  if (!others_) others_ = of_->new_table();
  return *others_;
}

void perfect_hash_groups::note_others() {
  others_->note_opened(outside_count_, opened_before_others_, [&](std::size_t i) { return opened_before_[i]; });
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
    note_others();
  }
}

void perfect_hash_groups::update(const column_batch& rows) {
  if (find(key_columns_->run(rows).front(), rows.n)) return states_->update(places_, rows);
  if (inside_count_) states_->update(places_, {narrowed_.narrow(rows.columns, inside_, inside_count_), inside_count_});
  others().update({narrowed_.narrow(rows.columns, outside_, outside_count_), outside_count_});
  note_others();
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

using lane_list = std::vector<std::unique_ptr<perfect_hash_groups>>;

// The groups of keys outside of the range, of all lanes.
struct other_groups {
  std::unique_ptr<group_table> table;         // null: there are none
  std::vector<std::uint64_t> opened_before;   // for each: how many keys of the range its lane had seen before
  std::vector<std::size_t> ends;              // those that each lane was the first to have end before this

  other_groups(lane_list& lanes, const runtime::cancel_flag& cancel) {
    for (const auto& lane : lanes) {
      auto of_lane = lane->take_others();
      const std::vector<std::uint64_t>& before = lane->opened_before_others();
      if (of_lane && table) {
        cancel.check();
        table->merge(*of_lane, &opened_before, before.data());
      } else if (of_lane) {
        table = std::move(of_lane);
        opened_before = before;
      }
      ends.push_back(opened_before.size());
    }
  }
  std::size_t size() const { return opened_before.size(); }
  const std::byte* key(std::size_t i) const { return table->groups.stored().front().at(i); }
};

// Where the groups of all lanes stand in the result: in buckets of their hashes, in each as they appeared first. A group is the place of
// its key, or the size of the range and its number among the others.
class lane_order {
 public:
  lane_order(const lane_list& lanes, const other_groups& others, const perfect_hash_groups::shared& of, const vertex_tasks& tasks)
      : of_(&of), others_(&others), hash_(*of.node->key, equality_of(of.node->keys)), lanes_(lanes.size()) {
    std::vector<std::uint64_t> any(perfect_hash_groups::words(of.range));
    std::size_t groups = others.size();
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      lanes_[l].fresh = of.pool->allocate_array<std::uint64_t>(any.size());
      auto* const fresh = lanes_[l].fresh.as<std::uint64_t>();
      for (std::size_t w = 0; w < any.size(); ++w) {
        fresh[w] = lanes[l]->bits()[w] & ~any[w];
        any[w] |= fresh[w];
        lanes_[l].keys += static_cast<std::size_t>(std::popcount(fresh[w]));
      }
      groups += lanes_[l].keys;
    }
    bits_ = groups > few_groups ? of.order_bits : 0;
    tasks.for_each(lanes.size(), [&](std::size_t l) { look(l, lanes[l]->opened()); });
    std::uint32_t end = 0;
    for (std::size_t b = 0; b < buckets(); ++b) {
      begins_.push_back(end);
      for (lane& of_lane : lanes_) end += std::exchange(of_lane.next[b], end);
    }
    begins_.push_back(end);
    order_ = of.pool->allocate_array<std::uint32_t>(groups);
    tasks.for_each(lanes.size(), [&](std::size_t l) {
      for (std::size_t i = 0; i < lanes_[l].groups.size(); ++i)
        order_.as<std::uint32_t>()[lanes_[l].next[lanes_[l].buckets[i]]++] = lanes_[l].groups[i];
      lanes_[l] = {};
    });
  }

  std::size_t buckets() const { return std::size_t{1} << bits_; }
  std::span<const std::uint32_t> groups_of(std::size_t bucket) const {
    return {order_.as<std::uint32_t>() + begins_[bucket], begins_[bucket + 1] - begins_[bucket]};
  }
  void write_keys(std::span<const std::uint32_t> groups, std::byte* to) const {
    of_->range.write_keys(*of_->node->key, groups.data(), groups.size(), to);
    if (!others_->table) return;
    const std::size_t size = of_->node->key->size;
    for (std::size_t i = 0; i < groups.size(); ++i)
      if (groups[i] >= of_->range.size) std::memcpy(to + i * size, others_->key(groups[i] - of_->range.size), size);
  }

 private:
  struct lane {
    runtime::buffer fresh;              // bits of the keys of which it has the first rows
    std::size_t keys = 0;               // those keys
    std::vector<std::uint32_t> groups;  // of which it has the first rows, as they appeared
    std::vector<std::uint16_t> buckets;
    std::vector<std::uint32_t> next;    // for each bucket: where the lane's next group stands; before that: how many it has
  };

  void look(std::size_t l, std::span<const std::uint32_t> opened) {
    lane& to = lanes_[l];
    const auto size = static_cast<std::uint32_t>(of_->range.size);
    std::size_t other = l ? others_->ends[l - 1] : 0;
    const std::size_t others_end = others_->ends[l];
    to.groups.reserve(to.keys + others_end - other);
    const auto* const fresh = to.fresh.as<std::uint64_t>();
    std::size_t left = to.keys;
    const detail::stop_point stop;
    detail::in_runs<batch_rows>(0, opened.size(), [&](std::size_t i, std::size_t end) {
      for (; i < end && left; ++i) {
        for (; other < others_end && others_->opened_before[other] <= i; ++other)
          to.groups.push_back(size + static_cast<std::uint32_t>(other));
        if (!(fresh[opened[i] / word_bits] >> opened[i] % word_bits & 1)) continue;
        to.groups.push_back(opened[i]);
        --left;
      }
    });
    for (; other < others_end; ++other) to.groups.push_back(size + static_cast<std::uint32_t>(other));

    to.buckets.resize(to.groups.size());
    to.next.resize(buckets());
    std::vector<std::byte> keys(batch_rows * of_->node->key->size);
    std::uint64_t hashes[batch_rows];
    for (std::size_t from = 0; from < to.groups.size(); from += batch_rows) {
      stop.check();
      const std::size_t k = std::min(batch_rows, to.groups.size() - from);
      write_keys({to.groups.data() + from, k}, keys.data());
      const key_part part = side_by_side(*of_->node->key, keys.data());
      hash_({&part, 1}, 0, k, hashes);
      for (std::size_t i = 0; i < k; ++i) {
        to.buckets[from + i] = static_cast<std::uint16_t>(bucket_of(hashes[i], bits_));
        ++to.next[to.buckets[from + i]];
      }
    }
  }

  const perfect_hash_groups::shared* of_;
  const other_groups* others_;
  group_hash hash_;
  unsigned bits_ = 0;
  std::vector<lane> lanes_;
  std::vector<std::uint32_t> begins_;  // of buckets
  runtime::buffer order_;
};

// The states of the keys of a slice, of all lanes, in the order of these.
std::unique_ptr<group_states> merged_slice(const perfect_hash_groups::shared& of, const lane_list& lanes, std::size_t first,
                                           std::size_t n) {
  auto states = of.program->states(*of.pool);
  states->grow_to(n);
  const detail::stop_point stop;
  std::vector<std::uint32_t> places(batch_rows), numbers(batch_rows);
  for (const auto& lane : lanes) {
    for (std::size_t at = 0; at < n; at += batch_rows) {
      stop.check();
      const std::size_t k = lane->present(first + at, std::min(batch_rows, n - at), places.data());
      for (std::size_t i = 0; i < k; ++i) numbers[i] = places[i] - static_cast<std::uint32_t>(first);
      if (k) states->merge(numbers.data(), lane->states(), {0, k, places.data()});
    }
  }
  return states;
}

// Moves states of slices, the last of which are the others, to the groups of a bucket.
class bucket_states {
 public:
  bucket_states(const std::vector<std::unique_ptr<group_states>>& slices, std::size_t a_slice, const key_range& range)
      : slices_(&slices), a_slice_(a_slice), range_(static_cast<std::size_t>(range.size)) {}

  void move(std::span<const std::uint32_t> groups, group_table& to) const {
    std::vector<std::uint32_t> next(slices_->size() + 1), numbers(groups.size()), chosen(groups.size());
    for (const std::uint32_t g : groups) ++next[slice(g) + 1];
    for (std::size_t s = 1; s < next.size(); ++s) next[s] += next[s - 1];
    for (std::uint32_t i = 0; i < groups.size(); ++i) {
      const std::uint32_t at = next[slice(groups[i])]++;
      numbers[at] = i;
      chosen[at] = static_cast<std::uint32_t>(groups[i] < range_ ? groups[i] % a_slice_ : groups[i] - range_);
    }
    const detail::stop_point stop;
    for (std::size_t s = 0, from = 0; s < slices_->size(); from = next[s++]) {
      stop.check();
      if (next[s] != from) to.merge_numbered(numbers.data() + from, *(*slices_)[s], {0, next[s] - from, chosen.data() + from});
    }
  }

 private:
  std::size_t slice(std::uint32_t group) const { return group < range_ ? group / a_slice_ : slices_->size() - 1; }

  const std::vector<std::unique_ptr<group_states>>* slices_;
  std::size_t a_slice_, range_;
};

}  // namespace

runtime::vertex_rows merged_lanes(const planner::vertex& v, lane_list lanes, const perfect_hash_groups::shared& of,
                                  std::vector<std::shared_ptr<const void>> sources, runtime::run_context& context) {
  const vertex_tasks tasks(context, v.captures);
  const other_groups others(lanes, context.cancel);
  const lane_order order(lanes, others, of, tasks);
  const auto range = static_cast<std::size_t>(of.range.size);
  const std::size_t a_slice = slice_of(of.range), in_range = (range + a_slice - 1) / a_slice;
  std::vector<std::unique_ptr<group_states>> slices(in_range + 1);
  tasks.for_each(in_range, [&](std::size_t s) {
    slices[s] = merged_slice(of, lanes, s * a_slice, std::min(a_slice, range - s * a_slice));
  });
  lanes.clear();
  if (others.table) slices.back() = others.table->take_states();

  const auto out = groups_in_memory(v, context, std::move(sources), order.buckets());
  const bucket_states states(slices, a_slice, of.range);
  tasks.for_each(order.buckets(), [&](std::size_t b) {
    const std::span<const std::uint32_t> groups = order.groups_of(b);
    if (!groups.empty()) {
      auto table = of.new_table();
      std::vector<std::byte> keys(groups.size() * of.node->key->size);
      order.write_keys(groups, keys.data());
      table->open(keys.data(), groups.size());
      states.move(groups, *table);
      out->take(b, std::move(table), {});
    }
    out->end_partition(b);
  });
  return out->rows(false);
}

}  // namespace query::cpu
