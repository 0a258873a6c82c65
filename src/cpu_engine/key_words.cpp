#include "cpu_engine/key_words.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <query/detail/failure.hpp>

#include "cpu_engine/dictionary.hpp"
#include "cpu_engine/scalar_order.hpp"
#include "cpu_engine/short_text.hpp"

namespace query::cpu {
namespace {

constexpr unsigned short_characters = 7, long_characters = 15, short_bits = (short_characters + 1) * 8;
constexpr std::size_t block_keys = 1024;
constexpr std::size_t ahead = 16;  // strings that a loop fetches

}  // namespace

key_words::key_words(const ir::type& key, key_equality custom) : type_(&key), custom_(custom) {
  if (custom_) return;
  if (!hashable(key)) throw detail::unplaced_error("the key type is not hashable: " + std::string(key.name));
  if (!add(key, 0)) {
    parts_.clear();
    return;
  }
  first_ = bits_ <= 32 ? form::narrow : bits_ <= 64 ? form::word : form::wide;
  integral_ = ir::is_integer(key.k) || key.k == ir::kind::boolean || bits_ <= 16;
}

bool key_words::add(const ir::type& t, std::size_t offset) {
  if (t.k == ir::kind::record)
    return std::all_of(t.fields().begin(), t.fields().end(),
                       [&](const ir::field& f) { return add(*f.of, offset + f.offset); });
  if (t.k == ir::kind::array) {
    for (std::size_t i = 0; i < t.count; ++i)
      if (!add(*t.element, offset + i * t.element->size)) return false;
    return true;
  }
  const std::optional<unsigned> bits = t.k == ir::kind::string ? short_bits : fixed_bits(t);
  if (!bits || bits_ + *bits > 128) return false;
  strings_ = strings_ || t.k == ir::kind::string;
  parts_.push_back({&t, offset, *bits});
  bits_ += *bits;
  return true;
}

key_words::form key_words::next(form f) const {
  return f == form::word ? hash_form() : form::hashed;
}

bool key_words::equal(const void* a, const void* b) const {
  return custom_ ? custom_.same(*type_, a, b) : equal_keys(*type_, a, b);
}

bool key_words::equal(key_view a, std::size_t i, key_view b, std::size_t j) const {
  return custom_ ? equal(whole_key(a, *type_)->at(i), whole_key(b, *type_)->at(j)) : equal_keys(a, i, b, j);
}

// Returns how many of the n values at at(0), at(1)... are strings that do not fit.
template <bool First, class At, class Word>
std::size_t key_words::append(const part& p, const At& at, std::size_t n, Word* words, std::uint8_t* misfit) const {
  std::size_t misfits = 0;
  if (ir::is_arithmetic(p.type->k)) {
    with_type(p.type->k, [&](auto v) {
      for (std::size_t i = 0; i < n; ++i) put<First>(words[i], ordered(load<decltype(v)>(at(i))), p.bits);
    });
  } else if (p.type->k == ir::kind::string) {
    const auto add = [&](std::size_t i) {
      const auto& s = *reinterpret_cast<const std::string*>(at(i));
      const bool is_long = s.size() > short_characters;
      misfits += is_long;
      if (misfit != nullptr) misfit[i] |= is_long;
      const std::uint64_t characters = __builtin_bswap64(characters_at(s, 0, std::min<std::size_t>(s.size(), short_characters)));
      put<First>(words[i], characters | std::min<std::size_t>(s.size(), short_characters + 1), short_bits);
    };
    // The processor does not fetch ahead across pages, of which there is one for 128 strings.
    std::size_t i = 0;
    for (; i + 2 * ahead < n; ++i) {
      __builtin_prefetch(at(i + 2 * ahead));
      add(i);
    }
    for (; i < n; ++i) add(i);
  } else {
    for (std::size_t i = 0; i < n; ++i) put<First>(words[i], pack(*p.type, at(i), p.bits, false, true), p.bits);
  }
  return misfits;
}

template <class Word>
std::size_t key_words::pack_parts(key_view keys, std::size_t first, std::size_t n, Word* out, std::uint8_t* misfit) const {
  std::size_t misfits = 0;
  if (misfit != nullptr) std::memset(misfit, 0, n);
  if (parts_.empty()) std::fill_n(out, n, Word{});
  for (std::size_t done = 0; done < n; done += block_keys) {
    const std::size_t m = std::min(block_keys, n - done);
    std::uint8_t* marks = misfit == nullptr ? nullptr : misfit + done;
    for (const part& p : parts_)
      with_places(part_at(keys, p.offset, first + done), [&](const auto& at) {
        misfits += &p == parts_.data() ? append<true>(p, at, m, out + done, marks) : append<false>(p, at, m, out + done, marks);
      });
  }
  return misfits;
}

std::size_t key_words::encode(form, key_view keys, std::size_t first, std::size_t n, std::uint64_t* out, std::uint8_t* misfit) const {
  return pack_parts(keys, first, n, out, misfit);
}

std::size_t key_words::encode(form f, key_view keys, std::size_t first, std::size_t n, wide_word* out, std::uint8_t* misfit,
                              const std::uint64_t* hashes) const {
  if (f == form::wide) return pack_parts(keys, first, n, out, misfit);
  if (misfit != nullptr) std::memset(misfit, 0, n);
  if (f == form::string && !one_string()) {
    for (std::size_t done = 0; done < n; done += block_keys) {
      const std::size_t m = std::min(block_keys, n - done);
      std::uint8_t is_long[block_keys];
      if (pack_parts(keys, first + done, m, out + done, is_long) == 0) continue;
      std::uint64_t computed[block_keys];
      if (!hashes) hash_keys(*type_, keys, first + done, m, computed, custom_);
      for (std::size_t i = 0; i < m; ++i)
        if (is_long[i]) out[done + i] = {hashes ? hashes[done + i] : computed[i], ambiguous_length};
    }
    return 0;
  }
  if (f == form::string) {
    const key_part strings = part_at(keys, parts_.front().offset, first);
    if (strings.coded) {
      const wide_word* const words = strings.coded->words();
      for (std::size_t i = 0; i < n; ++i) out[i] = words[strings.select[i]];
      return 0;
    }
    with_places(strings, [&](const auto& at) {
      const auto text = [&](std::size_t i) -> const std::string& { return *reinterpret_cast<const std::string*>(at(i)); };
      for (std::size_t i = 0; i < n; ++i) {
        // Rows by number lie anywhere, and so do their characters.
        if (i + 2 * ahead < n) __builtin_prefetch(at(i + 2 * ahead));
        if (!hashes && i + ahead < n) __builtin_prefetch(text(i + ahead).data());
        const std::string& s = text(i);
        if (s.size() <= long_characters) {
          const short_text characters(s);
          out[i] = {__builtin_bswap64(characters.first), __builtin_bswap64(characters.rest) | s.size()};
        } else {
          out[i] = {hashes ? hashes[i] : hash_key(*parts_.front().type, &s), ambiguous_length};
        }
      }
    });
    return 0;
  }
  for (std::size_t done = 0; done < n; done += block_keys) {
    const std::size_t m = std::min(block_keys, n - done);
    std::uint64_t computed[block_keys];
    if (!hashes) hash_keys(*type_, keys, first + done, m, computed, custom_);
    for (std::size_t i = 0; i < m; ++i) out[done + i] = {hashes ? hashes[done + i] : computed[i], ambiguous_length};
  }
  return 0;
}

}  // namespace query::cpu
