#include "data/rejected_list.hpp"

#include <string>
#include <utility>

#include <query/detail/failure.hpp>

namespace query {

rejected_lines::rejected_lines(std::size_t keep) : list_(std::make_shared<detail::rejected_list>()) { list_->keep = keep; }

std::vector<rejected_line> rejected_lines::lines() const {
  const std::lock_guard lock(list_->mutex);
  return list_->lines;
}

std::uint64_t rejected_lines::count() const {
  const std::lock_guard lock(list_->mutex);
  return list_->count;
}

}  // namespace query

namespace query::data {

rejections::rejections(const std::optional<rejected_lines>& to) : list_(to ? to->list() : nullptr) {
  if (!list_) return;
  const std::lock_guard lock(list_->mutex);
  reading_ = ++list_->reading;
  list_->count = 0;
  list_->lines.clear();
}

std::size_t rejections::room() const {
  if (!list_) return 0;
  const std::lock_guard lock(list_->mutex);
  return list_->reading == reading_ ? list_->keep - list_->lines.size() : 0;
}

void rejections::add(std::uint64_t count, std::vector<rejected_line> lines) {
  if (!list_) return;
  const std::lock_guard lock(list_->mutex);
  if (list_->reading != reading_) return;
  list_->count += count;
  for (rejected_line& line : lines)
    if (list_->lines.size() < list_->keep) list_->lines.push_back(std::move(line));
}

void check_reading_options(bad_lines on_error, const std::optional<rejected_lines>& rejected, std::string_view file_name_in,
                           std::string_view verb) {
  const auto refuse = [&](const char* what) { throw detail::unplaced_error(std::string(verb) + ": " + what); };
  if (verb.starts_with("write") && (on_error != bad_lines::stop || rejected || !file_name_in.empty()))
    refuse(".on_error, .rejected and .file_name_in are options of reading; leave them out");
  if (on_error == bad_lines::collect && !rejected)
    refuse("bad_lines::collect needs a place for the lines: query::rejected_lines bad; ... {.on_error = query::bad_lines::collect, "
           ".rejected = bad}");
  if (on_error != bad_lines::collect && rejected) refuse(".rejected takes no lines without .on_error = query::bad_lines::collect");
}

}  // namespace query::data
