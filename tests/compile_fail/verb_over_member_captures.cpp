// form: numbers.over().select([](auto, auto w) { const int k = w.size() > 3; return w.count([k](auto x) { return x > k; }); }).count()
// message: query: over: a function that a window's member takes captures something, which may change from row to row
// expect: query: over: a function that a window's member takes captures something, which may change from row to row
// expect-at-most: 1
#include "verb_rows.hpp"

void f() {
  (void)(numbers.over().select([](auto, auto w) { const int k = w.size() > 3; return w.count([k](auto x) { return x > k; }); }).count());
}
