#include "gpu_engine/vertex_run.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include <query/broadcast.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/narrowing.hpp>
#include <query/errors.hpp>

#include "gpu_engine/captured_rows.hpp"
#include "gpu_engine/counted_rows.hpp"
#include "gpu_engine/repack.hpp"
#include "gpu_engine/reserved_room.hpp"
#include "gpu_engine/round_recording.hpp"
#include "gpu_engine/table_rows.hpp"
#include "gpu_engine/upload.hpp"
#include "gpu_primitives/types.cuh"
#include "ir/analysis.hpp"
#include "runtime/engine_failure.hpp"
#include "runtime/table_ports.hpp"

namespace query::gpu_engine {

namespace {
constexpr std::size_t most_heaps = 32;  // that a result keeps alive

// Behind the status block, for zeroed_for_launch: what folds take, at most.
constexpr std::size_t room_of_folds = 104 << 10, least_budget = 64 << 20;
std::size_t room_behind_status(gpu_session& gpu) { return gpu.memory().budget() < least_budget ? 0 : room_of_folds; }
}

vertex_run::vertex_run(std::shared_ptr<gpu_session> gpu, const std::vector<planner::binding>& captures, runtime::run_context& context)
    : gpu_(std::move(gpu)), context_(&context), stream_(*gpu_), captures_(&captures),
      status_(allocate(words * 8 + room_behind_status(*gpu_))) {}

// A vertex without kernels, and one that asks for zeros behind the block, need no fill for it.
void vertex_run::clear_status() {
  if (clear_) return;
  clear_ = true;
  fill(status_.address(), 0, words * 8);
}

void vertex_run::fill(device_address at, unsigned char value, std::size_t bytes) {
  if (!bytes) return;
  if (in_status(at)) clear_status();
  const scoped_context here(gpu_->on());
  const round_recording::permitted known;
  if (known) known->fill({at, value, bytes});
  QUERY_CUDA(gpu_->on().calls(), cuMemsetD8Async, at, value, bytes, on().handle());
}
void vertex_run::copy(device_address to, device_address from, std::size_t bytes) {
  if (!bytes) return;
  if (in_status(to) || in_status(from)) clear_status();
  const scoped_context here(gpu_->on());
  const round_recording::permitted known;
  if (known) known->copy({to, from, bytes});
  QUERY_CUDA(gpu_->on().calls(), cuMemcpyDtoDAsync, to, from, bytes, on().handle());
}
device_buffer vertex_run::zeroed(std::size_t bytes) {
  device_buffer b = allocate(bytes);
  fill(b.address(), 0, bytes);
  return b;
}

device_address vertex_run::zeroed_for_launch(std::size_t bytes, std::size_t zero) {
  static_assert(words * 8 % 256 == 0);
  if (!placed_ && status_.size() < words * 8 + bytes) {
    status_ = allocate(words * 8 + bytes);
    clear_ = false;
  }
  if (status_.size() >= words * 8 + bytes) {
    const device_address at = status_.address() + words * 8;
    if (clear_) {
      fill(at, 0, zero);
    } else {
      clear_ = true;
      fill(status_.address(), 0, words * 8 + zero);
    }
    return at;
  }
  if (for_launch_.size() < bytes) for_launch_ = allocate(bytes);
  fill(for_launch_.address(), 0, zero);
  return for_launch_.address();
}

unsigned vertex_run::blocks(std::uint64_t items) const {
  constexpr std::uint64_t threads = 256, of_a_multiprocessor = 16;
  const std::uint64_t most = static_cast<std::uint64_t>(gpu_->on().multiprocessors()) * of_a_multiprocessor;
  return static_cast<unsigned>(std::clamp<std::uint64_t>(gpu::divide_up(items, threads), 1, most));
}

// Rows that lie on this device already.
std::shared_ptr<const device_rows> vertex_run::here(const runtime::vertex_rows& r) const {
  auto kept = std::dynamic_pointer_cast<device_rows>(r.kept);
  if (!kept || !kept->on(gpu_->on())) return nullptr;
  if (round_recording* recording = round_recording::here()) recording->keep(kept);
  return kept;
}

std::shared_ptr<device_rows> vertex_run::uploaded(const void* key, const detail::row_block& rows, const ir::type* row,
                                                  const std::vector<bool>& fields) {
  std::vector<bool> wanted = fields;  // by all who read these rows in a loop
  const auto known = context_->copies.find(key);
  const auto* before = known == context_->copies.end() ? nullptr : dynamic_cast<const device_rows*>(known->second.get());
  if (before && !before->on(gpu_->on())) before = nullptr;  // of a device that was lost since
  if (before) {
    const auto columns = choose_columns(row, wanted, rows.columns != nullptr);
    if (std::all_of(columns.begin(), columns.end(), [&](const input_column& c) { return before->has(c); })) {
      if (round_recording* recording = round_recording::here()) recording->keep(known->second);
      return std::static_pointer_cast<device_rows>(known->second);
    }
    if (row->k == ir::kind::record)
      for (std::size_t i = 0; i < wanted.size(); ++i)
        wanted[i] = wanted[i] || before->has({row->field_list[i].offset, row->field_list[i].of});
  }
  auto made = upload_rows(gpu_, rows, row, choose_columns(row, wanted, rows.columns != nullptr), on(), *context_);
  if (context_->loops && !reserved_room::serving::here()) context_->copies[key] = made;
  return made;
}

std::shared_ptr<const device_rows> vertex_run::table(const planner::vertex& v, const std::vector<bool>& fields) {
  const auto it = context_->tables.find(&v);
  if (it == context_->tables.end()) throw internal_error("gpu: a vertex was read before it ran");
  if (auto kept = here(it->second)) return reads(std::move(kept));
  const detail::table& t = context_->fetched(it->second);
  return reads(uploaded(&v, rows_of(t), t.type, fields));
}

std::shared_ptr<const device_rows> vertex_run::input(const planner::branch& b, const std::vector<bool>& of_these) {
  if (supplied_) return supplied_;
  const std::vector<bool> fields = fields_wanted(b, of_these);
  if (b.table) return table(*b.table, fields);
  const ir::type* row = source_row(b);
  if (b.source->what == detail::verb::placeholder) {
    const auto it = context_->variables.find(b.source->slot);
    if (it == context_->variables.end()) throw internal_error("gpu: a loop's variable has no rows");
    if (auto kept = here(it->second)) return reads(std::move(kept));
    // The variable's rows change from round to round: no copy is kept.
    const detail::table& t = context_->fetched(it->second);
    return reads(upload_rows(gpu_, rows_of(t), row, choose_columns(row, fields, false), on(), *context_));
  }
  if (is_counted(*b.source)) return reads(counted_rows(*b.source, 0, b.source->count, *this));
  if (!b.source->view) throw internal_error("gpu: a source that is not in memory");
  detail::row_block rows;
  b.source->view(b.source->source.get(), rows);
  return reads(uploaded(b.source, rows, row, fields));
}

bool vertex_run::captures(const planner::vertex& v) const {
  return std::any_of(captures_->begin(), captures_->end(), [&](const planner::binding& b) { return b.table == &v; });
}

const device_rows& vertex_run::collection(const collection_use& c) {
  for (const auto& [known, rows] : collections_)
    if (known == c.slot) return *rows;
  const reserved_room::serving longer_than_a_block(nullptr);
  std::shared_ptr<const device_rows> rows;
  const auto bound = std::find_if(captures_->begin(), captures_->end(), [&](const planner::binding& b) { return b.slot == c.slot; });
  if (bound != captures_->end())
    rows = captured_table(*bound->table, here(context_->tables.at(bound->table)), c.element, *this);
  else if (c.capture && c.capture->owner)
    rows = captured_container(c.capture, c.element, *this);
  else
    throw internal_error("gpu: a captured collection is not bound");
  if (round_recording* r = round_recording::here()) r->keep(rows);
  collections_.emplace_back(c.slot, reads(rows));
  return *collections_.back().second;
}

captured_size vertex_run::captured_sizes() {
  return [this](const collection_use& c) -> std::optional<std::uint64_t> {
    const bool bound = std::any_of(captures_->begin(), captures_->end(), [&](const planner::binding& b) { return b.slot == c.slot; });
    if (const auto rows = rows_of_capture(c); rows && !bound) return rows;
    return captured_rows(c);
  };
}

std::uint64_t vertex_run::place_in_shared(const kernel_source& k, std::uint64_t slot) {
  std::uint64_t at = 0;
  for (const std::uint64_t placed : k.in_shared_memory()) {
    if (placed == slot) return at;
    at += captured_bytes(k.used(placed).element, captured_rows(k.used(placed)));
  }
  return at;
}

std::size_t vertex_run::shared_for_captured(const kernel_source& k) {
  const std::size_t bytes = place_in_shared(k, ~std::uint64_t{0});
  if (bytes > most_captured_bytes) throw internal_error("gpu: a captured collection has grown since its kernel was generated");
  return bytes;
}

// Uploaded once a run.
device_address vertex_run::text(const std::string& characters) {
  for (const auto& [known, memory] : texts_)
    if (known == characters) return memory->address();
  const round_recording::permitted same_in_every_round;
  auto memory = std::make_shared<const device_buffer>(allocate(std::max<std::size_t>(characters.size(), 1)));
  if (!characters.empty())
    gpu_->copies().upload_plain(memory->address(), characters.data(), characters.size(), on(), context_->scheduler, context_->cancel);
  texts_.emplace_back(characters, std::move(memory));
  return texts_.back().second->address();
}

std::shared_ptr<const device_rows> vertex_run::reads(std::shared_ptr<const device_rows> rows) {
  std::erase_if(heaps_, [](const auto& heap) { return heap.expired(); });
  if (!rows) return rows;
  for (const auto& heap : rows->heaps())
    if (std::none_of(heaps_.begin(), heaps_.end(), [&](const auto& known) { return known.lock() == heap; })) heaps_.push_back(heap);
  return rows;
}

std::shared_ptr<device_rows> vertex_run::result(const ir::type* row, device_buffer rows, std::uint64_t n) {
  auto made = std::make_shared<device_rows>(gpu_, row, n);
  if (!same_on_device(row) && n) {
    if (round_recording* r = round_recording::here()) r->spoil("rows hold strings or lists");
    std::vector<std::shared_ptr<const device_buffer>> viewed;
    for (const auto& heap : heaps_)
      if (auto living = heap.lock()) viewed.push_back(std::move(living));
    for (const auto& [characters, memory] : texts_) viewed.push_back(memory);
    if (room_) viewed.push_back(room_);
    if (viewed.size() > most_heaps) {
      // Rounds of a loop would keep the heaps of all rounds before.
      repacked r = repack(*gpu_, row, rows.address(), n, on(), *context_);
      on().synchronize(context_->cancel);
      rows = std::move(r.values);
      made->keep_heap(std::make_shared<const device_buffer>(std::move(r.heap)));
    } else {
      for (auto& heap : viewed) made->keep_heap(std::move(heap));
    }
  }
  made->add({0, row}, std::move(rows));
  return made;
}

std::uint64_t vertex_run::resolve(const kernel_source& k, const word& w, std::span<const device_rows* const> inputs,
                                  std::span<const std::uint64_t> arguments) {
  switch (w.what) {
    case word::role::literal:
      return w.value;
    case word::role::errors:
      return status_word(0);
    case word::role::rows:
      return inputs[w.index]->size();
    case word::role::first:
      return supplied_ ? supplied_first_ : 0;
    case word::role::column:
      return inputs[w.index]->column(w.part);
    case word::role::collection:
      return collection(k.used(w.value)).column(0);
    case word::role::collection_size:
      return collection(k.used(w.value)).size();
    case word::role::collection_place:
      return place_in_shared(k, w.value);
    case word::role::text_literal:
      return text(k.texts()[w.index]);
    case word::role::text_room:
      if (!room_) throw internal_error("gpu: a kernel makes strings without room for them");
      return w.part == 0 ? room_->address() : w.part == 1 ? room_->size() : status_word(room_word);
    case word::role::argument:
      return arguments[w.index];
  }
  return 0;
}

std::shared_ptr<const kernel> vertex_run::compile(const kernel_source& k, const char* entry) {
  // The cache compares whole texts: asked once an entry.
  for (const auto& [id, name, kernel] : compiled_)
    if (id == k.id() && name == entry) return kernel;
  // Entries of one program follow one another: its text is made once.
  thread_local struct {
    std::uint64_t id = 0;
    std::string text;
  } last;
  if (last.id != k.id()) {
    last.text = k.text();
    last.id = k.id();
  }
  auto made = gpu_->kernels().get(last.text, entry, gpu_->on(), k.functions());
  compiled_.emplace_back(k.id(), entry, made);
  return made;
}

std::vector<hash128> vertex_run::compiled() const {
  std::vector<hash128> keys;
  for (const auto& [id, name, kernel] : compiled_)
    if (std::find(keys.begin(), keys.end(), kernel->key) == keys.end()) keys.push_back(kernel->key);
  return keys;
}

void vertex_run::launch(const kernel_source& k, const kernel& f, launch_shape shape, std::span<const device_rows* const> inputs,
                        std::span<const std::uint64_t> arguments) {
  clear_status();
  shape.dynamic_shared += shared_for_captured(k);
  std::vector<std::uint64_t> all;
  for (const word& w : k.words()) all.push_back(resolve(k, w, inputs, arguments));
  if (all.empty()) all.push_back(0);
  all.push_back(0);  // halt
  const round_recording::permitted known;
  if (known) known->launch({f, shape, all});
  void* parameters[] = {all.data(), nullptr};
  launch_with(f, shape, on(), parameters);
}

std::uint64_t vertex_run::read(std::size_t i) const {
  if (round_recording* r = round_recording::here()) r->read(i);
  return values_[i];
}

void vertex_run::make_room(std::uint64_t bytes) {
  if (round_recording* r = round_recording::here()) r->spoil("functions make strings");
  room_.reset();  // what the run before wrote is of no use
  room_ = std::make_shared<const device_buffer>(allocate(std::max<std::uint64_t>(bytes, 256)));
}

void vertex_run::guess_room(std::uint64_t rows) {
  constexpr std::uint64_t bytes_a_row = 32, share_of_memory = 4;  // where it is too little, the kernel runs twice
  make_room(std::min(rows * bytes_a_row, gpu_->memory().available() / share_of_memory));
}

bool vertex_run::finish_texts(const kernel_source& k) {
  look();
  // Without room, functions saw empty strings: their errors do not count.
  if (const std::uint64_t wanted = values_[room_word]; room_ && wanted > room_->size()) {
    // Lengths may depend on what strings hold: at least twice as much, so that rounds end.
    make_room(std::max<std::uint64_t>(wanted, 2 * room_->size()));
    reset_status();
    return false;
  }
  if (values_[0]) throw_row_error(values_[0], k.sites());
  return true;
}

void vertex_run::finish(const kernel_source& k) {
  look();
  if (values_[0]) throw_row_error(values_[0], k.sites());
}

std::uint64_t vertex_run::finish_or_error() {
  look();
  return values_[0];
}

void vertex_run::look() {
  clear_status();
  const round_recording::permitted known;
  gpu_->copies().download_plain(values_.data(), status_.address(), words * 8, on(), context_->scheduler, context_->cancel);
  if (known) known->check({status_.address(), 1, values_});
}

void throw_row_error(std::uint64_t status, const std::vector<error_site>& sites) {
  const std::size_t number = static_cast<std::size_t>(status >> 8);
  const error_site at = number < sites.size() ? sites[number] : error_site{"query", {}, {}, nullptr};
  // As the codes of device/expressions.cuh.
  switch (status & 0xff) {
    case 1:
      detail::fail(at.verb, "division by zero", at.where);
    case 2:
      detail::fail(at.verb, ir::value_of_null, at.where);
    case 3:
      detail::fail(at.verb, "an index lies outside its array or list", at.where);
    case 4:
      detail::fail(at.verb, "loop: a row needs more than 16777216 iterations", at.where);
    case 5:
      detail::fail(at.verb, "no value for an empty collection", at.where);
    case 6:
      throw std::out_of_range("substr: the start lies behind the string's end");
    case 7:
      detail::fail(at.verb, "division overflow: the smallest integer, divided by -1, does not fit its type", at.where);
    case 8:
      throw runtime::row_unknown(at.verb + ": " + detail::does_not_fit_text({}, at.part, at.type) + " (" + detail::place_of(at.where) +
                                 ")");
    default:
      throw internal_error("gpu: a kernel reported an unknown error " + std::to_string(status));
  }
}

}  // namespace query::gpu_engine
