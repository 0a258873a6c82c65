// What becomes of lines of a text file that cannot be read as rows.
//
//   query::rejected_lines rejected;
//   auto trades = query::read_csv<Trade>("trades.csv", {.on_error = query::bad_lines::collect, .rejected = rejected}).to_vector();
//   for (const query::rejected_line& bad : rejected.lines()) std::cout << bad.line << ": " << bad.reason << '\n';
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace query {

enum class bad_lines : std::uint8_t {
  stop,     // the first one is a user_error
  skip,     // they are left out
  collect,  // they are left out, and put into `rejected`
};

struct rejected_line {
  std::string file;
  std::uint64_t line = 0;  // from 1; of a record of several lines the first
  std::string column;      // or field; empty where the line as a whole is wrong
  std::string text;        // of the record, 1,000 bytes at most
  std::string reason;
  bool operator==(const rejected_line&) const = default;
};

namespace detail {
struct rejected_list;
}

// The lines that the last read of a source left out. Copies are the same list. Any thread may call it, also while the query runs.
class rejected_lines {
 public:
  // Of so many, the first in the order of the files, the lines are kept; the others are only counted.
  explicit rejected_lines(std::size_t keep = 1000);
  std::vector<rejected_line> lines() const;
  std::uint64_t count() const;  // of all

  const std::shared_ptr<detail::rejected_list>& list() const { return list_; }  // for the reader

 private:
  std::shared_ptr<detail::rejected_list> list_;
};

}  // namespace query
