// The different values (entries) of a column that stores their numbers (codes) in its `select`. What is known of an entry is not
// computed again for each row that has its code.
//
//   const dictionary d(ir::describe<std::string>(), entries, n);
//   hash = d.hashes()[column.select[i]];
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include <query/detail/type.hpp>

#include "cpu_engine/order_keys.hpp"

namespace query::cpu {

class dictionary {
 public:
  // The entries must outlive this; several may be equal.
  dictionary(const ir::type* type, const void* entries, std::size_t n);

  const ir::type* type() const { return type_; }
  const void* entries() const { return entries_; }
  std::size_t size() const { return n_; }
  // No other has it, not even one that comes to lie here later.
  std::uint64_t number() const { return number_; }
  // By code; computed when somebody asks first. Several threads may.
  const std::uint64_t* hashes() const;  // as hash_keys gives them
  const wide_word* words() const;       // of strings, in key_words::form::string

 private:
  const ir::type* type_;
  const void* entries_;
  std::size_t n_;
  std::uint64_t number_;
  mutable std::once_flag hashed_, encoded_;
  mutable std::vector<std::uint64_t> hashes_;
  mutable std::vector<wide_word> words_;
};

}  // namespace query::cpu
