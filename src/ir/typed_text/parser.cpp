#include "ir/typed_text/parser.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "ir/number_text.hpp"
#include "ir/typed_text/aggregates.hpp"
#include "ir/typed_text/numbers.hpp"
#include "ir/typed_text/operands.hpp"
#include "ir/typed_text/tokens.hpp"

namespace query::ir::typed_text {

namespace {

constexpr int most_nested = 100;
constexpr std::size_t most_values = 1000, most_columns = 256;

enum class values_of { rows, groups };

class parser {
 public:
  parser(const text_expression& text, const type* row, arena& nodes, values_of what = values_of::rows)
      : text_(&text), row_(row), make_(nodes), tokens_(tokens_of(text.source)), in_groups_(what == values_of::groups) {}

  const node* whole_condition() {
    const operand x = make_.condition(any_of());
    end();
    return make_.outcome(x);
  }

  struct key {
    const node* value;
    bool descending;
    std::optional<bool> nulls_first;
  };
  std::vector<key> keys() {
    std::vector<key> all;
    do {
      const operand x = any_of();
      const node* const value = make_.result(x);
      const type* const t = value->type->k == kind::optional ? value->type->element : value->type;
      if (!is_arithmetic(t->k) && t->k != kind::string)
        throw fault{x.at, x.end - x.at, "a sort key is a number or a string, and this is " + described(t) +
                                            (t->counts.what == unit::of::date ? "; sort by " + parts_of_date(x.value) : "")};
      key k{value, false, std::nullopt};
      if (take_word("desc")) k.descending = true;
      else take_word("asc");
      if (take_word("nulls")) {
        k.nulls_first = take_word("first");
        if (!*k.nulls_first && !take_word("last")) expected("`first` or `last` after `nulls`");
      }
      all.push_back(k);
    } while (take(","));
    end();
    return all;
  }

  std::vector<named_value> columns() {
    std::vector<named_value> all;
    do {
      const token& first = now();
      if (first.is("*") && !in_groups_) {
        ++at_;
        every_field(first, all);
        continue;
      }
      const operand x = any_of();
      named_value v{{}, make_.result(x), x.at, last_end() - x.at};
      if (take_word("as") || now().what == token::kind::name || now().what == token::kind::quoted_name) {
        if (now().what != token::kind::name && now().what != token::kind::quoted_name) expected("a name after `as`");
        v.name = now().spelled;
        ++at_;
      } else {
        v.name = v.value->what == op::field ? last_name(v.value->text) : text_->source.substr(v.at, v.length);
      }
      add(all, std::move(v));
    } while (take(","));
    end();
    return all;
  }

 private:
  static std::string last_name(const std::string& path) {
    const std::size_t dot = path.rfind('.');
    return dot == path.npos ? path : path.substr(dot + 1);
  }
  static void add(std::vector<named_value>& all, named_value v) {
    if (all.size() == most_columns) throw fault{v.at, v.length, "more than " + std::to_string(most_columns) + " columns"};
    const auto same = [&](const named_value& known) { return known.name == v.name; };
    if (std::any_of(all.begin(), all.end(), same))
      throw fault{v.at, v.length, "two columns are called `" + v.name + "`; name one of them: `... as name`"};
    all.push_back(std::move(v));
  }
  void every_field(const token& star, std::vector<named_value>& all) {
    const operand row = make_.whole(row_);
    if (row.value->type->k != kind::record) return add(all, {"value", make_.result(row), star.at, star.length});
    for (std::size_t i = 0; i < row.value->type->field_list.size(); ++i)
      add(all, {std::string(row.value->type->field_list[i].name), make_.result(make_.part(row, i)), star.at, star.length});
  }

  // ---- tokens
  const token& now() const { return tokens_[at_]; }
  const token& next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool take(std::string_view sign) { return now().is(sign) && (++at_, true); }
  bool take_word(std::string_view word) { return now().is_word(word) && (++at_, true); }
  std::size_t last_end() const { return at_ ? tokens_[at_ - 1].end() : 0; }
  [[noreturn]] void expected(const std::string& what) const {
    if (now().what == token::kind::end) throw fault{now().at, 0, "the text ends here, and " + what + " is missing"};
    throw fault{now().at, now().length, what + " is missing here"};
  }
  void need(std::string_view sign, std::size_t opened) {
    if (take(sign)) return;
    const std::string what = "`" + std::string(sign) + "`";
    if (now().what == token::kind::end) throw fault{opened, 1, "this is not closed: " + what + " is missing at the end"};
    expected(what);
  }
  void end() {
    if (now().what != token::kind::end)
      throw fault{now().at, now().length, "the text goes on where it should end: `and`, `or` or an operator is missing before this"};
    if (!numbered_ && used_ < text_->arguments.size()) too_many_values(used_);
    if (numbered_ && highest_ < text_->arguments.size()) too_many_values(highest_);
  }
  [[noreturn]] void too_many_values(std::size_t named) const {
    throw fault{0, text_->source.size(),
                "the text names " + std::to_string(named) + " values, and " + std::to_string(text_->arguments.size()) + " are given"};
  }

