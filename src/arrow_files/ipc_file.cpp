#include "arrow_files/ipc_file.hpp"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/c/bridge.h>
#include <arrow/io/file.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "arrow_files/arrow_calls.hpp"

namespace query::arrow_files {
namespace {

using reader = arrow::ipc::RecordBatchFileReader;

// The narrowest column, which tells how many rows a record batch has.
int narrowest(const arrow::Schema& types) {
  int best = 0;
  const auto width = [&](int i) {
    const arrow::DataType& t = *types.field(i)->type();
    return arrow::is_fixed_width(t.id()) && t.id() != arrow::Type::DICTIONARY ? t.bit_width() : 1 << 20;
  };
  for (int i = 1; i < types.num_fields(); ++i)
    if (width(i) < width(best)) best = i;
  return best;
}

class ipc_file final : public data::columnar_file {
 public:
  explicit ipc_file(const std::string& path) {
    called([&] {
      auto file = value_of(arrow::io::MemoryMappedFile::Open(path, arrow::io::FileMode::READ));
      bytes_ = static_cast<std::uint64_t>(value_of(file->GetSize()));
      file_ = std::move(file);
      const auto first = value_of(reader::Open(file_));
      types_ = first->schema();
      check(arrow::ExportSchema(*types_, &schema_));
      if (types_->num_fields() == 0) return;
      rows_.resize(static_cast<std::size_t>(first->num_record_batches()));
      const int column = narrowest(*types_);
      for (std::size_t g = 0; g < rows_.size(); ++g) rows_[g] = static_cast<std::uint64_t>(batch(g, column)->num_rows());
    });
  }

  const ArrowSchema& schema() const override { return schema_; }
  std::size_t groups() const override { return rows_.size(); }
  std::uint64_t rows_in(std::size_t g) const override { return rows_[g]; }
  std::uint64_t bytes_in(std::size_t) const override { return bytes_ / rows_.size() + 1; }
  std::uint64_t bytes_of(std::size_t g, std::size_t) const override { return bytes_in(g) / static_cast<std::size_t>(schema_.n_children); }
  data::value_range range_of(std::size_t g, std::size_t, std::span<const std::string_view>) const override { return {.rows = rows_[g]}; }

  void read(std::size_t g, std::size_t column, function_ref<void(ArrowArray&)> take) override {
    called([&] {
      const std::shared_ptr<arrow::RecordBatch> rows = batch(g, static_cast<int>(column));
      check(rows->ValidateFull());  // the file's own offsets lead into memory
      released<ArrowArray> values;
      check(arrow::ExportArray(*rows->column(0), &values));
      take(values);
    });
  }

 private:
  struct column_reader {
    std::mutex lock;  // a reader is for one thread at a time
    std::shared_ptr<reader> from;
  };

  std::shared_ptr<arrow::RecordBatch> batch(std::size_t g, int column) {
    column_reader* mine = nullptr;
    {
      const std::lock_guard hold(lock_);
      mine = &readers_[column];
    }
    const std::lock_guard hold(mine->lock);
    if (!mine->from) {
      auto how = arrow::ipc::IpcReadOptions::Defaults();
      how.included_fields = {column};
      how.use_threads = false;
      mine->from = value_of(reader::Open(file_, how));
    }
    return value_of(mine->from->ReadRecordBatch(static_cast<int>(g)));
  }

  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::uint64_t bytes_ = 0;
  std::shared_ptr<arrow::Schema> types_;
  released<ArrowSchema> schema_;
  std::vector<std::uint64_t> rows_;  // of each record batch
  std::mutex lock_;
  std::map<int, column_reader> readers_;
};

class ipc_output final : public data::columnar_output {
 public:
  ipc_output(data::output_file& to, ArrowSchema& schema, const data::columnar_options& options) : to_(std::make_shared<output_stream>(to)) {
    written([&] {
      types_ = value_of(arrow::ImportSchema(&schema));
      auto how = arrow::ipc::IpcWriteOptions::Defaults();
      how.use_threads = false;
      auto codec = codec_of(options.compression);
      if (codec == arrow::Compression::LZ4) codec = arrow::Compression::LZ4_FRAME;  // the form that these files have
      if (codec != arrow::Compression::UNCOMPRESSED) {
        if (codec != arrow::Compression::LZ4_FRAME && codec != arrow::Compression::ZSTD)
          throw data::columnar_failure("Arrow IPC files are compressed by lz4 or zstd; choose one of these, or none");
        how.codec = std::shared_ptr<arrow::util::Codec>(value_of(arrow::util::Codec::Create(codec)));
      }
      writer_ = value_of(arrow::ipc::MakeFileWriter(to_, types_, how));
    });
  }
  ~ipc_output() override { to_->abandon(); }

  void write(ArrowArray& rows) override {
    written([&] { check(writer_->WriteRecordBatch(*value_of(arrow::ImportRecordBatch(&rows, types_)))); });
  }
  void finish() override {
    written([&] { check(writer_->Close()); });
  }

 private:
  template <class F> void written(F f) {
    try {
      called(f);
    } catch (const data::columnar_failure&) {
      to_->check_written();
      throw;
    }
    to_->check_written();
  }

  std::shared_ptr<output_stream> to_;
  std::shared_ptr<arrow::Schema> types_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

}  // namespace

std::unique_ptr<data::columnar_file> open_ipc(const std::string& path) { return std::make_unique<ipc_file>(path); }
std::unique_ptr<data::columnar_output> create_ipc(data::output_file& to, ArrowSchema& schema, const data::columnar_options& options) {
  return std::make_unique<ipc_output>(to, schema, options);
}

}  // namespace query::arrow_files
