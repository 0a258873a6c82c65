#include "corpus/forms.hpp"

namespace corpus {

std::vector<form> strings_and_nulls() {
  collector to("strings and nulls");
  TRACED_ORDER("string == literal", [](auto t) { return t.name == "IBM"; });
  TRACED_ORDER("string != string", [](auto t) { return t.name != t.city; });
  TRACED_ORDER("string < literal", [](auto t) { return t.name < "M"; });
  TRACED_ORDER("string <=> string", [](auto t) { return (t.name <=> t.city) < 0; });
  TRACED_ORDER("string in a set", [](auto t) { return t.name == "IBM" || t.name == "SUN" || t.name == "A"; });
  TRACED_ORDER("string size()", [](auto t) { return t.name.size() > 2; });
  TRACED_ORDER("string length() as a value", [](auto t) { return t.name.length() * 2; });
  TRACED_ORDER("string empty()", [](auto t) { return t.name.empty(); });
  TRACED_ORDER("size against an unsigned", [](auto t) { return t.name.size() > 2u; });
  TRACED_ORDER("starts_with", [](auto t) { return t.name.starts_with("I"); });
  TRACED_ORDER("starts_with a char", [](auto t) { return t.name.starts_with('I'); });
  TRACED_ORDER("ends_with", [](auto t) { return t.name.ends_with("M") || t.name.ends_with(t.city); });
  TRACED_ORDER("query::contains", [](auto t) { return query::contains(t.name, "B"); });
  TRACED_ORDER("query::starts_with, lazy", [](auto t) { return query::iff(query::starts_with(query::lazy(t.name), "I"), 1, 2); });
  TRACED_ORDER("find", [](auto t) { return t.name.find("N") == std::string::npos; });
  TRACED_ORDER("query::find as a value", [](auto t) { return query::find(t.name, "U"); });
  TRACED_ORDER("query::length", [](auto t) { return query::length(t.name) + query::length("abc"); });
  TRACED_ORDER("substr(at, n)", [](auto t) { return t.name.substr(0, 1) == "I"; });
  TRACED_ORDER("substr(at)", [](auto t) { return t.name.size() > 1 ? t.name.substr(1) : t.name.substr(0); });
  TRACED_ORDER("query::substr", [](auto t) { return query::substr(t.name, 0, 2); });
  TRACED_ORDER("to_lower, to_upper", [](auto t) { return query::to_lower(t.name) + query::to_upper(t.city); });
  TRACED_ORDER("string + literal", [](auto t) { return t.name + "!"; });
  TRACED_ORDER("literal + string + string", [](auto t) { return "<" + t.name + t.city + ">"; });
  TRACED_ORDER("string + char", [](auto t) { return t.name + '/' + t.city; });
  TRACED_ORDER("+= on a local string", [](auto t) { auto s = t.name + ""; s += t.city; s += "."; return s; });
  TRACED_ORDER("return a string", [](auto t) { return t.name; });
  TRACED_ORDER("const auto& of a string", [](const auto& t) { const auto& n = t.name; return n + n; });
  TRACED_ORDER("captured string", [s = std::string("IBM")](auto t) { return t.name == s; });
  TRACED_ORDER("captured string_view", [s = std::string_view("IBM")](auto t) { return t.name == s; });
  TRACED_ORDER("captured const char*", [s = "IBM"](auto t) { return t.name + s; });
  TRACED_ORDER("literals in branches", [](auto t) { if (t.price > 2) return "high"; if (t.price > 0) return "low"; return "none"; });
  TRACED_ORDER("iff of texts", [](auto t) { return query::iff(query::lazy(t.price) > 2, t.name, "none"); });
  TRACED_ORDER("make with strings", [](auto t) { return query::make<Named>(t.name + "?", t.name.size()); });
  TRACED_ORDER("make with a literal text", [](auto t) { return query::make<Named>("x", 3); });
  TRACED_ORDER("pair of string and size", [](auto t) { return std::pair{t.name + "", t.name.size()}; });
  TRACED_ORDER("return the row with strings", [](const auto& t) { return t; });
  OPAQUE_ORDER("std::string local", PLAIN, [](auto t) { std::string s = t.name; return s; });
  OPAQUE_ORDER("std::string_view local", PLAIN, [](auto t) { std::string_view s = t.name; return s.size(); });
  OPAQUE_ORDER("string[0]", "a string was read by character", [](auto t) { return t.name[0] == 'I'; });
  OPAQUE_ORDER("range-for over a string", "a string was read by character", [](auto t) { int n = 0; for (char c : t.name) n += c == 'I'; return n; });
  OPAQUE_ORDER("std::count over a string", "a string was read by character", [](auto t) { return static_cast<int>(std::count(t.name.begin(), t.name.end(), 'I')); });
  OPAQUE_ORDER("std::stoi", PLAIN, [](auto t) { return t.name.empty() ? 0 : std::stoi("1" + t.name.substr(0, 0)); });
  OPAQUE_ORDER("std::to_string(field)", PLAIN, [](auto t) { return std::to_string(t.id); });
  OPAQUE_ORDER("c_str()", "a string was read by character", [](auto t) { return static_cast<int>(std::strlen(t.name.c_str())); });
  OPAQUE_ORDER("string compare()", "a string was read by character", [](auto t) { return t.name.compare("IBM") == 0; });
  TRACED_ORDER("has_value()", [](auto t) { return t.fee.has_value(); });
  TRACED_ORDER("if (optional)", [](auto t) { if (t.fee) return *t.fee * 2; return t.price; });
  TRACED_ORDER("value_or", [](auto t) { return t.fee.value_or(0.0) + t.price; });
  TRACED_ORDER("value_or of an int", [](auto t) { return t.lot.value_or(7); });
  TRACED_ORDER("value_or of a field", [](auto t) { return t.fee.value_or(t.price); });
  TRACED_ORDER("optional == number", [](auto t) { return t.lot == 3; });
  TRACED_ORDER("optional < number", [](auto t) { return t.fee < 1.5; });
  TRACED_ORDER("number < optional", [](auto t) { return 1.5 < t.fee; });
  TRACED_ORDER("optional == nullopt", [](auto t) { return t.fee == std::nullopt; });
  TRACED_ORDER("optional != nullopt", [](auto t) { return t.fee != std::nullopt; });
  TRACED_ORDER("optional <= optional", [](auto t) { return t.fee <= t.fee; });
  TRACED_ORDER("!optional", [](auto t) { return !t.lot; });
  TRACED_ORDER("optional && test", [](auto t) { return t.fee && *t.fee > 1; });
  TRACED_ORDER("return an optional", [](auto t) { return t.fee; });
  TRACED_ORDER("value() under a test", [](auto t) { return t.lot ? t.lot.value() + 1 : 0 * t.id; });
  TRACED_ORDER("optional of an expression", [](auto t) { return std::optional{t.price * 2}; });
  TRACED_ORDER("iff with nullopt", [](auto t) { return query::iff(query::lazy(t.price) > 2, t.price, std::nullopt); });
  TRACED_ORDER("iff of optional and number", [](auto t) { return query::iff(query::lazy(t.price) > 2, t.fee, 1); });
  TRACED_ORDER("optional record ->", [](auto t) { return t.place ? t.place->x + t.place->y : 0.f * t.id; });
  TRACED_ORDER("optional record (*o).x", [](auto t) { if (!t.place) return t.price; return (*t.place).z * t.price; });
  TRACED_ORDER("make with optional from optional", [](auto t) { return query::make<Wide>(1, t.lot, Vec3{}, std::array{1.0, 2.0}, Side::buy); });
  OPAQUE_ORDER("std::optional<double> local", PLAIN, [](auto t) { std::optional<double> f = t.fee; return f.value_or(0); });
  OPAQUE_ORDER("-> std::optional<double>", PLAIN, [](auto t) -> std::optional<double> { if (t.price > 2) return t.price; return std::nullopt; });
  return std::move(to.forms);
}

}  // namespace corpus
