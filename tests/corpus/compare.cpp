// Both lives of a form over random rows, compared field by field.
#include <cpu_engine/interpreter.hpp>
#include <cstring>
#include <random>
#include <sstream>

#include "corpus/forms.hpp"

namespace corpus {

namespace {

constexpr std::size_t rows_compared = 400;
constexpr unsigned seed = 20240229;

std::vector<Trade> make_trades() {
  std::mt19937 g(seed);
  std::uniform_int_distribution<int> d(-9, 9);
  std::vector<Trade> all(rows_compared);
  for (Trade& t : all) {
    t.symbol = d(g);
    t.price = d(g) * 0.75;
    t.qty = std::abs(d(g));
    t.hot = d(g) > 0;
    t.side = d(g) > 0 ? Side::buy : Side::sell;
    for (float& e : t.x) e = static_cast<float>(d(g)) * 0.5f;
    for (float& e : t.raw) e = static_cast<float>(d(g)) * 0.5f;
    t.pos = {static_cast<float>(d(g)), static_cast<float>(d(g)) * 2, static_cast<float>(d(g)) * 0.3f};
    t.when = d(g) * 10'000'000'019ll;
    t.flags = static_cast<std::uint32_t>(g());
    t.lots = static_cast<short>(d(g) / 4);
    t.weight = static_cast<float>(d(g)) * 1.1f;
    t.level = static_cast<unsigned char>(g());
    for (Leg& l : t.legs) l = {d(g), d(g) * 0.25};
  }
  return all;
}

std::vector<Order> make_orders() {
  std::mt19937 g(seed);
  std::uniform_int_distribution<int> d(-9, 9);
  const char* names[] = {"IBM", "SUN", "A", "", "a name that is too long for the small buffer of a string"};
  std::vector<Order> all(rows_compared);
  for (Order& o : all) {
    o.id = d(g);
    o.name = names[g() % 5];
    o.city = names[g() % 5];
    if (d(g) > -3) o.fee = d(g) * 0.5;
    if (d(g) > -3) o.lot = d(g);
    if (d(g) > -3) o.place = Vec3{static_cast<float>(d(g)), static_cast<float>(d(g)), 2};
    for (std::size_t n = g() % 5; n > 0; --n) o.legs.push_back({d(g), d(g) * 0.25});
    for (std::size_t n = g() % 4; n > 0; --n) o.marks.push_back(d(g) * 0.5);
    o.price = d(g) * 0.75;
  }
  return all;
}

std::vector<Series> make_series() {
  std::mt19937 g(seed);
  std::uniform_int_distribution<int> d(-9, 9);
  std::vector<Series> all(rows_compared);
  for (Series& s : all) {
    s.id = d(g);
    s.scale = static_cast<float>(d(g)) * 0.25f;
    for (float& e : s.x) e = static_cast<float>(d(g)) * 0.5f;
  }
  return all;
}

// Groups have a row at least.
std::vector<Deals> make_groups() {
  std::mt19937 g(seed);
  std::uniform_int_distribution<int> d(-9, 9);
  const char* names[] = {"IBM", "SUN", "A", "", "a name that is too long for the small buffer of a string"};
  std::vector<Deals> all;
  for (std::size_t i = 0; i < rows_compared; ++i) {
    std::vector<Deal> deals(1 + g() % 6);
    for (Deal& x : deals) {
      x.id = d(g);
      x.price = d(g) * 0.75;
      x.weight = g() % 4 ? static_cast<float>(d(g)) * 1.1f : std::numeric_limits<float>::quiet_NaN();
      x.when = d(g) * 1'000'000'019ll;
      x.lots = static_cast<short>(d(g) / 4);
      x.hot = d(g) > 0;
      x.side = d(g) > 0 ? Side::buy : Side::sell;
      x.name = names[g() % 5];
      if (d(g) > 0) x.fee = d(g) * 0.5;
      if (d(g) > 0) x.lot = d(g);
      if (d(g) > 0) x.note = names[g() % 5];
      for (float& e : x.x) e = static_cast<float>(d(g)) * 0.5f;
      x.leg = {d(g), d(g) * 0.25};
    }
    all.emplace_back(d(g), std::move(deals));
  }
  return all;
}

template <class T> T read(const void* at) {
  T v;
  std::memcpy(&v, at, sizeof v);
  return v;
}
template <class T> bool close(const void* a, const void* b, double tolerance) {
  const double x = read<T>(a), y = read<T>(b);
  if (tolerance == 0) return std::memcmp(a, b, sizeof(T)) == 0 || (x != x && y != y);  // -0.0 is not 0.0
  return x == y || (x != x && y != y) || std::abs(x - y) <= tolerance * std::max(std::abs(x), std::abs(y));
}

}  // namespace

bool same(const query::ir::type* t, const void* a, const void* b, double tolerance) {
  using query::ir::kind;
  const auto* x = static_cast<const std::byte*>(a);
  const auto* y = static_cast<const std::byte*>(b);
  switch (t->k) {
    case kind::f32: return close<float>(a, b, 1e-5 * tolerance);
    case kind::f64: return close<double>(a, b, 1e-12 * tolerance);
    case kind::string: return *static_cast<const std::string*>(a) == *static_cast<const std::string*>(b);
    case kind::record:
      return std::all_of(t->field_list.begin(), t->field_list.end(), [&](const auto& f) { return same(f.of, x + f.offset, y + f.offset, tolerance); });
    case kind::array:
      for (std::size_t i = 0; i < t->count; ++i)
        if (!same(t->element, x + i * t->element->size, y + i * t->element->size, tolerance)) return false;
      return true;
    case kind::optional: {
      const void *p = t->get.value(a), *q = t->get.value(b);
      return p && q ? same(t->element, p, q, tolerance) : !p && !q;
    }
    case kind::list: {
      if (t->get.size(a) != t->get.size(b)) return false;
      const auto *p = static_cast<const std::byte*>(t->get.data(a)), *q = static_cast<const std::byte*>(t->get.data(b));
      for (std::size_t i = 0; i < t->get.size(a); ++i)
        if (!same(t->element, p + i * t->element->size, q + i * t->element->size, tolerance)) return false;
      return true;
    }
    default: return std::memcmp(a, b, t->size) == 0;
  }
}

void print(std::ostream& out, const query::ir::type* t, const void* a) {
  using query::ir::kind;
  const auto* x = static_cast<const std::byte*>(a);
  switch (t->k) {
    case kind::boolean: out << read<bool>(a); break;
    case kind::i8: out << int{read<std::int8_t>(a)}; break;
    case kind::i16: out << read<std::int16_t>(a); break;
    case kind::i32: out << read<std::int32_t>(a); break;
    case kind::i64: out << read<std::int64_t>(a); break;
    case kind::u8: out << int{read<std::uint8_t>(a)}; break;
    case kind::u16: out << read<std::uint16_t>(a); break;
    case kind::u32: out << read<std::uint32_t>(a); break;
    case kind::u64: out << read<std::uint64_t>(a); break;
    case kind::f32: out << read<float>(a); break;
    case kind::f64: out << read<double>(a); break;
    case kind::string: out << '"' << *static_cast<const std::string*>(a) << '"'; break;
    case kind::record:
      for (const auto& f : t->field_list) print(out << f.name << "=", f.of, x + f.offset), out << ' ';
      break;
    case kind::array:
      for (std::size_t i = 0; i < t->count; ++i) print(out, t->element, x + i * t->element->size), out << ' ';
      break;
    case kind::optional:
      if (const void* p = t->get.value(a)) print(out, t->element, p);
      else out << "null";
      break;
    default: out << t->name;
  }
}

void interpret(const form& f, const void* rows, std::size_t n, values& results) {
  const query::interpreter::program program(f.trace.root);
  if (program.type() != f.result) throw std::runtime_error("the interpreter gives " + std::string(program.type()->name));
  std::vector<query::interpreter::collection> collections;
  for (const auto& c : f.captures) collections.push_back({c->slot, c->data, c->size});
  query::interpreter::scratch scratch;
  // Batches, as engines call it.
  for (std::size_t i = 0; i < n;) {
    const std::size_t k = std::min<std::size_t>(n - i, 128);
    const query::interpreter::binding part{static_cast<const std::byte*>(rows) + i * f.row->size, f.row->size, {}};
    program.run({&part, 1}, {collections, {}}, k, results.at(i), scratch);
    i += k;
    results.constructed = i;
  }
}

const void* rows_of(const form& f, std::size_t& n) {
  static const std::vector<Trade> trades = make_trades();
  static const std::vector<Order> orders = make_orders();
  static const std::vector<Series> series = make_series();
  static const std::vector<Deals> groups = make_groups();
  n = rows_compared;
  if (f.row == query::ir::describe<Deals>()) return groups.data();
  if (f.row == query::ir::describe<Series>()) return series.data();
  return f.row == query::ir::describe<Trade>() ? static_cast<const void*>(trades.data()) : orders.data();
}

std::string compare(const form& f, const evaluation& evaluate) {
  std::size_t n = 0;
  const void* rows = rows_of(f, n);
  values native(f.result, n), traced(f.result, n);
  try {
    for (std::size_t i = 0; i < n; ++i, ++native.constructed) f.native(static_cast<const std::byte*>(rows) + i * f.row->size, native.at(i));
    evaluate(f, rows, n, traced);
  } catch (const std::exception& e) {
    return std::string("threw: ") + e.what();
  }
  for (std::size_t i = 0; i < n; ++i)
    if (!same(f.result, native.at(i), traced.at(i))) {
      std::ostringstream text;
      text << "row " << i << " of seed " << seed << ": native ";
      print(text, f.result, native.at(i));
      text << ", traced ";
      print(text, f.result, traced.at(i));
      return text.str();
    }
  return {};
}

}  // namespace corpus
