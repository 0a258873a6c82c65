#include "cluster/program.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <utility>

#include <query/errors.hpp>

namespace query::cluster {

namespace {

std::string own_path() {
  std::array<char, PATH_MAX> path;
  const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size());
  return n > 0 ? std::string(path.data(), static_cast<std::size_t>(n)) : std::string();
}

std::string hex(const unsigned char* bytes, std::size_t n) {
  constexpr char digits[] = "0123456789abcdef";
  std::string s;
  for (std::size_t i = 0; i < n; ++i) {
    s += digits[bytes[i] >> 4];
    s += digits[bytes[i] & 15];
  }
  return s;
}

// The note that the linker writes for --build-id; "": there is none.
std::string build_id_in(std::uintptr_t at, std::size_t size) {
  constexpr auto padded = [](std::size_t n) { return (n + 3) / 4 * 4; };
  const auto* p = reinterpret_cast<const unsigned char*>(at);
  while (size >= sizeof(ElfW(Nhdr))) {
    const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(p);
    const std::size_t bytes = sizeof *note + padded(note->n_namesz) + padded(note->n_descsz);
    if (bytes > size) break;
    const auto* name = p + sizeof *note;
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && std::equal(name, name + 4, "GNU"))
      return hex(name + padded(note->n_namesz), note->n_descsz);
    p += bytes;
    size -= bytes;
  }
  return {};
}

}  // namespace

std::vector<program::module> program::loaded() {
  std::vector<module> all;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        module m;
        m.name.path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : own_path();
        m.base = info->dlpi_addr;
        std::vector<span> rest;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& h = info->dlpi_phdr[i];
          const span s{info->dlpi_addr + h.p_vaddr, info->dlpi_addr + h.p_vaddr + h.p_memsz, part::constant};
          if (h.p_type == PT_NOTE && m.name.build_id.empty()) m.name.build_id = build_id_in(s.begin, h.p_memsz);
          if (h.p_type == PT_GNU_RELRO) m.spans.push_back(s);
          if (h.p_type != PT_LOAD) continue;
          rest.push_back({s.begin, s.end, h.p_flags & PF_X ? part::code : h.p_flags & PF_W ? part::variable : part::constant});
        }
        m.spans.insert(m.spans.end(), rest.begin(), rest.end());
        static_cast<std::vector<module>*>(to)->push_back(std::move(m));
        return 0;
      },
      &all);
  return all;
}

program::program() : modules_(loaded()) {}

program program::matching(const std::vector<module_name>& other) {
  std::vector<module> here = loaded(), all;
  const auto known = [&](const module_name& name) {
    return std::find_if(here.begin(), here.end(), [&](const module& m) { return m.name.build_id == name.build_id; });
  };
  for (const module_name& name : other) {
    if (name.build_id.empty()) {  // nothing that is sent refers to it (program::find)
      all.push_back({name, 0, {}});
      continue;
    }
    auto m = known(name);
    if (m == here.end() && ::dlopen(name.path.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
      here = loaded();
      m = known(name);
    }
    if (m != here.end()) {
      all.push_back(*m);
      continue;
    }
    // Other hosts may have another C library: a plan that refers to nothing in it does not care.
    if (all.empty()) throw cluster_error("cluster: " + name.path + " is another program in this process: build " + name.build_id);
    all.push_back({name, 0, {}});
  }
  return program(std::move(all));
}

std::vector<program::module_name> program::names() const {
  std::vector<module_name> all;
  for (const module& m : modules_) all.push_back(m.name);
  return all;
}

std::optional<program::found> program::find(std::uintptr_t address) const {
  for (std::size_t i = 0; i < modules_.size(); ++i)
    for (const span& s : modules_[i].spans)
      if (s.begin <= address && address < s.end && !modules_[i].name.build_id.empty())
        return found{{static_cast<std::uint32_t>(i), address - modules_[i].base}, s.in};
  return std::nullopt;
}

void* program::address_of(code_place place, part in) const {
  if (place.module < modules_.size()) {
    const module& m = modules_[place.module];
    if (m.spans.empty())
      throw cluster_error("cluster: " + m.name.path + " is another in this process, or missing: build " + m.name.build_id);
    const std::uintptr_t address = m.base + place.offset;
    for (const span& s : m.spans)
      if (s.begin <= address && address < s.end && s.in == in) return reinterpret_cast<void*>(address);
  }
  throw cluster_error("cluster: an address is not in this program");
}

}  // namespace query::cluster
