// Rows that are bools: a std::vector<bool> has no rows side by side, but every verb takes and gives them as others.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "conformance/engines.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

const std::vector<bool> flags{true, false, false, true, true};
const std::vector<std::int32_t> numbers{3, 0, 1, 2, 7};
const auto is_large = [](auto x) { return x > 1; };

CONFORMS(bool_rows, are_shown, "print", "table", "describe") {
  const auto of_numbers = source(e, numbers).select(is_large);
  const auto of_flags = source(e, flags);
  const std::string shown = of_flags.table();
  EXPECT_EQ(of_numbers.table(), shown);
  EXPECT_NE(shown.find("true"), std::string::npos) << shown;
  EXPECT_NE(shown.find("false"), std::string::npos) << shown;
  EXPECT_NE(of_flags.table(1), shown);
  testing::internal::CaptureStdout();
  of_numbers.print();
  of_flags.print(2);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), shown + of_flags.table(2));
  EXPECT_EQ(of_numbers.describe(), of_flags.describe());
  EXPECT_NE(of_flags.describe().find("0.6"), std::string::npos) << of_flags.describe();  // the mean
}

CONFORMS(bool_rows, are_written, "write_csv") {
  const auto path = std::filesystem::temp_directory_path() / ("query_bool_rows_" + std::to_string(::getpid()) + ".csv");
  source(e, numbers).select(is_large).write_csv(path.string());
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  EXPECT_NE(text.str().find("true\nfalse\nfalse\ntrue\ntrue\n"), std::string::npos) << text.str();
}

CONFORMS(bool_rows, are_rows_as_others, "to_vector", "order_by", "contains", "distinct") {
  const auto of_numbers = source(e, numbers).select(is_large);
  EXPECT_EQ(of_numbers.to_vector(), flags);
  EXPECT_EQ(source(e, flags).to_vector(), flags);
  EXPECT_EQ(of_numbers.order_by([](auto b) { return b; }).to_vector(), (std::vector<bool>{false, false, true, true, true}));
  EXPECT_TRUE(of_numbers.contains(false));
  EXPECT_FALSE(of_numbers.where([](auto b) { return b; }).contains(false));
  EXPECT_EQ(of_numbers.distinct().as_ordered().to_vector(), (std::vector<bool>{true, false}));
  EXPECT_EQ(source(e, flags).distinct().count(), 2);
}

}  // namespace
}  // namespace conformance
