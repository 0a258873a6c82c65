#include "ir/device_function.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <query/detail/failure.hpp>
#include <query/detail/tracer.hpp>
#include <query/errors.hpp>

#include "ir/visit.hpp"

namespace query::detail {

namespace {

std::atomic<std::uint64_t> last_id{0};

// A function that is made again while an equal one lives is that one: a traced lambda that makes it inside makes it once a trace,
// and its traces must not differ. The host's function is not part of what is compared: the number names the device's function, and
// the host's travels in accelerated_function itself.
struct registry {
  std::mutex lock;
  std::unordered_map<std::uint64_t, std::weak_ptr<const held_device_function>> known;
  std::unordered_multimap<std::size_t, std::uint64_t> by_content;  // the numbers of those that are known
};
// Never destroyed: functions of static objects may end after it would.
registry& all_functions() {
  static registry& r = *std::make_unique<registry>().release();
  return r;
}

bool is_identifier(const std::string& s) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !s.empty() && letter(s[0]) && std::all_of(s.begin(), s.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::size_t hash_of(const device_function& f, call_site at) {
  const std::hash<std::string> text;
  return (text(f.code) * 31 + text(f.symbol)) * 31 + static_cast<std::size_t>(at.line);
}

bool same_layout(const device_layout& a, const device_layout& b) {
  return a.size == b.size && std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(),
                                        [](const auto& x, const auto& y) { return x.name == y.name && x.offset == y.offset; });
}

// The place counts: errors name it. The file does not: it is where the code was read.
bool same_content(const held_device_function& a, const held_device_function& b) {
  const device_function &f = a.function, &g = b.function;
  return f.symbol == g.symbol && f.form == g.form && f.code == g.code && f.declares_records == g.declares_records &&
         same_layout(f.row, g.row) && same_layout(f.result, g.result) && a.where.line == b.where.line &&
         std::string_view(a.where.file) == b.where.file;
}

}  // namespace

held_device_function::held_device_function(device_function f, call_site at)
    : function(std::move(f)), where(at), content(hash_of(function, at)), id(++last_id) {}
held_device_function::~held_device_function() {
  registry& r = all_functions();
  const std::lock_guard hold(r.lock);
  r.known.erase(id);
  const auto [first, last] = r.by_content.equal_range(content);
  const auto own = std::find_if(first, last, [&](const auto& entry) { return entry.second == id; });
  if (own != last) r.by_content.erase(own);
}

std::string_view name_of(device_form f) {
  constexpr std::string_view names[] = {"CUDA", "PTX", "LTO-IR", "cubin"};
  return names[static_cast<std::size_t>(f)];
}

std::shared_ptr<const held_device_function> hold_device_function(device_function d, call_site at) {
  if (!is_identifier(d.symbol)) fail("accelerated", "the device function's symbol must be a C name: \"" + d.symbol + "\"", at);
  if (d.code.empty() && d.file.empty()) fail("accelerated", "the device function " + d.symbol + " has neither code nor file", at);
  if (d.code.empty()) {
    std::ifstream in(d.file, std::ios::binary);
    if (in) d.code.assign(std::istreambuf_iterator<char>(in), {});
    if (!in || d.code.empty()) fail("accelerated", "the file of the device function " + d.symbol + " cannot be read: " + d.file, at);
  }
  auto held = std::make_shared<const held_device_function>(std::move(d), at);
  registry& r = all_functions();
  // They outlive the lock: where the last other owner lets go meanwhile, the function ends here, and its destructor locks.
  std::vector<std::shared_ptr<const held_device_function>> alike;
  const std::lock_guard hold(r.lock);
  const auto [first, last] = r.by_content.equal_range(held->content);
  for (auto entry = first; entry != last; ++entry) {
    auto& known = alike.emplace_back();
    known = r.known.at(entry->second).lock();
    if (known && same_content(*known, *held)) return known;
  }
  r.known.emplace(held->id, held);
  r.by_content.emplace(held->content, held->id);
  return held;
}

const device_function& function_of(const held_device_function& d) { return d.function; }

namespace {

const ir::node* call_in(ir::arena& a, const held_device_function& d, const ir::type* result, std::span<const ir::type* const> rows) {
  ir::node n;
  n.what = ir::op::call;
  n.type = result;
  n.bits = d.id;
  n.text = d.function.symbol;
  for (std::size_t i = 0; i < rows.size(); ++i) n.kids.push_back(a.put(ir::op::row, rows[i], {}, 0, static_cast<std::uint32_t>(i)));
  return a.put(std::move(n));
}

}  // namespace

const ir::node* device_call_node(const held_device_function& d, const ir::type* result, std::span<const ir::type* const> rows) {
  return call_in(ir::current_arena(), d, result, rows);
}
ir::traced device_call(const held_device_function& d, const ir::type* result, std::span<const ir::type* const> rows) {
  ir::traced t;
  t.owner = std::make_shared<ir::arena>();
  t.root = call_in(*t.owner, d, result, rows);
  return t;
}

void* library_symbol(const std::string& library, const std::string& symbol, call_site at) {
  void* loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) fail("library_function", std::string("the library cannot be loaded: ") + ::dlerror(), at);
  void* found = ::dlsym(loaded, symbol.c_str());
  if (found == nullptr) fail("library_function", library + " has no " + symbol, at);
  return found;
}

}  // namespace query::detail

namespace query::ir {

namespace {

bool calls_one(const node& n) { return n.what == op::call && n.bits != 0; }

}  // namespace

std::shared_ptr<const detail::held_device_function> living_device_function(const node& n) {
  if (!calls_one(n)) return nullptr;
  detail::registry& r = detail::all_functions();
  const std::lock_guard hold(r.lock);
  const auto it = r.known.find(n.bits);
  return it == r.known.end() ? nullptr : it->second.lock();
}

std::shared_ptr<const detail::held_device_function> device_function_of(const node* n) {
  auto found = living_device_function(*n);
  if (!found && calls_one(*n)) throw internal_error("query: an expression calls a device function that is gone: " + n->text);
  return found;
}

bool calls_device_function(const node* root) {
  bool calls = false;
  each_node(root, [&](const node* n) { calls = calls || calls_one(*n); });
  return calls;
}

namespace {

std::string difference(const device_layout& of_device, const type* t, const char* which) {
  const auto text = [&](const std::string& what, std::size_t device, std::size_t host) {
    return std::string(which) + " " + std::string(t->name) + ": " + what + " " + std::to_string(device) + " on the device, " +
           std::to_string(host) + " on the host";
  };
  if (of_device.size && of_device.size != t->size) return text("its size is", of_device.size, t->size);
  for (const device_layout::part& p : of_device.fields) {
    const auto fields = t->fields();
    const auto f = std::find_if(fields.begin(), fields.end(), [&](const field& x) { return x.name == p.name; });
    if (f == fields.end()) return std::string(which) + " " + std::string(t->name) + ": there is no field " + p.name + " on the host";
    if (f->offset != p.offset) return text("the offset of " + p.name + " is", p.offset, f->offset);
  }
  return {};
}

}  // namespace

std::string layout_difference(const detail::held_device_function& d, const node* call) {
  if (std::string row = difference(d.function.row, call->kids.at(0)->type, "row"); !row.empty()) return row;
  return difference(d.function.result, call->type, "result");
}

}  // namespace query::ir
