#include "conformance/compare.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "conformance/naive.hpp"

namespace conformance {

namespace {

using query::ir::kind;
using query::ir::type;

const char* at(const void* p, std::size_t offset) { return static_cast<const char*>(p) + offset; }
template <class T> T read(const void* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T> void put_number(std::string& s, T v) {
  char digits[48];
  s.append(digits, std::to_chars(digits, digits + sizeof digits, v).ptr);
}

class writer {
 public:
  explicit writer(bool signed_zeros) : signed_zeros_(signed_zeros) {}

  void put(std::string& s, const void* v, const type* t) const {
    switch (t->k) {
      case kind::boolean: s += read<unsigned char>(v) ? "true" : "false"; return;
      case kind::i8: return put_number(s, static_cast<int>(read<std::int8_t>(v)));
      case kind::i16: return put_number(s, read<std::int16_t>(v));
      case kind::i32: return put_number(s, read<std::int32_t>(v));
      case kind::i64: return put_number(s, read<std::int64_t>(v));
      case kind::u8: return put_number(s, static_cast<unsigned>(read<std::uint8_t>(v)));
      case kind::u16: return put_number(s, read<std::uint16_t>(v));
      case kind::u32: return put_number(s, read<std::uint32_t>(v));
      case kind::u64: return put_number(s, read<std::uint64_t>(v));
      case kind::f32: return put_float(s, read<float>(v));
      case kind::f64: return put_float(s, read<double>(v));
      case kind::string: {
        const auto& text = *static_cast<const std::string*>(v);
        s += '"';
        s += text;
        s += '"';
        return;
      }
      case kind::record: {
        s += '{';
        for (const auto& f : t->fields()) {
          put(s, at(v, f.offset), f.of);
          s += ' ';
        }
        s += '}';
        return;
      }
      case kind::array: return put_list(s, v, t->element, t->count);
      case kind::list: return put_list(s, t->get.data(v), t->element, t->get.size(v));
      case kind::optional:
        if (const void* inside = t->get.value(v)) {
          s += '=';
          put(s, inside, t->element);
        } else {
          s += "null";
        }
        return;
      case kind::opaque: s += "?"; return;
    }
  }

 private:
  template <class T> void put_float(std::string& s, T v) const {
    if (std::isnan(v)) s += "nan";
    else put_number(s, v == 0 && !signed_zeros_ ? T{0} : v);
  }
  void put_list(std::string& s, const void* v, const type* element, std::size_t n) const {
    s += '[';
    for (std::size_t i = 0; i < n; ++i) {
      put(s, at(v, i * element->size), element);
      s += ' ';
    }
    s += ']';
  }
  bool signed_zeros_;
};

bool close(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

bool near(const void* a, const void* b, const type* t, double tolerance) {
  switch (t->k) {
    case kind::f32: return close(read<float>(a), read<float>(b), std::max(tolerance, 1e-5));
    case kind::f64: return close(read<double>(a), read<double>(b), tolerance);
    case kind::record:
      return std::ranges::all_of(t->fields(), [&](const auto& f) { return near(at(a, f.offset), at(b, f.offset), f.of, tolerance); });
    case kind::optional: {
      const void *x = t->get.value(a), *y = t->get.value(b);
      return x && y ? near(x, y, t->element, tolerance) : x == y;
    }
    case kind::array:
      for (std::size_t i = 0; i < t->count; ++i)
        if (!near(at(a, i * t->element->size), at(b, i * t->element->size), t->element, tolerance)) return false;
      return true;
    case kind::list: {
      if (t->get.size(a) != t->get.size(b)) return false;
      for (std::size_t i = 0; i < t->get.size(a); ++i)
        if (!near(at(t->get.data(a), i * t->element->size), at(t->get.data(b), i * t->element->size), t->element, tolerance)) return false;
      return true;
    }
    default: return text_of(a, t) == text_of(b, t);
  }
}

std::string cut(const std::string& s) { return s.size() <= 300 ? s : s.substr(0, 300) + "..."; }

std::vector<std::string> sorted_texts(some_rows r) {
  std::vector<std::string> all(r.n);
  const writer w(false);
  for (std::size_t i = 0; i < r.n; ++i) w.put(all[i], at(r.data, i * r.type->size), r.type);
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

std::string text_of(const void* value, const type* t) {
  std::string s;
  writer(true).put(s, value, t);
  return s;
}

std::string key_text_of(const void* value, const type* t) {
  std::string s;
  writer(false).put(s, value, t);
  return s;
}

testing::AssertionResult same_in_order(some_rows got, some_rows wanted, double tolerance) {
  if (got.type->trivial && got.n == wanted.n && got.n != 0 && std::memcmp(got.data, wanted.data, got.n * got.type->size) == 0)
    return testing::AssertionSuccess();
  const writer w(true);
  std::string a, b;
  for (std::size_t i = 0; i < std::min(got.n, wanted.n); ++i) {
    const void *x = at(got.data, i * got.type->size), *y = at(wanted.data, i * wanted.type->size);
    if (tolerance > 0 && near(x, y, got.type, tolerance)) continue;
    a.clear();
    b.clear();
    w.put(a, x, got.type);
    w.put(b, y, wanted.type);
    if (a != b)
      return testing::AssertionFailure() << "row " << i << " of " << got.n << " is " << cut(a) << ", expected " << cut(b) << " (of "
                                         << wanted.n << ")";
  }
  if (got.n != wanted.n) return testing::AssertionFailure() << got.n << " rows, expected " << wanted.n;
  return testing::AssertionSuccess();
}

testing::AssertionResult same_multiset(some_rows got, some_rows wanted) {
  const std::vector<std::string> a = sorted_texts(got), b = sorted_texts(wanted);
  if (a == b) return testing::AssertionSuccess();
  auto failure = testing::AssertionFailure() << got.n << " rows, expected " << wanted.n;
  std::vector<std::string> extra, missing;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(extra));
  std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(missing));
  if (!extra.empty()) failure << "; " << extra.size() << " too many, such as " << cut(extra.front());
  if (!missing.empty()) failure << "; " << missing.size() << " missing, such as " << cut(missing.front());
  return failure;
}

}  // namespace conformance
