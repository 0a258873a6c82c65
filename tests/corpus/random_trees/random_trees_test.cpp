// The two lives of random lambdas give the same to the last bit, and the interpreter reports what the native life cannot do.
#include <gtest/gtest.h>

#include <sstream>

#include <cpu_engine/interpreter.hpp>
#include <query/errors.hpp>

#include "corpus/forms.hpp"
#include "corpus/random_trees/batch.hpp"

namespace {

using random_trees::sample;
using random_trees::tree;

constexpr std::size_t rows_of_tree = 300;

std::vector<tree> all_trees() {
  std::vector<tree> all;
  for (auto batch : {random_trees::first_batch, random_trees::second_batch, random_trees::third_batch, random_trees::fourth_batch})
    for (tree& t : batch()) all.push_back(std::move(t));
  return all;
}

// In batches, as engines call it.
void interpret(const query::ir::node* root, const std::vector<sample>& rows, corpus::values& results) {
  const query::interpreter::program program(root);
  query::interpreter::scratch scratch;
  for (std::size_t i = 0; i < rows.size();) {
    const std::size_t k = std::min<std::size_t>(rows.size() - i, 128);
    const query::interpreter::binding part{&rows[i], sizeof(sample), {}};
    program.run({&part, 1}, {}, k, results.at(i), scratch);
    results.constructed = i += k;
  }
}

std::string difference(const tree& t, const char* life, const corpus::values& native, const corpus::values& other) {
  for (std::size_t i = 0; i < native.constructed; ++i) {
    if (corpus::same(t.result, native.at(i), other.at(i), 0)) continue;
    std::ostringstream text;
    text << "row " << i << ": native ";
    corpus::print(text, t.result, native.at(i));
    text << ", " << life << ' ';
    corpus::print(text, t.result, other.at(i));
    return text.str();
  }
  return {};
}

struct lives {
  std::vector<sample> rows, trapping;  // where the native life has a value, and where it has none
};
lives native_life(const tree& t, std::vector<sample> rows, corpus::values& native, corpus::values& plain) {
  lives l;
  for (sample& row : rows) {
    const std::size_t at = l.rows.size();
    try {
      t.native(row, native.at(at));
      native.constructed = at + 1;
      t.of_plain(row, plain.at(at));
      plain.constructed = at + 1;
      l.rows.push_back(std::move(row));
    } catch (const random_trees::trap&) {
      l.trapping.push_back(std::move(row));
    }
  }
  return l;
}

TEST(random_trees, give_natively_what_the_interpreter_gives) {
  std::size_t traced = 0, trapping = 0;
  for (const tree& t : all_trees()) {
    SCOPED_TRACE("seed " + std::to_string(t.from));
    if (!t.trace) {
      EXPECT_TRUE(t.trace.reason.starts_with("more than 1024 paths")) << t.trace.reason;
      continue;
    }
    ++traced;
    SCOPED_TRACE(query::ir::show(t.trace).substr(0, 4000));
    corpus::values native(t.result, rows_of_tree), plain(t.result, rows_of_tree), interpreted(t.result, rows_of_tree);
    const lives l = native_life(t, random_trees::awkward_rows(rows_of_tree, t.from), native, plain);
    EXPECT_EQ(difference(t, "of the struct itself", native, plain), "");
    try {
      interpret(t.trace.root, l.rows, interpreted);
      EXPECT_EQ(difference(t, "interpreted", native, interpreted), "");
    } catch (const std::exception& e) {
      ADD_FAILURE() << "the interpreter threw: " << e.what();
    }
    if (l.trapping.empty()) continue;
    ++trapping;
    for (const sample& row : l.trapping) {
      corpus::values none(t.result, 1);
      EXPECT_THROW(interpret(t.trace.root, {row}, none), query::user_error);
    }
  }
  EXPECT_GE(traced, 150u);
  EXPECT_GE(trapping, 5u);
}

}  // namespace