  // Brackets, calls and signs within each other take the stack.
  struct deeper {
    explicit deeper(parser& p) : of(&p) {
      if (++p.nested_ > most_nested)
        throw fault{p.now().at, p.now().length, "more than " + std::to_string(most_nested) + " brackets within each other"};
    }
    ~deeper() { --of->nested_; }
    deeper(const deeper&) = delete;
    deeper& operator=(const deeper&) = delete;
    parser* of;
  };

  // ---- conditions
  operand any_of() {
    std::vector<operand> all{all_of()};
    while (take_word("or") || take("||")) all.push_back(all_of());
    return all.size() == 1 ? all[0] : make_.any_of(all);
  }
  operand all_of() {
    std::vector<operand> all{negation()};
    while (take_word("and") || take("&&")) all.push_back(negation());
    return all.size() == 1 ? all[0] : make_.all_of(all);
  }
  operand negation() {
    bool any = false, odd = false;
    const std::size_t at = now().at;
    while (take_word("not")) any = true, odd = !odd;
    operand x = predicate();
    if (!any) return x;
    x = make_.condition(x);
    if (odd) x = make_.not_of(x);
    x.at = at;
    return x;
  }

  std::optional<op> take_comparison() {
    constexpr std::pair<std::string_view, op> all[] = {{"=", op::eq}, {"==", op::eq}, {"!=", op::ne}, {"<>", op::ne},
                                                       {"<", op::lt}, {"<=", op::le}, {">", op::gt},  {">=", op::ge}};
    for (const auto& [sign, what] : all)
      if (take(sign)) return what;
    return std::nullopt;
  }
  operand predicate() {
    const operand x = sum();
    const std::size_t at = now().at;
    if (const auto what = take_comparison()) {
      const operand c = make_.compare(*what, x, sum(), at);
      const token after = now();
      if (take_comparison())
        throw fault{after.at, after.length, "comparisons do not follow each other: write `a < b and b < c`"};
      return c;
    }
    if (take_word("is")) {
      const bool turned = take_word("not");
      if (!take_word("null")) expected("`null` or `not null` after `is`");
      operand c = make_.is_null(x);
      c.at = x.at;
      c.end = last_end();
      return turned ? make_.not_of(c) : c;
    }
    const bool turned = now().is_word("not") && (next().is_word("in") || next().is_word("like") || next().is_word("between"));
    if (turned) ++at_;
    operand c;
    if (take_word("between")) c = between(x, at);
    else if (take_word("in")) c = in(x, at);
    else if (take_word("like")) c = make_.like(x, sum(), at);
    else return x;
    c.at = x.at;
    c.end = last_end();
    return turned ? make_.not_of(c) : c;
  }
  operand between(const operand& x, std::size_t at) {
    const operand low = sum();
    if (!take_word("and")) expected("`and` of `between ... and ...`");
    const operand high = sum();
    const operand both[] = {make_.compare(op::ge, x, low, at), make_.compare(op::le, x, high, at)};
    return make_.all_of(both);
  }
  operand in(const operand& x, std::size_t at) {
    const std::size_t opened = now().at;
    if (!take("(")) expected("`(` after `in`");
    std::vector<operand> values;
    do {
      if (values.size() == most_values)
        throw fault{now().at, now().length, "more than " + std::to_string(most_values) + " values; join with a table of them"};
      values.push_back(sum());
    } while (take(","));
    need(")", opened);
    return make_.in(x, values, at);
  }

