// The end of plans: nodes, segments and captured queries let go of what lies below them in a loop.
#include <new>
#include <utility>
#include <vector>

#include <query/detail/binding.hpp>
#include <query/detail/plan.hpp>

namespace query::detail {

namespace {
using parts = std::vector<std::shared_ptr<const void>>;
thread_local constinit parts* waiting = nullptr;  // of the outermost release() on this thread
}  // namespace

void release(std::shared_ptr<const void> part) noexcept {
  if (part.use_count() != 1) return;  // others hold it: nothing ends here
  if (waiting) {
    try {
      waiting->push_back(std::move(part));
    } catch (const std::bad_alloc&) {  // it ends here, within the destructor that called
    }
    return;
  }
  parts all;
  waiting = &all;
  part.reset();
  while (!all.empty()) {
    const std::shared_ptr<const void> next = std::move(all.back());
    all.pop_back();
  }
  waiting = nullptr;
}

logical::~logical() {
  for (pipe& p : inputs) {
    release(std::move(p.native));
    release(std::move(p.node));
  }
  // Functions and sources may hold queries, too.
  functions.take_apart([](user_function& f) { release(std::move(f.f)); },
                       [](std::shared_ptr<const void> shared) { release(std::move(shared)); });
  release(std::move(made_by));
  release(std::move(source));
}

segment::~segment() {
  release(std::move(chain));  // its functions may hold queries, too
  release(std::move(origin.native));
  release(std::move(origin.node));
}

std::shared_ptr<const segment> make_segment(const pipe& origin, const ir::type* in, const ir::type* out, const segment_form& form,
                                            const void* chain) {
  return std::make_shared<const segment>(origin, in, out, form, copy_of(chain, form.chain));
}

capture::~capture() { release(std::move(plan)); }

}  // namespace query::detail
