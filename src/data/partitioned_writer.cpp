#include "data/partitioned_writer.hpp"

#include <algorithm>
#include <utility>

#include <query/detail/failure.hpp>

#include "data/folder_value.hpp"
#include "data/leaf_columns.hpp"

namespace query::data {
namespace {

constexpr std::size_t most_open = 128;
constexpr std::uint64_t most_kept_bytes = std::uint64_t{256} << 20;  // rows of groups that are not full, as they lie in memory

const ir::field* field_of(const ir::type* row, const std::string& name) {
  const auto found = std::find_if(row->field_list.begin(), row->field_list.end(), [&](const ir::field& f) { return f.name == name; });
  return found == row->field_list.end() ? nullptr : &*found;
}

}  // namespace

void check_partition_by(const ir::type* row, const std::vector<std::string>& fields, std::string_view verb) {
  const auto fail = [&](const std::string& what) { throw detail::unplaced_error(std::string(verb) + ": .partition_by " + what); };
  for (const std::string& name : fields) {
    const ir::field* const f = field_of(row, name);
    if (!f) fail("names a field that " + type_name(row) + " does not have: '" + name + "'");
    if (!names_folders(f->of)) fail("names the field '" + name + "', which is " + type_name(f->of) + "; take a number, a date or a string");
    if (std::count(fields.begin(), fields.end(), name) > 1) fail("names the field '" + name + "' twice");
  }
  if (!fields.empty() && fields.size() == row->field_list.size())
    fail("names all fields of " + type_name(row) + "; files have at least one column");
}

partitioned_writer::partitioned_writer(std::string path, file_format format, columnar_options options, const ir::type* row)
    : path_(std::move(path)), format_(format), options_(std::move(options)), row_(row), columns_(*row) {
  check_partition_by(row, options_.partition_by, writing_verb(format));
  for (const std::string& name : options_.partition_by) {
    named_by_.push_back(field_of(row, name));
    std::erase_if(columns_.field_list, [&](const ir::field& f) { return f.name == name; });
  }
}

void partitioned_writer::write(const void* rows, std::size_t n) {
  const auto* from = static_cast<const std::byte*>(rows);
  std::string last;
  std::size_t run = 0;  // rows of that folder before row i
  for (std::size_t i = 0; i < n; ++i) {
    name_folder(from + i * row_->size);
    if (run && folder_ != last) {
      write_run(file_for(last), from + (i - run) * row_->size, run);
      run = 0;
    }
    if (!run) last.swap(folder_);
    ++run;
  }
  if (run) write_run(file_for(last), from + (n - run) * row_->size, run);
}

void partitioned_writer::name_folder(const std::byte* row) {
  folder_.clear();
  for (const ir::field* f : named_by_) {
    if (!folder_.empty()) folder_ += '/';
    append_folder(folder_, f->name, f->of, row + f->offset);
  }
}

partitioned_writer::open_file& partitioned_writer::file_for(const std::string& folder) {
  if (const auto found = open_.find(folder); found != open_.end()) return found->second;
  if (open_.size() >= most_open) {
    const auto oldest = std::min_element(open_.begin(), open_.end(), [](const auto& a, const auto& b) {
      return a.second.last_used < b.second.last_used;
    });
    close(oldest->second, true);
    open_.erase(oldest);
  }
  const std::size_t number = files_.size();
  files_.push_back({'-' + std::to_string(number), 0, 0, folder});
  return open_[folder] = {std::make_unique<columnar_writer>(path_ + files_.back().name, format_, options_, row_, &columns_), number, 0};
}

void partitioned_writer::write_run(open_file& to, const std::byte* rows, std::size_t n) {
  const std::uint64_t before = to.to->rows_kept();
  to.to->write(rows, n);
  to.last_used = ++clock_;
  files_[to.number].rows += n;
  kept_bytes_ += (to.to->rows_kept() - before) * row_->size;  // fewer, where a group was filled
  while (kept_bytes_ > most_kept_bytes) make_room();
}

void partitioned_writer::make_room() {
  const auto largest = std::max_element(open_.begin(), open_.end(), [](const auto& a, const auto& b) {
    return a.second.to->rows_kept() < b.second.to->rows_kept();
  });
  kept_bytes_ -= largest->second.to->rows_kept() * row_->size;
  largest->second.to->end_group();
}

void partitioned_writer::close(open_file& f, bool surely) {
  kept_bytes_ -= f.to->rows_kept() * row_->size;
  f.to->finish(surely);
  files_[f.number].bytes = f.to->bytes();
}

void partitioned_writer::finish(bool surely) {
  for (auto& [folder, f] : open_) close(f, surely);
  open_.clear();
}

std::uint64_t partitioned_writer::bytes() const {
  std::uint64_t all = 0;
  for (const written_file& f : files_) all += f.bytes;
  return all;
}

std::vector<written_file> partitioned_writer::files(const std::string& name, std::uint64_t) const {
  std::vector<written_file> all = files_;
  for (written_file& f : all) f.name.insert(0, name);
  return all;
}

}  // namespace query::data
