#include "gpu_engine/codegen/kernel_source.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <system_error>

#include <query/detail/binding.hpp>
#include <query/errors.hpp>

#include "gpu_engine/disk_cache.hpp"
#include "gpu_engine/nvrtc.hpp"

namespace query::gpu_engine {

using ir::kind;

namespace {
constexpr std::string_view kernel_head = "(const __grid_constant__ words p) {\n";
}

std::string kernel_source::parameter(word w, std::string_view type) {
  const auto at = std::find_if(asked_.begin(), asked_.end(), [&](const asked_word& a) { return a.what == w; });
  const std::size_t i = static_cast<std::size_t>(at - asked_.begin());
  if (at == asked_.end()) asked_.push_back({w});
  const std::string text = "p.w[" + std::to_string(i) + "]";
  return type == "u64" ? text : "((" + std::string(type) + ")" + text + ")";
}

std::size_t kernel_source::place_of(std::size_t asked) {
  asked_word& a = asked_.at(asked);
  if (a.place == ~std::size_t{0}) {
    a.place = words_.size();
    words_.push_back(a.what);
  }
  return a.place;
}

void kernel_source::add(std::string_view added) {
  static constexpr std::string_view read = "p.w[";
  std::string with_copies;
  if (!placed_.empty()) {
    with_copies = added;
    for (std::size_t at = with_copies.find(kernel_head); at != with_copies.npos; at = with_copies.find(kernel_head, at + 1))
      with_copies.insert(at + kernel_head.size(), copies_to_shared());
  }
  const std::string_view code = with_copies.empty() ? added : std::string_view(with_copies);
  std::size_t done = 0;
  for (std::size_t at = code.find(read); at != code.npos; at = code.find(read, done)) {
    const std::size_t from = at + read.size();
    std::size_t asked = 0;
    const auto [end, problem] = std::from_chars(code.data() + from, code.data() + code.size(), asked);
    if (problem != std::errc()) throw internal_error("gpu: generated code reads a word that has no number");
    body_.append(code.substr(done, from - done)).append(std::to_string(place_of(asked)));
    done = static_cast<std::size_t>(end - code.data());
  }
  body_.append(code.substr(done));
}

std::string kernel_source::literal(kind k, std::uint64_t bits) {
  // Every literal has a word of its own: which of them are equal must not change the text.
  const std::size_t i = asked_.size();
  asked_.push_back({{word::role::literal, static_cast<std::uint32_t>(i), 0, bits}});
  const std::string w = "p.w[" + std::to_string(i) + "]";
  if (k == kind::f32) return "bits_f32(" + w + ")";
  if (k == kind::f64) return "bits_f64(" + w + ")";
  if (k == kind::boolean) return "(" + w + " != 0)";
  return "(" + std::string(scalar_text(k)) + ")" + w;
}

std::string kernel_source::text_literal(const std::string& characters) {
  const auto index = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(characters);
  return "text{" + parameter({word::role::text_literal, index, 0, 0}, "const char*") + ", " + literal(kind::u64, characters.size()) + "}";
}

std::string kernel_source::text_room() {
  if (!may_run_again_) throw not_generated("new strings are made by where, select, keys, arguments and results only; select them before");
  makes_texts_ = true;
  include("gpu_engine/device/new_texts.cuh");
  const auto part = [&](std::uint32_t i, std::string_view type) { return parameter({word::role::text_room, 0, i, 0}, type); };
  return "query::gpu::text_room{" + part(0, "u8*") + ", " + part(1, "u64") + ", " + part(2, "u64*") + "}";
}

collection_use& kernel_source::use(std::uint64_t slot) {
  for (collection_use& c : collections_)
    if (c.slot == slot) return c;
  collections_.push_back({slot, nullptr, nullptr, collection_use::memory::unread, std::nullopt});
  return collections_.back();
}
const collection_use& kernel_source::used(std::uint64_t slot) const {
  for (const collection_use& c : collections_)
    if (c.slot == slot) return c;
  throw internal_error("gpu: a kernel reads a collection that it does not use");
}
void kernel_source::know(std::shared_ptr<const detail::capture> c) {
  const std::uint64_t slot = c->slot;
  use(slot).capture = std::move(c);
}

ir::traced kernel_source::trace(const detail::logical& n, const detail::user_function& f) {
  // Copies of the function tell what it captured by value, its trace what it captured by reference.
  const detail::capture_recorder recorder;
  ir::traced t = f.on_device ? f.on_device(*f.device) : f.trace();
  if (!t) throw not_generated("the " + std::string(f.role) + " of " + n.label + " is opaque: " + t.reason);
  for (const auto& c : f.captures) know(c);
  for (const auto& c : recorder.found()) know(c);
  fast_math_ = fast_math_ || n.fast_math;
  return t;
}

std::uint32_t kernel_source::site(std::string verb, detail::call_site where) {
  for (std::size_t i = 0; i < sites_.size(); ++i)
    if (sites_[i].verb == verb && sites_[i].where.file == where.file && sites_[i].where.line == where.line && sites_[i].part.empty())
      return static_cast<std::uint32_t>(i);
  sites_.push_back({std::move(verb), where, {}, nullptr});
  return static_cast<std::uint32_t>(sites_.size() - 1);
}

std::uint32_t kernel_source::key_site(const detail::logical& n, std::size_t key) {
  const bool own = key < n.order.size() && !n.order[key].verb.empty();
  return own ? site(std::string(n.order[key].verb), n.order[key].where) : site(n.label, n.where);
}

std::uint32_t kernel_source::narrowing_site(std::uint32_t site, std::string_view part, const ir::type* to) {
  error_site narrow = sites_.at(site);
  narrow.part = part;
  narrow.type = to;
  for (std::size_t i = 0; i < sites_.size(); ++i)
    if (sites_[i].verb == narrow.verb && sites_[i].where.file == narrow.where.file && sites_[i].where.line == narrow.where.line &&
        sites_[i].part == narrow.part)
      return static_cast<std::uint32_t>(i);
  sites_.push_back(std::move(narrow));
  return static_cast<std::uint32_t>(sites_.size() - 1);
}

void kernel_source::include(std::string_view header) {
  if (std::find(includes_.begin(), includes_.end(), header) == includes_.end()) includes_.emplace_back(header);
}

kernel_source::~kernel_source() {
  if (!witness::current_ || body_.empty()) return;
  try {
    const std::string whole = text(), hash = hash_text(whole).hex();
    for (witness* w = witness::current_; w; w = w->before_) {
      w->seen_ += hash;
      if (w->keeps_texts_) w->texts_.push_back(whole);
      w->collections_.insert(w->collections_.end(), collections_.begin(), collections_.end());
    }
  } catch (...) {  // no memory: the plan's kernels are taken for others
  }
}

std::uint64_t kernel_source::next_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

kernel_source kernel_source::begun() const {
  kernel_source other = *this;
  other.id_ = next_id();
  return other;
}

std::string kernel_source::fresh(std::string_view prefix) {
  if (prefix == "i" || prefix == "u") throw internal_error("gpu: a generated name would be that of a type");
  return std::string(prefix) + std::to_string(++fresh_);
}

std::string kernel_source::text() const {
  // What belongs to one architecture is the nearest search, whose bounds of error are IEEE's.
  std::string all(architecture_specific_ ? architecture_specific : fast_math_ && !ieee_ ? fast_math : "");
  all += "#include \"gpu_engine/device/expressions.cuh\"\n";
  for (const std::string& i : includes_) all += "#include \"" + i + "\"\n";
  // What is linked is part of the program, and of its key in caches.
  for (const device_code& c : functions_) {
    const device_function& f = c.function->function;
    all +=
        "// links " + f.symbol + " " + hash_text(c.before + f.code + c.after).hex() + " as " + std::string(detail::name_of(f.form)) + "\n";
  }
  all += "using namespace query::gpu;\nstruct words { u64 w[" + std::to_string(std::max<std::size_t>(words_.size(), 1)) +
         "]; const u64* halt; };\n";
  if (!placed_.empty()) all += "extern __shared__ __align__(16) u8 captured[];\n";
  all.reserve(all.size() + definitions_.size() + body_.size() + 1024);
  all += definitions_;
  // Rounds that a loop was given ahead do nothing once one of them has ended the loop.
  static constexpr std::string_view leave = "  if (p.halt && *p.halt) return;\n";
  const std::string_view body = body_;
  std::size_t done = 0;
  for (std::size_t at = body.find(kernel_head); at != body.npos; at = body.find(kernel_head, done)) {
    all.append(body.substr(done, at + kernel_head.size() - done)).append(leave);
    done = at + kernel_head.size();
  }
  all += body.substr(done);
  return all;
}

}  // namespace query::gpu_engine
