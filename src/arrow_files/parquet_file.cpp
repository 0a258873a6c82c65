#include "arrow_files/parquet_file.hpp"

#include <concepts>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/c/bridge.h>
#include <arrow/chunked_array.h>
#include <arrow/io/file.h>
#include <arrow/memory_pool.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/statistics.h>

#include "arrow_files/arrow_calls.hpp"

namespace query::arrow_files {
namespace {

using reader = parquet::arrow::FileReader;
using data::test_value;

// Releases of Arrow before 24 give results by an address.
template <class Reader> std::shared_ptr<arrow::Table> read_group(Reader& from, int group, const std::vector<int>& leaves) {
  if constexpr (requires { { from.ReadRowGroup(group, leaves) } -> std::same_as<arrow::Result<std::shared_ptr<arrow::Table>>>; }) {
    return value_of(from.ReadRowGroup(group, leaves));
  } else {
    std::shared_ptr<arrow::Table> table;
    check(from.ReadRowGroup(group, leaves, &table));
    return table;
  }
}

void add_leaves(const parquet::arrow::SchemaField& f, std::vector<int>& to) {
  if (f.column_index >= 0) to.push_back(f.column_index);
  for (const parquet::arrow::SchemaField& c : f.children) add_leaves(c, to);
}

const arrow::DataType& value_type(const arrow::DataType& t) {
  return t.id() == arrow::Type::DICTIONARY ? *static_cast<const arrow::DictionaryType&>(t).value_type() : t;
}
bool is_text(const arrow::DataType& t) {
  return t.id() == arrow::Type::STRING || t.id() == arrow::Type::LARGE_STRING || t.id() == arrow::Type::STRING_VIEW;
}

template <class S> test_value integer(const arrow::Scalar& s) {
  const auto n = static_cast<const S&>(s).value;
  if constexpr (std::is_signed_v<decltype(n)>) return test_value::of(std::int64_t{n});
  else return test_value::of(std::uint64_t{n});
}
std::optional<test_value> value_of_scalar(const arrow::Scalar& s) {
  using arrow::Type;
  if (!s.is_valid) return std::nullopt;
  switch (s.type->id()) {
    case Type::BOOL: return test_value::of(std::uint64_t{static_cast<const arrow::BooleanScalar&>(s).value});
    case Type::INT8: return integer<arrow::Int8Scalar>(s);
    case Type::INT16: return integer<arrow::Int16Scalar>(s);
    case Type::INT32: return integer<arrow::Int32Scalar>(s);
    case Type::INT64: return integer<arrow::Int64Scalar>(s);
    case Type::UINT8: return integer<arrow::UInt8Scalar>(s);
    case Type::UINT16: return integer<arrow::UInt16Scalar>(s);
    case Type::UINT32: return integer<arrow::UInt32Scalar>(s);
    case Type::UINT64: return integer<arrow::UInt64Scalar>(s);
    case Type::FLOAT: return test_value::of(double{static_cast<const arrow::FloatScalar&>(s).value});
    case Type::DOUBLE: return test_value::of(static_cast<const arrow::DoubleScalar&>(s).value);
    case Type::DATE32: return integer<arrow::Date32Scalar>(s);
    case Type::TIME32: return integer<arrow::Time32Scalar>(s);
    case Type::TIME64: return integer<arrow::Time64Scalar>(s);
    case Type::TIMESTAMP: return integer<arrow::TimestampScalar>(s);
    case Type::STRING:
    case Type::LARGE_STRING: return test_value::of(static_cast<const arrow::BaseBinaryScalar&>(s).value->ToString());
    default: return std::nullopt;
  }
}

class parquet_file final : public data::columnar_file {
 public:
  explicit parquet_file(const std::string& path) {
    called([&] {
      file_ = value_of(arrow::io::ReadableFile::Open(path));
      metadata_ = parquet::ReadMetaData(file_);
      first_ = make_reader();
      check(first_->GetSchema(&types_));
      check(arrow::ExportSchema(*types_, &schema_));
    });
  }

  const ArrowSchema& schema() const override { return schema_; }
  std::size_t groups() const override { return static_cast<std::size_t>(metadata_->num_row_groups()); }
  std::uint64_t rows_in(std::size_t g) const override { return static_cast<std::uint64_t>(group(g)->num_rows()); }
  std::uint64_t bytes_in(std::size_t g) const override {
    const auto of = group(g);
    const std::int64_t packed = of->total_compressed_size(), bytes = packed > 0 ? packed : of->total_byte_size();
    return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
  }

