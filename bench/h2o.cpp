// The questions of the H2O db-benchmark, written as a user would; results are columns that the engine owns, as the peers'.
//
//   h2o ROWS FOLDER                            writes the tables to FOLDER, for bench/h2o/peers.py
//   h2o ROWS - [NAMES [columns|records|arrow]]  answers the questions (q1,j2; "": all) four times each, over columns unless said otherwise;
//                                              a JSON line a question: {"question": "j2", "ms": [...], "answer": [...]}
//
// bench/h2o/run does both, beside DuckDB, Polars and DataFusion, compares the answers and prints the ratios.
#include <cstdlib>
#include <string_view>

#include "h2o/questions_of_tables.hpp"

namespace {

std::vector<h2o::question> over_columns(const h2o::tables& t) {
  const auto of = [](const auto& table) { return query::from(query::columns(table)); };
  return h2o::questions(of(t.g), of(t.x), of(t.small), of(t.medium), of(t.big));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: h2o ROWS FOLDER | h2o ROWS - [NAMES [columns|records|arrow]]\n", stderr);
    return 2;
  }
  h2o::tables t(std::strtoull(argv[1], nullptr, 10));
  if (std::string_view(argv[2]) != "-") {
    t.write(argv[2]);
    return 0;
  }
  const std::string_view names = argc > 3 ? argv[3] : "", from = argc > 4 ? argv[4] : "columns";
  bench::answer(from == "records" ? h2o::over_records(t) : from == "arrow" ? h2o::over_arrow(t) : over_columns(t), names);
}
