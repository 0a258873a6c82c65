// A kernel's text while it is being generated: the types that it needs, its parameter words, the places that can fail.
//
// Code generation (expressions, row functions, kernels) writes into one of these; the engine compiles text() and fills the
// parameter words at each launch. Literals are words, so that a changed capture does not compile again (decisions.md 12).
//
//   kernel_source k;
//   const std::string two = k.literal(kind::f64, bits);   // "bits_f64(p.w[0])"
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <query/detail/plan.hpp>

#include "gpu_engine/linker.hpp"

namespace query::gpu_engine {

// A function or a row type that has no form on the device: the vertex runs on the CPU, the plan says why.
struct not_generated : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Where a parameter word comes from at launch.
struct word {
  enum class role : std::uint8_t {
    literal,     // `value` itself; two literals of one kernel may share a word
    errors,      // the address of the error word
    rows,        // number of rows of input `index`
    first,       // number of the first of them in its source, of which the vertex may have a part
    column,      // address of column `part` of input `index`
    collection,  // address of the rows of captured collection `value` (its slot)
    collection_size,
    collection_place,  // where it begins in the dynamic shared memory of a block
    text_literal,  // address of the characters of literal string `index`
    text_room,     // of new strings; part 0: address of the heap, 1: its bytes, 2: address of the bytes that were asked for
    argument,      // argument `index` of the kernel's own: tables, outputs, counters
  } what = role::literal;
  std::uint32_t index = 0, part = 0;
  std::uint64_t value = 0;

  bool operator==(const word&) const = default;
};

// A place in the user's program that device code can report an error for.
struct error_site {
  std::string verb;
  detail::call_site where;
  std::string part;                // of a record that a number must fit, and its type
  const ir::type* type = nullptr;
};

// A collection that the functions of a kernel look through.
struct collection_use {
  std::uint64_t slot = 0;
  const ir::type* element = nullptr;               // null: captured, but not read by an expression
  std::shared_ptr<const detail::capture> capture;  // null: the plan binds it
  enum class memory : std::uint8_t { unread, device, shared } lies = memory::unread;  // where functions read its rows
  std::optional<std::uint64_t> rows = std::nullopt;                                   // when the kernel was generated
};

// How many rows a captured collection has, if that is known; its `element` is set.
using captured_size = std::function<std::optional<std::uint64_t>(const collection_use&)>;
std::optional<std::uint64_t> rows_of_capture(const collection_use& c);  // one that is not a query's result
// Bytes of shared memory for all captured collections of a kernel. Those of kernels that hold three blocks of 46 KiB on a
// multiprocessor still do so on an H100.
constexpr std::uint64_t most_captured_bytes = 8 << 10;
std::uint64_t captured_bytes(const ir::type* element, std::uint64_t rows);  // of one of them, as they follow one another

class kernel_source {
 public:
  // While it lives, what this thread generates is remembered by its text: which kernels a plan would want. They nest.
  class witness {
   public:
    explicit witness(bool keeps_texts = false) : before_(current_), keeps_texts_(keeps_texts) { current_ = this; }
    ~witness() { current_ = before_; }
    witness(const witness&) = delete;
    witness& operator=(const witness&) = delete;
    const std::string& seen() const { return seen_; }  // hashes, in the order in which the sources were done with
    const std::vector<std::string>& texts() const { return texts_; }  // the sources themselves, for tests
    // "captured: 64 rows in shared memory, 5000 rows in device memory"; "" where functions read no captured collection.
    std::string captured() const;

   private:
    friend class kernel_source;
    inline static thread_local witness* current_ = nullptr;
    witness* before_;
    bool keeps_texts_;
    std::string seen_;
    std::vector<std::string> texts_;
    std::vector<collection_use> collections_;
  };

  kernel_source() = default;
  ~kernel_source();
  kernel_source(const kernel_source&) = default;
  kernel_source(kernel_source&&) = default;
  kernel_source& operator=(const kernel_source&) = default;
  kernel_source& operator=(kernel_source&&) = default;

  // A function's trace, whose captured collections the kernel then knows. Throws not_generated for opaque functions.
  ir::traced trace(const detail::logical& n, const detail::user_function& f);
  void know(std::shared_ptr<const detail::capture> c);

