#include <ir/serialise.hpp>

#include <sstream>
#include <stdexcept>
#include <streambuf>
#include <unordered_map>

#include <cereal/archives/binary.hpp>

#include <ir/visit.hpp>

namespace query::ir {
namespace {

constexpr std::uint32_t magic = 0x32524951;  // "QIR2"
constexpr std::uint32_t none = ~std::uint32_t{0};

[[noreturn]] void bad(const std::string& why) { throw std::runtime_error("deserialise: " + why); }

// ---------------------------------------------------------------- writing
class writer {
 public:
  writer() : archive_(stream_) { archive_(magic); }

  void add_types_of(const node* root) {
    each_node(root, [&](const node* n) { add(n->type); });
  }
  void add(const type* t) {
    if (!t || type_numbers_.contains(t)) return;
    add(t->element);
    for (const field& f : t->fields()) add(f.of);
    type_numbers_.emplace(t, static_cast<std::uint32_t>(types_.size()));
    types_.push_back(t);
  }
  void add_known(std::span<const type* const> types) {
    for (const type* t : types) type_numbers_.emplace(t, static_cast<std::uint32_t>(type_numbers_.size()));
  }
  void write_types() {
    archive_(static_cast<std::uint32_t>(types_.size()));
    for (const type* t : types_) {
      archive_(static_cast<std::uint8_t>(t->k), static_cast<std::uint8_t>(t->is_enum), static_cast<std::uint8_t>(t->trivial),
               std::uint64_t{t->size}, std::uint64_t{t->align}, number(t->element), std::uint64_t{t->count});
      archive_(static_cast<std::uint8_t>(t->counts.what), t->counts.num, t->counts.den);
      text(t->name);
      archive_(static_cast<std::uint32_t>(t->field_list.size()));
      for (const field& f : t->fields()) {
        text(f.name);
        archive_(number(f.of), std::uint64_t{f.offset});
      }
    }
  }
  void write_nodes(const node* root) {
    std::unordered_map<const node*, std::uint32_t> numbers;
    std::vector<const node*> order;
    each_node(root, [&](const node* n) {
      numbers.emplace(n, static_cast<std::uint32_t>(order.size()));
      order.push_back(n);
    });
    archive_(static_cast<std::uint32_t>(order.size()));
    for (const node* n : order) {
      archive_(static_cast<std::uint8_t>(n->what), n->id, number(n->type), n->bits);
      text(n->text);
      archive_(static_cast<std::uint32_t>(n->kids.size()));
      for (const node* k : n->kids) archive_(numbers.at(k));
    }
  }
  std::vector<std::byte> take() {
    const std::string s = stream_.str();
    const auto* p = reinterpret_cast<const std::byte*>(s.data());
    return {p, p + s.size()};
  }

 private:
  std::uint32_t number(const type* t) const { return t ? type_numbers_.at(t) : none; }
  void text(std::string_view s) {
    archive_(static_cast<std::uint32_t>(s.size()));
    if (!s.empty()) archive_(cereal::binary_data(s.data(), s.size()));
  }

  std::ostringstream stream_;
  cereal::BinaryOutputArchive archive_;
  std::unordered_map<const type*, std::uint32_t> type_numbers_;
  std::vector<const type*> types_;
};

// ---------------------------------------------------------------- reading
class bytes_buffer : public std::streambuf {
 public:
  explicit bytes_buffer(std::span<const std::byte> bytes) {
    char* p = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));  // only read
    setg(p, p, p + bytes.size());
  }
  std::size_t left() const { return static_cast<std::size_t>(egptr() - gptr()); }
};

struct arity {
  std::size_t least, most;
};
arity kids_of(const node& n) {
  constexpr std::size_t any = ~std::size_t{0};
  switch (n.what) {
    case op::literal: case op::null: case op::row: case op::field: case op::variable: case op::collection: case op::key: return {0, 0};
    case op::member: case op::element: case op::has_value: case op::value: case op::some: case op::size: case op::cast:
    case op::negate: case op::bit_not: case op::logical_not: return {1, 1};
    case op::make: case op::aggregate: return {0, any};
    case op::call: return {1, any};
    case op::select: return {3, 3};
    case op::nested: return {1, 3};
    case op::loop: return {2 * n.bits + 1, 2 * n.bits + 1};
    default: return {2, 2};
  }
}

void check(const node& n) {
  const arity a = kids_of(n);
  if (n.kids.size() < a.least || n.kids.size() > a.most) bad("wrong number of kids");
  if (!n.type) bad("a node without a type");
  const type* t = n.type;
  switch (n.what) {
    case op::literal:
      if (!is_arithmetic(t->k) && t->k != kind::string) bad("a literal of a type that has none");
      return;
    case op::null:
    case op::some:
      if (t->k != kind::optional) bad("not an optional");
      return;
    case op::has_value:
    case op::value:
      if (n.kids[0]->type->k != kind::optional) bad("not an optional");
      return;
    case op::member:
      if (n.bits >= n.kids[0]->type->field_list.size()) bad("no such field");
      return;
    case op::element:
      if (n.kids[0]->type->k != kind::array || n.bits >= n.kids[0]->type->count) bad("no such element");
      return;
    case op::make:
      if (n.kids.size() != (t->k == kind::array ? t->count : t->field_list.size())) bad("wrong number of parts");
      return;
    case op::loop:
      if (n.bits == 0 || n.bits > n.kids.size()) bad("a loop without states");
      return;
    default: return;
  }
}

