// Puts the steps into one list and gives registers their memory; the program's own prelude reuses it.
#include <algorithm>
#include <atomic>

#include <cpu_engine/interpreter/compiler.hpp>

namespace query::interpreter {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t rounded(std::size_t n) { return (n + cache_line - 1) / cache_line * cache_line; }

void each_register(const value& v, const auto& f) {
  if (v.f == value::form::column && v.column != none) f(v.column);
  if (v.f == value::form::place && v.at.from == place::source::pointer) f(v.at.at);
  for (const value& p : v.parts) each_register(p, f);
}

}  // namespace

void compiler::place_steps() {
  for (std::size_t r = 0; r < drafts_.size(); ++r) {
    region to;
    for (node_code* n : drafts_[r].steps) {
      if (n->at.end == 0 && !n->steps.empty()) {
        n->at.begin = static_cast<std::uint32_t>(code_->instructions.size());
        code_->instructions.insert(code_->instructions.end(), n->steps.begin(), n->steps.end());
        n->at.end = static_cast<std::uint32_t>(code_->instructions.size());
        if (n->regions > 1 || n->foreign) {
          n->at.done = new_register(1);
          n->at.need = new_register(1);
          auto& forget = n->home->nest == none ? code_->forget : code_->nests[n->home->nest].forget;
          forget.push_back(n->at.done);
        }
      }
      if (n->at.end > n->at.begin) to.steps.push_back(n->at);
    }
    code_->regions.push_back(std::move(to));
  }
}

void compiler::allocate() {
  auto& registers = code_->registers;
  auto& instructions = code_->instructions;
  // The program's prelude runs once a batch, in order: what only it touches may share memory.
  std::vector<std::uint32_t> order;
  std::vector<bool> ahead(instructions.size());
  for (const step& s : code_->regions[code_->prelude].steps)
    for (std::uint32_t i = s.begin; i < s.end; ++i) {
      order.push_back(i);
      ahead[i] = true;
    }
  std::vector<bool> kept(registers.size());
  const auto keep = [&](reg r) {
    if (r != none) kept[r] = true;
  };
  for (std::size_t i = 0; i < instructions.size(); ++i)
    if (!ahead[i])
      for (const reg r : {instructions[i].to, instructions[i].a, instructions[i].b, instructions[i].c}) keep(r);
  for (const value& v : code_->values) each_register(v, keep);
  each_register(code_->result, keep);
  for (const reg r : spilled_) keep(r);
  for (const given_number& g : code_->given) keep(g.at);
  for (const nest& n : code_->nests) {
    for (const reg r : {n.condition, n.active, n.stepping, n.source, n.pointer, n.position, n.sizes}) keep(r);
    for (const nest::carried& s : n.states)
      for (const reg r : {s.state, s.initial, s.next}) keep(r);
  }
  for (const region& r : code_->regions)
    for (const step& s : r.steps) {
      keep(s.done);
      keep(s.need);
    }

  std::size_t bytes = 0;
  const auto take = [&](std::size_t n) {
    const std::size_t at = bytes;
    bytes += rounded(n);
    return at;
  };
  std::vector<std::uint32_t> last(registers.size(), none);
  for (std::uint32_t k = 0; k < order.size(); ++k) {
    const instruction& i = instructions[order[k]];
    for (const reg r : {i.to, i.a, i.b, i.c})
      if (r != none) last[r] = k;
  }
  for (reg r = 0; r < registers.size(); ++r) {
    if (registers[r].constant) registers[r].at = take(registers[r].width);
    else if (kept[r]) registers[r].at = take(batch * registers[r].width);
  }
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> unused;  // by width
  for (std::uint32_t k = 0; k < order.size(); ++k) {
    const instruction& i = instructions[order[k]];
    if (i.to != none && !kept[i.to]) {
      auto& list = unused[registers[i.to].width];
      if (list.empty()) list.push_back(take(batch * registers[i.to].width));
      registers[i.to].at = list.back();
      list.pop_back();
    }
    std::array<reg, 4> ended = {i.to, i.a, i.b, i.c};
    std::sort(ended.begin(), ended.end());
    for (std::size_t e = 0; e < ended.size(); ++e) {
      const reg r = ended[e];
      if (r == none || kept[r] || registers[r].constant || last[r] != k || (e > 0 && ended[e - 1] == r)) continue;
      unused[registers[r].width].push_back(registers[r].at);
    }
  }
  code_->bytes = bytes;
}

std::unique_ptr<code> compiler::finish() {
  static std::atomic<std::uint64_t> serials{0};
  place_steps();
  allocate();
  code_->serial = ++serials;
  return std::move(code_);
}

}  // namespace query::interpreter
