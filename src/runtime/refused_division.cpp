// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: chapter 2 (instruction format), DIV and IDIV.
#include "runtime/refused_division.hpp"

#ifdef QUERY_DIVISIONS_ARE_REFUSED
#include <cstdint>
#include <cstring>

namespace query::runtime {

namespace {

using word = std::uint64_t;

// By the numbers that instructions have for them.
constexpr int registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
constexpr unsigned of_stack = 4, of_frame = 5;

constexpr std::uint8_t of_thread = 0x64, of_other_thread = 0x65;  // segments: FS, where thread_local lies; GS
constexpr std::uint8_t short_addresses = 0x67;                    // of 32 bits

bool is_prefix(std::uint8_t b) {
  switch (b) {
    case 0x26: case 0x2e: case 0x36: case 0x3e: case of_thread: case of_other_thread: case short_addresses: case 0x66: case 0xf2: case 0xf3:
      return true;
    default: return false;
  }
}

class decoder {
 public:
  explicit decoder(const ucontext_t& c) : context_(c), begin_(static_cast<word>(c.uc_mcontext.gregs[REG_RIP])) {}

  std::optional<refused_division> division() {
    refused_division d;
    std::uint8_t b = next();
    bool half = false;
    bool elsewhere = false;  // no compiler does that here
    for (; is_prefix(b); b = next()) {
      half = half || b == 0x66;
      if (b == of_thread) base_ = thread_base();
      elsewhere = elsewhere || b == of_other_thread || b == short_addresses;
    }
    if ((b & 0xf0) == 0x40) {
      extension_ = b;
      b = next();
    }
    if (b != 0xf6 && b != 0xf7) return std::nullopt;
    d.bytes = b == 0xf6 ? 1 : extension_ & 8 ? 8 : half ? 2 : 4;
    const std::uint8_t mode = next();
    if ((mode >> 3 & 7) < 6 || (elsewhere && mode >> 6 != 3)) return std::nullopt;  // 6: DIV, 7: IDIV
    d.by_zero = divisor(mode, d.bytes) == 0;
    d.length = length_;
    return d;
  }

 private:
  std::uint8_t next() { return value<std::uint8_t>(begin_ + length_++); }
  template <class T> static T value(word address) {
    T v;
    std::memcpy(&v, reinterpret_cast<const void*>(address), sizeof v);
    return v;
  }
  static word thread_base() {  // as the ABI has it, the first word there
    word base = 0;
    asm("mov %%fs:0, %0" : "=r"(base));
    return base;
  }
  word of(unsigned number) const { return static_cast<word>(context_.uc_mcontext.gregs[registers[number]]); }
  static word low(word v, unsigned bytes) { return bytes == 8 ? v : v & ((word{1} << 8 * bytes) - 1); }
  unsigned extended(unsigned number, unsigned bit) const { return number | (extension_ & bit ? 8u : 0u); }
  word displacement(unsigned bytes) {
    const word at = begin_ + length_;
    length_ += bytes;
    const std::int64_t d = bytes == 0 ? 0 : bytes == 1 ? value<std::int8_t>(at) : value<std::int32_t>(at);
    return static_cast<word>(d);
  }

  word divisor(std::uint8_t mode, unsigned bytes) {
    const unsigned kind = mode >> 6, low_number = mode & 7;
    if (kind == 3) {
      if (bytes == 1 && !extension_ && low_number >= 4) return low(of(low_number - 4) >> 8, 1);  // ah, ch, dh, bh
      return low(of(extended(low_number, 1)), bytes);
    }
    word address = base_;
    if (low_number == of_stack) {
      const std::uint8_t sib = next();
      const unsigned base = sib & 7, index = extended(sib >> 3 & 7, 2);
      if (index != of_stack) address += of(index) << (sib >> 6);
      if (base == of_frame && kind == 0) address += displacement(4);
      else address += of(extended(base, 1));
    } else if (low_number == of_frame && kind == 0) {
      const word offset = displacement(4);
      address += begin_ + length_ + offset;
    } else {
      address += of(extended(low_number, 1));
    }
    if (kind) address += displacement(kind == 1 ? 1 : 4);
    return low(bytes == 1 ? value<std::uint8_t>(address) : bytes == 2 ? value<std::uint16_t>(address)
               : bytes == 4 ? value<std::uint32_t>(address) : value<std::uint64_t>(address), bytes);
  }

  const ucontext_t& context_;
  const word begin_;
  word base_ = 0;  // of addresses
  unsigned length_ = 0;
  std::uint8_t extension_ = 0;
};

}  // namespace

std::optional<refused_division> refused_division::at(const ucontext_t& context) { return decoder(context).division(); }

void refused_division::skip(ucontext_t& context) const {
  auto& registers_now = context.uc_mcontext.gregs;
  const auto clear = [&](int number) {
    if (bytes <= 2) registers_now[number] &= ~greg_t{0xffff};
    else registers_now[number] = 0;  // 32 bits clear the upper half, too
  };
  clear(REG_RAX);  // of bytes: ah, al
  if (bytes > 1) clear(REG_RDX);
  registers_now[REG_RIP] += static_cast<greg_t>(length);
}

}  // namespace query::runtime
#endif
