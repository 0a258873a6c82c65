// The lines that a read left out, on their way to the rejected_lines of the user's options.
//
//   rejections to(*options.rejected);       // what an earlier read left there is gone
//   to.add({file, 12, "price", "7,x", "expected f64 ..."});
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include <query/bad_lines.hpp>

namespace query::detail {

struct rejected_list {
  std::size_t keep = 0;
  std::mutex mutex;              // of what follows
  std::uint64_t reading = 0;     // the number of the last read that began: only this one adds
  std::uint64_t count = 0;
  std::vector<rejected_line> lines;
};

}  // namespace query::detail

namespace query::data {

class rejections {
 public:
  explicit rejections(const std::optional<rejected_lines>& to);  // nowhere: they are left out only

  // Of how many more the lines are wanted.
  std::size_t room() const;
  void add(std::uint64_t count, std::vector<rejected_line> lines);  // in the order of the file

 private:
  std::shared_ptr<detail::rejected_list> list_;
  std::uint64_t reading_ = 0;
};

// Throws user_error ("read_csv: ...") if these options contradict each other, or are those of a verb that writes.
void check_reading_options(bad_lines on_error, const std::optional<rejected_lines>& rejected, std::string_view file_name_in,
                           std::string_view verb);

}  // namespace query::data