  // ---- values
  operand sum() {
    operand x = product();
    for (;;) {
      const std::size_t at = now().at;
      if (take("+")) x = make_.arithmetic(op::add, x, product(), at);
      else if (take("-")) x = make_.arithmetic(op::sub, x, product(), at);
      else return x;
    }
  }
  operand product() {
    operand x = signed_value();
    for (;;) {
      const std::size_t at = now().at;
      if (take("*")) x = make_.arithmetic(op::mul, x, signed_value(), at);
      else if (take("/")) x = make_.arithmetic(op::div, x, signed_value(), at);
      else if (take("%")) x = make_.arithmetic(op::mod, x, signed_value(), at);
      else return x;
    }
  }
  operand signed_value() {
    const std::size_t at = now().at;
    const bool minus = now().is("-"), plus = now().is("+"), turns = now().is("!");
    if (!minus && !plus && !turns) return primary();
    ++at_;
    const deeper one(*this);
    operand x = signed_value();
    if (turns) x = make_.not_of(x);
    else if (minus) x = make_.negated(x);
    else if (!x.value || !is_number(x.value->type)) throw fault{at, 1, "+ takes a number"};
    x.at = at;
    return x;
  }
  operand primary() {
    const token& t = now();
    switch (t.what) {
      case token::kind::integer:
      case token::kind::floating:
      case token::kind::text:
      case token::kind::parameter: return placed(constant(), t);
      case token::kind::quoted_name: return path();
      case token::kind::name:
        if (t.is_word("true") || t.is_word("false")) {
          ++at_;
          return placed(make_.boolean(t.is_word("true")), t);
        }
        if (t.is_word("null")) {
          ++at_;
          return placed(operand{}, t);
        }
        if (next().is("(") && !is_keyword(t.spelled)) return call();
        if (is_keyword(t.spelled)) {
          std::string why = "a value is missing before `" + t.spelled + "`";
          if (field_named(t.spelled)) why += "; the field of that name is written \"" + t.spelled + "\"";
          throw fault{t.at, t.length, std::move(why)};
        }
        return path();
      default: break;
    }
    if (take("(")) {
      const deeper one(*this);
      operand x = any_of();
      need(")", t.at);
      x.at = t.at;
      x.end = last_end();
      return x;
    }
    expected("a value");
  }
  operand placed(operand x, const token& t) const {
    x.at = t.at;
    x.end = t.end();
    return x;
  }
  operand call() {
    const token& name = now();
    const std::size_t opened = next().at;
    at_ += 2;
    const deeper one(*this);
    if (in_groups_ && !in_aggregate_ && is_aggregate(name.spelled)) return aggregate(name, opened);
    if (is_aggregate(name.spelled) && !name.is_word("min") && !name.is_word("max"))
      throw fault{name.at, name.length, in_aggregate_ ? "an aggregate stands within another" : "aggregates are of groups, not of rows"};
    std::vector<operand> arguments;
    if (!now().is(")")) {
      do {
        if (arguments.size() == most_nested)
          throw fault{now().at, now().length, "more than " + std::to_string(most_nested) + " arguments"};
        arguments.push_back(any_of());
      } while (take(","));
    }
    need(")", opened);
    return make_.called(name.spelled, std::move(arguments), name.at, last_end() - name.at);
  }

  operand aggregate(const token& name, std::size_t opened) {
    std::optional<operand> argument;
    if (!take("*") && !now().is(")")) {
      in_aggregate_ = true;
      argument = any_of();
      in_aggregate_ = false;
    }
    if (now().is(",")) throw fault{now().at, 1, "an aggregate takes one argument; the larger of two values is greatest(a, b)"};
    need(")", opened);
    return aggregate_of(make_, name.spelled, argument ? &*argument : nullptr, name.at, last_end() - name.at);
  }

  // ---- constants
  operand constant() {
    const token& t = now();
    ++at_;
    if (t.what == token::kind::text) return make_.literal(describe<std::string>(), 0, t.spelled);
    if (t.what == token::kind::parameter) return parameter(t);
    const char* const first = t.spelled.data();
    const char* const last = first + t.spelled.size();
    if (t.what == token::kind::floating) {
      double d = 0;
      const auto read = std::from_chars(first, last, d);
      if (read.ec == std::errc::result_out_of_range && underflows(t.spelled)) d = 0;
      else if (read.ec != std::errc{} || !std::isfinite(d)) throw fault{t.at, t.length, "this number is beyond the range of double"};
      return make_.literal(describe<double>(), bits_of(d));
    }
    std::uint64_t u = 0;
    if (std::from_chars(first, last, u).ec != std::errc{})
      throw fault{t.at, t.length, "this number has more than 64 bits; with a point, as in 1e20 or 1.0, it is a double"};
    if (u <= static_cast<std::uint64_t>(std::numeric_limits<int>::max())) return make_.literal(describe<int>(), u);
    if (u <= static_cast<std::uint64_t>(std::numeric_limits<long>::max())) return make_.literal(describe<long>(), u);
    return make_.literal(describe<unsigned long>(), u);
  }
  operand parameter(const token& t) {
    const auto& given = text_->arguments;
    std::size_t number = 0;
    const bool numbered = !t.spelled.empty();
    if (any_parameter_ && numbered != numbered_) throw fault{t.at, t.length, "parameters are either `?` or `$1`, not both in one text"};
    any_parameter_ = true;
    numbered_ = numbered;
    if (numbered) {
      std::from_chars(t.spelled.data(), t.spelled.data() + t.spelled.size(), number);
      if (number == 0) throw fault{t.at, t.length, "parameters are numbered from $1 on"};
      highest_ = std::max(highest_, number);
    } else {
      number = ++used_;
    }
    if (number > given.size())
      throw fault{t.at, t.length,
                  "no value is given for this parameter: query::parsed(text, values...) has " + std::to_string(given.size())};
    const detail::text_argument& a = given[number - 1];
    return make_.literal(a.type, a.bits, a.text);
  }

