#include "cpu_engine/first_of_keys.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include <query/cpu/segment_form.hpp>

#include "cpu_engine/join_table.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t small_input = std::size_t{1} << 17;
constexpr std::size_t local_rows = std::size_t{1} << 18;   // reduced by one task where few keys are distinct
constexpr std::size_t most_partitions = 1024;

// Numbers of the keys whose flag is set, ascending.
permutation rows_flagged(const std::uint8_t* flags, std::size_t n, const vertex_tasks& tasks) {
  std::vector<std::size_t> starts(chunks_of(n) + 1);
  tasks.chunks(n, [&](std::size_t first, std::size_t k) {
    std::size_t count = 0;
    for (std::size_t i = first; i < first + k; ++i) count += flags[i];
    starts[first / part_rows + 1] = count;
  });
  for (std::size_t c = 1; c < starts.size(); ++c) starts[c] += starts[c - 1];
  permutation rows(starts.back(), n, tasks.pool());
  tasks.chunks(n, [&](std::size_t first, std::size_t k) {
    std::size_t at = starts[first / part_rows];
    for (std::size_t i = first; i < first + k; ++i)
      if (flags[i]) rows.set(at++, i);
  });
  return rows;
}

grouper table_of(const key_runs& keys, const vertex_tasks& tasks) {
  return grouper(&keys.type(), tasks.pool(), keys.custom(), grouper::keep::nothing);
}

// Which keys are flagged of those that come to a table one batch after the other.
class key_flags {
 public:
  explicit key_flags(grouper& groups) : groups_(&groups), seen_(groups.size()) {}
  key_flags(grouper& groups, bool among) : key_flags(groups) {
    if (among) found_.emplace(groups.size(), false);
  }

  // Calls flag(i, whether it is the first of its key, or of one that the table had before). At most batch_rows keys.
  template <class Flag> void run(key_view keys, std::size_t first, std::size_t n, const std::uint64_t* hashes, const Flag& flag) {
    std::uint32_t ids[batch_rows];
    if (found_) {
      groups_->find(keys, first, n, ids, {hashes});
      for (std::size_t i = 0; i < n; ++i) flag(i, ids[i] != grouper::absent && !std::exchange((*found_)[ids[i]], true));
      return;
    }
    // Ids are numbered by first appearance: a new one is the next number.
    groups_->find_or_insert(keys, first, n, ids, {hashes});
    for (std::size_t i = 0; i < n; ++i) {
      flag(i, ids[i] == seen_);
      seen_ += ids[i] == seen_;
    }
  }

 private:
  grouper* groups_;
  std::size_t seen_;
  std::optional<std::vector<std::uint8_t>> found_;
};

// Keys [first, first + n), in batches: f(view, from, m, number).
template <class F> void in_batches(const key_runs& keys, std::size_t first, std::size_t n, const vertex_tasks& tasks, const F& f) {
  keys.each(first, n, [&](key_view view, std::size_t from, std::size_t m, std::size_t number) {
    for (std::size_t done = 0; done < m; done += batch_rows) {
      tasks.cancel().check();
      f(view, from + done, std::min(batch_rows, m - done), number + done);
    }
  });
}

void flag_first(grouper& groups, const key_runs& keys, std::size_t first, std::size_t n, std::uint8_t* flags, const vertex_tasks& tasks) {
  key_flags state(groups);
  in_batches(keys, first, n, tasks, [&](key_view view, std::size_t from, std::size_t m, std::size_t number) {
    state.run(view, from, m, nullptr, [&](std::size_t i, bool is) { flags[number + i] = is; });
  });
}

// Keys by partition of their hash, in each partition in their order: their numbers and, for tables that use them, hashes.
class divided_keys {
 public:
  divided_keys(const key_runs& keys, std::size_t parts, bool hashes, const vertex_tasks& tasks)
      : keys_(&keys), order_(keys.size(), keys.size(), tasks.pool()) {
    const std::size_t n = keys.size(), chunks = chunks_of(n);
    const auto shift = static_cast<unsigned>(64 - std::countr_zero(parts));
    const auto part_of = [shift](std::uint64_t hash) { return shift < 64 ? hash >> shift : 0; };
    const runtime::buffer hash_memory = tasks.pool().allocate_array<std::uint64_t>(n);
    auto* const of = hash_memory.as<std::uint64_t>();
    std::vector<std::size_t> at(chunks * parts);  // [chunk][partition]: rows, then the place of the next one
    tasks.chunks(n, [&](std::size_t first, std::size_t k) {
      keys.each(first, k, [&](key_view view, std::size_t from, std::size_t m, std::size_t number) {
        hash_keys(keys.type(), view, from, m, of + number, keys.custom());
      });
      std::size_t* const count = at.data() + first / part_rows * parts;
      for (std::size_t i = first; i < first + k; ++i) ++count[part_of(of[i])];
    });
    std::size_t sum = 0;
    for (std::size_t p = 0; p < parts; ++p) {
      for (std::size_t c = 0; c < chunks; ++c) sum += std::exchange(at[c * parts + p], sum);
      ends_.push_back(sum);
    }
    if (hashes) hashes_ = tasks.pool().allocate_array<std::uint64_t>(n);
    auto* const to = hashes ? hashes_.as<std::uint64_t>() : nullptr;
    order_.visit([&](auto* rows) {
      using id = std::remove_pointer_t<decltype(rows)>;
      tasks.chunks(n, [&](std::size_t first, std::size_t k) {
        std::size_t* const next = at.data() + first / part_rows * parts;
        for (std::size_t i = first; i < first + k; ++i) {
          const std::size_t place = next[part_of(of[i])]++;
          rows[place] = static_cast<id>(i);
          if (to) to[place] = of[i];
        }
      });
    });
  }

