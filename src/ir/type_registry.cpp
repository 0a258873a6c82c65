#include <ir/type_registry.hpp>

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace query::ir {
namespace {

template <class... T> struct list_of {};
using built_in = list_of<bool, char, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                         std::uint64_t, float, double, std::string>;

// bool, i8 ... string, and optionals and lists of them.
const type* built_in_type(const type& t) {
  const kind k = t.k == kind::optional || t.k == kind::list ? (t.element ? t.element->k : kind::opaque) : t.k;
  const std::string_view name = t.element ? t.element->name : t.name;
  const bool plain_element = !t.element || (!t.element->is_enum && !t.element->element);
  if (t.is_enum || !plain_element) return nullptr;
  const auto find = [&]<class... T>(list_of<T...>) {
    const type* found = nullptr;
    const auto offer = [&]<class U>(tag<U>) {
      if (kind_of<U>() != k || describe<U>()->name != name) return;  // a char is an i8 by kind
      if (t.k == kind::optional) found = describe<std::optional<U>>();
      else if (t.k != kind::list) found = describe<U>();
      else if constexpr (!std::is_same_v<U, bool>) found = describe<std::vector<U>>();
    };
    (offer(tag<T>{}), ...);
    return found;
  };
  return find(built_in{});
}

[[noreturn]] void bad(const char* why, const type& t) { throw std::runtime_error(std::string(why) + std::string(t.name)); }

void check_layout(const type& t) {
  constexpr std::size_t most = std::size_t{1} << 30;
  if (t.size == 0 || t.size > most || t.align > 4096 || !std::has_single_bit(t.align)) bad("deserialise: impossible size of type ", t);
  switch (t.k) {
    case kind::record: {
      std::vector<std::pair<std::size_t, std::size_t>> spans;  // tuples lie in memory in any order
      for (const field& f : t.fields()) {
        if (f.offset > t.size || f.of->size > t.size - f.offset) bad("deserialise: impossible layout of record ", t);
        if (t.trivial && !f.of->trivial) bad("deserialise: a record with such members cannot be trivial: ", t);
        spans.push_back({f.offset, f.offset + f.of->size});
      }
      std::sort(spans.begin(), spans.end());
      for (std::size_t i = 1; i < spans.size(); ++i)
        if (spans[i].first < spans[i - 1].second) bad("deserialise: impossible layout of record ", t);
      return;
    }
    case kind::array:
      if (!t.element || t.count != t.size / t.element->size || t.size % t.element->size != 0)
        bad("deserialise: impossible layout of array ", t);
      if (t.trivial && !t.element->trivial) bad("deserialise: an array of such elements cannot be trivial: ", t);
      return;
    case kind::optional:
    case kind::list:
      if (!t.element) bad("deserialise: element type is missing: ", t);
      return;
    default: return;
  }
}

// An optional's layout is the standard library's; whether its bytes may be copied says `trivial`, but not how to test it.
bool only_bytes(const type& t) { return t.trivial && (t.k == kind::record || t.k == kind::array); }

bool same_field(const field& a, const field& b) { return a.name == b.name && a.offset == b.offset && same_layout(*a.of, *b.of); }

}  // namespace

bool is_described(const type& t) {
  if (t.k == kind::opaque) return false;
  if (t.element && !is_described(*t.element)) return false;
  return std::ranges::all_of(t.fields(), [](const field& f) { return is_described(*f.of); });
}

bool same_layout(const type& a, const type& b) {
  if (&a == &b) return true;
  if (a.k != b.k || a.is_enum != b.is_enum || a.size != b.size || a.align != b.align || a.name != b.name || a.count != b.count ||
      a.counts != b.counts ||
      a.field_list.size() != b.field_list.size() || (a.element == nullptr) != (b.element == nullptr))
    return false;
  if (a.element && !same_layout(*a.element, *b.element)) return false;
  for (std::size_t i = 0; i < a.field_list.size(); ++i)
    if (!same_field(a.field_list[i], b.field_list[i])) return false;
  return true;
}

const type* type_registry::intern(const type& t, type_resolver resolve) {
  check_layout(t);
  if (const type* own = built_in_type(t)) {
    if (!same_layout(*own, t)) bad("deserialise: another layout in this process: ", t);
    return own;
  }
  if (const type* own = resolve(t.name, t.size); own && same_layout(*own, t)) return own;
  for (const type& known : types_)
    if (same_layout(known, t)) return &known;
  const bool enumeration = t.is_enum && is_arithmetic(t.k);
  if (!enumeration && !only_bytes(t))
    bad("deserialise: only the program that defines it knows how to copy a ", t);
  type copy = t;
  if (enumeration) {
    // An enum lives as its underlying type does.
    type plain = t;
    plain.is_enum = false;
    plain.name = scalar_name(t.k);
    const type* under = built_in_type(plain);
    if (!under || under->size != t.size || under->align != t.align) bad("deserialise: impossible enum ", t);
    copy = *under;
    copy.is_enum = true;
    copy.counts = t.counts;
  }
  copy.name = names_.emplace_back(t.name);
  for (field& f : copy.field_list) f.name = names_.emplace_back(f.name);
  return &types_.emplace_back(std::move(copy));
}

}  // namespace query::ir
