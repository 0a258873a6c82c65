// The bytes of a type that no value decides: those between its fields, and those of a trivial optional that has no value. Pages for an
// exchange have zeros there, so that rows that are computed again are compared by a checksum (docs/design/029).
//
//   const padding unused(row_type);
//   if (unused) unused.clear(page, rows);              // as write_bytes wrote them, one after the other
#pragma once

#include <cstddef>
#include <vector>

#include <query/detail/type.hpp>

namespace query::cpu {

class padding {
 public:
  explicit padding(const ir::type& t);
  explicit operator bool() const { return any_; }
  void clear(std::byte* written, std::size_t n) const;
  // What a value of an opaque type has there is unknown.
  bool known() const { return known_; }

 private:
  struct gap {
    std::size_t offset = 0, bytes = 0;
  };
  struct part {
    std::size_t offset = 0;
    std::vector<padding> of;  // one
  };
  void clear_values(std::byte* at, std::size_t n, std::size_t stride) const;  // of a trivial type
  std::byte* clear_written(std::byte* at) const;
  std::byte* clear_parts(std::byte* at, std::size_t n) const;
  void look_at_record();
  void look_at_optional();
  void keep_used(const std::vector<bool>& used);
  void add(std::size_t offset, const ir::type& t);

  const ir::type* type_;
  bool any_ = false, known_ = true;
  std::vector<gap> gaps_;          // of a trivial type
  std::vector<part> parts_;        // a trivial type's that have gaps; all fields of another record; the element of others
  std::size_t flag_ = 0;           // of a trivial optional: where it says whether it has a value
};

}  // namespace query::cpu
