// form: query::Query<int> q = query::from(trades).where(...)
// message: the compiler: no conversion to Query<int>
// expect-gcc: conversion from
// expect-clang: no viable conversion from
// expect-at-most: 1
#include "verb_rows.hpp"

query::Query<int> q = from_trades.where([](auto t) { return t.qty > 1; });
