// Random trees against a plain recursive evaluator that computes only what is chosen: traps must agree too.
#include <optional>
#include <random>
#include <unordered_map>

#include <query/errors.hpp>

#include "interpreted.hpp"

namespace interpreter_random_test {

using query::ir::arena;
using query::ir::describe;
using query::ir::node;
using query::ir::op;

struct trap {};

constexpr std::int64_t captured[] = {3, 0, -7, 12};

// One row, one node at a time. Values are i64; booleans are 0 and 1.
class evaluator {
 public:
  explicit evaluator(std::int64_t row) : row_(row) {}
  std::int64_t of(const node* n) {
    if (steps_++ > 200000) throw std::runtime_error("too large for the evaluator");
    const auto known = known_.find(n);
    if (known != known_.end()) return known->second;
    const std::int64_t v = compute(n);
    if (bound_.empty()) known_.emplace(n, v);
    return v;
  }

 private:
  std::int64_t compute(const node* n) {
    const auto kid = [&](std::size_t i) { return of(n->kids[i]); };
    const auto wrapped = [](std::uint64_t v) { return static_cast<std::int64_t>(v); };
    const auto bits = [&](std::size_t i) { return static_cast<std::uint64_t>(kid(i)); };
    switch (n->what) {
      case op::literal: return wrapped(n->bits);
      case op::row: return n->id == 0 ? row_ : bound_.at(n->id + 1000);
      case op::variable: return bound_.at(n->id * 10 + static_cast<std::uint32_t>(n->bits));
      case op::add: return wrapped(bits(0) + bits(1));
      case op::sub: return wrapped(bits(0) - bits(1));
      case op::mul: return wrapped(bits(0) * bits(1));
      case op::div:
      case op::mod: {
        const std::int64_t x = kid(0), y = kid(1);
        if (y == 0) throw trap{};
        if (y == -1) return n->what == op::div ? wrapped(0 - static_cast<std::uint64_t>(x)) : 0;
        return n->what == op::div ? x / y : x % y;
      }
      case op::lt: return kid(0) < kid(1);
      case op::eq: return kid(0) == kid(1);
      case op::logical_not: return !kid(0);
      case op::logical_and: return kid(0) && kid(1);
      case op::logical_or: return kid(0) || kid(1);
      case op::select: return kid(0) ? kid(1) : kid(2);
      case op::loop: return loop(n);
      case op::nested: return nested(n);
      default: throw std::logic_error("not generated");
    }
  }
  std::int64_t loop(const node* n) {
    std::int64_t a = of(n->kids[0]), b = of(n->kids[1]);
    const auto outer = bound_;
    for (;;) {
      bound_[n->id * 10] = a;
      bound_[n->id * 10 + 1] = b;
      if (!of(n->kids[2])) break;
      const std::int64_t x = of(n->kids[3]), y = of(n->kids[4]);
      a = x;
      b = y;
    }
    bound_ = outer;
    return a;  // the tree takes member 0
  }
  std::int64_t nested(const node* n) {
    const auto outer = bound_;
    std::int64_t result = n->text == "all", best = 0;
    bool first = true;
    std::int64_t position = 0;
    for (const std::int64_t e : captured) {
      bound_[n->id + 1000] = e;
      const std::int64_t v = of(n->kids[1]);
      if (n->text == "sum") result = static_cast<std::int64_t>(static_cast<std::uint64_t>(result) + static_cast<std::uint64_t>(v));
      if (n->text == "all" && !v) {
        result = 0;
        break;
      }
      if (n->text == "arg_min" && (first || v < best)) {
        best = v;
        result = position;
      }
      first = false;
      ++position;
    }
    bound_ = outer;
    return result;
  }

  std::int64_t row_;
  std::unordered_map<const node*, std::int64_t> known_;
  std::unordered_map<std::uint32_t, std::int64_t> bound_;
  std::size_t steps_ = 0;
};

class generator {
 public:
  generator(arena& a, std::uint64_t seed) : a_(a), g_(seed) {
    numbers_ = {a.put(op::row, i64), number(0), number(2), number(-3)};
    truths_ = {a.put(op::lt, boolean, {numbers_[0], number(40)})};
  }
  const node* tree(int steps) {
    grow(steps, 0);
    return numbers_.back();
  }

 private:
  const node* number(std::int64_t v) { return a_.put(op::literal, i64, {}, static_cast<std::uint64_t>(v)); }
  // Late ones more often, so that the tree is deep; others too, so that nodes are shared between arms.
  const node* pick(const std::vector<const node*>& from) {
    const std::size_t n = from.size();
    return g_() % 3 ? from[n - 1 - g_() % std::min<std::size_t>(n, 4)] : from[g_() % n];
  }
  const node* any() { return pick(numbers_); }
  const node* truth() { return pick(truths_); }
  void add(const node* n) { numbers_.push_back(n); }

