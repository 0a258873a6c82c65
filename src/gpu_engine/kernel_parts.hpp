// A program's kernels, each with the text that it needs and without the others: they are compiled apart, at the same time.
//
// What a kernel takes to compile is spent on its own code, hardly on what they share. Found by the form that generated kernels
// have: a first line that begins with `extern "C" __global__` and ends in `{`, and a `}` alone in the first column.
//
//   const auto parts = kernel_parts(source);
//   for (const kernel_part& part : parts) compile(text_of(source, parts, part));
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace query::gpu_engine {

struct kernel_part {
  std::string entry;
  std::size_t from = 0, to = 0;  // of its definition in the program
};

// In the order of their definitions; none if a kernel of the program has another form, or it has one only.
std::vector<kernel_part> kernel_parts(std::string_view program);

// The program without the others of `parts`.
std::string text_of(std::string_view program, const std::vector<kernel_part>& parts, const kernel_part& which);

}  // namespace query::gpu_engine
