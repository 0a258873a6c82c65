#include "arrow_files/arrow_calls.hpp"

#include <cstddef>
#include <string_view>

#include <query/parquet.hpp>

#include "data/output_file.hpp"

namespace query::arrow_files {

std::string text_of(const arrow::Status& s) {
  std::string text = s.message();
  if (const std::size_t end = text.find('\n'); end != std::string::npos) text.erase(end);
  return text.empty() ? s.ToString() : text;
}

void fail(const arrow::Status& s) {
  if (s.IsOutOfMemory()) throw std::bad_alloc();
  throw data::columnar_failure(text_of(s), !s.IsNotImplemented());
}

arrow::Status output_stream::Write(const void* bytes, std::int64_t n) {
  if (!to_) return arrow::Status::IOError("the file was given up");
  try {
    to_->write({static_cast<const char*>(bytes), static_cast<std::size_t>(n)});
  } catch (...) {
    thrown_ = std::current_exception();
    to_ = nullptr;
    return arrow::Status::IOError("the file cannot be written");
  }
  at_ += n;
  return arrow::Status::OK();
}
arrow::Status output_stream::Close() { return arrow::Status::OK(); }
arrow::Result<std::int64_t> output_stream::Tell() const { return at_; }

arrow::Compression::type codec_of(std::uint8_t compression) {
  using arrow::Compression;
  constexpr Compression::type types[] = {Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::GZIP,
                                         Compression::BROTLI,       Compression::ZSTD,   Compression::LZ4};
  constexpr std::string_view names[] = {"none", "snappy", "gzip", "brotli", "zstd", "lz4"};
  const std::size_t i = compression;
  if (i >= std::size(types)) throw data::columnar_failure("there is no such compression: " + std::to_string(i));
  if (!arrow::util::Codec::IsAvailable(types[i]))
    throw data::columnar_failure("this Arrow library was built without the compression " + std::string(names[i]) + "; choose another one");
  return types[i];
}

}  // namespace query::arrow_files
