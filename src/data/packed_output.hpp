// A file of text that is written: compressed if its name says so (packed_bytes.hpp), in its place when it is complete (output_file.hpp).
//
//   packed_output file("trades.csv.gz", "write_csv");
//   file.write(text);
//   file.finish();
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "data/output_file.hpp"
#include "data/packed_bytes.hpp"

namespace query::data {

class packed_output {
 public:
  // Throws as output_file does, and user_error if the library was built without what compresses.
  packed_output(const std::string& path, std::string_view verb)
      : packer_(pack(packing_of_name(path), std::string(verb) + ": " + path)), file_(path, verb) {}

  void write(std::string_view bytes) {
    if (packer_) packer_->pack(bytes, false, [&](std::string_view packed) { file_.write(packed); });
    else file_.write(bytes);
  }
  void finish(bool surely) {
    if (packer_) packer_->pack({}, true, [&](std::string_view packed) { file_.write(packed); });
    file_.finish(surely);
  }
  std::uint64_t bytes() const { return file_.bytes(); }

 private:
  std::unique_ptr<packer> packer_;  // null: the file has the bytes as they are
  output_file file_;
};

}  // namespace query::data
