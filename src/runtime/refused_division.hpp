// The x86-64 division instruction that a SIGFPE is about: what it divides by, and how to go on after it as if it had given 0.
//
//   if (const auto division = refused_division::at(context)) division->skip(context);
#pragma once

#if defined(__x86_64__) && defined(__linux__)
#define QUERY_DIVISIONS_ARE_REFUSED
#include <sys/ucontext.h>
#endif

#ifdef QUERY_DIVISIONS_ARE_REFUSED
#include <optional>

namespace query::runtime {

struct refused_division {
  bool by_zero = false;      // else its quotient does not fit
  unsigned bytes = 0;        // of its operands
  unsigned length = 0;       // of the instruction
  // None: another instruction.
  static std::optional<refused_division> at(const ucontext_t& context);
  // Quotient and remainder are 0, and the next instruction is the one after it.
  void skip(ucontext_t& context) const;
};

}  // namespace query::runtime
#endif
