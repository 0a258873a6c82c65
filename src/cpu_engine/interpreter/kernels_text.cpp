// Functions of strings. Only active lanes are touched: the views of others may be stale.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <cpu_engine/interpreter/kernels.hpp>
#include <cpu_engine/interpreter/text_heap.hpp>

namespace query::interpreter {
namespace {

using view = std::string_view;

// Calls f(lane) for every active lane.
template <class F> void each_active(const std::uint8_t* active, std::size_t n, F f) {
  for (std::size_t i = 0; i < n; ++i)
    if (!active || active[i]) f(i);
}

template <ir::op What>
void compare(void* to, const void* a, const void* b, const void*, const std::uint8_t* active, std::size_t n, text_heap&) {
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

// Function: R of(view) or R of(view, view), where R is bool or std::uint64_t.
template <class Function>
void ask1(void* to, const void* a, const void*, const void*, const std::uint8_t* active, std::size_t n, text_heap&) {
  using R = decltype(Function::of(view{}));
  R* t = static_cast<R*>(to);
  const view* x = static_cast<const view*>(a);
  each_active(active, n, [&](std::size_t i) { t[i] = Function::of(x[i]); });
}
template <class Function>
void ask2(void* to, const void* a, const void* b, const void*, const std::uint8_t* active, std::size_t n, text_heap&) {
  using R = decltype(Function::of(view{}, view{}));
  R* t = static_cast<R*>(to);
  const view* x = static_cast<const view*>(a);
  const view* y = static_cast<const view*>(b);
  each_active(active, n, [&](std::size_t i) { t[i] = Function::of(x[i], y[i]); });
}

struct size_of { static std::uint64_t of(view a) { return a.size(); } };
struct is_empty { static std::uint8_t of(view a) { return a.empty(); } };
struct starts_with { static std::uint8_t of(view a, view b) { return a.starts_with(b); } };
struct ends_with { static std::uint8_t of(view a, view b) { return a.ends_with(b); } };
struct contains { static std::uint8_t of(view a, view b) { return a.find(b) != view::npos; } };
struct find { static std::uint64_t of(view a, view b) { return a.find(b); } };
struct rfind { static std::uint64_t of(view a, view b) { return a.rfind(b); } };

void concat(void* to, const void* a, const void* b, const void*, const std::uint8_t* active, std::size_t n, text_heap& heap) {
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

void substr(void* to, const void* a, const void* b, const void* c, const std::uint8_t* active, std::size_t n, text_heap&) {
  view* t = static_cast<view*>(to);
  const view* x = static_cast<const view*>(a);
  const auto* at = static_cast<const std::uint64_t*>(b);
  const auto* count = static_cast<const std::uint64_t*>(c);
  each_active(active, n, [&](std::size_t i) {
    if (at[i] > x[i].size()) throw std::out_of_range("substr: the start lies behind the string's end");
    t[i] = x[i].substr(at[i], count ? count[i] : view::npos);
  });
}

template <bool Upper>
void change_case(void* to, const void* a, const void*, const void*, const std::uint8_t* active, std::size_t n, text_heap& heap) {
  view* t = static_cast<view*>(to);
  const view* x = static_cast<const view*>(a);
  each_active(active, n, [&](std::size_t i) {
    char* p = heap.take(x[i].size());
    std::transform(x[i].begin(), x[i].end(), p, [](char c) {  // ASCII only: the same in every locale and on the GPU
      if constexpr (Upper) return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      else return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    t[i] = view(p, x[i].size());
  });
}

struct entry {
  std::string_view name;
  text_function what;
};
constexpr ir::kind b = ir::kind::boolean, u = ir::kind::u64, s = ir::kind::string;
constexpr entry entries[] = {
    {"size", {ask1<size_of>, u, "t"}},
    {"length", {ask1<size_of>, u, "t"}},
    {"empty", {ask1<is_empty>, b, "t"}},
    {"starts_with", {ask2<starts_with>, b, "tt"}},
    {"ends_with", {ask2<ends_with>, b, "tt"}},
    {"contains", {ask2<contains>, b, "tt"}},
    {"find", {ask2<find>, u, "tt"}},
    {"rfind", {ask2<rfind>, u, "tt"}},
    {"concat", {concat, s, "tt", false}},
    {"substr", {substr, s, "tuu", false}},
    {"to_lower", {change_case<false>, s, "t", false}},
    {"to_upper", {change_case<true>, s, "t", false}},
};

}  // namespace

text_function text_call(std::string_view name) {
  for (const entry& e : entries)
    if (e.name == name) return e.what;
  return {};
}

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
