#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include <query/detail/binding.hpp>
#include <query/detail/make_function.hpp>
#include <query/detail/plan.hpp>

#include "planner/trace_memo.hpp"

namespace query::detail {

std::shared_ptr<const void> copy_of(const void* f, const closure_form& form) {
  const std::align_val_t align{std::max(form.align, alignof(std::max_align_t))};
  struct freed {
    std::align_val_t align;
    void operator()(void* memory) const { ::operator delete(memory, align); }
  };
  std::unique_ptr<void, freed> memory(::operator new(form.size, align), freed{align});
  std::memset(memory.get(), 0, form.size);
  keep_stores(memory.get());  // an object's life begins with its constructor, so they would be dead
  form.copy(memory.get(), f);
  const void* const made = memory.release();
  return {made, [destroy = form.destroy, align](const void* copy) {
            void* const object = const_cast<void*>(copy);
            destroy(object);
            ::operator delete(object, align);
          }};
}

user_function hold(std::string_view role, const closure_form& form, const void* f) {
  user_function u;
  u.role = role;
  u.form = &form;
  capture_recorder recorder;  // copying the function makes its captured collections known
  u.f = copy_of(f, form);
  u.captures = recorder.found();
  return u;
}

ir::traced never_traced(const void*) {
  ir::traced t;
  t.reason = "functions of this verb are not traced";
  return t;
}

ir::traced user_function::trace() const {
  if (retrace) {
    planner::trace_memo* const known = held ? nullptr : planner::trace_memo::here();
    return known ? known->trace_of(*this) : retrace(f.get());
  }
  ir::traced t;
  t.reason = "not traced";
  return t;
}

}  // namespace query::detail
