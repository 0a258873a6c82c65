// Building of join_table.hpp: words of all keys, rows by part (stable, in parallel), then one table a part.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include <query/errors.hpp>

#include "cpu_engine/join_part.hpp"

namespace query::cpu {
namespace {

constexpr std::size_t chunk_rows = std::size_t{1} << 16;
constexpr std::size_t part_rows = std::size_t{1} << 16;  // its table and rows fit a core's cache
constexpr unsigned most_part_bits = 11;
constexpr std::size_t one_part_rows = std::size_t{1} << 17;

}  // namespace

class join_table::builder {
 public:
  builder(join_table& table, const join_options& options, runtime::scheduler& scheduler, runtime::buffer_pool& pool,
          const runtime::cancel_flag& cancel)
      : t_(table), left_out_(options.left_out), carried_(options.carried), scheduler_(scheduler), pool_(pool), cancel_(cancel) {}

  void build() {
    find_null_rows();
    while (key_words::one_word(t_.form_)) {
      if (encode<std::uint64_t>()) return build_from<std::uint64_t>();
      t_.form_ = t_.words_.next(t_.form_);
    }
    while (!encode<wide_word>()) t_.form_ = t_.words_.next(t_.form_);
    build_from<wide_word>();
  }

 private:
  std::size_t chunks() const { return (t_.rows_ + chunk_rows - 1) / chunk_rows; }
  template <class F>
  void each_chunk(F&& f) {
    scheduler_.for_each(chunks(), [&](std::size_t c) { f(c, c * chunk_rows, std::min(t_.rows_, (c + 1) * chunk_rows)); }, cancel_);
  }
  const std::byte* key(std::uint64_t row) const { return t_.keys_ + row * t_.stride_; }

  void find_null_rows() {
    t_.inserted_ = t_.rows_;
    const bool may_be_null = !t_.nulls_match_ && cpu::may_be_null(t_.words_.type());
    if (!may_be_null && !left_out_) return;
    nulls_ = pool_.allocate(t_.rows_);
    std::atomic<std::size_t> found{0};
    each_chunk([&](std::size_t, std::size_t begin, std::size_t end) {
      std::uint8_t* const out = nulls_.as<std::uint8_t>() + begin;
      std::size_t nulls = find_nulls(t_.words_.type(), key(begin), end - begin, t_.stride_, out);
      for (std::size_t i = begin; left_out_ && i < end; ++i)
        if (left_out_[i] != 0 && out[i - begin] == 0) out[i - begin] = 1, ++nulls;
      found += nulls;
    });
    t_.inserted_ -= found;
    if (found == 0) nulls_.reset();
  }
  bool is_null(std::size_t row) const { return nulls_ && nulls_.as<std::uint8_t>()[row] != 0; }

  // Writes all words; false if some key does not fit the form.
  template <class Word>
  bool encode() {
    encoded_ = pool_.allocate_array<Word>(t_.rows_);
    std::atomic<bool> fits{true};
    const key_part all{.type = &t_.words_.type(), .offset = 0, .base = t_.keys_, .stride = t_.stride_};
    each_chunk([&](std::size_t, std::size_t begin, std::size_t end) {
      if (fits && t_.words_.encode(t_.form_, {&all, 1}, begin, end - begin, encoded_.as<Word>() + begin) != 0) fits = false;
    });
    return fits;
  }

  template <class Word>
  void build_from() {
    if constexpr (std::is_same_v<Word, std::uint64_t>) {
      find_range();
      if (t_.direct_ && (build_direct_counted() || build_direct_unique())) return;
    }
    partition<Word>();
    if (t_.wide_rows_) build_parts<Word, std::uint64_t>();
    else build_parts<Word, std::uint32_t>();
    for (const part& p : t_.parts_) t_.distinct_ += p.entries;
  }

  // Direct if the numbers' range is not much larger than their count.
  void find_range() {
    if (!t_.words_.integral() || t_.inserted_ == 0 || t_.wide_rows_) return;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges(chunks(), {~std::uint64_t{0}, 0});
    const std::uint64_t* words = encoded_.as<std::uint64_t>();
    each_chunk([&](std::size_t c, std::size_t begin, std::size_t end) {
      std::uint64_t low = ~std::uint64_t{0}, high = 0;
      for (std::size_t i = begin; i < end; ++i) {
        if (is_null(i)) continue;
        low = std::min(low, words[i]);
        high = std::max(high, words[i]);
      }
      ranges[c] = {low, high};
    });
    std::uint64_t low = ~std::uint64_t{0}, high = 0;
    for (const auto& [l, h] : ranges) {
      low = std::min(low, l);
      high = std::max(high, h);
    }
    const std::uint64_t most = std::min<std::uint64_t>(4 * std::uint64_t{t_.inserted_} + 4096, no_id);
    if (high - low >= most) return;
    t_.direct_ = true;
    t_.low_ = low;
    t_.range_ = high - low + 1;
  }

