// Puts register values together again into C++ objects: results, and copies of arrays that must lie in memory.
#include <cstring>
#include <stdexcept>

#include <cpu_engine/interpreter/instructions.hpp>
#include <query/detail/failure.hpp>

#include "runtime/long_lists.hpp"

namespace query::interpreter {
namespace {

// The object to write for each lane: adjacent objects, or pointers of which null ones are skipped.
class targets {
 public:
  targets(std::byte* base, std::size_t stride, std::size_t first) : base_(base), stride_(stride), first_(first) {}
  explicit targets(std::byte* const* pointers) : pointers_(pointers) {}

  std::byte* operator[](std::size_t lane) const {
    if (!pointers_) return base_ + (lane - first_) * stride_;
    return pointers_[lane] ? pointers_[lane] + offset_ : nullptr;
  }
  targets part(std::size_t offset) const {
    targets t = *this;
    if (t.pointers_) t.offset_ += offset;
    else t.base_ += offset;
    return t;
  }
  bool adjacent() const { return !pointers_; }
  std::size_t stride() const { return stride_; }

 private:
  std::byte* base_ = nullptr;
  std::size_t stride_ = 0, first_ = 0, offset_ = 0;
  std::byte* const* pointers_ = nullptr;
};

template <class T> void scatter(const frame& f, const T* from, bool splat, const targets& to) {
  if (to.adjacent()) {
    std::byte* at = to[f.first];
    const std::size_t n = f.count(), stride = to.stride();
    if (stride == sizeof(T) && !splat) {
      std::memcpy(at, from + f.first, n * sizeof(T));
      return;
    }
    for (std::size_t i = 0; i < n; ++i) std::memcpy(at + i * stride, from + (splat ? 0 : f.first + i), sizeof(T));
    return;
  }
  for (std::size_t l = f.first; l < f.last; ++l)
    if (std::byte* p = to[l]) std::memcpy(p, from + (splat ? 0 : l), sizeof(T));
}

// Assigns one living object to another of the same type.
void assign_object(const ir::type* t, std::byte* to, const std::byte* from) {
  if (t->trivial) {
    std::memcpy(to, from, t->size);
  } else if (t->life.copy_assign) {
    runtime::assign_with_lists(*t, to, from);
  } else if (t->k == ir::kind::array) {
    for (std::size_t i = 0; i < t->count; ++i) assign_object(t->element, to + i * t->element->size, from + i * t->element->size);
  } else {
    throw detail::unplaced_error("a result cannot be copied: " + std::string(t->name));
  }
}

void store_value(frame& f, const value& v, const ir::type* t, const targets& to);

void store_column(frame& f, const value& v, const ir::type* t, const targets& to) {
  const bool splat = f.code.registers[v.column].constant;
  if (t->k == ir::kind::string) {
    const auto* from = f.column<std::string_view>(v.column);
    for (std::size_t l = f.first; l < f.last; ++l)
      if (std::byte* p = to[l]; p && f.live(l)) reinterpret_cast<std::string*>(p)->assign(from[splat ? 0 : l]);
    return;
  }
  if (!ir::is_arithmetic(t->k)) {  // lists and opaque objects: the register points at them
    const auto* from = f.column<const std::byte*>(v.column);
    for (std::size_t l = f.first; l < f.last; ++l)
      if (std::byte* p = to[l]; p && f.live(l) && from[splat ? 0 : l]) assign_object(t, p, from[splat ? 0 : l]);
    return;
  }
  switch (f.code.registers[v.column].width) {
    case 1: return scatter(f, f.column<std::uint8_t>(v.column), splat, to);
    case 2: return scatter(f, f.column<std::uint16_t>(v.column), splat, to);
    case 4: return scatter(f, f.column<std::uint32_t>(v.column), splat, to);
    default: return scatter(f, f.column<std::uint64_t>(v.column), splat, to);
  }
}

void store_place(frame& f, const place& at, const ir::type* t, const targets& to) {
  if (at.from == place::source::pointer) {
    const auto* from = f.column<const std::byte*>(at.at);
    for (std::size_t l = f.first; l < f.last; ++l)
      if (std::byte* p = to[l]; p && from[l] && f.live(l)) assign_object(t, p, from[l] + at.offset);
    return;
  }
  if (const lanes_at from = resolve(f, at.at, at.offset, t->size); from) {
    for (std::size_t l = f.first; l < f.last; ++l)
      if (std::byte* p = to[l]; p && f.live(l) && from[l]) {
        if (from.wraps) assign_object(t->element, static_cast<std::byte*>(t->get.emplace(p)), from[l]);
        else assign_object(t, p, from[l]);
      }
    return;
  }
  // A record whose fields are columns.
  if (t->k == ir::kind::record) {
    for (const ir::field& x : t->fields())
      store_place(f, {at.from, at.at, at.offset + x.offset}, x.of, to.part(x.offset));
  } else if (t->k == ir::kind::array) {
    for (std::size_t i = 0; i < t->count; ++i)
      store_place(f, {at.from, at.at, at.offset + i * t->element->size}, t->element, to.part(i * t->element->size));
  } else if (f.count() > 0) {
    throw internal_error("interpreter: no column is bound for a part of the result: " + std::string(t->name));
  }
}

void store_optional(frame& f, const value& v, const ir::type* t, const targets& to) {
  const value& has = v.parts[0];
  const bool splat = f.code.registers[has.column].constant;
  const auto* set = f.column<std::uint8_t>(has.column);
  std::array<std::byte*, batch> inner{};
  for (std::size_t l = f.first; l < f.last; ++l) {
    std::byte* p = to[l];
    if (!p || !f.live(l)) continue;
    if (set[splat ? 0 : l]) inner[l] = static_cast<std::byte*>(t->get.emplace(p));
    else t->get.reset(p);
  }
  store_value(f, v.parts[1], t->element, targets(inner.data()));
}

void store_value(frame& f, const value& v, const ir::type* t, const targets& to) {
  if (v.f == value::form::column) return store_column(f, v, t, to);
  if (v.f == value::form::place) return store_place(f, v.at, t, to);
  switch (t->k) {
    case ir::kind::record:
      for (std::size_t i = 0; i < v.parts.size(); ++i)
        store_value(f, v.parts[i], t->field_list[i].of, to.part(t->field_list[i].offset));
      return;
    case ir::kind::array:
      for (std::size_t i = 0; i < v.parts.size(); ++i) store_value(f, v.parts[i], t->element, to.part(i * t->element->size));
      return;
    default: return store_optional(f, v, t, to);
  }
}

// Do objects of this type need more than bytes before their parts can be assigned?
bool needs_construction(const ir::type* t) {
  if (!t->trivial || t->k == ir::kind::optional) return true;
  if (t->k == ir::kind::array) return needs_construction(t->element);
  for (const ir::field& x : t->fields())
    if (needs_construction(x.of)) return true;
  return false;
}

// The objects constructed so far, destroyed if the rest throws.
class construction {
 public:
  construction(const ir::type* t, std::byte* at) : t_(t), at_(at) {}
  ~construction() {
    if (n_ > 0 && t_->life.destroy) runtime::destroy_rows_with_lists(*t_, at_, n_);
  }
  construction(const construction&) = delete;
  construction& operator=(const construction&) = delete;
  void add(std::size_t n) { n_ += n; }
  void keep() { n_ = 0; }

