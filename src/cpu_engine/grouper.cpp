#include "cpu_engine/grouper.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include <query/cpu/segment_form.hpp>
#include <query/detail/failure.hpp>

#include "cpu_engine/key_tables.hpp"
#include "cpu_engine/key_words.hpp"
#include "cpu_engine/packed_keys.hpp"

namespace query::cpu {
namespace {

constexpr std::size_t block_keys = 1024;
constexpr std::uint64_t small_range = std::uint64_t{1} << 20;  // always worth an array: 4 MiB

// The keys [first, first + n) of one call, and the keys of the ids before them.
struct block {
  key_view keys;
  std::size_t first, n;
  key_view stored;
  key_marks marks;  // of the n keys
};

}  // namespace

// Finds ids of words. Four tables, of which one is in use: an array indexed by word - low_, and one for each width of word.
class key_table {
  using form = key_words::form;

  // The keys of a block that words may not tell apart, and those of the table: packed, else in the block or stored.
  struct compared {
    const key_table& table;
    const block& b;
    const wide_word* words;
    packed_keys::places at;
    std::size_t stored;                    // keys
    const std::uint32_t* added = nullptr;  // rows of the block, whose keys are those that follow

    compared(const key_table& t, const block& of, const wide_word* w, std::size_t stored_keys, const std::uint32_t* added_rows = nullptr)
        : table(t), b(of), words(w), stored(stored_keys), added(added_rows) {
      if (t.packed_) at = t.packed_->places_of(of.keys, of.first);
    }
    bool ambiguous(std::size_t i) const { return key_words::ambiguous(table.form_, words[i]); }
    std::size_t ambiguous() const {  // how many
      std::size_t n = 0;
      for (std::size_t i = 0; table.form_ >= form::string && i < b.n; ++i) n += ambiguous(i);
      return n;
    }
    bool equal(std::uint32_t id, std::size_t i) const {
      if (!ambiguous(i)) return true;
      if (table.packed_ && table.packed_->has(id)) return table.packed_->equal(id, at, i);
      if (id < stored) return table.words_.equal(b.keys, b.first + i, b.stored, id);
      return table.words_.equal(b.keys, b.first + i, b.keys, b.first + added[id - stored]);
    }
    auto with(std::size_t i) const {
      return [this, i](std::uint32_t id) { return equal(id, i); };
    }
  };

 public:
  // stored: all keys that the table has are there when it is asked. Else they stay where they are.
  key_table(const ir::type& key, runtime::buffer_pool& pool, key_equality custom, bool stored)
      : words_(key, custom),
        custom_(custom),
        pool_(&pool),
        stored_(stored),
        form_(stored || !words_.may_hash() ? words_.first_form() : words_.hash_form()),
        dense_(words_.integral()),
        narrow_(pool),
        word_(pool),
        wide_(pool) {
    if (form_ >= form::string) pack();
  }

  std::size_t size() const { return size_; }

