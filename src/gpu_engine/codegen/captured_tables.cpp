// Captured collections in generated programs: where their rows lie. Small ones are copied to shared memory by each block when it begins;
// functions then index shared memory itself, which compilers read 16 bytes at once, rather than an address that may be either.
//
// So which collections are small is part of a program's text. A collection that grows beyond the limit between two runs makes another
// program; one whose values or number of rows change does not.
#include <algorithm>

#include <query/detail/binding.hpp>

#include "gpu_engine/codegen/kernel_source.hpp"

namespace query::gpu_engine {

namespace {

constexpr std::size_t widest_alignment = 16;  // of the shared memory, and of each collection's place in it

using memory = collection_use::memory;

}  // namespace

std::optional<std::uint64_t> rows_of_capture(const collection_use& c) {
  if (!c.capture || !c.capture->owner) return std::nullopt;
  return c.capture->size;
}

std::uint64_t captured_bytes(const ir::type* element, std::uint64_t rows) {
  return (rows * device_layout(element).size + widest_alignment - 1) / widest_alignment * widest_alignment;
}

void kernel_source::place(collection_use& c) {
  if (c.lies != memory::unread) return;
  c.rows = size_of_captured_ ? size_of_captured_(c) : rows_of_capture(c);
  const bool placeable = size_of_captured_ && same_on_device(c.element);
  if (placeable && !c.rows) return;  // planning does not know yet where a query's rows will lie, and says nothing of it
  c.lies = memory::device;
  if (!placeable) return;
  const layout l = device_layout(c.element);
  if (l.align > widest_alignment || *c.rows > most_captured_bytes / l.size) return;
  std::uint64_t bytes = captured_bytes(c.element, *c.rows);
  for (const std::uint64_t other : placed_) bytes += captured_bytes(used(other).element, *used(other).rows);
  if (bytes > most_captured_bytes) return;
  c.lies = memory::shared;
  placed_.push_back(c.slot);
  include("gpu_engine/device/captured_tables.cuh");
}

std::string kernel_source::collection(std::uint64_t slot, const ir::type* element) {
  collection_use& c = use(slot);
  c.element = element;
  place(c);
  const std::string type = type_name(element);
  if (c.lies != memory::shared) return parameter({word::role::collection, 0, 0, slot}, "const " + type + "*");
  return "((const " + type + "*)" + place_of_captured(slot) + ")";
}

// Where the first one begins is known to the compiler, and so how it is aligned.
std::string kernel_source::place_of_captured(std::uint64_t slot) {
  return slot == placed_.front() ? "captured" : "(captured + " + parameter({word::role::collection_place, 0, 0, slot}, "u64") + ")";
}

std::string kernel_source::collection_size(std::uint64_t slot, const ir::type* element) {
  use(slot).element = element;
  return parameter({word::role::collection_size, 0, 0, slot}, "u64");
}

std::string kernel_source::copies_to_shared() {
  std::string copies;
  for (const std::uint64_t slot : placed_) {
    const ir::type* element = used(slot).element;
    const std::string rows = parameter({word::role::collection, 0, 0, slot}, "const " + type_name(element) + "*");
    copies += "  copy_captured(" + place_of_captured(slot) + ", " + rows + ", " + collection_size(slot, element) + ");\n";
  }
  return copies + "  __syncthreads();\n";
}

std::string kernel_source::witness::captured() const {
  std::vector<std::uint64_t> said;
  std::string all;
  for (const collection_use& c : collections_) {
    if (c.lies == memory::unread || std::find(said.begin(), said.end(), c.slot) != said.end()) continue;
    // One kernel of several may read another form of it.
    const bool everywhere = std::all_of(collections_.begin(), collections_.end(), [&](const collection_use& o) {
      return o.slot != c.slot || o.lies == memory::unread || o.lies == c.lies;
    });
    said.push_back(c.slot);
    all += (all.empty() ? "captured: " : ", ") + (c.rows ? std::to_string(*c.rows) + " rows in " : "a query's rows in ") +
           (!everywhere ? "shared and device memory" : c.lies == memory::shared ? "shared memory" : "device memory");
  }
  return all;
}

}  // namespace query::gpu_engine
