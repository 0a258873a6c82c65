// A folder of temporary files, and rows read from CSV text: what the tests of src/data share.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <query/csv.hpp>
#include <query/errors.hpp>

#include "data/csv_file.hpp"
#include "data/csv_writer.hpp"

namespace query::data {

class csv_test : public ::testing::Test {
 protected:
  csv_test() {
    char name[] = "/tmp/query-data-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~csv_test() override { std::filesystem::remove_all(folder_); }

  std::string path(std::string_view name = "a.csv") const { return (folder_ / name).string(); }

  std::string file(std::string_view text, std::string_view name = "a.csv") const {
    std::filesystem::remove(path(name));  // ext4 writes a file that was cut to nothing to the disk at once
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::string text_of(std::string_view name = "a.csv") const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  template <class T> static std::vector<T> rows_of(csv_file& f, std::span<const bool> wanted = {}) {
    f.index(serially);
    std::allocator<T> memory;
    T* rows = memory.allocate(f.rows());
    struct release {
      std::allocator<T>& memory;
      T* rows;
      std::size_t n;
      ~release() { memory.deallocate(rows, n); }
    } const releaser{memory, rows, f.rows()};
    f.read(serially, wanted, rows);
    std::vector<T> result(std::make_move_iterator(rows), std::make_move_iterator(rows + f.rows()));
    std::destroy_n(rows, f.rows());
    return result;
  }

  template <class T>
  std::vector<T> read(std::string_view text, csv_options options = {}, std::size_t chunk_bytes = csv_file::default_chunk_bytes) const {
    csv_file f(file(text), std::move(options), ir::describe<T>(), chunk_bytes);
    return rows_of<T>(f);
  }

  // The message of the user_error that reading throws, with the folder's name taken out.
  template <class T>
  std::string error(std::string_view text, csv_options options = {}, std::size_t chunk_bytes = csv_file::default_chunk_bytes) const {
    return error_of([&] { static_cast<void>(read<T>(text, std::move(options), chunk_bytes)); });
  }
  template <class F> std::string error_of(F f) const {
    try {
      f();
    } catch (const query::error& e) {
      std::string message = e.what();
      const std::string folder = folder_.string() + "/";
      for (std::size_t at; (at = message.find(folder)) != std::string::npos;) message.erase(at, folder.size());
      return message;
    }
    return "no error";
  }

  template <class T> void write(const std::vector<T>& rows, csv_options options = {}, std::string_view name = "a.csv") const {
    csv_writer writer(path(name), std::move(options), ir::describe<T>());
    writer.write(rows.data(), rows.size());
    writer.finish();
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace query::data