  // Ids of a block; appends the block's rows with new keys to `added`.
  void find_or_insert(const block& b, std::uint32_t* ids, std::uint32_t* added, std::size_t& added_count) {
    const std::size_t before = size_;
    const auto note = [&](std::uint32_t id, std::size_t i) {
      if (id == size_) added[size_++ - before] = static_cast<std::uint32_t>(i);
      ids[i] = id;
    };
    if (key_words::one_word(form_)) {
      std::uint64_t words[block_keys];
      if (words_.encode(form_, b.keys, b.first, b.n, words) == 0) {
        if (dense_ && !cover(words, b.n)) leave_dense();
        if (dense_) insert_dense(words, b.n, note);
        else if (form_ == form::narrow) insert_slots(narrow_, words, b.n, note);
        else insert_slots(word_, words, b.n, note);
        added_count = size_ - before;
        return;
      }
      widen(b);
    }
    wide_word encoded[block_keys];
    const wide_word* words = encoded;
    if (b.marks.words && b.marks.form == form_) words = b.marks.words;
    else
      while (words_.encode(form_, b.keys, b.first, b.n, encoded, nullptr, b.marks.hashes) != 0) widen(b);
    wide_.make_room(b.n);
    const compared keys(*this, b, words, before, added);
    const auto find_or_insert = [&](std::size_t i, std::uint64_t h) {
      const std::uint32_t id = wide_.find_or_insert(words[i], h, keys.with(i));
      if (id == size_ && packed_) {
        if (keys.ambiguous(i)) packed_->add(keys.at, i);
        else packed_->skip();
      }
      note(id, i);
    };
    const std::size_t ambiguous = keys.ambiguous();
    if (!ambiguous && wide_.size()) {
      std::uint64_t hashes[block_keys];
      std::uint32_t others[block_keys];
      for (std::size_t i = 0; i < b.n; ++i) hashes[i] = tagged_table::hash(words[i]);
      const std::size_t count = wide_.find_at_once(words, hashes, b.n, ids, others);
      for (std::size_t i = 0; i < count; ++i) find_or_insert(others[i], hashes[others[i]]);
    } else {
      ahead_of_tagged(keys, ambiguous, find_or_insert);
    }
    added_count = size_ - before;
  }

  void find(const block& b, std::uint32_t* ids) const {
    std::uint8_t misfit[block_keys];
    std::size_t misfits = 0;
    if (key_words::one_word(form_)) {
      std::uint64_t words[block_keys];
      misfits = words_.encode(form_, b.keys, b.first, b.n, words, misfit);
      if (dense_) {
        for (std::size_t i = 0; i < b.n; ++i)
          ids[i] = words[i] - low_ < range_ ? index_.as<std::uint32_t>()[words[i] - low_] : no_id;
      } else if (form_ == form::narrow) {
        find_slots(narrow_, words, b.n, ids);
      } else {
        find_slots(word_, words, b.n, ids);
      }
    } else {
      wide_word words[block_keys];
      misfits = words_.encode(form_, b.keys, b.first, b.n, words, misfit, b.marks.hashes);
      const compared keys(*this, b, words, size_);
      ahead_of_tagged(keys, keys.ambiguous(), [&](std::size_t i, std::uint64_t h) { ids[i] = wide_.find(words[i], h, keys.with(i)); });
    }
    if (misfits != 0)
      for (std::size_t i = 0; i < b.n; ++i)
        if (misfit[i] != 0) ids[i] = no_id;
  }

  detail::known_keys known() const {
    detail::known_keys k;
    const ir::type& t = words_.type();
    if (!words_.integral() || !ir::is_arithmetic(t.k)) return k;
    // Words of signed keys have their sign bit flipped, which is an addition.
    if (ir::is_signed_integer(t.k)) k.offset = std::uint64_t{1} << (t.size * 8 - 1);
    if (dense_) {
      k.offset -= low_;
      k.dense = index_.as<std::uint32_t>();
      k.range = range_;
    } else if (form_ == form::narrow) {
      if (!narrow_.large()) narrow_.show(k);
    } else if (!word_.large()) {
      word_.show(k);
    }
    return k;
  }

  bool hashes() const { return words_.may_hash(); }
  key_marks marks() const {
    if (key_words::one_word(form_) || !size_) return {};
    return {nullptr, &wide_.word(0), form_};
  }

  void reserve(std::size_t keys) {
    expected_ = keys;
    if (dense_) return;
    if (form_ == form::narrow) narrow_.make_room(keys);
    else if (form_ == form::word) word_.make_room(keys);
    else wide_.make_room(keys);
  }

  void expect_sparse() {
    if (dense_) leave_dense();
  }
  void expect_words() {
    if (!words_.has_string_form() || form_ == form::string) return;
    form_ = form::string;
    pack();
  }

  void clear() {
    size_ = 0;
    if (dense_ && range_ > 0) std::memset(index_.data(), 0xff, range_ * sizeof(std::uint32_t));
    narrow_.clear();
    word_.clear();
    wide_.clear();
    if (packed_) packed_->clear();
  }

