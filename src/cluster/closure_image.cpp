#include "cluster/closure_image.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <new>
#include <utility>

#include <query/errors.hpp>

namespace query::cluster {

mapped_memory::mapped_memory() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    char* end = nullptr;
    const std::uintptr_t begin = std::strtoull(line.c_str(), &end, 16);
    if (*end == '-') ranges_.push_back({begin, std::strtoull(end + 1, nullptr, 16)});
  }
  if (ranges_.empty()) throw cluster_error("cluster: /proc/self/maps cannot be read");
}

bool mapped_memory::holds(std::uintptr_t address) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                      [](std::uintptr_t a, const range& r) { return a < r.begin; });
  return after != ranges_.begin() && address < std::prev(after)->end;
}

namespace {

using handle = std::shared_ptr<const detail::capture>;
constexpr std::size_t word = sizeof(std::uintptr_t);

}  // namespace

closure_image image_of(const void* object, const detail::closure_form& form, const capture_list& captures, const program& here,
                       const mapped_memory& memory) {
  closure_image image;
  image.bytes.resize(form.size);
  const auto* bytes = static_cast<const std::byte*>(object);
  std::memcpy(image.bytes.data(), bytes, form.size);
  const auto clear = [&](std::size_t at, std::size_t n) { std::memset(image.bytes.data() + at, 0, n); };
  for (std::size_t at = 0; at + word <= form.size; at += word) {
    std::uintptr_t value;
    std::memcpy(&value, bytes + at, word);
    const auto captured = std::find_if(captures.begin(), captures.end(), [&](const handle& h) {
      return at + sizeof h <= form.size && std::memcmp(bytes + at, &h, sizeof h) == 0;
    });
    if (captured != captures.end()) {
      image.captures.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(captured - captures.begin())});
      clear(at, sizeof(handle));
      at += sizeof(handle) - word;
    } else if (const auto found = here.find(value); found && found->in != program::part::variable) {
      image.addresses.push_back({static_cast<std::uint32_t>(at), found->in, found->place});
      clear(at, word);
    } else if (found || memory.holds(value)) {
      throw cannot_travel{"it captures an address, which means nothing in another process: a variable by reference, a pointer, or a "
                          "container that owns memory. Capture numbers by value, [x], and collections by query::broadcast"};
    }
  }
  return image;
}

std::shared_ptr<void> object_of(const closure_image& image, const detail::closure_form& form, const capture_list& captures,
                                const program& here) {
  const std::align_val_t align{std::max<std::size_t>(form.align, word)};
  const std::size_t size = image.bytes.size();
  constexpr std::size_t most_aligned = 4096;
  if ((form.align & (form.align - 1)) != 0 || form.align > most_aligned) throw cluster_error("cluster: an image is damaged");
  struct freed {
    std::align_val_t align;
    void operator()(void* memory) const { ::operator delete(memory, align); }
  };
  std::unique_ptr<void, freed> memory(::operator new(size, align), freed{align});
  auto* const bytes = static_cast<std::byte*>(memory.get());
  std::memcpy(bytes, image.bytes.data(), size);
  const auto check = [&](std::size_t at, std::size_t n) {
    if (at % word != 0 || at > size || n > size - at) throw cluster_error("cluster: an image is damaged");
  };
  for (const auto& a : image.addresses) {
    check(a.offset, word);
    void* const address = here.address_of(a.place, a.in);
    std::memcpy(bytes + a.offset, &address, word);
  }
  for (const auto& c : image.captures) {
    check(c.offset, sizeof(handle));
    if (c.capture >= captures.size()) throw cluster_error("cluster: an image is damaged");
  }
  for (const auto& c : image.captures) ::new (static_cast<void*>(bytes + c.offset)) handle(captures[c.capture]);
  void* const made = memory.release();
  return {made, [destroy = form.destroy, align](void* f) {
            if (destroy) destroy(f);
            ::operator delete(f, align);
          }};
}

}  // namespace query::cluster
