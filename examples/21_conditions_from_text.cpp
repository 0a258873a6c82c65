// Conditions, sort keys and columns that a user types: read from the command line, checked against the row, planned like lambdas.
//
//   example_conditions_from_text "alt > 5000 and name like '%Intl'" "alt desc"
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

int main(int argc, char** argv) {
  const std::string condition = argc > 1 ? argv[1] : "alt > 5000 and tzone = 'America/Denver' and not name like '%Muni%'";
  const std::string order = argc > 2 ? argv[2] : "alt desc, faa";

  const auto airports = query::read_csv<Airport>(example_data("airports.csv"));
  try {
    airports.where(condition).order_by(order).print(5);

    // A value that comes from elsewhere is bound, not pasted into the text.
    const std::string code = "JFK";
    airports.where(query::parsed("faa = ? or abs(lat - ?) < 0.05", code, 40.64)).order_by("faa").print();

    // Columns and groups by name.
    airports.as_dynamic().group_by("tzone", "count() as airports, max(alt) as highest, avg(lat)").order_by("airports desc").print({.rows = 4});
  } catch (const query::text_error& e) {
    std::cerr << e.what() << "\n";  // with a caret under what is wrong
    return 1;
  }

  // The mistakes of a user, as they are shown.
  for (const char* typed : {"altitude > 5000", "alt > 'high'", "alt > 5000 and (lat < 40", "name = \"Kennedy\"", "alt in (1, 2"})
    try {
      airports.where(typed).print();
    } catch (const query::text_error& e) {
      std::cout << e.what() << "\n";
    }
}
