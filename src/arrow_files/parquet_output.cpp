#include <memory>
#include <utility>

#include <arrow/c/bridge.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include "arrow_files/arrow_calls.hpp"
#include "arrow_files/parquet_file.hpp"

namespace query::arrow_files {
namespace {

class parquet_output final : public data::columnar_output {
 public:
  parquet_output(data::output_file& to, ArrowSchema& schema, const data::columnar_options& options)
      : to_(std::make_shared<output_stream>(to)) {
    written([&] {
      types_ = value_of(arrow::ImportSchema(&schema));
      parquet::WriterProperties::Builder how;
      how.compression(codec_of(options.compression))->max_row_group_length(static_cast<std::int64_t>(options.group_rows));
      how.enable_page_checksum();
      if (options.has_level) how.compression_level(options.level);
      // Readers that use Arrow get the types back that Parquet has not: durations, times in seconds.
      const auto as = parquet::ArrowWriterProperties::Builder().store_schema()->build();
      writer_ = value_of(parquet::arrow::FileWriter::Open(*types_, arrow::default_memory_pool(), to_, how.build(), as));
    });
  }
  ~parquet_output() override { to_->abandon(); }

  void write(ArrowArray& rows) override {
    written([&] { check(writer_->WriteRecordBatch(*value_of(arrow::ImportRecordBatch(&rows, types_)))); });
  }
  void end_group() override {
    written([&] { check(writer_->NewBufferedRowGroup()); });
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
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

}  // namespace

std::unique_ptr<data::columnar_output> create_parquet(data::output_file& to, ArrowSchema& schema, const data::columnar_options& options) {
  return std::make_unique<parquet_output>(to, schema, options);
}

}  // namespace query::arrow_files
