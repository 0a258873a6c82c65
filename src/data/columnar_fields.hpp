// Where the fields of a row come from in a file of columns: a column, a folder that is named after a value (year=2026), or the file's name.
//
//   const columnar_fields fields(row, *file, source, path, name);    // throws user_error, unplaced
//   fields.read(*file, group, field, to);                            // the values, checked
//   fields.convert(field, to, first, n, rows, row->size);            // into value-initialised rows
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/arrow_values.hpp"
#include "data/columnar_file.hpp"
#include "data/row_tests.hpp"

namespace query::data {

// The values of a field in some group, as arrays that lie one after the other.
class columnar_values {
 public:
  using array = std::unique_ptr<ArrowArray, void (*)(ArrowArray*)>;
  void add(array a);
  // f(array, its first row, rows) for each piece of rows [first, first + n).
  template <class F> void each(std::size_t first, std::size_t n, F f) const {
    for (std::size_t i = 0; n && i < arrays_.size(); ++i) {
      if (begins_[i + 1] <= first) continue;
      const std::size_t from = first - begins_[i], some = n < begins_[i + 1] - first ? n : begins_[i + 1] - first;
      f(*arrays_[i], from, some);
      first += some;
      n -= some;
    }
  }
  std::size_t rows() const { return begins_.back(); }
  void clear() { *this = {}; }

 private:
  std::vector<array> arrays_;
  std::vector<std::size_t> begins_{0};
};

class columnar_fields {
 public:
  // `name`: what file_name_in gets.
  columnar_fields(const ir::type* row, const columnar_file& file, const file_source& source, std::string path, std::string name);

  // Throws where no group can have as many rows.
  void check_rows(const columnar_file& file, std::size_t group) const;
  // The values of a group take about so many bytes of memory.
  std::size_t bytes_of(const columnar_file& file, std::size_t group, std::size_t field) const;
  bool has_column(std::size_t field) const { return places_[field].column != no_column; }
  // The values of a field that has a column. Damaged data, and a null that the field does not take, are a user_error, unplaced.
  columnar_values read(columnar_file& file, std::size_t group, std::size_t field) const;
  // The values of a field without a column are null.
  void convert(std::size_t field, const columnar_values* values, std::size_t first, std::size_t n, std::byte* rows) const;
  // May rows of the group pass?
  bool may_pass(const columnar_file& file, std::size_t group, const row_tests& tests) const;

 private:
  static constexpr std::size_t no_column = ~std::size_t{0};
  struct place {
    std::size_t column = no_column;
    arrow_values values = {};     // of a column
    std::string name = {};        // of the column
    bool null = false;            // else, what the folder says
    std::string text = {};
  };

  place place_of(const ir::field& f, const columnar_file& file, const file_source& source, const std::string& name) const;
  value_range range_of(const columnar_file& file, std::size_t group, const std::string& field) const;
  void assign(const ir::field& f, const place& from, std::byte* to) const;
  [[noreturn]] void fail(const std::string& what) const;

  const ir::type* row_;
  std::string_view verb_;
  std::string path_;
  std::vector<place> places_;
};

}  // namespace query::data
