// The code of this program as another process of it knows it: an address is a module and an offset in it, as the system places modules
// anew in each process. Modules are known by their build ids. The first is the program's own; others may be missing, as a host's own C
// library may be another, and then nothing in them has an address.
//
//   const program here;                                        // the executable and the shared objects that it has loaded
//   if (auto at = here.place_of(function)) send(*at);
//   const program there = program::matching(received);         // throws cluster_error where the program is another
//   call(there.address_of(at, program::part::code));
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace query::cluster {

struct code_place {
  std::uint32_t module = 0;
  std::uint64_t offset = 0;
};

class program {
 public:
  enum class part : std::uint8_t { code, constant, variable };
  struct module_name {
    std::string path, build_id;
  };

  program();  // as it is now
  // The modules of another process, in its order, in this one: shared objects that are missing here are loaded.
  static program matching(const std::vector<module_name>& other);

  std::vector<module_name> names() const;
  // Where the address lies in a module, and in which part of it; nothing: in none.
  struct found {
    code_place place;
    part in = part::code;
  };
  std::optional<found> find(std::uintptr_t address) const;
  // Throws cluster_error where the place is not in such a part of its module.
  void* address_of(code_place place, part in) const;

 private:
  struct span {
    std::uintptr_t begin = 0, end = 0;
    part in = part::code;
  };
  struct module {
    module_name name;
    std::uintptr_t base = 0;
    std::vector<span> spans;  // constants that were written as the module was loaded come before the variables around them
  };
  static std::vector<module> loaded();
  explicit program(std::vector<module> modules) : modules_(std::move(modules)) {}
  std::vector<module> modules_;
};

}  // namespace query::cluster