  // ---- fields
  bool field_named(std::string_view name) const {
    return std::any_of(row_->field_list.begin(), row_->field_list.end(), [&](const field& f) { return f.name == name; });
  }
  operand path() {
    const token& first = now();
    if (in_groups_ && !in_aggregate_)
      throw fault{first.at, first.length, "`" + first.spelled + "` stands outside of an aggregate: write max(" + first.spelled + ")..."};
    operand x = make_.whole(row_);
    if (x.value->type->k == kind::record) {
      x = field_of(x, first, "the row");
    } else {
      if (first.spelled != "value") throw fault{first.at, first.length, "the rows have no fields: a row is called `value`"};
      ++at_;
    }
    for (;;) {
      if (now().is(".")) {
        if (x.value->type->k != kind::record)
          throw fault{now().at, 1, "this is " + described(x.value->type) + " and has no fields"};
        ++at_;
        if (now().what != token::kind::name && now().what != token::kind::quoted_name) expected("the name of a field");
        x = field_of(x, now(), "the record");
      } else if (now().is("[")) {
        x = element_of(x);
      } else {
        break;
      }
    }
    x.at = first.at;
    x.end = last_end();
    return x;
  }
  operand field_of(const operand& record, const token& name, std::string_view whose) {
    const auto& fields = record.value->type->field_list;
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (fields[i].name == name.spelled) {
        ++at_;
        return make_.part(record, i);
      }
    std::vector<std::string_view> names;
    for (const field& f : fields) names.push_back(f.name);
    std::string why = "no field `" + name.spelled + "`";
    if (const std::string_view near = nearest(name.spelled, names); !near.empty()) why += "; did you mean `" + std::string(near) + "`?";
    else if (name.what == token::kind::quoted_name) why += "; strings stand in single quotes, '" + name.spelled + "'";
    else why += "; " + std::string(whose) + " has " + listed(names);
    throw fault{name.at, name.length, std::move(why)};
  }
  operand element_of(const operand& of) {
    const std::size_t opened = now().at;
    if (of.value->type->k != kind::array)
      throw fault{opened, 1, "[] takes an element of an array, and this is " + described(of.value->type)};
    ++at_;
    const token& number = now();
    const std::string& digits = number.spelled;
    std::size_t i = 0;
    if (number.what != token::kind::integer) expected("the number of an element, a constant from 0 on,");
    if (std::from_chars(digits.data(), digits.data() + digits.size(), i).ec != std::errc{} || i >= of.value->type->count)
      throw fault{number.at, number.length, "the array has elements 0 to " + std::to_string(of.value->type->count - 1)};
    ++at_;
    need("]", opened);
    return make_.part(of, i);
  }

  const text_expression* text_;
  const type* row_;
  maker make_;
  std::vector<token> tokens_;
  std::size_t at_ = 0;
  int nested_ = 0;
  std::size_t used_ = 0, highest_ = 0;  // parameters
  bool any_parameter_ = false, numbered_ = false;
  bool in_groups_, in_aggregate_ = false;
};

// Limits of expressions, which lambdas have too.
template <class Read> auto within_limits(const text_expression& text, Read read) {
  try {
    return read();
  } catch (const untraceable& u) {
    throw fault{0, text.source.size(), "the text is too long: " + u.reason};
  }
}

}  // namespace

traced condition_of(const text_expression& text, const type* row) {
  return within_limits(text, [&] {
    traced t;
    t.owner = std::make_shared<arena>();
    t.root = parser(text, row, *t.owner).whole_condition();
    return t;
  });
}

std::vector<sort_key> sort_keys_of(const text_expression& text, const type* row) {
  return within_limits(text, [&] {
    const auto owner = std::make_shared<arena>();
    std::vector<sort_key> all;
    for (const auto& k : parser(text, row, *owner).keys()) all.push_back({{owner, k.value, {}, 0}, k.descending, k.nulls_first});
    return all;
  });
}

static value_list list_of(const text_expression& text, const type* row, values_of what) {
  return within_limits(text, [&] {
    value_list l;
    l.owner = std::make_shared<arena>();
    l.values = parser(text, row, *l.owner, what).columns();
    return l;
  });
}
value_list columns_of(const text_expression& text, const type* row) { return list_of(text, row, values_of::rows); }
value_list aggregates_of(const text_expression& text, const type* row) { return list_of(text, row, values_of::groups); }

}  // namespace query::ir::typed_text