class reader {
 public:
  explicit reader(std::span<const std::byte> bytes) : buffer_(bytes), stream_(&buffer_), archive_(stream_) {
    if (get<std::uint32_t>() != magic) bad("not an expression of this version");
  }

  void read_types(type_registry& registry, type_resolver resolve) {
    const std::uint32_t n = count(32);
    types_.reserve(n);
    for (std::uint32_t i = 0; i < n; ++i) types_.push_back(registry.intern(read_type(), resolve));
    // Interning copied the names; the strings of the input are no longer needed.
    names_.clear();
  }
  void know_types(std::span<const type* const> types) { types_.assign(types.begin(), types.end()); }
  const type* last_type() const {
    if (types_.empty()) bad("no type");
    return types_.back();
  }

  const node* read_nodes(arena& to) {
    const std::uint32_t n = count(21);
    if (n == 0) bad("no expression");
    std::vector<const node*> nodes;
    nodes.reserve(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      node x;
      const auto what = get<std::uint8_t>();
      if (what > static_cast<std::uint8_t>(op::aggregate)) bad("unknown operation");
      x.what = static_cast<op>(what);
      x.id = get<std::uint32_t>();
      x.type = type_at(get<std::uint32_t>());
      x.bits = get<std::uint64_t>();
      if (x.what == op::loop && x.bits > (std::uint64_t{1} << 20)) bad("a loop with too many states");
      x.text = text();
      const std::uint32_t kids = count(4);
      x.kids.reserve(kids);
      for (std::uint32_t k = 0; k < kids; ++k) {
        const auto at = get<std::uint32_t>();
        if (at >= nodes.size()) bad("a kid that is not there");
        x.kids.push_back(nodes[at]);
      }
      check(x);
      nodes.push_back(to.put(std::move(x)));
    }
    return nodes.back();
  }
  void end() const {
    if (buffer_.left() > 0) bad("more bytes than expected");
  }

 private:
  template <class T> T get() {
    T v{};
    archive_(v);  // throws cereal::Exception, a std::runtime_error, where the input ends
    return v;
  }
  // A number of things that take at least `each` bytes.
  std::uint32_t count(std::size_t each) {
    const auto n = get<std::uint32_t>();
    if (n > buffer_.left() / each) bad("more entries than bytes");
    return n;
  }
  std::string text() {
    std::string s(count(1), '\0');
    if (!s.empty()) archive_(cereal::binary_data(s.data(), s.size()));
    return s;
  }
  const type* type_at(std::uint32_t i) const {
    if (i == none) return nullptr;
    if (i >= types_.size()) bad("a type that is not there");
    return types_[i];
  }
  bool flag() {
    const auto f = get<std::uint8_t>();
    if (f > 1) bad("not a flag");
    return f == 1;
  }
  type read_type() {
    type t;
    const auto k = get<std::uint8_t>();
    if (k > static_cast<std::uint8_t>(kind::list)) bad("unknown kind of type");
    t.k = static_cast<kind>(k);
    t.is_enum = flag();
    t.trivial = flag();
    t.size = get<std::uint64_t>();
    t.align = get<std::uint64_t>();
    t.element = type_at(get<std::uint32_t>());
    t.count = get<std::uint64_t>();
    const auto what = get<std::uint8_t>();
    if (what > static_cast<std::uint8_t>(unit::of::date)) bad("unknown unit of type");
    t.counts = {static_cast<unit::of>(what), get<std::int64_t>(), get<std::int64_t>()};
    if (t.counts.ticks() && (t.counts.num <= 0 || t.counts.den <= 0)) bad("a unit that is no length of time");
    t.name = names_.emplace_back(text());
    const std::uint32_t fields = count(16);
    for (std::uint32_t i = 0; i < fields; ++i) {
      field f;
      f.name = names_.emplace_back(text());
      f.of = type_at(get<std::uint32_t>());
      f.offset = get<std::uint64_t>();
      if (!f.of) bad("a field without a type");
      t.field_list.push_back(f);
    }
    return t;
  }

  bytes_buffer buffer_;
  std::istream stream_;
  cereal::BinaryInputArchive archive_;
  std::vector<const type*> types_;
  std::deque<std::string> names_;
};

}  // namespace

std::vector<std::byte> serialise(const type* t) {
  writer w;
  w.add(t);
  w.write_types();
  return w.take();
}

std::vector<std::byte> serialise(const node* root) {
  writer w;
  w.add_types_of(root);
  w.write_types();
  w.write_nodes(root);
  return w.take();
}

const type* deserialise_type(std::span<const std::byte> bytes, type_registry& types, type_resolver resolve) {
  reader r(bytes);
  r.read_types(types, resolve);
  r.end();
  return r.last_type();
}

const node* deserialise(std::span<const std::byte> bytes, arena& nodes, type_registry& types, type_resolver resolve) {
  reader r(bytes);
  r.read_types(types, resolve);
  const node* root = r.read_nodes(nodes);
  r.end();
  return root;
}

std::vector<std::byte> serialise_nodes(const node* root, std::span<const type* const> types) {
  writer w;
  w.add_known(types);
  w.write_nodes(root);
  return w.take();
}

const node* deserialise_nodes(std::span<const std::byte> bytes, arena& nodes, std::span<const type* const> types) {
  reader r(bytes);
  r.know_types(types);
  const node* root = r.read_nodes(nodes);
  r.end();
  return root;
}

}  // namespace query::ir
