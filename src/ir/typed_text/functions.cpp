// The functions that a text may call: those of query/maths.hpp and of strings, under their names there and in SQL.
#include <algorithm>
#include <array>

#include "ir/typed_text/numbers.hpp"
#include "ir/typed_text/operands.hpp"
#include "query/errors.hpp"
#include "query/strings.hpp"

namespace query::ir::typed_text {

namespace {

enum class takes : std::uint8_t {
  floating, two_floating, number, numbers, classified,
  string, characters, strings, three_strings, size, length,  // characters: a string, and which of its characters it is about
  optionals, choice
};
struct function {
  std::string_view name;     // in texts
  std::string_view as;       // in the expression
  takes what;
};
constexpr std::array functions = {
    function{"abs", "abs", takes::number},
    function{"acos", "acos", takes::floating},
    function{"asin", "asin", takes::floating},
    function{"atan", "atan", takes::floating},
    function{"atan2", "atan2", takes::two_floating},
    function{"cbrt", "cbrt", takes::floating},
    function{"ceil", "ceil", takes::floating},
    function{"coalesce", "coalesce", takes::optionals},
    function{"contains", "contains", takes::strings},
    function{"cos", "cos", takes::floating},
    function{"ends_with", "ends_with", takes::strings},
    function{"exp", "exp", takes::floating},
    function{"floor", "floor", takes::floating},
    function{"fmod", "fmod", takes::two_floating},
    function{"greatest", "max", takes::numbers},
    function{"hypot", "hypot", takes::two_floating},
    function{"iff", "iff", takes::choice},
    function{"ifnull", "coalesce", takes::optionals},
    function{"isfinite", "isfinite", takes::classified},
    function{"isinf", "isinf", takes::classified},
    function{"isnan", "isnan", takes::classified},
    function{"least", "min", takes::numbers},
    function{"length", "length", takes::length},
    function{"log", "log", takes::floating},
    function{"log10", "log10", takes::floating},
    function{"log2", "log2", takes::floating},
    function{"lower", "lower", takes::string},
    function{"ltrim", "trim_start", takes::characters},
    function{"matches", "matches", takes::strings},
    function{"max", "max", takes::numbers},
    function{"min", "min", takes::numbers},
    function{"pow", "pow", takes::two_floating},
    function{"regex_replace", "regex_replace", takes::three_strings},
    function{"replace", "replace", takes::three_strings},
    function{"round", "round", takes::floating},
    function{"rtrim", "trim_end", takes::characters},
    function{"sin", "sin", takes::floating},
    function{"size", "size", takes::size},
    function{"sqrt", "sqrt", takes::floating},
    function{"starts_with", "starts_with", takes::strings},
    function{"tan", "tan", takes::floating},
    function{"to_lower", "to_lower", takes::string},
    function{"to_upper", "to_upper", takes::string},
    function{"trim", "trim", takes::characters},
    function{"trim_end", "trim_end", takes::characters},
    function{"trim_start", "trim_start", takes::characters},
    function{"trunc", "trunc", takes::floating},
    function{"upper", "upper", takes::string},
};

std::string lower_case(std::string_view s) {
  std::string l(s);
  for (char& c : l)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return l;
}

const type* floating_type(const type* t) { return t->k == kind::f32 ? t : describe<double>(); }

// Texts are checked when they are read.
void check_regex(const operand& regex) {
  if (!regex.is_literal()) return;
  try {
    detail::matches_fn::native("", regex.value->text);
  } catch (const query::user_error& e) {
    throw fault{regex.at, regex.end - regex.at, e.what()};
  }
}

// How many arguments a function has, at least and at most; 0: any number.
struct arity {
  std::size_t least, most;
};
arity arity_of(takes t) {
  switch (t) {
    case takes::two_floating:
    case takes::strings: return {2, 2};
    case takes::characters: return {1, 2};
    case takes::three_strings: return {3, 3};
    case takes::numbers:
    case takes::optionals: return {2, 0};
    case takes::choice: return {3, 3};
    default: return {1, 1};
  }
}

}  // namespace

operand maker::called(std::string_view name, std::vector<operand> arguments, std::size_t at, std::size_t length) const {
  const std::string wanted = lower_case(name);
  const auto f = std::find_if(functions.begin(), functions.end(), [&](const function& x) { return x.name == wanted; });
  if (f == functions.end()) {
    std::vector<std::string_view> names;
    for (const function& x : functions) names.push_back(x.name);
    const std::string_view near = nearest(wanted, names);
    std::string why = "no function `" + std::string(name) + "`";
    if (!near.empty()) why += "; did you mean `" + std::string(near) + "`?";
    throw fault{at, name.size(), std::move(why)};
  }
  const auto [least, most] = arity_of(f->what);
  if (arguments.size() < least || (most && arguments.size() > most))
    throw fault{at, length,
                "`" + std::string(f->name) + "` takes " + std::to_string(least) +
                    (most == least ? "" : most ? " or " + std::to_string(most) : " or more") +
                    (most == 1 ? " argument" : " arguments") + ", and here are " + std::to_string(arguments.size())};
  for (operand& x : arguments) {
    if (f->what != takes::choice) x = plain(x);
    need_value(x);
  }
  if (f->what == takes::choice) return chosen(arguments, at, length);
  if (f->what == takes::optionals) return first_present(arguments, at, length);
  const type* const first = arguments[0].value->type;
  operand made;
  made.depth = 0;
  if (f->what == takes::size || f->what == takes::length) {
    if (first->k == kind::list) made.value = arena_->put(op::size, describe<std::size_t>(), {arguments[0].value});
    else made = call_of_strings(f->as, describe<std::size_t>(), arguments);
  } else if (f->what >= takes::string && f->what <= takes::three_strings) {
    if (f->what == takes::characters && arguments.size() == 1)
      arguments.push_back(literal(describe<std::string>(), 0, std::string(detail::white_space)));
    made = call_of_strings(f->as, f->what == takes::strings ? describe<bool>() : describe<std::string>(), arguments);
    if (f->as == detail::matches_fn::name || f->as == detail::regex_replace_fn::name) check_regex(arguments[1]);
  } else {
    for (const operand& x : arguments)
      if (!is_number(x.value->type))
        throw fault{x.at, x.end - x.at, "`" + std::string(f->name) + "` takes numbers, and this is " + described(x.value->type)};
    const type* t = f->what == takes::number ? promoted(first) : floating_type(first);
    if (f->what == takes::two_floating) {
      const bool floats = first->k == kind::f32 && arguments[1].value->type->k == kind::f32;
      t = floats ? describe<float>() : describe<double>();
    }
    if (f->what == takes::classified) {
      made.value = arena_->put(op::call, describe<bool>(), {cast(arguments[0].value, t)}, 0, 0, std::string(f->as));
    } else if (f->what == takes::numbers) {
      // As query::min(a, b, c): in pairs, from the first on.
      made.value = arguments[0].value;
      for (std::size_t i = 1; i < arguments.size(); ++i) {
        t = common_type(made.value->type, arguments[i].value->type);
        made.value = arena_->put(op::call, t, {cast(made.value, t), cast(arguments[i].value, t)}, 0, 0, std::string(f->as));
      }
    } else {
      made = call_of_numbers(f->as, t, arguments);
    }
  }
  for (const operand& x : arguments) made.present = both(made.present, x.present);
  operand begin, end;
  begin.at = begin.end = at;
  end.end = at + length;
  for (const operand& x : arguments) end.depth = std::max(end.depth, x.depth);
  return joined(made, begin, end);
}

operand maker::call_of_numbers(std::string_view name, const type* t, std::span<const operand> arguments) const {
  node n;
  n.what = op::call;
  n.type = t;
  n.text = std::string(name);
  for (const operand& x : arguments) n.kids.push_back(cast(x.value, t));
  operand made;
  made.value = arena_->put(std::move(n));
  return made;
}

operand maker::call_of_strings(std::string_view name, const type* t, std::span<const operand> arguments) const {
  node n;
  n.what = name == "size" ? op::size : op::call;
  n.type = t;
  if (name != "size") n.text = std::string(name);
  for (const operand& x : arguments) {
    if (x.value->type->k != kind::string)
      throw fault{x.at, x.end - x.at, "a string is needed here, and this is " + described(x.value->type)};
    n.kids.push_back(x.value);
  }
  operand made;
  made.value = arena_->put(std::move(n));
  return made;
}

// coalesce(a, b, ...): the first that is not null, in the common type of all.
operand maker::first_present(std::span<const operand> arguments, std::size_t at, std::size_t length) const {
  const type* t = arguments[0].value->type;
  for (const operand& x : arguments) {
    const type* const other = x.value->type;
    if (is_number(t) && is_number(other)) t = common_type(t, other);
    else if (t != other) throw fault{x.at, x.end - x.at, "this is " + described(other) + ", and what comes before it " + described(t)};
  }
  operand made;
  const auto as = [&](const operand& x) { return is_number(t) ? cast(x.value, t) : x.value; };
  made.value = as(arguments.back());
  made.present = arguments.back().present;
  for (std::size_t i = arguments.size() - 1; i-- > 0;) {
    const operand& x = arguments[i];
    made.value = x.present ? make_select(*arena_, x.present, as(x), made.value) : as(x);
    made.present = x.present && made.present ? either(x.present, made.present) : nullptr;
  }
  made.at = at;
  made.end = at + length;
  for (const operand& x : arguments) made.depth = std::max(made.depth, x.depth + static_cast<int>(arguments.size()));
  return joined(made, made, made);
}

// iff(c, a, b): a where c is true, else b.
operand maker::chosen(std::span<const operand> arguments, std::size_t at, std::size_t length) const {
  const node* const c = condition(arguments[0]).value;
  const operand a = plain(arguments[1]), b = plain(arguments[2]);
  const type *const ta = a.value->type, *const tb = b.value->type;
  const bool numbers = is_number(ta) && is_number(tb);
  if (!numbers && ta != tb) throw fault{b.at, b.end - b.at, "this is " + described(tb) + ", and the other result " + described(ta)};
  const type* const t = numbers ? common_type(ta, tb) : ta;
  operand made;
  made.value = make_select(*arena_, c, numbers ? cast(a.value, t) : a.value, numbers ? cast(b.value, t) : b.value);
  if (a.present || b.present)
    made.present = make_select(*arena_, c, a.present ? a.present : truth(), b.present ? b.present : truth());
  made.at = at;
  made.end = at + length;
  made.depth = std::max({arguments[0].depth, a.depth, b.depth});
  return joined(made, made, made);
}

}  // namespace query::ir::typed_text
