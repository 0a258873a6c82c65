// What verify mode compares and how it reports what it found.
#pragma once

#include <string>
#include <vector>

#include <query/detail/plan.hpp>
#include <query/errors.hpp>

namespace query::cpu::verify {

struct difference : user_error {
  using user_error::user_error;
};

// Equal, or floats apart by no more than contraction of a * b + c explains: 1e-9 of their size, 1e-4 for `float`.
bool same(const ir::type* t, const void* native, const void* traced);

// Throws a difference that names the verb, its call site, the rows that the function met, and both values.
[[noreturn]] void differ(const detail::logical& n, const detail::user_function& f, const std::string& rows, const ir::type* t,
                         const void* native, const void* traced, const ir::node* expression);

// "row 7 = {id: 1, price: 2.5}"; "right row 7 = ..." with side "right ". read: the fields that hold what the source has, as
// nobody reads the others; empty: all.
std::string shown_row(std::string_view side, std::size_t i, const ir::type* t, const std::vector<bool>& read, const void* row);

}  // namespace query::cpu::verify
