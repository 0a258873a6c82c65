#include <query/detail/tracer.hpp>

#include <query/detail/division_watch.hpp>

namespace query::ir {

namespace {

// The decisions of the function (or nested body) being explored, outermost last.
struct frame {
  struct decision {
    const node* condition;
    bool taken;
    const node* value_if_true;
  };
  std::vector<decision> path;
  std::size_t position = 0;  // decisions replayed or made in this run
  frame* outer = nullptr;
};

struct tracer {
  arena* nodes = nullptr;
  frame* innermost = nullptr;
  std::string poison;  // set by give_up; outlives a user's catch (...)
  int runs = 0;
  std::uint32_t nested = 2;  // rows 0 and 1 are the function's own
};

thread_local tracer active;
thread_local trace_limits thread_limits;

constexpr const char* not_pure = "the function is not pure: two runs on the same row took different steps";

}  // namespace

trace_limits& limits() { return thread_limits; }
bool tracing() noexcept { return active.nodes != nullptr; }

arena& current_arena() {
  if (!active.nodes) throw untraceable("a traced value was used outside the function that received it");
  return *active.nodes;
}

void give_up(std::string reason) {
  if (active.nodes && active.poison.empty()) active.poison = reason;
  throw untraceable(std::move(reason));
}

namespace {
// As C++ spells it; nothing for types without a short name.
std::string_view spelled(const type* t) {
  if (t->counts.what != unit::of::nothing) return t->name;
  if (t->is_enum) return "an enum";
  switch (t->k) {
    case kind::boolean: return "bool";
    case kind::i8: return "std::int8_t";
    case kind::i16: return "short";
    case kind::i32: return "int";
    case kind::i64: return "std::int64_t";
    case kind::u8: return "std::uint8_t";
    case kind::u16: return "unsigned short";
    case kind::u32: return "unsigned";
    case kind::u64: return "std::uint64_t";
    case kind::f32: return "float";
    case kind::f64: return "double";
    case kind::string: return "std::string";
    case kind::optional: return "std::optional";
    case kind::list: return "std::vector";
    default: return {};
  }
}
}  // namespace

void became_plain(const type* t) {
  std::string why = "a traced value became a plain C++ value";
  if (const auto name = spelled(t); !name.empty()) why += ": " + std::string(name);
  give_up(why +
          " (a typed local, result or parameter, a struct made of it, `?:`, or a function such as std::sqrt): use auto, query::value_t, "
          "query::make<Row>(...), query::iff(c, a, b), query::sqrt(x)... or query::cast<T>(x)");
}

std::uint32_t enter_nested() { return active.nested++; }
void leave_nested() { --active.nested; }

bool decide(const node* c) {
  if (c->what == op::logical_not) return !decide(c->kids[0]);
  if (c->what == op::literal) return c->bits != 0;
  frame* f = active.innermost;
  if (!f) give_up("a traced condition was tested outside the function that received it");
  for (const frame* g = f; g; g = g->outer) {
    const std::size_t made = g == f ? f->position : g->path.size();
    for (std::size_t i = 0; i < made; ++i)
      if (g->path[i].condition == c) return g->path[i].taken;
  }
  if (f->position < f->path.size()) {
    if (f->path[f->position].condition != c) give_up(not_pure);
    return f->path[f->position++].taken;
  }
  if (static_cast<int>(f->path.size()) >= thread_limits.decisions)
    give_up("more than " + std::to_string(thread_limits.decisions) +
            " data-dependent decisions on one path (a loop whose end depends on the row? use query::loop)");
  f->path.push_back({c, true, nullptr});
  ++f->position;
  return true;
}

const node* explore(function_ref<const node*()> call) {
  frame f;
  f.outer = active.innermost;
  active.innermost = &f;
  struct restore {
    frame* outer;
    ~restore() { active.innermost = outer; }
  } on_exit{f.outer};
  for (int paths = 1;; ++paths) {
    if (paths > thread_limits.paths)
      give_up("more than " + std::to_string(thread_limits.paths) +
              " paths through the function; write independent conditions as query::iff(query::lazy(x) > 0, a, b)");
    f.position = 0;
    ++active.runs;
    const node* v = call();
    if (!active.poison.empty()) throw untraceable(active.poison);
    if (f.position != f.path.size()) give_up(not_pure);
    while (true) {
      if (f.path.empty()) return v;
      frame::decision& last = f.path.back();
      if (last.taken) {
        last.value_if_true = v;
        last.taken = false;
        break;
      }
      if (last.value_if_true->type != v->type)
        give_up("the branches of the function give different types");
      v = make_select(*active.nodes, last.condition, last.value_if_true, v);
      f.path.pop_back();
    }
  }
}

traced run_trace(function_ref<const node*()> call) {
  traced result;
  std::uint64_t shapes[2] = {};
  const tracer saved = active;
  detail::division_watch watch;
  for (int round = 0; round < 2 && result.reason.empty(); ++round) {
    auto nodes = std::make_shared<arena>();
    active = tracer{nodes.get(), nullptr, {}, result.runs, 2};
    try {
      const node* root = explore(call);
      shapes[round] = root->shape;
      if (round == 0) {
        result.owner = nodes;
        result.root = root;
      }
    } catch (const untraceable& u) {
      result.reason = active.poison.empty() ? u.reason : active.poison;
    } catch (const std::exception& e) {
      result.reason = std::string("the function threw while it was traced: ") + e.what();
    } catch (...) {
      result.reason = "the function threw while it was traced";
    }
    result.runs = active.runs;
  }
  active = saved;
  if (watch.take_refused()) result.reason = "it divides an integer by a 0, or by -1 the smallest one, that is no row's";
  if (result.reason.empty() && shapes[0] != shapes[1])
    result.reason = "the function is not pure: traced twice, it gave two different expressions";
  if (!result.reason.empty()) {
    result.root = nullptr;
    result.owner.reset();
  }
  return result;
}

}  // namespace query::ir
