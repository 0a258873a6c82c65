// Quantiles of numbers: the values of each group in chunks, which grow with the group and are linked, not copied, where tables merge.
//
// The chunks of a table lie in pages of the session's memory, whose owners the table takes over that takes the groups over.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include <query/detail/aggregate_kinds.hpp>
#include <query/detail/stop.hpp>

#include "cpu_engine/aggregate_column.hpp"
#include "cpu_engine/interpreter/by_kind.hpp"
#include "cpu_engine/state_array.hpp"

namespace query::cpu {

namespace {

using collections = std::span<const interpreter::collection>;

struct chunk {
  chunk* next = nullptr;
  std::size_t n = 0;  // values; of the last one of a group, the group knows
  double* values() { return reinterpret_cast<double*>(this + 1); }
};
constexpr std::size_t first_chunk = 64, largest_chunk = 4096;  // bytes; each chunk of a group is twice as long as the last one
constexpr std::size_t first_page = std::size_t{1} << 12, largest_page = std::size_t{1} << 18;

class chunk_pages {
 public:
  chunk* make(std::size_t bytes, runtime::buffer_pool& pool) {
    if (bytes > left_) {
      page_ = std::min(largest_page, page_ ? 2 * page_ : first_page);
      pages_.push_back(pool.allocate(page_));
      at_ = pages_.back().as<std::byte>();
      left_ = page_;
    }
    auto* const made = ::new (static_cast<void*>(at_)) chunk;
    at_ += bytes;
    left_ -= bytes;
    return made;
  }

 private:
  std::vector<runtime::buffer> pages_;
  std::byte* at_ = nullptr;
  std::size_t left_ = 0, page_ = 0;
};

template <class V> class quantile_column final : public aggregate_column {
 public:
  quantile_column(const ir::aggregate_call& c, runtime::buffer_pool& pool) : call_(c), pool_(&pool), groups_(pool) {
    pages_.push_back(std::make_shared<chunk_pages>());
  }
  void grow_to(std::size_t n) override { groups_.grow_to(n); }
  void update(const aggregate_batch& b) override {
    const auto* const values = static_cast<const std::byte*>(b.arguments);
    const std::size_t width = call_.argument->type->size;
    for (std::size_t i = 0; i < b.n; ++i) {
      if (b.groups && i + ahead < b.n) __builtin_prefetch(groups_[b.groups[i + ahead]].at, 1);
      const void* const value = call_.nullable ? call_.argument->type->get.value(values + i * width) : values + i * width;
      if (!value) continue;
      V v;
      std::memcpy(&v, value, sizeof v);
      add(groups_[b.group(i)], static_cast<double>(v));
    }
  }
  void merge(const std::uint32_t* groups, aggregate_column& from, const state_numbers& of, collections) override {
    auto& o = static_cast<quantile_column&>(from);
    for (const auto& p : o.pages_)
      if (std::find(pages_.begin(), pages_.end(), p) == pages_.end()) pages_.push_back(p);
    for (std::size_t i = 0; i < of.n; ++i) {
      list& to = groups_[groups ? groups[i] : 0];
      list& more = o.groups_[of[i]];
      if (!more.first) continue;
      to.close();
      chunk* const first = to.first ? to.first : more.first;
      if (to.first) to.last->next = more.first;
      to = more;
      to.first = first;
      more = {};
    }
  }
  void result(std::size_t first, std::size_t n, void* out, collections) override {
    const ir::type* const t = call_.source->type;
    const bool optional = t->k == ir::kind::optional;
    const detail::stop_point stop;
    for (std::size_t i = 0; i < n; ++i) {
      stop.check();
      groups_[first + i].close();
      std::size_t count = 0;
      for (const chunk* c = groups_[first + i].first; c; c = c->next) count += c->n;
      if (values_.size() < count * sizeof(double)) values_ = pool_->allocate_array<double>(count);
      auto* const values = values_.as<double>();
      std::size_t copied = 0;
      for (chunk* c = groups_[first + i].first; c; copied += c->n, c = c->next)
        std::memcpy(values + copied, c->values(), c->n * sizeof(double));
      std::byte* const to = static_cast<std::byte*>(out) + i * t->size;
      if (optional) t->life.construct(to, 1);
      if (optional && !count) continue;
      const double value = count ? agg::quantile_of(values, count, call_.rank) : std::numeric_limits<double>::quiet_NaN();
      std::memcpy(optional ? t->get.emplace(to) : to, &value, sizeof value);
    }
  }

 private:
  static constexpr std::size_t ahead = 8;  // values whose places are fetched

  struct list {
    chunk *first = nullptr, *last = nullptr;
    double *at = nullptr, *end = nullptr;  // of the last chunk: where the next value goes, and where none does any more
    void close() const {
      if (last) last->n = static_cast<std::size_t>(at - last->values());
    }
  };
  void add(list& to, double v) {
    if (to.at == to.end) lengthen(to);
    *to.at++ = v;
  }
  void lengthen(list& to) {
    std::size_t bytes = first_chunk;
    if (to.last) {
      to.close();
      bytes = std::min(largest_chunk, 2 * (sizeof(chunk) + to.last->n * sizeof(double)));
    }
    chunk* const more = pages_.front()->make(bytes, *pool_);
    if (to.last) to.last->next = more;
    else to.first = more;
    to.last = more;
    to.at = more->values();
    to.end = to.at + (bytes - sizeof(chunk)) / sizeof(double);
  }

  ir::aggregate_call call_;
  runtime::buffer_pool* pool_;
  std::vector<std::shared_ptr<chunk_pages>> pages_;  // its own first, and those that it took over
  state_array<list> groups_;
  runtime::buffer values_;  // of one group
};

}  // namespace

std::unique_ptr<aggregate_column> make_quantile_column(const ir::aggregate_call& c, runtime::buffer_pool& pool) {
  return interpreter::by_kind<std::unique_ptr<aggregate_column>>(
      c.value->k, [&]<class V>(V) -> std::unique_ptr<aggregate_column> { return std::make_unique<quantile_column<V>>(c, pool); });
}

}  // namespace query::cpu