 private:
  template <class Table, class Hash, class Visit>
  static void ahead(Table& table, std::size_t n, const Hash& hash, const Visit& visit) {
    if (!table.large()) {
      for (std::size_t i = 0; i < n; ++i) visit(i, hash(i));
      return;
    }
    std::uint64_t hashes[block_keys];
    for (std::size_t i = 0; i < n; ++i) hashes[i] = hash(i);
    constexpr std::size_t d = 2 * prefetch_distance;
    for (std::size_t i = 0; i < std::min(n, d); ++i) table.prefetch(hashes[i]);
    for (std::size_t i = 0; i < n; ++i) {
      if (i + d < n) table.prefetch(hashes[i + d]);
      visit(i, hashes[i]);
    }
  }
  // The same of words whose keys may have to be compared.
  template <class Visit> void ahead_of_tagged(const compared& keys, std::size_t ambiguous, const Visit& visit) const {
    const std::size_t n = keys.b.n;
    const bool compared = packed_ && ambiguous;
    if (!wide_.size() || (!compared && !wide_.large())) {  // one that is searched may have no slots
      for (std::size_t i = 0; i < n; ++i) visit(i, tagged_table::hash(keys.words[i]));
      return;
    }
    std::uint64_t hashes[block_keys];
    for (std::size_t i = 0; i < n; ++i) hashes[i] = tagged_table::hash(keys.words[i]);
    constexpr std::size_t d = prefetch_distance;
    for (std::size_t i = 0; i < std::min(n, 3 * d); ++i) wide_.prefetch(hashes[i]);
    for (std::size_t i = 0; i < n; ++i) {
      if (i + 3 * d < n) wide_.prefetch(hashes[i + 3 * d]);
      if (const std::size_t j = i + 2 * d; j < n) {
        wide_.prefetch_word(hashes[j]);
        if (compared && keys.ambiguous(j))
          if (const std::uint32_t id = wide_.guess(hashes[j]); id != no_id) packed_->prefetch(id);
      }
      if (const std::size_t j = i + d; compared && j < n && keys.ambiguous(j)) {
        packed_->prefetch_characters(keys.at, j);
        if (const std::uint32_t id = wide_.guess(hashes[j]); id != no_id) packed_->prefetch_bytes(id);
      }
      visit(i, hashes[i]);
    }
  }

  template <class Word, class Note>
  static void insert_slots(slot_table<Word>& table, const std::uint64_t* words, std::size_t n, const Note& note) {
    table.make_room(n);
    ahead(table, n, [&](std::size_t i) { return table.hash(static_cast<Word>(words[i])); },
          [&](std::size_t i, std::uint64_t h) { note(table.find_or_insert(static_cast<Word>(words[i]), h), i); });
  }
  template <class Word>
  static void find_slots(const slot_table<Word>& table, const std::uint64_t* words, std::size_t n, std::uint32_t* ids) {
    if (table.size() == 0) {
      std::fill_n(ids, n, no_id);
      return;
    }
    ahead(table, n, [&](std::size_t i) { return table.hash(static_cast<Word>(words[i])); },
          [&](std::size_t i, std::uint64_t h) { ids[i] = table.find(static_cast<Word>(words[i]), h); });
  }

