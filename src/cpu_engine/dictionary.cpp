#include "cpu_engine/dictionary.hpp"

#include "cpu_engine/key_hash.hpp"
#include "cpu_engine/key_words.hpp"

namespace query::cpu {

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
