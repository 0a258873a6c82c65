// Functions of strings. Only active lanes are touched: the views of others may be stale.
#include <algorithm>
#include <optional>
#include <utility>

#include <cpu_engine/interpreter/kernels.hpp>
#include <cpu_engine/interpreter/text_heap.hpp>
#include <query/strings.hpp>

namespace query::interpreter {
namespace {

using view = std::string_view;

// Calls f(lane) for every active lane.
template <class F> void each_active(const std::uint8_t* active, std::size_t n, F f) {
  for (std::size_t i = 0; i < n; ++i)
    if (!active || active[i]) f(i);
}

template <ir::op What>
void compare(void* to, void*, const void* a, const void* b, const void*, const std::uint8_t* active, std::size_t n, text_heap&) {
  auto* t = static_cast<std::uint8_t*>(to);
  const view* x = static_cast<const view*>(a);
  const view* y = static_cast<const view*>(b);
  using ir::op;
  each_active(active, n, [&](std::size_t i) {
    if constexpr (What == op::lt) t[i] = x[i] < y[i];
    else if constexpr (What == op::le) t[i] = x[i] <= y[i];
    else if constexpr (What == op::gt) t[i] = x[i] > y[i];
    else if constexpr (What == op::ge) t[i] = x[i] >= y[i];
    else if constexpr (What == op::eq) t[i] = x[i] == y[i];
    else t[i] = x[i] != y[i];
  });
}

void size(void* to, void*, const void* a, const void*, const void*, const std::uint8_t* active, std::size_t n, text_heap&) {
  auto* t = static_cast<std::uint64_t*>(to);
  const view* x = static_cast<const view*>(a);
  each_active(active, n, [&](std::size_t i) { t[i] = x[i].size(); });
}

void concat(void* to, void*, const void* a, const void* b, const void*, const std::uint8_t* active, std::size_t n, text_heap& heap) {
  view* t = static_cast<view*>(to);
  const view* x = static_cast<const view*>(a);
  const view* y = static_cast<const view*>(b);
  each_active(active, n, [&](std::size_t i) {
    char* p = heap.take(x[i].size() + y[i].size());
    std::copy(x[i].begin(), x[i].end(), p);
    std::copy(y[i].begin(), y[i].end(), p + x[i].size());
    t[i] = view(p, x[i].size() + y[i].size());
  });
}

// A function's result as the value of lane i. Views show arguments, which live as long as the batch.
template <class R> void put(R r, void* to, void*, std::size_t i, text_heap&) { static_cast<R*>(to)[i] = r; }
void put(const std::string& r, void* to, void*, std::size_t i, text_heap& heap) {
  char* p = heap.take(r.size());
  std::copy(r.begin(), r.end(), p);
  static_cast<view*>(to)[i] = view(p, r.size());
}
template <class R> void put(const std::optional<R>& r, void* to, void* has, std::size_t i, text_heap& heap) {
  static_cast<bool*>(has)[i] = r.has_value();
  put(r ? *r : R{}, to, nullptr, i, heap);
}
void put(std::vector<std::string> r, void* to, void*, std::size_t i, text_heap& heap) {
  static_cast<const void**>(to)[i] = heap.keep(std::move(r));
}

// F: a function of query/strings.hpp.
template <class F>
void run_function(void* to, void* has, const void* a, const void* b, const void* c, const std::uint8_t* active, std::size_t n,
                  text_heap& heap) {
  const void* const from[] = {a, b, c};
  const auto each = [&]<class R, class... A, std::size_t... P>(R (*)(A...), std::index_sequence<P...>) {
    each_active(active, n, [&](std::size_t i) { put(F::native(static_cast<const A*>(from[P])[i]...), to, has, i, heap); });
  };
  [&]<class R, class... A>(R (*native)(A...)) { each(native, std::index_sequence_for<A...>()); }(&F::native);
}
template <class F> constexpr text_function entry() {
  return []<class R, class... A>(R (*)(A...)) {
    using Out = detail::stored_t<R>;
    constexpr auto kind = []<class X>(std::type_identity<X>) { return ir::kind_of<detail::stored_t<X>>(); };
    return text_function{F::name, run_function<F>, ir::kind_of<Out>(), sizeof...(A), {kind(std::type_identity<A>())...}};
  }(&F::native);
}
template <class... F> constexpr std::array<text_function, sizeof...(F)> entries() { return {entry<F>()...}; }

}  // namespace

const text_function* text_call(const ir::node* n) {
  using namespace detail;
  static constexpr auto all =
      entries<length_fn, substring_fn, lower_fn, upper_fn, trim_fn, trim_start_fn, trim_end_fn, replace_fn, split_fn, like_fn, matches_fn,
              regex_replace_fn, regex_extract_fn, find_fn, starts_with_fn, ends_with_fn, contains_fn, substr_fn, to_lower_fn, to_upper_fn,
              number_text_fn<bool>, number_text_fn<std::int64_t>, number_text_fn<std::uint64_t>, number_text_fn<float>,
              number_text_fn<double>, parse_fn<std::int8_t>, parse_fn<std::int16_t>, parse_fn<std::int32_t>, parse_fn<std::int64_t>,
              parse_fn<std::uint8_t>, parse_fn<std::uint16_t>, parse_fn<std::uint32_t>, parse_fn<std::uint64_t>, parse_fn<float>,
              parse_fn<double>>();
  const auto takes = [&](const text_function& f) {
    return f.name == n->text && f.arguments == n->kids.size() &&
           std::equal(n->kids.begin(), n->kids.end(), f.takes.begin(), [](const ir::node* k, ir::kind t) { return k->type->k == t; });
  };
  const auto found = std::find_if(all.begin(), all.end(), takes);
  return found == all.end() || n->bits ? nullptr : &*found;  // bits: a device function of the user's
}

text_kernel text_size() { return size; }
text_kernel text_concatenation() { return concat; }
text_kernel text_comparison(ir::op what) {
  using ir::op;
  switch (what) {
    case op::lt: return compare<op::lt>;
    case op::le: return compare<op::le>;
    case op::gt: return compare<op::gt>;
    case op::ge: return compare<op::ge>;
    case op::eq: return compare<op::eq>;
    case op::ne: return compare<op::ne>;
    default: return nullptr;
  }
}

}  // namespace query::interpreter
