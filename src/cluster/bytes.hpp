// Bytes that another process reads: plain values, texts and lists, in the layout of this program's machine, as both run the same code.
//
//   byte_writer to;  to.put(std::uint32_t{7});  to.put_text("points");
//   byte_reader from(to.bytes());  auto n = from.get<std::uint32_t>();  std::string name = from.get_text();
//
// A reader checks every length against the bytes that are left before it takes memory, and throws cluster_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <query/errors.hpp>

namespace query::cluster {

class byte_writer {
 public:
  void put_raw(const void* from, std::size_t n) {
    const auto* p = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), p, p + n);
  }
  template <class T> requires std::is_trivially_copyable_v<T> void put(const T& x) { put_raw(&x, sizeof x); }
  void put_text(std::string_view s) {
    put(std::uint64_t{s.size()});
    put_raw(s.data(), s.size());
  }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class byte_reader {
 public:
  explicit byte_reader(std::span<const std::byte> bytes) : left_(bytes) {}

  std::span<const std::byte> get_raw(std::size_t n) {
    if (n > left_.size()) throw cluster_error("cluster: a message ends too early");
    const auto got = left_.first(n);
    left_ = left_.subspan(n);
    return got;
  }
  template <class T> requires std::is_trivially_copyable_v<T> T get() {
    T x;
    std::memcpy(&x, get_raw(sizeof x).data(), sizeof x);
    return x;
  }
  // The number of things that take at least `each` bytes.
  std::size_t get_count(std::size_t each) {
    const auto n = get<std::uint64_t>();
    if (n > left_.size() / each) throw cluster_error("cluster: a message has more entries than bytes");
    return static_cast<std::size_t>(n);
  }
  std::string get_text() {
    const auto s = get_raw(get_count(1));
    return {reinterpret_cast<const char*>(s.data()), s.size()};
  }
  std::size_t left() const { return left_.size(); }

 private:
  std::span<const std::byte> left_;
};

}  // namespace query::cluster
