// count_distinct: the pairs of a group and a value that rows have, in one table for all groups, and each group's chained. A value of at
// most 64 bits is a word; any other has the number that a table of values gives it.
#include <optional>
#include <utility>
#include <vector>

#include <query/detail/stop.hpp>

#include "cpu_engine/aggregate_column.hpp"
#include "cpu_engine/distinct_spill.hpp"
#include "cpu_engine/grouper.hpp"
#include "cpu_engine/key_tables.hpp"
#include "cpu_engine/key_words.hpp"
#include "cpu_engine/state_array.hpp"
#include "cpu_engine/value_bytes.hpp"

namespace query::cpu {

namespace {

using collections = std::span<const interpreter::collection>;

// What says of each value which word it is.
std::optional<key_words> words_of(const ir::type& value) {
  if (!value.trivial || !hashable(value)) return std::nullopt;
  key_words words(value, {});
  if (!key_words::one_word(words.first_form())) return std::nullopt;
  return words;
}

class distinct_column final : public aggregate_column {
 public:
  distinct_column(const ir::aggregate_call& c, std::shared_ptr<distinct_spill> spill, runtime::buffer_pool& pool)
      : call_(c), pool_(&pool), spill_(std::move(spill)), key_(words_of(*c.value)), pairs_(pool), before_(pool), groups_(pool) {}

  void grow_to(std::size_t n) override { groups_.grow_to(n); }
  void update(const aggregate_batch& b) override {
    const std::size_t width = call_.argument->type->size;
    const auto* const values = static_cast<const std::byte*>(b.arguments);
    if (!call_.nullable) {
      encode({.type = call_.value, .base = values, .stride = width}, b.n);
      add(b.n, [&](std::size_t i) { return b.group(i); });
    } else {
      rows_.clear();
      std::ptrdiff_t within = 0;  // an optional, its value
      for (std::size_t i = 0; i < b.n; ++i)
        if (const void* const v = call_.argument->type->get.value(values + i * width)) {
          within = static_cast<const std::byte*>(v) - (values + i * width);
          rows_.push_back(static_cast<std::uint32_t>(i));
        }
      encode({.type = call_.value, .base = values + within, .stride = width, .select = rows_.data()}, rows_.size());
      add(rows_.size(), [&](std::size_t i) { return b.group(rows_[i]); });
    }
    if (spill_ && heap_bytes() > spill_->least_bytes() && spill_->full()) give_away();
  }
  void merge(const std::uint32_t* groups, aggregate_column& from, const state_numbers& of, collections) override {
    auto& o = static_cast<distinct_column&>(from);
    if (spill_ && spill_->begun()) return o.give_away();
    const detail::stop_point stop;
    for (std::size_t i = 0; i < of.n; ++i) {
      const std::size_t to = groups ? groups[i] : 0;
      for (std::uint32_t pair = o.groups_[of[i]].last; pair != no_id;) {
        stop.check();
        words_.clear();
        for (; pair != no_id && words_.size() < batch_rows; pair = o.before_[pair]) words_.push_back(o.pairs_.word(pair).high);
        if (o.values_) {
          rows_.assign(words_.begin(), words_.end());
          key_part known = o.values_->stored()[0];
          known.select = rows_.data();
          encode(known, rows_.size());
        }
        add(words_.size(), [to](std::size_t) { return to; });
      }
    }
  }
  void result(std::size_t first, std::size_t n, void* out, collections) override {
    for (std::size_t i = 0; i < n; ++i) static_cast<std::int64_t*>(out)[i] = static_cast<std::int64_t>(groups_[first + i].values);
    if (!spill_ || !spill_->begun() || !n) return;  // the only group is that of all rows
    give_away();
    *static_cast<std::int64_t*>(out) = static_cast<std::int64_t>(spill_->count());
  }
  std::size_t heap_bytes() const override {
    constexpr std::size_t pair_bytes = 64;  // while tables grow
    return pairs_.size() * pair_bytes + values_bytes_;
  }

 private:
  struct group {
    std::uint32_t last = no_id;  // pair
    std::uint32_t values = 0;
  };

  // The words of values, in words_.
  void encode(const key_part& values, std::size_t n) {
    words_.resize(n);
    if (key_) {
      key_->encode(key_words::form::word, {&values, 1}, 0, n, words_.data());
      return;
    }
    if (!values_) values_.emplace(call_.value, *pool_);
    ids_.resize(n);
    const std::size_t known = values_->size();
    values_->find_or_insert({&values, 1}, 0, n, ids_.data());
    if (const std::size_t added = values_->size() - known) {
      const void* const first = values_->key(static_cast<std::uint32_t>(known));
      values_bytes_ += added * call_.value->size + cpu::heap_bytes(*call_.value, first, added);
    }
    for (std::size_t i = 0; i < n; ++i) words_[i] = ids_[i];
  }

  // The words in words_, with the groups that they belong to.
  template <class Group> void add(std::size_t n, const Group& group_of) {
    pairs_.make_room(n);
    before_.grow_to(pairs_.size() + n, no_id);
    constexpr std::size_t ahead = prefetch_distance;
    const bool prefetches = pairs_.large();
    const auto pair = [&](std::size_t i) { return wide_word{words_[i], group_of(i)}; };
    for (std::size_t i = 0; i < n; ++i) {
      if (prefetches && i + ahead < n) pairs_.prefetch(tagged_table::hash(pair(i + ahead)));
      const wide_word w = pair(i);
      const std::size_t known = pairs_.size();
      const std::uint32_t id = pairs_.find_or_insert(w, tagged_table::hash(w), [](std::uint32_t) { return true; });
      if (id != known) continue;
      group& g = groups_[group_of(i)];
      before_[id] = g.last;
      g.last = id;
      ++g.values;
    }
  }

  // The values of the group of all rows, which then has none.
  void give_away() {
    if (!pairs_.size()) return;
    if (values_) {
      spill_->put(values_->keys(), values_->size());
    } else {
      words_.clear();
      for (std::uint32_t pair = 0; pair < pairs_.size(); ++pair) words_.push_back(pairs_.word(pair).high);
      spill_->put(words_.data(), words_.size());
    }
    values_.reset();
    values_bytes_ = 0;
    pairs_ = tagged_table(*pool_);
    groups_[0] = {};
  }

  ir::aggregate_call call_;
  runtime::buffer_pool* pool_;
  std::shared_ptr<distinct_spill> spill_;  // null: all values stay in memory
  std::optional<key_words> key_;
  std::optional<grouper> values_;  // without words of their own
  std::size_t values_bytes_ = 0;
  tagged_table pairs_;                 // a value's word, and a group
  state_array<std::uint32_t> before_;  // for each pair: the one of the same group before it
  state_array<group> groups_;
  std::vector<std::uint64_t> words_;  // of a batch
  std::vector<std::uint32_t> rows_, ids_;
};

}  // namespace

std::shared_ptr<distinct_spill> make_distinct_spill(const ir::aggregate_call& call, runtime::run_context& context) {
  const ir::type* const kept = words_of(*call.value) ? ir::describe<std::uint64_t>() : call.value;
  return distinct_spill::can_keep(*kept) ? std::make_shared<distinct_spill>(kept, context) : nullptr;
}

std::unique_ptr<aggregate_column> make_distinct_column(const ir::aggregate_call& call, std::shared_ptr<distinct_spill> spill,
                                                       runtime::buffer_pool& pool) {
  return std::make_unique<distinct_column>(call, std::move(spill), pool);
}

}  // namespace query::cpu
