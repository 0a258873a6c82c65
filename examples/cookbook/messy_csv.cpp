// Reads a CSV file as spreadsheets export it: with semicolons, odd names, blanks, quotes, missing and wrong values.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "answer.hpp"

struct Line {
  std::optional<std::string> day;
  std::string customer, amount;
};
QUERY_RECORD(Line, day, customer, amount);

struct Sale {
  std::string day, customer;
  std::optional<double> amount;
};
QUERY_RECORD(Sale, day, customer, amount);

struct Total {
  std::string customer;
  std::int64_t sales, unreadable;
  double amount;
};
QUERY_RECORD(Total, customer, sales, unreadable, amount);

int main() {
  const auto path = (std::filesystem::temp_directory_path() / ("query_cookbook_" + std::to_string(getpid()) + ".csv")).string();
  std::ofstream(path) << "Date;Customer Name;\"Amount; EUR\";Note\n"
                         "2026-01-03; \"Miller; Sons\" ;1200,50;\"said \"\"hi\"\"\"\n"
                         "NA;Ada;3;\n"
                         "\n"
                         "2026-01-04;Ada;n/a;\"two\nlines\"\n"
                         " 2026-01-05 ;Ada; 12.5;\n";

  const auto totals = query::read_csv<Line>(path, {.delimiter = ';', .null_text = "NA", .trim = true,
                                                   .columns = {{"day", "Date"}, {"customer", "Customer Name"}, {"amount", "Amount; EUR"}}})
      .where([](auto l) { return l.day.has_value(); })
      .select([](auto l) { return query::make<Sale>(*l.day, l.customer, query::parse<double>(query::replace(l.amount, ",", "."))); })
      .group_by([](auto s) { return s.customer; })
      .select([](auto g) {
        const auto amount = [](auto s) { return s.amount; };
        return query::make<Total>(g.key(), g.count(amount), g.count() - g.count(amount), g.sum(amount));
      })
      .order_by([](auto t) { return t.customer; });

  const int failed = answer<Total>(totals, {{"Ada", 1, 1, 12.5}, {"Miller; Sons", 1, 0, 1200.5}});
  std::filesystem::remove(path);
  return failed;
}