  // ---- parameters: the text that reads one. It names the word by the order in which words are asked for, which for two in one
  // expression is the compiler's choice; add() puts the place in its stead, which is where the program first reads the word.
  std::string literal(ir::kind k, std::uint64_t bits);
  std::string text_literal(const std::string& characters);
  // Where new strings come from; throws not_generated unless the kernel may be run again with more room.
  std::string text_room();
  void may_run_again() { may_run_again_ = true; }
  bool makes_texts() const { return makes_texts_; }
  std::string parameter(word w, std::string_view type);  // "((const double*)p.w[3])"
  std::string argument(std::uint32_t index, std::string_view type) { return parameter({word::role::argument, index, 0, 0}, type); }
  std::string errors() { return parameter({word::role::errors, 0, 0, 0}, "u64*"); }
  std::uint32_t site(std::string verb, detail::call_site where);
  // The place of a sort's key: each then_by has its own.
  std::uint32_t key_site(const detail::logical& n, std::size_t key);
  // The same place, for an integer that must fit `part` of a record, which is a `to`.
  std::uint32_t narrowing_site(std::uint32_t site, std::string_view part, const ir::type* to);
  std::string collection(std::uint64_t slot, const ir::type* element);  // the address of its rows
  std::string collection_size(std::uint64_t slot, const ir::type* element);
  // Before functions are generated. The kernels of this program copy small collections of rows that own no memory to shared memory, where
  // functions then read them; they have no other dynamic shared memory. Which collections these are is part of the text, how many rows
  // they have is not (captured_tables.cpp).
  void place_collections(captured_size size) { size_of_captured_ = std::move(size); }
  const std::vector<std::uint64_t>& in_shared_memory() const { return placed_; }  // slots of such collections, as they follow there

  // ---- types: the name of a type's form on the device; throws not_generated for types that have none
  std::string type_name(const ir::type* t);
  std::string less_name(const ir::type* t);   // of a function (a, b, bool equal) -> bool: a < b, `equal` if they are equal
  std::string equal_name(const ir::type* t);  // of a function (a, b) -> bool

  // ---- functions and kernels, in the order in which they are added
  void add(std::string_view code);
  void include(std::string_view header);
  void use_architecture_specific() { architecture_specific_ = true; }  // instructions (nvrtc.hpp)
  void keep_ieee() { ieee_ = true; }  // whatever the query permits: the kernel counts on it
  // The call of a device function of the user's, declared and remembered; arguments are addresses.
  void call_device_function(const ir::node* call, std::uint32_t site);
  std::string fresh(std::string_view prefix);  // a name that the program does not have yet; not of "i" and "u": i64 is a type

  std::string text() const;  // the whole program; behind its words() a kernel takes one more, `halt` (round_recording.hpp)
  std::uint64_t id() const { return id_; }  // of this program in this process; copies share it
  kernel_source begun() const;              // a copy that goes on as a program of its own
  const std::vector<word>& words() const { return words_; }  // that it reads, by their places
  const std::vector<error_site>& sites() const { return sites_; }
  const std::vector<std::string>& texts() const { return texts_; }
  const std::vector<device_code>& functions() const { return functions_; }  // that the program is to be linked with
  const collection_use& used(std::uint64_t slot) const;

 private:
  std::string define(const ir::type* t);
  collection_use& use(std::uint64_t slot);
  void place(collection_use& c);
  std::string copies_to_shared();
  std::string place_of_captured(std::uint64_t slot);
  std::size_t place_of(std::size_t asked);

  struct asked_word {
    word what;
    std::size_t place = ~std::size_t{0};  // not read yet
  };
  std::vector<asked_word> asked_;
  std::vector<word> words_;
  std::vector<collection_use> collections_;
  captured_size size_of_captured_;
  std::vector<std::uint64_t> placed_;  // slots of those in shared memory, in the order of their places
  std::vector<error_site> sites_;
  std::vector<std::string> texts_;
  std::vector<std::string> includes_;
  std::vector<device_code> functions_;
  std::vector<std::string> declared_;
  std::unordered_map<const ir::type*, std::string> names_, less_, equal_;
  std::string definitions_, body_;
  int fresh_ = 0;
  std::uint64_t id_ = next_id();
  bool may_run_again_ = false, makes_texts_ = false, architecture_specific_ = false, fast_math_ = false, ieee_ = false;
  static std::uint64_t next_id();
};

// Size and alignment of a type's form on the device: that of the host where the type owns no memory.
struct layout {
  std::size_t size = 0, align = 1;
};
layout device_layout(const ir::type* t);
// Is the device's form of rows the host's, byte by byte?
bool same_on_device(const ir::type* t);
// Offset on the device of field number i of a record.
std::size_t device_offset(const ir::type* t, std::size_t field);
// Numbers of a record's fields in the order of their offsets, which is that of the members of its struct.
std::vector<std::size_t> fields_by_offset(const ir::type* t);

// The path to the part of type `part` that lies at the host's byte offset `offset` of a value of type t: ".f1.a[2]".
// Throws not_generated if there is none.
std::string path_to(const ir::type* t, std::size_t offset, const ir::type* part);
// Do two types look alike on the device? Types are compared by address, but a vector's element and a field may be one.
bool same_shape(const ir::type* a, const ir::type* b);

std::string_view scalar_text(ir::kind k);  // "double"

}  // namespace query::gpu_engine
