// count_distinct of numbers and other values of at most 64 bits: the pairs of a group and a value that rows have, in one table for all
// groups, and each group's chained. Other values have a set for each group (value_columns.cpp).
#include <cstring>
#include <utility>
#include <vector>

#include "cpu_engine/aggregate_column.hpp"
#include "cpu_engine/key_tables.hpp"
#include "cpu_engine/key_words.hpp"
#include "cpu_engine/state_array.hpp"

namespace query::cpu {

namespace {

using collections = std::span<const interpreter::collection>;

class distinct_words final : public aggregate_column {
 public:
  distinct_words(const ir::aggregate_call& c, key_words words, runtime::buffer_pool& pool)
      : call_(c), key_(std::move(words)), pairs_(pool), before_(pool), groups_(pool) {}

  void grow_to(std::size_t n) override { groups_.grow_to(n); }
  void update(const aggregate_batch& b) override {
    const std::size_t width = call_.argument->type->size;
    const auto* const values = static_cast<const std::byte*>(b.arguments);
    if (!call_.nullable) {
      words_.resize(b.n);
      key_.encode(key_words::form::word, values, b.n, words_.data());
      add(b.n, [&](std::size_t i) { return b.group(i); });
      return;
    }
    const std::size_t size = call_.value->size;
    values_.resize(b.n * size);
    rows_.clear();
    for (std::size_t i = 0; i < b.n; ++i)
      if (const void* const v = call_.argument->type->get.value(values + i * width)) {
        std::memcpy(values_.data() + rows_.size() * size, v, size);
        rows_.push_back(static_cast<std::uint32_t>(i));
      }
    words_.resize(rows_.size());
    key_.encode(key_words::form::word, values_.data(), rows_.size(), words_.data());
    add(rows_.size(), [&](std::size_t i) { return b.group(rows_[i]); });
  }
  void merge(const std::uint32_t* groups, aggregate_column& from, const state_numbers& of, collections) override {
    auto& o = static_cast<distinct_words&>(from);
    for (std::size_t i = 0; i < of.n; ++i) {
      const group& more = o.groups_[of[i]];
      words_.clear();
      for (std::uint32_t pair = more.last; pair != no_id; pair = o.before_[pair]) words_.push_back(o.pairs_.word(pair).high);
      const std::size_t to = groups ? groups[i] : 0;
      add(words_.size(), [to](std::size_t) { return to; });
    }
  }
  void result(std::size_t first, std::size_t n, void* out, collections) override {
    for (std::size_t i = 0; i < n; ++i) static_cast<std::int64_t*>(out)[i] = static_cast<std::int64_t>(groups_[first + i].values);
  }

 private:
  struct group {
    std::uint32_t last = no_id;  // pair
    std::uint32_t values = 0;
  };

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

  ir::aggregate_call call_;
  key_words key_;
  tagged_table pairs_;                // a value's word, and a group
  state_array<std::uint32_t> before_; // for each pair: the one of the same group before it
  state_array<group> groups_;
  std::vector<std::uint64_t> words_;  // of a batch
  std::vector<std::byte> values_;
  std::vector<std::uint32_t> rows_;
};

}  // namespace

std::unique_ptr<aggregate_column> make_distinct_column(const ir::aggregate_call& call, runtime::buffer_pool& pool) {
  if (!call.value->trivial || !hashable(*call.value)) return nullptr;
  key_words words(*call.value, {});
  if (!key_words::one_word(words.first_form())) return nullptr;
  return std::make_unique<distinct_words>(call, std::move(words), pool);
}

}  // namespace query::cpu
