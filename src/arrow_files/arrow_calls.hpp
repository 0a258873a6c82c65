// What this library's use of Arrow C++ shares: its errors as ours, its output as our files, its codecs by our names.
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/util/compression.h>
#include <parquet/exception.h>

#include "data/columnar_file.hpp"

namespace query::arrow_files {

// The text of a status without the numbers of Arrow's source lines.
std::string text_of(const arrow::Status& s);
[[noreturn]] void fail(const arrow::Status& s);
inline void check(const arrow::Status& s) {
  if (!s.ok()) fail(s);
}
template <class T> T value_of(arrow::Result<T> r) {
  check(r.status());
  return std::move(r).ValueUnsafe();
}
// Parquet throws exceptions of its own. Ours pass.
template <class F> decltype(auto) called(F f) {
  try {
    return f();
  } catch (const data::columnar_failure&) {
    throw;
  } catch (const error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const parquet::ParquetStatusException& e) {
    fail(e.status());
  } catch (const std::exception& e) {
    throw data::columnar_failure(e.what());
  }
}

// A struct of the C Data Interface that is released at the end, unless somebody has taken it.
template <class S> struct released : S {
  released() : S{} {}
  released(const released&) = delete;
  released& operator=(const released&) = delete;
  ~released() {
    if (this->release) this->release(this);
  }
};

// A file that is being written. check_written() throws its exceptions again, whatever Arrow makes of the failure.
class output_stream final : public arrow::io::OutputStream {
 public:
  explicit output_stream(data::output_file& to) : to_(&to) {}
  arrow::Status Write(const void* bytes, std::int64_t n) override;
  arrow::Status Close() override;
  arrow::Result<std::int64_t> Tell() const override;
  bool closed() const override { return !to_; }

  void abandon() { to_ = nullptr; }  // nothing goes to the file from now on
  void check_written() {
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  data::output_file* to_;
  std::int64_t at_ = 0;
  std::exception_ptr thrown_;
};

// Throws columnar_failure where Arrow was built without it.
arrow::Compression::type codec_of(std::uint8_t compression);

}  // namespace query::arrow_files