  // In batches: f(view, m, numbers, hashes or null).
  template <class F> void each(std::size_t p, const vertex_tasks& tasks, const F& f) const {
    const std::size_t first = p ? ends_[p - 1] : 0;
    const auto* const hashes = hashes_ ? hashes_.as<const std::uint64_t>() + first : nullptr;
    order_.visit([&](const auto* rows) {
      keys_->each_of(rows + first, ends_[p] - first, [&](key_view view, std::size_t i, std::size_t m) {
        tasks.cancel().check();
        f(view, m, rows + first + i, hashes ? hashes + i : nullptr);
      });
    });
  }

 private:
  const key_runs* keys_;
  permutation order_;
  runtime::buffer hashes_;
  std::vector<std::size_t> ends_;
};

// Equal keys meet in one partition. others: null, or keys that the flagged ones are (or are not) among.
void flag_divided(const key_runs& keys, const key_runs* others, bool among, std::uint8_t* flags, const vertex_tasks& tasks) {
  const std::size_t n = keys.size() + (others ? others->size() : 0);
  const std::size_t parts = std::min(most_partitions, std::bit_ceil(n / part_rows));
  const bool hashes = table_of(keys, tasks).hashes();
  const divided_keys rows(keys, parts, hashes, tasks);
  std::optional<divided_keys> known;
  if (others) known.emplace(*others, parts, hashes, tasks);
  tasks.for_each(parts, [&](std::size_t p) {
    grouper groups = table_of(keys, tasks);
    groups.expect_sparse();
    if (known)
      known->each(p, tasks, [&](key_view view, std::size_t m, const auto*, const std::uint64_t* of) {
        std::uint32_t ids[batch_rows];
        groups.find_or_insert(view, 0, m, ids, {of});
      });
    key_flags state(groups, among);
    rows.each(p, tasks, [&](key_view view, std::size_t m, const auto* numbers, const std::uint64_t* of) {
      state.run(view, 0, m, of, [&](std::size_t i, bool is) { flags[numbers[i]] = is; });
    });
  });
}

// Of some of the keys: the numbers that they have among all.
permutation numbers_among_all(const permutation& some, const permutation& chosen, std::size_t all, const vertex_tasks& tasks) {
  permutation numbers(chosen.size(), all, tasks.pool());
  tasks.chunks(chosen.size(), [&](std::size_t from, std::size_t k) {
    for (std::size_t i = from; i < from + k; ++i) numbers.set(i, some[chosen[i]]);
  });
  return numbers;
}

// Reduces runs of rows by themselves, then their first rows together.
permutation reduce_locally(const key_runs& keys, std::uint8_t* flags, const vertex_tasks& tasks) {
  const std::size_t n = keys.size();
  tasks.for_each((n + local_rows - 1) / local_rows, [&](std::size_t r) {
    grouper groups = table_of(keys, tasks);
    flag_first(groups, keys, r * local_rows, std::min(local_rows, n - r * local_rows), flags, tasks);
  });
  const permutation candidates = rows_flagged(flags, n, tasks);
  // Fewer each time, as most rows of the sample were repeats; else the rest goes by its hash.
  return numbers_among_all(candidates, first_of_keys(keys.chosen(candidates, tasks), tasks), n, tasks);
}

// Are there few distinct keys among many, as far as the first ones tell?
bool repeats(const key_runs& keys, const vertex_tasks& tasks) {
  if (keys.size() <= small_input) return false;
  const runtime::buffer flags = tasks.pool().allocate(part_rows);
  grouper groups = table_of(keys, tasks);
  flag_first(groups, keys, 0, part_rows, flags.as<std::uint8_t>(), tasks);
  return groups.size() <= part_rows / 4;
}

