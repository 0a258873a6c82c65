// All rows of a query, one by one, for what a terminal verb does with each: f(row), in order. What is wrong in it has the verb's name.
//
//   visit_rows<T>(pipe, settings, {"for_each", at}, [&](const T& row) { f(row); });
#pragma once

#include <cstddef>
#include <cstdint>

#include <query/detail/division_watch.hpp>
#include <query/detail/execute.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/stop.hpp>

namespace query::detail {

struct reading_verb {
  const char* name;
  call_site at;
  // What the library finds wrong in a function that the verb calls.
  template <class Call> void placed(Call call) const {
    try {
      call();
    } catch (const unplaced_error& e) {
      fail(name, e.what(), at);
    }
  }
};

// `expected`: the number of rows, told before the first one if it is known.
template <class T, class F>
void visit_rows(const pipe& p, const settings& s, const reading_verb& verb, F&& f, function_ref<void(std::uint64_t)> expected) {
  stream(p, s, expected, [&](const row_block& b) {
    verb.placed([&] {
      const division_watch watch;
      in_runs(0, b.n, [&](std::size_t i, std::size_t end) QUERY_INLINE {
        for (; i < end; ++i) f(static_cast<const T*>(b.rows)[i]);
      });
      watch.check();
    });
    return true;
  });
}
template <class T, class F> void visit_rows(const pipe& p, const settings& s, const reading_verb& verb, F&& f) {
  visit_rows<T>(p, s, verb, f, [](std::uint64_t) {});
}

}  // namespace query::detail
