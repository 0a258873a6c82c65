// A function object as bytes that another process of this program makes the same object of.
//
// Captured collections are cut out where they lie in it, and bound again on the other side; so are the addresses of code and constants,
// which are places in the program. Any other word that is an address in this process, of a variable that was captured by reference, of
// memory that a std::vector or std::string owns, means nothing elsewhere: the object cannot travel.
//
//   closure_image image = image_of(object, form, captures, program, memory);      // throws cannot_travel
//   std::shared_ptr<void> object = object_of(image, form, captures, program);     // the captures as they are there
//
// Sources: docs/design/028. Cut-out pointers that are rebound elsewhere: pointer swizzling, as in persistent object stores.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <query/broadcast.hpp>
#include <query/detail/closure.hpp>

#include "cluster/program.hpp"

namespace query::cluster {

// What lies in this process's memory, as the system lists it.
class mapped_memory {
 public:
  mapped_memory();
  bool holds(std::uintptr_t address) const;

 private:
  struct range {
    std::uintptr_t begin, end;
  };
  std::vector<range> ranges_;  // in order
};

struct cannot_travel {
  std::string why;
};

using capture_list = std::vector<std::shared_ptr<const detail::capture>>;

struct closure_image {
  struct cut_capture {
    std::uint32_t offset, capture;  // number in the list
  };
  struct cut_address {
    std::uint32_t offset;
    program::part in;
    code_place place;
  };
  std::vector<std::byte> bytes;
  std::vector<cut_capture> captures;
  std::vector<cut_address> addresses;
};

closure_image image_of(const void* object, const detail::closure_form& form, const capture_list& captures, const program& here,
                       const mapped_memory& memory);

// The bytes in memory of their own, with the captures and addresses of this process.
std::shared_ptr<void> object_of(const closure_image& image, const detail::closure_form& form, const capture_list& captures,
                                const program& here);

}  // namespace query::cluster
