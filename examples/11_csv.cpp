// Files: columns are found by the record's field names; only those that the query uses are parsed.
#include <filesystem>
#include <iostream>
#include <string>

#include <query/query.hpp>

#include "example_data.hpp"

struct Airport {
  std::string faa, name;
  double lat, lon;
  std::int32_t alt;
  std::optional<std::string> tzone;
};
QUERY_RECORD(Airport, faa, name, lat, lon, alt, tzone);

// The same file with other names for its columns, and fewer of them.
struct Elevation {
  std::string code;
  double metres;
};
QUERY_RECORD(Elevation, code, metres);

int main() {
  const auto airports = query::read_csv<Airport>(example_data("airports.csv"));
  airports.order_by_descending([](auto a) { return a.alt; }).take(5).print();
  std::cout << airports.describe();

  const std::string path = (std::filesystem::temp_directory_path() / "query_example_elevations.csv").string();
  airports.select([](auto a) { return query::make<Elevation>(a.faa, a.alt * 0.3048); }).write_csv(path, {.delimiter = ';'});
  const auto back = query::read_csv<Elevation>(path, {.delimiter = ';'});
  std::cout << back.count() << " rows, highest " << *back.max([](auto e) { return e.metres; }) << " m\n";
  std::filesystem::remove(path);

  // What does not fit is reported with row, column and the type that was expected.
  try {
    query::read_csv<Elevation>(example_data("airports.csv"), {.columns = {{"code", "faa"}, {"metres", "name"}}}).to_vector();
  } catch (const query::user_error& e) {
    std::cout << e.what() << "\n";
  }
}
