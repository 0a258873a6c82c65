#include "data/columnar_writer.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <query/detail/failure.hpp>

#include "data/arrow_rows.hpp"

namespace query::data {
namespace {

std::size_t batch_of(const ir::type* row, const columnar_options& options) {
  // Where a writer has many files open, each batch is smaller.
  const bool one_of_many = !options.partition_by.empty();
  const std::size_t most_rows = std::size_t{1} << (one_of_many ? 12 : 16), most_bytes = std::size_t{1} << (one_of_many ? 18 : 23);
  const std::size_t fit = std::clamp<std::size_t>(most_bytes / row->size, 1, most_rows);
  return options.group_rows ? static_cast<std::size_t>(std::min<std::uint64_t>(fit, options.group_rows)) : fit;
}

}  // namespace

columnar_writer::columnar_writer(const std::string& path, file_format format, const columnar_options& options, const ir::type* row,
                                 const ir::type* columns)
    : row_(row), columns_(columns ? columns : row), place_(std::string(writing_verb(format)) + ": " + path),
      file_(path, writing_verb(format)), most_(batch_of(row, options)),
      group_rows_(std::max<std::uint64_t>(options.group_rows, 1)) {
  called([&] {
    ArrowSchema schema{};
    describe_rows(columns_, schema);
    output_ = create_columnar(file_, schema, format, options);
  });
  kept_ = static_cast<std::byte*>(::operator new(most_ * row->size, std::align_val_t{row->align}));
}

columnar_writer::~columnar_writer() {
  if (n_) row_->life.destroy(kept_, n_);
  ::operator delete(kept_, std::align_val_t{row_->align});
}

void columnar_writer::write(const void* rows, std::size_t n) {
  const auto* from = static_cast<const std::byte*>(rows);
  while (n) {
    const std::size_t some = std::min(n, most_ - n_);
    if (row_->trivial) std::memcpy(kept_ + n_ * row_->size, from, some * row_->size);
    else row_->life.copy(kept_ + n_ * row_->size, from, some);
    n_ += some;
    rows_ += some;
    n -= some;
    from += some * row_->size;
    if (n_ == most_) flush();
  }
}

void columnar_writer::end_group() {
  flush();
  called([&] { output_->end_group(); });
  rows_ = 0;
}

void columnar_writer::flush() {
  if (!n_) return;
  called([&] {
    ArrowArray batch{};
    export_rows(columns_, kept_, n_, batch);
    output_->write(batch);
  });
  row_->life.destroy(kept_, std::exchange(n_, 0));
}

void columnar_writer::finish(bool surely) {
  flush();
  called([&] { output_->finish(); });
  output_ = nullptr;
  file_.finish(surely);
}

// What the format's library or the conversion says gets the verb and the path.
template <class F> void columnar_writer::called(F f) {
  try {
    f();
  } catch (const columnar_failure& e) {
    throw detail::unplaced_error(place_ + ": " + e.what());
  } catch (const detail::unplaced_error&) {
    throw;
  } catch (const user_error& e) {
    constexpr std::string_view other_verb = "query: to_arrow: ";
    std::string what = e.what();
    if (!what.starts_with(other_verb)) throw;
    throw detail::unplaced_error(place_ + ": " + what.substr(other_verb.size()));
  }
}

}  // namespace query::data