  // Dense: makes the array cover the words, or says that their range is not worth an array.
  bool cover(const std::uint64_t* words, std::size_t n) {
    std::uint64_t low = words[0], high = words[0];
    for (std::size_t i = 1; i < n; ++i) {
      low = std::min(low, words[i]);
      high = std::max(high, words[i]);
    }
    if (range_ > 0) {
      if (low >= low_ && high - low_ < range_) return true;
      low = std::min(low, low_);
      high = std::max(high, low_ + (range_ - 1));
    }
    const std::uint64_t limit = std::max<std::uint64_t>(small_range, 4 * std::max<std::uint64_t>(size_, expected_));
    if (high - low >= limit) return false;
    // Grows towards both sides, so that a slowly widening range costs few moves.
    std::uint64_t range = std::max<std::uint64_t>(high - low + 1, 1024);
    if (range_ > 0) {
      range = std::min(limit, 2 * range);
      const std::uint64_t slack = (range - (high - low + 1)) / 2;
      low -= std::min(low, slack);
    }
    range = std::min(range, std::numeric_limits<std::uint64_t>::max() - low);
    if (high - low >= range) return false;
    runtime::buffer bigger = pool_->allocate_array<std::uint32_t>(range);
    std::memset(bigger.data(), 0xff, bigger.size());
    if (range_ > 0) std::memcpy(bigger.as<std::uint32_t>() + (low_ - low), index_.data(), range_ * sizeof(std::uint32_t));
    index_ = std::move(bigger);
    low_ = low;
    range_ = range;
    return true;
  }
  template <class Note>
  void insert_dense(const std::uint64_t* words, std::size_t n, const Note& note) {
    std::uint32_t* index = index_.as<std::uint32_t>();
    for (std::size_t i = 0; i < n; ++i) {
      std::uint32_t& id = index[words[i] - low_];
      if (id == no_id) id = static_cast<std::uint32_t>(size_);
      note(id, i);
    }
  }
  void leave_dense() {
    const std::size_t room = std::max(size_, expected_);
    if (form_ == form::narrow) narrow_.make_room(room);
    else word_.make_room(room);
    detail::in_runs<rows_a_look>(0, range_, [&](std::size_t i, std::size_t end) {
      for (; i < end; ++i) {
        const std::uint32_t id = index_.as<std::uint32_t>()[i];
        if (id == no_id) continue;
        if (form_ == form::narrow) narrow_.insert(static_cast<std::uint32_t>(low_ + i), id);
        else word_.insert(low_ + i, id);
      }
    });
    index_.reset();
    range_ = 0;
    dense_ = false;
  }

  void pack() {
    packed_.emplace(words_.type(), custom_, *pool_, stored_ ? packed_keys::keep::short_keys : packed_keys::keep::all);
    if (!packed_->packs()) packed_.reset();
  }

  // Moves all keys to the next form: a string came that is too long for this one.
  void widen(const block& b) {
    form_ = words_.next(form_);
    narrow_ = slot_table<std::uint32_t>(*pool_);
    word_ = slot_table<std::uint64_t>(*pool_);
    wide_ = tagged_table(*pool_);
    wide_.make_room(std::max(size_ + b.n, expected_));
    pack();
    wide_word words[block_keys];
    const detail::stop_point stop;
    for (std::size_t id = 0; id < size_; id += block_keys) {
      stop.check();
      const std::size_t m = std::min(block_keys, size_ - id);
      words_.encode(form_, b.stored, id, m, words);
      const packed_keys::places at = packed_ ? packed_->places_of(b.stored, id) : packed_keys::places();
      for (std::size_t i = 0; i < m; ++i) {
        wide_.insert(words[i]);
        if (packed_ && key_words::ambiguous(form_, words[i])) packed_->add(at, i);
        else if (packed_) packed_->skip();
      }
    }
  }