  // The best case: each number at most once, so that order_ is indexed by the numbers themselves.
  bool build_direct_unique() {
    t_.order_ = pool_.allocate_array<std::uint32_t>(t_.range_);
    std::uint32_t* rows = t_.order_.as<std::uint32_t>();
    std::memset(rows, 0xff, t_.order_.size());
    const std::uint64_t* words = encoded_.as<std::uint64_t>();
    std::atomic<bool> unique{true};
    each_chunk([&](std::size_t, std::size_t begin, std::size_t end) {
      if (!unique.load(std::memory_order_relaxed)) return;
      for (std::size_t i = begin; i < end; ++i) {
        if (is_null(i)) continue;
        std::atomic_ref<std::uint32_t> row(rows[words[i] - t_.low_]);
        if (row.exchange(static_cast<std::uint32_t>(i), std::memory_order_relaxed) != no_id) {
          unique.store(false, std::memory_order_relaxed);
          return;
        }
      }
    });
    if (!unique) {
      t_.order_.reset();
      return false;
    }
    t_.direct_unique_ = true;
    t_.distinct_ = t_.inserted_;
    return true;
  }

  // Few numbers of many rows each: a counting sort, in which each lane of consecutive rows has its own places.
  bool build_direct_counted() {
    constexpr std::size_t least_rows = 16, most_lanes = 64;  // of a number
    const std::size_t n = t_.rows_, numbers = static_cast<std::size_t>(t_.range_);
    if (t_.inserted_ < one_part_rows || t_.inserted_ / least_rows < numbers) return false;
    const std::size_t lanes = std::clamp<std::size_t>(n / least_rows / numbers, 1, most_lanes), a_lane = (n + lanes - 1) / lanes;
    const std::uint64_t* words = encoded_.as<std::uint64_t>();
    const runtime::buffer counts = pool_.allocate_array<std::uint32_t>(lanes * numbers);
    const auto each_lane = [&](const auto& f) {
      scheduler_.for_each(lanes, [&](std::size_t l) {
        std::uint32_t* const of_lane = counts.as<std::uint32_t>() + l * numbers;
        f(of_lane);
        for (std::size_t i = l * a_lane; i < std::min(n, (l + 1) * a_lane); ++i) {
          if (i % chunk_rows == 0) cancel_.check();
          if (!is_null(i)) f(of_lane, words[i] - t_.low_, i);
        }
      }, cancel_);
    };
    struct counting {
      std::size_t numbers;
      void operator()(std::uint32_t* of_lane) const { std::memset(of_lane, 0, numbers * sizeof(std::uint32_t)); }
      void operator()(std::uint32_t* of_lane, std::uint64_t number, std::size_t) const { ++of_lane[number]; }
    };
    each_lane(counting{numbers});
    part& p = t_.parts_.emplace_back(pool_);
    t_.direct_shift_ = static_cast<unsigned>(std::bit_width(t_.range_ - 1));
    p.rows = t_.inserted_;
    p.unique = false;
    p.begins = pool_.allocate_array<std::uint32_t>(numbers + 1);
    std::uint32_t sum = 0;
    for (std::size_t number = 0; number < numbers; ++number) {
      p.begins.as<std::uint32_t>()[number] = sum;
      const std::uint32_t before = sum;
      for (std::size_t l = 0; l < lanes; ++l) sum += std::exchange(counts.as<std::uint32_t>()[l * numbers + number], sum);
      p.entries += sum != before;
    }
    p.begins.as<std::uint32_t>()[numbers] = sum;
    t_.order_ = pool_.allocate_array<std::uint32_t>(t_.inserted_);
    struct placing {
      std::uint32_t* order;
      const std::uint64_t* carried;
      std::uint64_t* to;
      void operator()(std::uint32_t*) const {}
      void operator()(std::uint32_t* of_lane, std::uint64_t number, std::size_t row) const {
        const std::uint32_t place = of_lane[number]++;
        order[place] = static_cast<std::uint32_t>(row);
        if (carried) to[place] = carried[row];
      }
    };
    if (carried_) t_.carried_ = pool_.allocate_array<std::uint64_t>(t_.inserted_);
    each_lane(placing{t_.order_.as<std::uint32_t>(), carried_, t_.carried_.as<std::uint64_t>()});
    t_.distinct_ = p.entries;
    return true;
  }

