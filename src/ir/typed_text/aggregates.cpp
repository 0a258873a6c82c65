#include "ir/typed_text/aggregates.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "ir/typed_text/numbers.hpp"

namespace query::ir::typed_text {

namespace {

struct aggregate {
  std::string_view name, as;  // in texts, in the expression
};
constexpr std::array aggregates = {
    aggregate{"any", "any"},           aggregate{"avg", "mean"},          aggregate{"all", "all"},
    aggregate{"average", "mean"},      aggregate{"count", "count"},       aggregate{"count_distinct", "count_distinct"},
    aggregate{"count_if", "count_if"}, aggregate{"first", "first"},       aggregate{"last", "last"},
    aggregate{"max", "max"},           aggregate{"mean", "mean"},         aggregate{"median", "median"},
    aggregate{"min", "min"},           aggregate{"stddev", "stddev"},     aggregate{"sum", "sum"},
    aggregate{"variance", "variance"},
};

const aggregate* find(std::string_view name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  const auto at = std::find_if(aggregates.begin(), aggregates.end(), [&](const aggregate& a) {
    return std::equal(name.begin(), name.end(), a.name.begin(), a.name.end(), [&](char x, char y) { return lower(x) == y; });
  });
  return at == aggregates.end() ? nullptr : &*at;
}

const type* type_of_sum_over(const type* t) {
  if (is_floating(t->k)) return describe<double>();
  return is_integer(t->k) && !is_signed_integer(t->k) ? describe<std::uint64_t>() : describe<std::int64_t>();
}

// True of a condition that is neither: `all` passes over nulls.
const node* not_false(const maker& m, const operand& argument) {
  const operand c = m.condition(argument);
  if (!c.fails) return c.value;
  operand fails;
  fails.value = c.fails;
  return m.not_of(fails).value;
}

}  // namespace

bool is_aggregate(std::string_view name) { return find(name) != nullptr; }

operand aggregate_of(const maker& m, std::string_view name, const operand* argument, std::size_t at, std::size_t length) {
  const std::string as(find(name)->as);
  const auto refuse = [&](const std::string& why) { throw fault{at, length, "`" + std::string(name) + "` " + why}; };
  const node* of = nullptr;
  if (argument && as == "all") of = not_false(m, *argument);
  else if (argument && (as == "any" || as == "count_if")) of = m.outcome(*argument);
  else if (argument) of = m.result(*argument);
  else if (as != "count") refuse("takes one argument");
  const bool nullable = of && of->type->k == kind::optional;
  const type* const value = !of ? nullptr : nullable ? of->type->element : of->type;
  const bool number = value && is_number(value);

  const type* given = describe<std::int64_t>();
  std::string what = as;
  if (as == "count") {
    what = nullable ? "count_if" : "count";  // of what is never null, all rows
    if (!nullable) of = nullptr;
  } else if (as == "any" || as == "all") {
    given = describe<bool>();
  } else if (as == "sum") {
    if (!number) refuse("takes numbers, and this is " + described(value));
    given = type_of_sum_over(value);
  } else if (as == "mean" || as == "median") {
    if (!number) refuse("takes numbers, and this is " + described(value));
    given = nullable ? describe<std::optional<double>>() : describe<double>();
  } else if (as == "variance" || as == "stddev") {
    if (!number) refuse("takes numbers, and this is " + described(value));
    given = describe<std::optional<double>>();
  } else if (as == "min" || as == "max" || as == "first" || as == "last" || as == "count_distinct") {
    if (!is_arithmetic(value->k) && value->k != kind::string) refuse("takes numbers and strings, and this is " + described(value));
    if (as != "count_distinct") given = of->type;
  }
  node n;
  n.what = op::aggregate;
  n.type = given;
  if (of) n.kids.push_back(of);
  n.text = std::move(what);
  operand x;
  x.value = m.nodes().put(std::move(n));
  x = m.opened(x);
  x.at = at;
  x.end = at + length;
  return x;
}

}  // namespace query::ir::typed_text
