#include "corpus/forms.hpp"

namespace corpus {

std::vector<form> string_functions() {
  collector to("functions of strings");
  TRACED_ORDER("trim", [](auto t) { return query::trim(" " + t.name + "\n"); });
  TRACED_ORDER("trim_start, trim_end of characters", [](auto t) { return query::trim_start(t.name, "IS") + query::trim_end(t.city, t.name); });
  TRACED_ORDER("replace", [](auto t) { return query::replace(t.name, "B", t.city); });
  TRACED_ORDER("lower, upper", [](auto t) { return query::lower(t.name + "\u00c9") + query::upper(t.city + "\u00e9"); });
  TRACED_ORDER("query::length beyond ASCII", [](auto t) { return query::length(t.name + "\u20ac"); });
  TRACED_ORDER("substring", [](auto t) { return query::substring("\u00e9" + t.name, 1, 2) + query::substring(t.city, t.id); });
  TRACED_ORDER("split().size()", [](auto t) { return query::split(t.name, "B").size(); });
  TRACED_ORDER("split by a char", [](auto t) { return query::split(t.city, ' ').front(); });
  TRACED_ORDER("split()[i]", [](auto t) { return query::split(t.name + ",b,c", ",").at(1); });
  TRACED_ORDER("return split()", [](auto t) { return query::split(t.name, ""); });
  TRACED_ORDER("split under a condition", [](auto t) { return t.id > 3 ? query::split(t.name, "B").size() : query::split(t.city, "").size(); });
  TRACED_ORDER("count over split()", [](auto t) { return query::count(query::split(t.name, ""), [](auto part) { return part == "B"; }); });
  TRACED_ORDER("like", [](auto t) { return query::like(t.name, "_B%"); });
  TRACED_ORDER("like, lazy", [](auto t) { return query::iff(query::like(query::lazy(t.name), "I%"), 1, 2); });
  TRACED_ORDER("to_string of an int", [](auto t) { return query::to_string(t.id) + "/" + query::to_string(t.id * 2.5); });
  TRACED_ORDER("to_string of a condition", [](auto t) { return query::to_string(query::lazy(t.id) > 3) + query::to_string(7u); });
  TRACED_ORDER("parse", [](auto t) { return query::parse<int>(query::to_string(t.id)); });
  TRACED_ORDER("parse().value_or", [](auto t) { return query::parse<double>(t.name).value_or(t.price); });
  TRACED_ORDER("if (parse())", [](auto t) { if (auto n = query::parse<std::int64_t>(t.city)) return *n + 1; return query::cast<std::int64_t>(t.id); });
  TRACED_ORDER("matches", [](auto t) { return query::matches(t.name, "^[A-M]"); });
  TRACED_ORDER("regex_replace", [](auto t) { return query::regex_replace(t.name, "([A-M])", "<\\1>"); });
  TRACED_ORDER("regex_extract", [](auto t) { return query::regex_extract(t.name, "([A-M])([N-Z])", 2); });
  TRACED_ORDER("regex_extract().value_or", [](auto t) { return query::regex_extract(t.city, "[aeiou]+").value_or("none"); });
  return std::move(to.forms);
}

}  // namespace corpus
