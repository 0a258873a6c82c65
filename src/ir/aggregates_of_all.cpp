// Functions of the group that is all rows: what has no value where there are no rows becomes a null, NaN or an error.
#include <query/detail/aggregates_of_all.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>

#include <ir/visit.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/traced_row.hpp>

namespace query::agg {

using ir::kind;
using ir::node;
using ir::op;
using ir::type;

namespace {

bool needs_rows(const node* n) {
  constexpr std::string_view names[] = {"mean", "min", "max", "arg_min", "arg_max", "median", "quantile"};
  if (n->what != op::aggregate || n->kids.empty() || n->kids[0]->type->k == kind::optional) return false;
  return std::find(std::begin(names), std::end(names), n->text) != std::end(names);
}
bool any_needs_rows(const node* root) {
  bool any = false;
  ir::each_node(root, [&](const node* n) { any = any || needs_rows(n); });
  return any;
}

class choosing {
 public:
  choosing() {
    node count;
    count.what = op::aggregate;
    count.type = ir::describe<std::int64_t>();
    count.text = "count";
    const node* none = arena_.put(op::literal, ir::describe<std::int64_t>());
    there_ = arena_.put(op::gt, ir::describe<bool>(), {arena_.put(std::move(count)), none});
  }

  const node* of(const node* n, const type* out) const {
    if (!any_needs_rows(n)) return n;
    switch (out->k) {
      case kind::optional:
        return ir::make_select(arena_, there_, n->type == out ? n : arena_.put(op::some, out, {n}), arena_.put(op::null, out));
      case kind::record: return parts(n, out, out->field_list.size(), [&](std::size_t i) { return out->field_list[i].of; });
      case kind::array: return parts(n, out, out->count, [&](std::size_t) { return out->element; });
      default: return ir::make_select(arena_, there_, n, missing(out));
    }
  }

 private:
  template <class TypeOfPart> const node* parts(const node* n, const type* out, std::size_t count, TypeOfPart type_of) const {
    node made;
    made.what = op::make;
    made.type = out;
    for (std::size_t i = 0; i < count; ++i) made.kids.push_back(of(detail::part_of(n, i), type_of(i)));
    return arena_.put(std::move(made));
  }
  const node* missing(const type* t) const {
    if (t->k == kind::f64) return arena_.put(op::literal, t, {}, std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN()));
    if (t->k == kind::f32) return arena_.put(op::literal, t, {}, std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN()));
    if (!ir::is_arithmetic(t->k)) ir::give_up("query::make of all rows: a field that is neither a number nor a std::optional may have no value");
    // The value of an empty optional is an error on every engine.
    const node* none = arena_.put(op::null, ir::describe<std::optional<double>>());
    return ir::make_cast(arena_, arena_.put(op::value, ir::describe<double>(), {none}), t);
  }

  ir::arena& arena_ = ir::current_arena();
  const node* there_;
};

}  // namespace

void no_value_of_no_rows(std::string_view record, std::string_view field) {
  throw detail::unplaced_error("there is no value for field '" + std::string(field) + "' of " + std::string(record) +
                               ", as there are no rows; make the field a std::optional");
}

const node* trace_of_all(const node* root, const type* out) { return any_needs_rows(root) ? choosing().of(root, out) : root; }

}  // namespace query::agg
