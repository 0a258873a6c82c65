#include "runtime/long_lists.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

#include <query/detail/discard.hpp>
#include <query/detail/stop.hpp>

#include "runtime/leftover_rows.hpp"

namespace query::runtime {

namespace {

constexpr std::size_t elements_a_look = 1024;  // between two checks; shorter lists are handled like any other value

std::byte* bytes(void* p) { return static_cast<std::byte*>(p); }
const std::byte* bytes(const void* p) { return static_cast<const std::byte*>(p); }

bool is_stopped() {
  return std::uncaught_exceptions() > 0 || detail::stop_here->stopped_now.load(std::memory_order_relaxed);
}

// Pairs and tuples consist of their fields; a record may have members that are no fields.
bool is_its_fields(const ir::type& t) { return t.k == ir::kind::record && t.name == "tuple"; }

// Whether the value contains a long list in a place that assign_with_lists() looks at.
bool holds_long_list(const ir::type& t, const std::byte* at) {
  if (t.trivial) return false;
  if (t.k == ir::kind::list) return t.get.resize && t.get.size(at) > elements_a_look;
  return is_its_fields(t) && std::any_of(t.field_list.begin(), t.field_list.end(), [at](const ir::field& f) {
           return holds_long_list(*f.of, at + f.offset);
         });
}

// Removes elements of long lists, from the end. Returns false if the query has stopped meanwhile.
bool shorten_lists(const ir::type& t, std::byte* at) {
  if (t.trivial) return true;
  switch (t.k) {
    case ir::kind::list: {
      if (!t.get.resize || t.element->trivial) return true;
      std::size_t n = t.get.size(at);
      if (holds_lists(*t.element)) {
        auto* const first = bytes(const_cast<void*>(t.get.data(at)));
        for (std::size_t i = n; i-- > 0;)
          if (!shorten_lists(*t.element, first + i * t.element->size)) return false;
      }
      while (n > elements_a_look) {
        if (is_stopped()) return false;
        t.get.resize(at, n -= elements_a_look);
      }
      return true;
    }
    case ir::kind::record:
      return std::all_of(t.field_list.begin(), t.field_list.end(),
                         [at](const ir::field& f) { return shorten_lists(*f.of, at + f.offset); });
    case ir::kind::array:
      for (std::size_t i = 0; i < t.count; ++i)
        if (!shorten_lists(*t.element, at + i * t.element->size)) return false;
      return true;
    case ir::kind::optional: {
      const void* const value = t.get.value(at);
      return !value || shorten_lists(*t.element, bytes(const_cast<void*>(value)));
    }
    default: return true;
  }
}

class left_rows {
 public:
  left_rows(const ir::type& t, void* rows, std::size_t n) : type_(&t), at_(::operator new(n * t.size, std::align_val_t{t.align})), n_(n) {
    t.life.move(at_, rows, n);
  }
  ~left_rows() {
    type_->life.destroy(at_, n_);
    ::operator delete(at_, std::align_val_t{type_->align});
  }
  left_rows(const left_rows&) = delete;
  left_rows& operator=(const left_rows&) = delete;

 private:
  const ir::type* type_;
  void* at_;
  std::size_t n_;
};

void copy_row(const ir::type& t, std::byte* to, const std::byte* from) {
  if (!t.life.construct || !t.life.copy_assign || !holds_long_list(t, from)) return t.life.copy(to, from, 1);
  t.life.construct(to, 1);
  try {
    assign_with_lists(t, to, from);
  } catch (...) {
    destroy_rows_with_lists(t, to, 1);
    throw;
  }
}

}  // namespace

void copy_rows_with_lists(const ir::type& t, void* to, const void* from, std::size_t n) {
  if (!holds_lists(t)) return t.life.copy(to, from, n);
  std::size_t done = 0;
  try {
    for (; done < n; ++done) copy_row(t, bytes(to) + done * t.size, bytes(from) + done * t.size);
  } catch (...) {
    destroy_rows_with_lists(t, to, done);
    throw;
  }
}

void assign_with_lists(const ir::type& t, void* to, const void* from) {
  if (!holds_long_list(t, bytes(from))) {
    t.life.copy_assign(to, from);
    return;
  }
  if (is_its_fields(t)) {
    for (const ir::field& f : t.field_list) {
      if (f.of->trivial) std::memcpy(bytes(to) + f.offset, bytes(from) + f.offset, f.of->size);
      else assign_with_lists(*f.of, bytes(to) + f.offset, bytes(from) + f.offset);
    }
    return;
  }
  const ir::type& element = *t.element;
  const std::size_t n = t.get.size(from);
  const auto* const source = bytes(t.get.data(from));
  auto* const target = bytes(t.get.resize(to, n));
  detail::in_runs<elements_a_look>(0, n, [&](std::size_t i, std::size_t end) {
    if (element.trivial) std::memcpy(target + i * element.size, source + i * element.size, (end - i) * element.size);
    else for (; i < end; ++i) assign_with_lists(element, target + i * element.size, source + i * element.size);
  });
}

void destroy_rows_with_lists(const ir::type& t, void* at, std::size_t n) noexcept {
  if (holds_lists(t) && t.life.move && owns_memory_only(t)) {
    for (std::size_t i = n; i-- > 0;) {
      if (shorten_lists(t, bytes(at) + i * t.size)) continue;
      try {
        detail::discard(std::make_shared<left_rows>(t, at, i + 1));
      } catch (const std::bad_alloc&) {  // then this thread destroys them
      }
      break;
    }
  }
  t.life.destroy(at, n);
}

}  // namespace query::runtime