  void grow(int steps, int depth) {
    for (int i = 0; i < steps; ++i) {
      switch (g_() % (depth < 2 ? 14 : 11)) {
        case 0: add(a_.put(op::add, i64, {any(), any()})); break;
        case 1: add(a_.put(op::sub, i64, {any(), any()})); break;
        case 2: add(a_.put(op::mul, i64, {any(), any()})); break;
        case 3: add(a_.put(g_() % 2 ? op::div : op::mod, i64, {any(), any()})); break;
        case 4: truths_.push_back(a_.put(g_() % 2 ? op::lt : op::eq, boolean, {any(), any()})); break;
        case 5: truths_.push_back(a_.put(op::logical_and, boolean, {truth(), truth()})); break;
        case 6: truths_.push_back(a_.put(op::logical_or, boolean, {truth(), truth()})); break;
        case 7: {  // a guarded division
          const node *x = any(), *y = any();
          const node* zero = a_.put(op::eq, boolean, {y, number(0)});
          add(a_.put(op::select, i64, {zero, any(), a_.put(op::div, i64, {x, y})}));
          break;
        }
        case 8: truths_.push_back(query::ir::make_not(a_, truth())); break;
        case 9:
        case 10: add(query::ir::make_select(a_, truth(), any(), any())); break;
        case 11: loop(depth); break;
        default: nested(depth); break;
      }
    }
  }
  // loop((a, b) = (x, 1 to 3), while b > 0 && ..., (any, b - 1))
  void loop(int depth) {
    const std::uint32_t id = next_++;
    const auto numbers = numbers_, truths = truths_;
    const node* start = any();
    const node *a = a_.put(op::variable, i64, {}, 0, id), *b = a_.put(op::variable, i64, {}, 1, id);
    numbers_.insert(numbers_.end(), {a, b});
    const node* going = a_.put(op::lt, boolean, {number(0), b});
    truths_.push_back(going);
    grow(4, depth + 1);
    const node* condition = a_.put(op::logical_and, boolean, {going, truth()});
    const node* next = numbers_.back();
    numbers_ = numbers;
    truths_ = truths;
    const node* first = number(static_cast<std::int64_t>(1 + g_() % 3));
    const node* l = a_.put(op::loop, describe<std::tuple<std::int64_t, std::int64_t>>(),
                           {start, first, condition, next, a_.put(op::sub, i64, {b, number(1)})}, 2, id);
    add(a_.put(op::member, i64, {l}, 0));
  }
  void nested(int depth) {
    const std::uint32_t id = next_++;
    const auto numbers = numbers_, truths = truths_;
    numbers_.push_back(a_.put(op::row, i64, {}, 0, id));
    truths_.push_back(a_.put(op::lt, boolean, {any(), any()}));
    grow(4, depth + 1);
    const node *body = numbers_.back(), *test = truths_.back();
    numbers_ = numbers;
    truths_ = truths;
    const node* over = a_.put(op::collection, i64, {}, 77);
    switch (g_() % 3) {
      case 0: add(a_.put(op::nested, i64, {over, body}, 0, id, "sum")); break;
      case 1: add(a_.put(op::nested, i64, {over, body}, 0, id, "arg_min")); break;
      default: truths_.push_back(a_.put(op::nested, boolean, {over, test}, 0, id, "all")); break;
    }
  }

  const query::ir::type* i64 = describe<std::int64_t>();
  const query::ir::type* boolean = describe<bool>();
  arena& a_;
  std::mt19937_64 g_;
  std::vector<const node*> numbers_, truths_;
  std::uint32_t next_ = 2;
};

// The evaluator knows loops by their first state only.
const node* without_members(arena& a, const node* n, std::unordered_map<const node*, const node*>& made) {
  if (auto it = made.find(n); it != made.end()) return it->second;
  node copy = *n;
  for (const node*& k : copy.kids) k = without_members(a, k, made);
  const node* r = n->what == op::member ? copy.kids[0] : a.put(copy);
  return made[n] = r;
}

TEST(interpreter_random, trees_agree_with_a_recursive_evaluator_in_values_and_traps) {
  int failing = 0, compared = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    arena a;
    const node* root = generator(a, seed).tree(static_cast<int>(6 + seed % 30));
    std::unordered_map<const node*, const node*> made;
    const node* plain = without_members(a, root, made);
    std::vector<std::int64_t> rows, want, traps;
    std::mt19937_64 g(seed);
    try {
      for (int i = 0; i < 120; ++i) {
        const std::int64_t row = static_cast<std::int64_t>(g() % 90) - 20;
        try {
          want.push_back(evaluator(row).of(plain));
          rows.push_back(row);
        } catch (const trap&) {
          traps.push_back(row);
        }
      }
    } catch (const std::runtime_error&) {
      continue;
    }
    const query::interpreter::collection c{77, captured, std::size(captured)};
    const query::interpreter::environment with{{&c, 1}, {}};
    ASSERT_EQ(query::testing::interpret<std::int64_t>(root, rows, with), want) << query::ir::show(root);
    ++compared;
    if (traps.empty()) continue;
    ++failing;
    rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(rows.size() / 2), traps[0]);
    ASSERT_THROW(query::testing::interpret<std::int64_t>(root, rows, with), query::user_error) << query::ir::show(root);
  }
  EXPECT_GT(compared, 250);
  EXPECT_GT(failing, 40);
}

}  // namespace interpreter_random_test