  key_words words_;
  key_equality custom_;
  runtime::buffer_pool* pool_;
  bool stored_;
  form form_;
  bool dense_;
  std::size_t size_ = 0, expected_ = 0;
  runtime::buffer index_;
  std::uint64_t low_ = 0, range_ = 0;
  slot_table<std::uint32_t> narrow_;
  slot_table<std::uint64_t> word_;
  tagged_table wide_;
  std::optional<packed_keys> packed_;  // where words may be hashes
};

grouper::grouper(const ir::type* key, runtime::buffer_pool& pool, key_equality custom, keep what)
    : key_(key),
      table_(std::make_unique<key_table>(*key, pool, custom, what != keep::nothing)),
      codes_(custom ? nullptr : std::make_unique<code_ids>(pool)),
      stores_(what != keep::nothing),
      stored_(key, pool, what != keep::whole) {
  if (stores_ && !key->trivial && (key->life.copy == nullptr || key->life.move == nullptr || key->life.destroy == nullptr))
    throw detail::unplaced_error("the key type cannot be copied: " + std::string(key->name));
}
grouper::~grouper() = default;
grouper::grouper(grouper&&) noexcept = default;
grouper& grouper::operator=(grouper&&) noexcept = default;

void grouper::find_or_insert(const void* keys, std::size_t n, std::uint32_t* ids) {
  const key_part whole = side_by_side(*key_, keys);
  find_or_insert(key_view(&whole, 1), 0, n, ids);
}

void grouper::find_or_insert(key_view keys, std::size_t first, std::size_t n, std::uint32_t* ids, key_marks marks) {
  if (codes_ && codes_->serves(keys, n)) find_or_insert_codes(keys, first, n, ids);
  else insert(keys, first, n, ids, marks);
}

// New codes are looked up in the order of rows, as all keys would be.
void grouper::find_or_insert_codes(key_view keys, std::size_t first, std::size_t n, std::uint32_t* ids) {
  static_assert(code_ids::block == block_keys);
  for (std::size_t done = 0; done < n; done += block_keys) {
    std::uint32_t unknown[block_keys], new_ids[block_keys];
    const std::size_t m = std::min(block_keys, n - done), count = codes_->find(first + done, m, ids + done, unknown);
    if (!count) continue;
    std::vector<key_part> some(keys.begin(), keys.end());
    std::vector<std::uint32_t> selected(keys.size() * count);
    for (std::size_t p = 0; p < some.size(); ++p) {
      std::uint32_t* const to = selected.data() + p * count;
      for (std::size_t k = 0; k < count; ++k) to[k] = some[p].select[first + done + unknown[k]];
      some[p].select = to;
    }
    insert(some, 0, count, new_ids, {});
    for (std::size_t k = 0; k < count; ++k) {
      ids[done + unknown[k]] = new_ids[k];
      codes_->learn(unknown[k], new_ids[k]);
    }
  }
}

void grouper::insert(key_view keys, std::size_t first, std::size_t n, std::uint32_t* ids, key_marks marks) {
  std::uint32_t added[block_keys];
  for (std::size_t done = 0; done < n; done += block_keys) {
    const block b{keys, first + done, std::min(block_keys, n - done), stored_.view(), marks.from(done)};
    std::size_t count = 0;
    table_->find_or_insert(b, ids + done, added, count);
    if (count > 0 && stores_) stored_.append(keys, first + done, {added, count});
    size_ += count;
  }
}

detail::known_keys grouper::known() const { return table_->known(); }
bool grouper::hashes() const { return table_->hashes(); }
key_marks grouper::marks() const { return table_->marks(); }

void grouper::find(const void* keys, std::size_t n, std::uint32_t* ids) const {
  const key_part whole = side_by_side(*key_, keys);
  find(key_view(&whole, 1), 0, n, ids);
}

void grouper::find(key_view keys, std::size_t first, std::size_t n, std::uint32_t* ids, key_marks marks) const {
  for (std::size_t done = 0; done < n; done += block_keys)
    table_->find({keys, first + done, std::min(block_keys, n - done), stored_.view(), marks.from(done)}, ids + done);
}

void grouper::expect_sparse() { table_->expect_sparse(); }
void grouper::expect_words() { table_->expect_words(); }
void grouper::reserve(std::size_t keys) { table_->reserve(keys); }

void grouper::store(const void* keys, std::size_t n) {
  const key_part whole = side_by_side(*key_, keys);
  std::uint32_t all[block_keys];
  std::iota(std::begin(all), std::end(all), 0u);
  for (std::size_t done = 0; done < n; done += block_keys)
    stored_.append({&whole, 1}, done, {all, std::min(block_keys, n - done)});
  size_ += n;
}

void grouper::clear() {
  stored_.clear();
  table_->clear();
  if (codes_) codes_->forget();
  size_ = 0;
}

}  // namespace query::cpu