  std::uint64_t bytes_of(std::size_t g, std::size_t column) const override {
    return called([&] {
      std::vector<int> leaves;
      add_leaves(first_->manifest().schema_fields[column], leaves);
      std::uint64_t bytes = 0;
      for (const int leaf : leaves)
        if (const std::int64_t some = group(g)->ColumnChunk(leaf)->total_uncompressed_size(); some > 0)
          bytes += static_cast<std::uint64_t>(some);
      return bytes;
    });
  }
  data::value_range range_of(std::size_t g, std::size_t column, std::span<const std::string_view> path) const override {
    data::value_range r{.rows = rows_in(g)};
    try {
      const parquet::arrow::SchemaField* leaf = &first_->manifest().schema_fields[column];
      for (const std::string_view name : path) {
        const parquet::arrow::SchemaField* child = nullptr;
        for (const auto& c : leaf->children)
          if (c.field->name() == name) child = &c;
        if (!child) return r;
        leaf = child;
      }
      if (leaf->column_index < 0) return r;
      const auto chunk = group(g)->ColumnChunk(leaf->column_index);
      const std::shared_ptr<parquet::Statistics> known = chunk->is_stats_set() ? chunk->statistics() : nullptr;
      if (!known) return r;
      if (known->HasNullCount()) r.nulls = static_cast<std::uint64_t>(known->null_count());
      if (!known->HasMinMax()) return r;
      std::shared_ptr<arrow::Scalar> least, most;
      if (!parquet::arrow::StatisticsAsScalars(*known, &least, &most).ok()) return r;
      const arrow::DataType& type = value_type(*leaf->field->type());
      // Of another unit than the column that Arrow makes of it: times that were written in seconds.
      if (!least->type->Equals(type) && !(is_text(*least->type) && is_text(type))) return r;
      r.least = value_of_scalar(*least);
      r.most = value_of_scalar(*most);
    } catch (const std::exception&) {  // statistics that make no sense say nothing
      r.least = r.most = std::nullopt;
      r.nulls = std::nullopt;
    }
    return r;
  }

  void read(std::size_t g, std::size_t column, function_ref<void(ArrowArray&)> take) override {
    called([&] {
      const used_reader from(*this);
      std::vector<int> leaves;
      add_leaves(from->manifest().schema_fields[column], leaves);
      const std::shared_ptr<arrow::Table> table = read_group(*from, static_cast<int>(g), leaves);
      if (table->num_columns() != 1) throw data::columnar_failure("its parts are not one column");
      for (const std::shared_ptr<arrow::Array>& chunk : table->column(0)->chunks()) {
        released<ArrowArray> values;
        check(arrow::ExportArray(*chunk, &values));
        take(values);
      }
    });
  }

 private:
  std::unique_ptr<reader> make_reader() const {
    parquet::ReaderProperties how;
    how.set_page_checksum_verification(true);
    parquet::ArrowReaderProperties as;
    as.set_use_threads(false);
    as.set_pre_buffer(false);
    parquet::arrow::FileReaderBuilder builder;
    check(builder.Open(file_, how, metadata_));
    std::unique_ptr<reader> made;
    check(builder.properties(as)->Build(&made));
    return made;
  }
  std::unique_ptr<parquet::RowGroupMetaData> group(std::size_t g) const { return metadata_->RowGroup(static_cast<int>(g)); }

  // A reader for one thread at a time.
  class used_reader {
   public:
    explicit used_reader(parquet_file& of) : of_(&of) {
      const std::lock_guard hold(of.lock_);
      if (of.idle_.empty()) of.idle_.push_back(of.make_reader());
      mine_ = std::move(of.idle_.back());
      of.idle_.pop_back();
    }
    ~used_reader() {
      const std::lock_guard hold(of_->lock_);
      of_->idle_.push_back(std::move(mine_));
    }
    used_reader(const used_reader&) = delete;
    used_reader& operator=(const used_reader&) = delete;
    reader* operator->() const { return mine_.get(); }
    reader& operator*() const { return *mine_; }

   private:
    parquet_file* of_;
    std::unique_ptr<reader> mine_;
  };

  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::shared_ptr<arrow::Schema> types_;
  released<ArrowSchema> schema_;
  std::unique_ptr<reader> first_;  // for what does not change: it reads no rows
  std::mutex lock_;
  std::vector<std::unique_ptr<reader>> idle_;
};

}  // namespace

std::unique_ptr<data::columnar_file> open_parquet(const std::string& path) { return std::make_unique<parquet_file>(path); }

}  // namespace query::arrow_files
