#include "cpu_engine/dictionary.hpp"

#include <atomic>

#include "cpu_engine/key_hash.hpp"
#include "cpu_engine/key_words.hpp"

namespace query::cpu {

dictionary::dictionary(const ir::type* type, const void* entries, std::size_t n) : type_(type), entries_(entries), n_(n) {
  static std::atomic<std::uint64_t> dictionaries = 0;
  number_ = ++dictionaries;
}

const std::uint64_t* dictionary::hashes() const {
  std::call_once(hashed_, [&] {
    hashes_.resize(n_);
    hash_keys(*type_, entries_, n_, hashes_.data());
  });
  return hashes_.data();
}

const wide_word* dictionary::words() const {
  std::call_once(encoded_, [&] {
    words_.resize(n_);
    key_words(*type_, {}).encode(key_words::form::string, entries_, n_, words_.data());
  });
  return words_.data();
}

}  // namespace query::cpu
