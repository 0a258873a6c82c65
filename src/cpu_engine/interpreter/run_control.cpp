// Instructions that compute, and those that run regions: arms of selects, loops, nested computations.
#include <algorithm>
#include <cstring>

#include <cpu_engine/interpreter/instructions.hpp>
#include <ir/analysis.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/stop.hpp>

namespace query::interpreter {
namespace {

using mask_byte = std::uint8_t;

// The range and mask of a frame, put back at the end of the scope.
class narrowed {
 public:
  explicit narrowed(frame& f) : f_(f), active_(f.active), first_(f.first), last_(f.last) {}
  ~narrowed() {
    f_.active = active_;
    f_.first = first_;
    f_.last = last_;
  }
  narrowed(const narrowed&) = delete;
  narrowed& operator=(const narrowed&) = delete;

 private:
  frame& f_;
  const mask_byte* active_;
  std::uint32_t first_, last_;
};

// Narrows the frame to the lanes set in `mask` within its range; false if there are none.
bool narrow(frame& f, const mask_byte* mask) {
  std::uint32_t first = f.first, last = f.last;
  while (first < last && !mask[first]) ++first;
  while (last > first && !mask[last - 1]) --last;
  if (first == last) return false;
  f.first = first;
  f.last = last;
  f.active = std::memchr(mask + first, 0, last - first) ? mask : nullptr;
  return true;
}

// to <- the frame's live lanes where (c != 0) == wanted.
void select_lanes(const frame& f, mask_byte* to, const mask_byte* c, bool wanted) {
  for (std::size_t l = f.first; l < f.last; ++l) to[l] = static_cast<mask_byte>((c[l] != 0) == wanted);
  if (f.active)
    for (std::size_t l = f.first; l < f.last; ++l) to[l] = static_cast<mask_byte>(to[l] & f.active[l]);
}

void run_steps(frame& f, const step& s) {
  for (std::uint32_t i = s.begin; i < s.end; ++i) f.code.instructions[i].run(f, f.code.instructions[i]);
}

void run_missing(frame& f, const step& s) {
  auto* done = f.column<mask_byte>(s.done);
  auto* need = f.column<mask_byte>(s.need);
  select_lanes(f, need, done, false);
  narrowed keep(f);
  if (!narrow(f, need)) return;
  run_steps(f, s);
  for (std::size_t l = f.first; l < f.last; ++l) done[l] = static_cast<mask_byte>(done[l] | need[l]);
}

template <class T> void copy_lanes(const frame& f, T* to, const T* from, bool splat) {
  for (std::size_t l = f.first; l < f.last; ++l)
    if (f.live(l)) to[l] = from[splat ? 0 : l];
}
struct wide {
  std::uint64_t low, high;
};

// to <- from in the frame's live lanes.
void assign(const frame& f, reg to, reg from) {
  const register_info& info = f.code.registers[from];
  if (!f.active && !info.constant) {
    std::memcpy(f.operand(to), f.operand(from), f.count() * info.width);
    return;
  }
  switch (info.width) {
    case 1: return copy_lanes(f, f.column<std::uint8_t>(to), f.column<std::uint8_t>(from), info.constant);
    case 2: return copy_lanes(f, f.column<std::uint16_t>(to), f.column<std::uint16_t>(from), info.constant);
    case 4: return copy_lanes(f, f.column<std::uint32_t>(to), f.column<std::uint32_t>(from), info.constant);
    case 8: return copy_lanes(f, f.column<std::uint64_t>(to), f.column<std::uint64_t>(from), info.constant);
    default: return copy_lanes(f, f.column<wide>(to), f.column<wide>(from), info.constant);
  }
}

void start_states(frame& f, const nest& n) {
  for (const nest::carried& s : n.states) assign(f, s.state, s.initial);
}
void next_states(frame& f, const nest& n) {
  for (const nest::carried& s : n.states) assign(f, s.state, s.next);
}

void prepare_iteration(frame& f, const nest& n) {
  for (const reg r : n.forget) std::memset(f.registers[r] + f.first, 0, f.count());
  run_region(f, n.prelude);
}

void run_loop(frame& f, const nest& n) {
  start_states(f, n);
  auto* active = f.column<mask_byte>(n.active);
  auto* stepping = f.column<mask_byte>(n.stepping);
  const detail::stop_point stop;
  for (std::uint64_t i = 0;; ++i) {
    stop.check();
    prepare_iteration(f, n);
    run_region(f, n.body);
    select_lanes(f, stepping, f.column<mask_byte>(n.condition), true);
    // The frame stays narrowed: lanes that left do not come back.
    std::memcpy(active + f.first, stepping + f.first, f.count());
    if (!narrow(f, active)) return;
    if (i == iteration_limit)
      throw detail::unplaced_error("loop: a row needs more than " + std::to_string(iteration_limit) + " iterations");
    run_region(f, n.steps);
    next_states(f, n);
  }
}

void read_sizes(frame& f, const nest& n) {
  auto* sizes = f.column<std::int64_t>(n.sizes);
  std::int64_t all = static_cast<std::int64_t>(n.count);
  if (n.what == nest::over::collection) all = static_cast<std::int64_t>(f.collections[n.collection].size);
  const void* const* source = n.what == nest::over::list ? f.column<const void*>(n.source) : nullptr;
  for (std::size_t l = f.first; l < f.last; ++l) {
    if (!f.live(l)) continue;  // may hold the result of an earlier run for other lanes
    if (source) sizes[l] = source[l] ? static_cast<std::int64_t>(n.list->get.size(source[l])) : 0;
    else sizes[l] = all;
  }
}

void point_at_element(frame& f, const nest& n, std::size_t position, const mask_byte* active) {
  const std::size_t offset = position * n.element->size;
  if (n.what == nest::over::collection) {
    f.slots[n.row].base = static_cast<const std::byte*>(f.collections[n.collection].data) + offset;
    f.slots[n.row].stride = 0;
    return;
  }
  auto* pointer = f.column<const std::byte*>(n.pointer);
  const void* const* source = f.column<const void*>(n.source);
  for (std::size_t l = f.first; l < f.last; ++l) {
    if (!active[l]) pointer[l] = nullptr;
    else if (n.what == nest::over::list) pointer[l] = static_cast<const std::byte*>(n.list->get.data(source[l])) + offset;
    else pointer[l] = static_cast<const std::byte*>(source[l]) + offset;
  }
}

void run_nested(frame& f, const nest& n) {
  read_sizes(f, n);
  start_states(f, n);
  const auto* sizes = f.column<std::int64_t>(n.sizes);
  auto* active = f.column<mask_byte>(n.active);
  for (std::size_t l = f.first; l < f.last; ++l) active[l] = f.live(l);
  auto* position = f.column<std::int64_t>(n.position);
  const detail::stop_point query;
  for (std::int64_t i = 0;; ++i) {
    query.check();
    for (std::size_t l = f.first; l < f.last; ++l) active[l] = static_cast<mask_byte>(active[l] & mask_byte{sizes[l] > i});
    if (!narrow(f, active)) return;
    for (std::size_t l = f.first; l < f.last; ++l) position[l] = i;
    point_at_element(f, n, static_cast<std::size_t>(i), active);
    prepare_iteration(f, n);
    run_region(f, n.body);
    next_states(f, n);
    if (n.condition == none) continue;
    const auto* stop = f.column<mask_byte>(n.condition);
    for (std::size_t l = f.first; l < f.last; ++l) active[l] = static_cast<mask_byte>(active[l] & mask_byte{stop[l] == 0});
  }
}

}  // namespace

void run_region(frame& f, region_id r) {
  if (r == none) return;
  for (const step& s : f.code.regions[r].steps) {
    if (s.done == none) run_steps(f, s);
    else run_missing(f, s);
  }
}

void run_region(frame& f, region_id r, const std::uint8_t* mask) {
  narrowed keep(f);
  if (narrow(f, mask)) run_region(f, r);
}

namespace instructions {

void plain(frame& f, const instruction& i) { i.with.plain(f.operand(i.to), f.operand(i.a), f.operand(i.b), f.count()); }
void three(frame& f, const instruction& i) {
  i.with.three(f.operand(i.to), f.operand(i.a), f.operand(i.b), f.operand(i.c), f.count());
}
void checked(frame& f, const instruction& i) {
  i.with.checked(f.operand(i.to), f.operand(i.a), f.operand(i.b), f.mask(), f.count());
}
void narrow(frame& f, const instruction& i) {
  try {
    i.with.checked(f.operand(i.to), f.operand(i.a), nullptr, f.mask(), f.count());
  } catch (misfit& m) {
    m.lane += f.first;
    m.narrowing = i.index;
    throw;
  }
}
void text(frame& f, const instruction& i) {
  i.with.text(f.operand(i.to), f.operand(i.index), f.operand(i.a), f.operand(i.b), f.operand(i.c), f.mask(), f.count(), f.heap);
}

void array(frame& f, const instruction& i) {
  const auto at = [&](const place& p) -> lanes_at {
    if (p.from == place::source::pointer) return {nullptr, 0, nullptr, f.column<const void*>(p.at), p.offset};
    const lanes_at l = resolve(f, p.at, p.offset, i.type->size);
    if (!l) throw internal_error("interpreter: an array field is not bound in one piece");
    return l;
  };
  const lanes_at a = at(f.code.values[i.index].at), b = at(f.code.values[static_cast<std::size_t>(i.extra)].at);
  const std::uint32_t width = f.code.registers[i.to].width;
  std::byte* to = f.registers[i.to];
  if (a.adjacent() && b.adjacent()) {
    i.with.array(to + std::size_t{f.first} * width, a[f.first], a.stride, b[f.first], b.stride, i.type->count, f.count());
    return;
  }
  for (std::size_t l = f.first; l < f.last; ++l) {
    if (!f.live(l)) continue;
    const std::byte *x = a[l], *y = b[l];
    if (x && y) i.with.array(to + l * width, x, 0, y, 0, i.type->count, 1);
    else std::memset(to + l * width, 0, width);
  }
}

void copy(frame& f, const instruction& i) {
  std::memcpy(f.operand(i.to), f.operand(i.a), f.count() * f.code.registers[i.to].width);
}

void broadcast(frame& f, const instruction& i) {
  const std::uint32_t width = f.code.registers[i.to].width;
  const std::byte* from = f.registers[i.a];
  std::byte* to = f.registers[i.to];
  const auto fill = [&]<class T>(T v) {
    std::memcpy(&v, from, sizeof v);
    std::fill_n(reinterpret_cast<T*>(to) + f.first, f.count(), v);
  };
  switch (width) {
    case 1: return fill(std::uint8_t{});
    case 2: return fill(std::uint16_t{});
    case 4: return fill(std::uint32_t{});
    case 8: return fill(std::uint64_t{});
    default: return fill(std::string_view{});
  }
}

void choose(frame& f, const instruction& i) {
  const auto* c = f.column<mask_byte>(i.c);
  const auto run = [&](reg mask, region_id region, bool wanted) {
    if (region == none) return;
    auto* lanes = f.column<mask_byte>(mask);
    select_lanes(f, lanes, c, wanted);
    run_region(f, region, lanes);
  };
  run(i.a, i.index, true);
  run(i.b, static_cast<region_id>(i.extra), false);
}

void require_value(frame& f, const instruction& i) {
  const auto* has = f.column<mask_byte>(i.a);
  for (std::size_t l = f.first; l < f.last; ++l)
    if (!has[l] && f.live(l)) throw detail::unplaced_error(ir::value_of_null);
}

void require_elements(frame& f, const instruction& i) {
  const auto* has = f.column<mask_byte>(i.a);
  for (std::size_t l = f.first; l < f.last; ++l)
    if (!has[l] && f.live(l))
      throw detail::unplaced_error(f.code.nests[i.index].verb + " of an empty list or collection has no value; test its size first");
}

void iterate(frame& f, const instruction& i) {
  narrowed keep(f);
  const nest& n = f.code.nests[i.index];
  if (n.what == nest::over::loop) run_loop(f, n);
  else run_nested(f, n);
}

}  // namespace instructions
}  // namespace query::interpreter