  template <class Word>
  std::size_t part_of(const Word& w) const {
    if constexpr (std::is_same_v<Word, std::uint64_t>)
      if (t_.direct_) return static_cast<std::size_t>((w - t_.low_) >> t_.direct_shift_);
    return t_.part_of_hash(hash(w));
  }
  std::uint64_t hash(std::uint64_t w) const {
    return t_.form_ == key_words::form::narrow ? slot_table<std::uint32_t>::hash(static_cast<std::uint32_t>(w))
                                               : slot_table<std::uint64_t>::hash(w);
  }
  static std::uint64_t hash(const wide_word& w) { return tagged_table::hash(w); }

  // Orders the rows by part: histograms by chunk, then each chunk writes its own places. The order is that of the rows.
  template <class Word>
  void partition() {
    const std::size_t n = t_.inserted_;
    if (t_.direct_) {
      const unsigned range_bits = static_cast<unsigned>(std::bit_width(t_.range_ - 1));
      t_.direct_shift_ = n <= one_part_rows ? range_bits : std::max(16u, range_bits > most_part_bits ? range_bits - most_part_bits : 0u);
      parts_ = static_cast<std::size_t>((t_.range_ - 1) >> t_.direct_shift_) + 1;
    } else {
      t_.part_bits_ = n <= one_part_rows ? 0 : std::min(most_part_bits, static_cast<unsigned>(std::bit_width(n / part_rows)));
      parts_ = std::size_t{1} << t_.part_bits_;
    }
    t_.parts_.reserve(parts_);
    for (std::size_t p = 0; p < parts_; ++p) t_.parts_.emplace_back(pool_);
    const Word* words = encoded_.as<Word>();
    std::vector<std::uint64_t> at(chunks() * parts_);
    each_chunk([&](std::size_t c, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        if (!is_null(i)) ++at[c * parts_ + part_of(words[i])];
    });
    std::uint64_t sum = 0;
    for (std::size_t p = 0; p < parts_; ++p) {
      t_.parts_[p].first = sum;
      for (std::size_t c = 0; c < chunks(); ++c) {
        const std::uint64_t m = at[c * parts_ + p];
        at[c * parts_ + p] = sum;
        sum += m;
      }
      t_.parts_[p].rows = sum - t_.parts_[p].first;
    }
    rows_ = pool_.allocate(n * (t_.wide_rows_ ? 8u : 4u));
    each_chunk([&](std::size_t c, std::size_t begin, std::size_t end) {
      std::uint64_t* next = at.data() + c * parts_;
      for (std::size_t i = begin; i < end; ++i) {
        if (is_null(i)) continue;
        const std::uint64_t place = next[part_of(words[i])]++;
        if (t_.wide_rows_) rows_.as<std::uint64_t>()[place] = i;
        else rows_.as<std::uint32_t>()[place] = static_cast<std::uint32_t>(i);
      }
    });
  }

  template <class Word, class Row>
  void build_parts() {
    t_.order_ = pool_.allocate_array<Row>(t_.inserted_);
    scheduler_.for_each(parts_, [&](std::size_t p) { build_part<Word, Row>(t_.parts_[p]); }, cancel_);
  }

  // Numbers the part's keys, then sorts its rows by number (a counting sort, hence stable).
  template <class Word, class Row>
  void build_part(part& p) {
    check_key_count(p.rows);
    const Row* rows = rows_.as<Row>() + p.first;
    Row* order = t_.order_.as<Row>() + p.first;
    const runtime::buffer ids_buffer = pool_.allocate_array<std::uint32_t>(p.rows);
    std::uint32_t* ids = ids_buffer.as<std::uint32_t>();
    number<Word>(p, rows, ids);
    p.unique = p.entries == p.rows && !t_.direct_;
    if (p.unique) {  // then numbers are in order of the rows
      if (p.rows > 0) std::memcpy(order, rows, p.rows * sizeof(Row));
      return;
    }
    const std::size_t numbers = t_.direct_ ? direct_entries(p) : p.entries;
    p.begins = pool_.allocate_array<std::uint32_t>(numbers + 1);
    std::uint32_t* begins = p.begins.as<std::uint32_t>();
    std::memset(begins, 0, p.begins.size());
    for (std::size_t i = 0; i < p.rows; ++i) ++begins[ids[i] + 1];
    if (t_.direct_) p.entries = numbers - static_cast<std::size_t>(std::count(begins + 1, begins + numbers + 1, 0u));
    for (std::size_t e = 1; e <= numbers; ++e) begins[e] += begins[e - 1];
    for (std::size_t i = 0; i < p.rows; ++i) order[begins[ids[i]]++] = rows[i];
    std::memmove(begins + 1, begins, numbers * sizeof(begins[0]));  // they had advanced to the ends
    begins[0] = 0;
  }

