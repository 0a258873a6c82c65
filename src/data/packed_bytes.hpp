// Bytes of a compressed file, unpacked a piece at a time, and packed.
//
//   if (packing_of(bytes) != packing::none) {
//     const auto unpacking = unpack(bytes, "read_csv: trades.csv.gz");
//     while (const std::size_t n = unpacking->read(buffer, size)) take(buffer, n);
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <query/detail/function_ref.hpp>

namespace query::data {

enum class packing : std::uint8_t { none, gzip, zstd };

packing packing_of(std::string_view first_bytes);       // of a file, whatever its name
packing packing_of_name(std::string_view path);         // that a file to be written asks for: .gz, .zst
bool is_packed_file(const std::string& path);           // by its first bytes; a file that cannot be read is not

class unpacking {
 public:
  virtual ~unpacking() = default;
  // So many bytes at most; 0 at the end. Throws user_error where the data are damaged or end too early.
  virtual std::size_t read(char* to, std::size_t n) = 0;
};
// `packed`, which must outlive the result, begins with what packing_of() knows. `whose` begins the text of each error: verb and path.
// Throws user_error if the library was built without what it takes.
std::unique_ptr<unpacking> unpack(std::string_view packed, std::string whose);

class packer {
 public:
  virtual ~packer() = default;
  // Gives what there is so far to `take`. `last`: nothing follows.
  virtual void pack(std::string_view bytes, bool last, function_ref<void(std::string_view)> take) = 0;
};
// Null for packing::none.
std::unique_ptr<packer> pack(packing how, const std::string& whose);

}  // namespace query::data