// Flags all keys that are (or are not) among others: of these one thread makes a table.
void flag_among_few(const key_runs& keys, const key_runs& others, bool among, std::uint8_t* flags, const vertex_tasks& tasks) {
  grouper known = table_of(others, tasks);
  std::uint32_t ids[batch_rows];
  in_batches(others, 0, others.size(), tasks, [&](key_view view, std::size_t from, std::size_t m, std::size_t) {
    known.find_or_insert(view, from, m, ids);
  });
  tasks.chunks(keys.size(), [&](std::size_t first, std::size_t k) {
    in_batches(keys, first, k, tasks, [&](key_view view, std::size_t from, std::size_t m, std::size_t number) {
      std::uint32_t found[batch_rows];
      known.find(view, from, m, found);
      for (std::size_t i = 0; i < m; ++i) flags[number + i] = (found[i] != grouper::absent) == among;
    });
  });
}

// The same of keys whose words tell them apart.
void flag_numbers(const key_runs& keys, const key_runs& others, bool among, std::uint8_t* flags, const vertex_tasks& tasks) {
  const std::size_t size = keys.type().size;
  runtime::buffer copied;
  const void* base = nullptr;
  if (others.are_adjacent()) {
    base = others.adjacent(0, others.size(), nullptr);
  } else {
    copied = tasks.pool().allocate(others.size() * size);
    base = copied.data();
    tasks.chunks(others.size(), [&](std::size_t first, std::size_t k) {
      others.adjacent(first, k, copied.as<std::byte>() + first * size);
    });
  }
  const join_table table(&keys.type(), base, others.size(), {.nulls_match = true}, tasks.scheduler(), tasks.pool(), tasks.cancel());
  tasks.chunks(keys.size(), [&](std::size_t first, std::size_t k) {
    const runtime::buffer room = tasks.pool().allocate(batch_rows * size);
    for (std::size_t from = first; from < first + k; from += batch_rows) {
      const std::size_t m = std::min(batch_rows, first + k - from);
      table.contains(keys.adjacent(from, m, room.data()), m, flags + from);
      if (!among)
        for (std::size_t i = from; i < from + m; ++i) flags[i] = !flags[i];
    }
  });
}

}  // namespace

permutation first_of_keys(const key_runs& keys, const vertex_tasks& tasks) {
  const std::size_t n = keys.size();
  const runtime::buffer memory = tasks.pool().allocate(n);
  auto* const flags = memory.as<std::uint8_t>();
  if (n <= small_input) {
    grouper groups = table_of(keys, tasks);
    flag_first(groups, keys, 0, n, flags, tasks);
  } else if (repeats(keys, tasks)) {
    return reduce_locally(keys, flags, tasks);
  } else {
    flag_divided(keys, nullptr, false, flags, tasks);
  }
  return rows_flagged(flags, n, tasks);
}

permutation first_of_keys(const key_runs& keys, const key_runs& others, bool among, const vertex_tasks& tasks) {
  const bool numbers = !table_of(keys, tasks).hashes();
  if (!numbers && repeats(others, tasks))
    return first_of_keys(keys, others.chosen(first_of_keys(others, tasks), tasks), among, tasks);
  if (!numbers && repeats(keys, tasks)) {
    const permutation first = first_of_keys(keys, tasks);
    return numbers_among_all(first, first_of_keys(keys.chosen(first, tasks), others, among, tasks), keys.size(), tasks);
  }
  const std::size_t n = keys.size();
  const runtime::buffer memory = tasks.pool().allocate(n);
  auto* const flags = memory.as<std::uint8_t>();
  if (!numbers && others.size() > small_input) {
    flag_divided(keys, &others, among, flags, tasks);
    return rows_flagged(flags, n, tasks);
  }
  if (numbers) flag_numbers(keys, others, among, flags, tasks);
  else flag_among_few(keys, others, among, flags, tasks);
  const permutation found = rows_flagged(flags, n, tasks);
  return numbers_among_all(found, first_of_keys(keys.chosen(found, tasks), tasks), n, tasks);
}

permutation seen_keys::first_of(const void* keys, std::size_t n, const vertex_tasks& tasks) {
  const runtime::buffer flags = tasks.pool().allocate(n);
  const key_part whole = side_by_side(groups_.key_type(), keys);
  key_flags state(groups_);
  for (std::size_t from = 0; from < n; from += batch_rows) {
    tasks.cancel().check();
    state.run({&whole, 1}, from, std::min(batch_rows, n - from), nullptr,
              [&](std::size_t i, bool is) { flags.as<std::uint8_t>()[from + i] = is; });
  }
  return rows_flagged(flags.as<std::uint8_t>(), n, tasks);
}

}  // namespace query::cpu