 private:
  const ir::type* t_;
  std::byte* at_;
  std::size_t n_ = 0;
};

// The object itself is the result: copies need no default constructor.
bool copy_objects(frame& f, const value& v, std::byte* to) {
  const ir::type* t = v.type;
  const bool object = v.f == value::form::column && !ir::is_arithmetic(t->k) && t->k != ir::kind::string;
  if (!t->life.copy || t->trivial || (!object && v.f != value::form::place)) return false;
  construction made(t, to);
  const auto copy = [&](std::size_t lane, const void* from) {
    if (from) runtime::copy_rows_with_lists(*t, to + lane * t->size, from, 1);
    else if (t->life.construct) t->life.construct(to + lane * t->size, 1);
    else throw detail::unplaced_error("a missing value has no default: " + std::string(t->name));
    made.add(1);
  };
  if (object || v.at.from == place::source::pointer) {
    const auto* from = f.column<const std::byte*>(object ? v.column : v.at.at);
    const std::size_t offset = object ? 0 : v.at.offset;
    for (std::size_t l = 0; l < f.last; ++l) copy(l, from[l] ? from[l] + offset : nullptr);
  } else {
    const lanes_at from = resolve(f, v.at.at, v.at.offset, t->size);
    if (!from || from.wraps) return false;
    for (std::size_t l = 0; l < f.last; ++l) copy(l, from[l]);
  }
  made.keep();
  return true;
}

}  // namespace

void store(frame& f, const value& v, std::byte* to, std::size_t stride) {
  store_value(f, v, v.type, targets(to, stride, f.first));
}

void construct_results(frame& f, const value& v, std::byte* to) {
  const ir::type* t = v.type;
  if (copy_objects(f, v, to)) return;
  construction made(t, to);
  if (needs_construction(t)) {
    if (!t->life.construct) throw detail::unplaced_error("a computed result needs a default constructor: " + std::string(t->name));
    t->life.construct(to, f.last);
    made.add(f.last);
  }
  store(f, v, to, t->size);
  made.keep();
}

}  // namespace query::interpreter
