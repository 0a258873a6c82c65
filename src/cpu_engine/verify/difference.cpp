#include "cpu_engine/verify/difference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <query/detail/failure.hpp>

#include "data/format_value.hpp"

namespace query::cpu::verify {

namespace {

template <class T> bool close(const void* a, const void* b, double tolerance) {
  T x, y;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  if (x == y || (x != x && y != y)) return true;
  return std::abs(static_cast<double>(x) - static_cast<double>(y)) <=
         tolerance * std::max(std::abs(static_cast<double>(x)), std::abs(static_cast<double>(y)));
}

}  // namespace

bool same(const ir::type* t, const void* a, const void* b) {
  const auto part = [](const void* p, std::size_t at) { return static_cast<const std::byte*>(p) + at; };
  switch (t->k) {
    case ir::kind::f32: return close<float>(a, b, 1e-4);
    case ir::kind::f64: return close<double>(a, b, 1e-9);
    case ir::kind::string: return *static_cast<const std::string*>(a) == *static_cast<const std::string*>(b);
    case ir::kind::record:
      return std::all_of(t->field_list.begin(), t->field_list.end(),
                         [&](const ir::field& f) { return same(f.of, part(a, f.offset), part(b, f.offset)); });
    case ir::kind::array:
      for (std::size_t i = 0; i < t->count; ++i)
        if (!same(t->element, part(a, i * t->element->size), part(b, i * t->element->size))) return false;
      return true;
    case ir::kind::optional: {
      const void *x = t->get.value(a), *y = t->get.value(b);
      return (!x && !y) || (x && y && same(t->element, x, y));
    }
    case ir::kind::list: {
      const std::size_t n = t->get.size(a);
      if (n != t->get.size(b)) return false;
      for (std::size_t i = 0; i < n; ++i)
        if (!same(t->element, part(t->get.data(a), i * t->element->size), part(t->get.data(b), i * t->element->size))) return false;
      return true;
    }
    case ir::kind::opaque: return true;  // nothing to look at
    default: return std::memcmp(a, b, t->size) == 0;
  }
}

void differ(const detail::logical& n, const detail::user_function& f, const std::string& rows, const ir::type* t, const void* native,
            const void* traced, const ir::node* expression) {
  throw difference("verify: " + n.label + ", " + std::string(f.role) + ": " + rows + ": native " + data::format_value(t, native, 17) +
                   ", traced " + data::format_value(t, traced, 17) + " by " + ir::show(expression) +
                   "; the function does something that tracing cannot see: wrap it in query::opaque(...) (" + detail::place_of(n.where) +
                   ")");
}

std::string shown_row(std::string_view side, std::size_t i, const ir::type* t, const std::vector<bool>& read, const void* row) {
  std::string s(side);
  s += "row " + std::to_string(i) + " = ";
  if (!row) return s + "none";
  if (read.empty() || t->k != ir::kind::record) return s + data::format_value(t, row);
  const char* between = "{";
  for (std::size_t f = 0; f < t->fields().size(); ++f) {
    const ir::field& x = t->fields()[f];
    s.append(between).append(x.name);
    if (!read[f]) {
      s += " not read";
    } else {
      s += ": ";
      data::append_value(s, x.of, static_cast<const std::byte*>(row) + x.offset);
    }
    between = ", ";
  }
  return s + "}";
}

}  // namespace query::cpu::verify