  std::size_t direct_entries(const part& p) const {
    const auto index = static_cast<std::uint64_t>(&p - t_.parts_.data());
    const std::uint64_t whole = std::uint64_t{1} << t_.direct_shift_;
    return static_cast<std::size_t>(std::min(whole, t_.range_ - index * whole));
  }

  template <class Word, class Row>
  void number(part& p, const Row* rows, std::uint32_t* ids) {
    const Word* words = encoded_.as<Word>();
    constexpr std::size_t ahead = 32;  // rows of a part are far apart
    if constexpr (std::is_same_v<Word, wide_word>) {
      std::vector<Row> first_rows;  // of each entry; its key is compared with where words are ambiguous
      for (std::size_t i = 0; i < p.rows; ++i) {
        if (i % join_block == 0) p.wide.make_room(std::min(join_block, p.rows - i));
        if (i + ahead < p.rows) __builtin_prefetch(words + rows[i + ahead]);
        const wide_word& w = words[rows[i]];
        const bool ambiguous = key_words::ambiguous(t_.form_, w);
        ids[i] = p.wide.find_or_insert(w, hash(w), [&](std::uint32_t id) {
          return !ambiguous || t_.words_.equal(key(rows[i]), key(first_rows[id]));
        });
        if (ids[i] == first_rows.size()) first_rows.push_back(rows[i]);
      }
      p.entries = p.wide.size();
    } else if (t_.direct_) {
      const std::uint64_t mask = (std::uint64_t{1} << t_.direct_shift_) - 1;
      for (std::size_t i = 0; i < p.rows; ++i) {
        if (i + ahead < p.rows) __builtin_prefetch(words + rows[i + ahead]);
        ids[i] = static_cast<std::uint32_t>((words[rows[i]] - t_.low_) & mask);
      }
    } else if (t_.form_ == key_words::form::narrow) {
      number_slots(p, p.narrow, words, rows, ids);
    } else {
      number_slots(p, p.word, words, rows, ids);
    }
  }

  template <class Word, class Row>
  static void number_slots(part& p, slot_table<Word>& table, const std::uint64_t* words, const Row* rows, std::uint32_t* ids) {
    constexpr std::size_t ahead = 32;
    for (std::size_t i = 0; i < p.rows; ++i) {
      // Where most of the first keys differ, so do the others: no growth step by step.
      if (i % join_block == 0) table.make_room(i && 2 * table.size() > i ? p.rows - i : std::min(join_block, p.rows - i));
      if (i + ahead < p.rows) __builtin_prefetch(words + rows[i + ahead]);
      const auto w = static_cast<Word>(words[rows[i]]);
      ids[i] = table.find_or_insert(w, table.hash(w));
    }
    p.entries = table.size();
  }

  join_table& t_;
  const std::uint8_t* left_out_;
  const std::uint64_t* carried_;
  runtime::scheduler& scheduler_;
  runtime::buffer_pool& pool_;
  const runtime::cancel_flag& cancel_;
  runtime::buffer nulls_, encoded_, rows_;
  std::size_t parts_ = 1;
};

join_table::join_table(const ir::type* key, const void* keys, std::size_t n, const join_options& options,
                       runtime::scheduler& scheduler, runtime::buffer_pool& pool, const runtime::cancel_flag& cancel)
    : words_(*key, options.custom_equality()), form_(words_.first_form()), keys_(static_cast<const std::byte*>(keys)),
      stride_(options.stride ? options.stride : key->size), rows_(n), nulls_match_(options.nulls_match),
      wide_rows_(n > std::numeric_limits<std::uint32_t>::max() - 1) {
  builder(*this, options, scheduler, pool, cancel).build();
  const std::size_t mark_words = (n + 63) / 64;
  marks_ = std::make_unique<std::atomic<std::uint64_t>[]>(mark_words);
}

join_table::~join_table() = default;

}  // namespace query::cpu
