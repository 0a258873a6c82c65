#include "gpu_engine/round_replay.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "gpu_engine/backoff.hpp"
#include "gpu_engine/pinned_memory.hpp"
#include "runtime/engine_failure.hpp"

namespace query::gpu_engine {

namespace {

constexpr int most_attempts = 3;         // loops whose sizes change all the time are not watched for ever
constexpr std::uint64_t rounds_ahead = 8;  // given to the device before the host hears of the first of them

// Words of the loop's state on the device; the last three are written to pinned memory as well.
enum state_word : std::size_t { halt, keep, judged, kept, why, state_words };
enum halted : std::uint64_t { going, ended, differs };

constexpr const char* source = R"(#include "gpu_primitives/types.cuh"
using namespace query::gpu;
struct check { u64 status, mask, state; u64 values[64]; };
extern "C" __global__ void check_words(const __grid_constant__ check c) {
  u64* const state = (u64*)c.state;
  const u32 i = threadIdx.x;
  if (state[0] == 0 && (c.mask >> i & 1) && ((const volatile u64*)c.status)[i] != c.values[i]) state[0] = 2;
}
struct judgement { u64 state, host, answer; };
extern "C" __global__ void judge_round(const __grid_constant__ judgement j) {
  u64* const state = (u64*)j.state;
  volatile u64* const host = (volatile u64*)j.host;
  state[1] = state[0] == 0;
  if (state[1]) {
    ++state[3];
    if (j.answer && !*(const bool*)j.answer) state[0] = 1;
  }
  ++state[2];
  host[1] = state[3];
  host[2] = state[0];
  __threadfence_system();
  host[0] = state[2];
}
struct rows { u64 state, to, from, bytes; };
extern "C" __global__ void __launch_bounds__(256) keep_round(const __grid_constant__ rows r) {
  if (!((const u64*)r.state)[1]) return;
  const u64 first = blockIdx.x * 256ull + threadIdx.x, step = gridDim.x * 256ull;
  for (u64 i = first; i < r.bytes / 16; i += step) ((uint4*)r.to)[i] = ((const uint4*)r.from)[i];
  for (u64 i = r.bytes / 16 * 16 + first; i < r.bytes; i += step) ((char*)r.to)[i] = ((const char*)r.from)[i];
}
)";

struct check_arguments {
  std::uint64_t status, mask, state;
  std::array<std::uint64_t, status_words> values;
};
struct judge_arguments {
  std::uint64_t state, host, answer;
};
struct keep_arguments {
  std::uint64_t state, to, from, bytes;
};

// Pinned words that the device writes and the host reads.
class host_words {
 public:
  explicit host_words(const device& d) : device_(d) {
    const scoped_context here(d);
    QUERY_CUDA(d.calls(), cuMemAllocHost, &at_, 4 * sizeof(std::uint64_t));
    std::memset(at_, 0, 4 * sizeof(std::uint64_t));
  }
  ~host_words() {
    const scoped_context here(device_);
    device_.calls().cuMemFreeHost(at_);
  }
  host_words(const host_words&) = delete;
  host_words& operator=(const host_words&) = delete;

  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(at_); }
  std::uint64_t operator[](std::size_t i) const {
    return std::atomic_ref<std::uint64_t>(static_cast<std::uint64_t*>(at_)[i]).load(std::memory_order_acquire);
  }

 private:
  const device& device_;
  void* at_ = nullptr;
};

// One round as a program: a graph, or without graphs the steps one by one.
class round_program {
 public:
  round_program(gpu_session& gpu, const stream& s, const std::vector<recorded_step>& steps, judge_arguments judge, keep_arguments keep)
      : gpu_(gpu), stream_(s), steps_(steps), judge_(judge), keep_(keep) {
    check_words_ = gpu.kernels().get(source, "check_words", gpu.on());
    judge_round_ = gpu.kernels().get(source, "judge_round", gpu.on());
    keep_round_ = gpu.kernels().get(source, "keep_round", gpu.on());
    capture();
  }
  ~round_program() {
    if (!program_) return;
    const scoped_context here(gpu_.on());
    gpu_.on().calls().cuGraphExecDestroy(program_);
  }
  round_program(const round_program&) = delete;
  round_program& operator=(const round_program&) = delete;

  bool is_graph() const { return program_ != nullptr; }
  void launch() {
    if (!program_) return give();
    const scoped_context here(gpu_.on());
    QUERY_CUDA(gpu_.on().calls(), cuGraphLaunch, program_, stream_.handle());
  }

 private:
  void capture() {
    const driver& calls = gpu_.on().calls();
    if (!calls.has_graphs()) return;
    const scoped_context here(gpu_.on());
    if (calls.cuStreamBeginCapture(stream_.handle(), cuda_attribute::capture_relaxed) != cuda_result::success) return;
    graph_handle graph = nullptr;
    try {
      give();
    } catch (...) {
      calls.cuStreamEndCapture(stream_.handle(), &graph);
      if (graph) calls.cuGraphDestroy(graph);
      throw;
    }
    if (calls.cuStreamEndCapture(stream_.handle(), &graph) != cuda_result::success || !graph) return;
    if (calls.cuGraphInstantiateWithFlags(&program_, graph, 0) != cuda_result::success) program_ = nullptr;
    calls.cuGraphDestroy(graph);
  }

  void give() {
    for (const recorded_step& s : steps_) std::visit([this](const auto& step) { give(step); }, s);
    one(*judge_round_, {1, 1, 0}, judge_);
    const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(keep_.bytes / 4096, 1, 1024));
    one(*keep_round_, {blocks, 256, 0}, keep_);
  }
  void give(const recorded_launch& l) {
    std::vector<std::uint64_t> words = l.words;
    words.back() = judge_.state;  // its first word is `halt`
    void* parameters[] = {words.data(), nullptr};
    launch_with(l.function, l.shape, stream_, parameters);
  }
  void give(const recorded_fill& f) {
    const scoped_context here(gpu_.on());
    QUERY_CUDA(gpu_.on().calls(), cuMemsetD8Async, f.at, f.value, f.bytes, stream_.handle());
  }
  void give(const recorded_copy& c) {
    const scoped_context here(gpu_.on());
    QUERY_CUDA(gpu_.on().calls(), cuMemcpyDtoDAsync, c.to, c.from, c.bytes, stream_.handle());
  }
  void give(const recorded_check& c) {
    one(*check_words_, {1, status_words, 0}, check_arguments{c.status, c.mask, judge_.state, c.values});
  }
  template <class T> void one(const kernel& k, launch_shape shape, T arguments) {
    void* parameters[] = {&arguments, nullptr};
    launch_with(k, shape, stream_, parameters);
  }

  gpu_session& gpu_;
  const stream& stream_;
  const std::vector<recorded_step>& steps_;
  const judge_arguments judge_;
  const keep_arguments keep_;
  std::shared_ptr<const kernel> check_words_, judge_round_, keep_round_;
  graph_program_handle program_ = nullptr;
};

}  // namespace

std::shared_ptr<const device_rows> round_replay::whole_here(const runtime::vertex_rows& r) const {
  auto kept = std::dynamic_pointer_cast<const device_rows>(r.kept);
  // Rows are copied by their bytes: not those that view heaps, which a repeated round would write anew.
  return kept && kept->on(gpu_->on()) && kept->whole() && same_on_device(kept->layout().row) ? kept : nullptr;
}

std::optional<runtime::vertex_rows> round_replay::watch(const runtime::vertex_rows& variable) {
  watching_.reset();
  recording_.forget();
  variable_.reset();
  const auto now = whole_here(variable);
  if (attempts_ == most_attempts) return std::nullopt;  // why_ says what the last one found
  if (!now) {
    const auto kept = std::dynamic_pointer_cast<const device_rows>(variable.kept);
    why_ = kept && !same_on_device(kept->layout().row) ? "its rows hold strings or lists" : "its rows were not on the GPU";
    return std::nullopt;
  }
  if (now->size() == 0) {
    why_ = "it has no rows left";
    return std::nullopt;
  }
  ++attempts_;
  // A copy of its own: rounds will write there.
  const stream_lease s(*gpu_);
  const std::uint64_t bytes = now->size() * now->layout().row->size;
  device_buffer memory;
  try {
    memory = gpu_->memory().allocate(bytes, *s);
  } catch (const resource_error&) {
    why_ = "no memory for a second copy of its rows";
    return std::nullopt;
  }
  why_.clear();
  {
    const scoped_context here(gpu_->on());
    QUERY_CUDA(gpu_->on().calls(), cuMemcpyDtoDAsync, memory.address(), now->column(0), bytes, s->handle());
  }
  s->synchronize(context_->cancel);
  variable_ = std::make_shared<device_rows>(gpu_, now->layout().row, now->size());
  variable_->add({0, now->layout().row}, std::move(memory));
  watching_.emplace(recording_);
  return runtime::vertex_rows(std::static_pointer_cast<runtime::kept_rows>(variable_));
}

std::optional<runtime::round_repeater::outcome> round_replay::repeat(const runtime::vertex_rows& next, const runtime::vertex_rows* answer,
                                                                      std::uint64_t most) {
  const auto after = whole_here(next);
  const auto test = answer ? whole_here(*answer) : nullptr;
  why_ = unlike(after.get(), !answer || test);
  if (!why_.empty()) {
    if (attempts_ == most_attempts) why_ += ", in the last of three rounds that were watched";
    recording_.forget();
    return std::nullopt;
  }
  outcome result;
  bool began = false;
  try {
    result = rounds(*after, test.get(), most, began);
  } catch (const resource_error& e) {
    // Without room for what rounds need beside their own memory, they are run vertex by vertex.
    if (began && dynamic_cast<const out_of_memory*>(&e)) throw runtime::engine_failure(e.what());  // the CPU runs the query
    if (began) throw;
    context_->cancel.check();
    why_ = "no memory to repeat them";
    recording_.forget();
    variable_.reset();
    return std::nullopt;
  }
  if (result.rounds < most && !result.ended) why_ = "a number of rows, the size of a table or an error differed from the round before";
  result.variable = runtime::vertex_rows(std::static_pointer_cast<runtime::kept_rows>(variable_));
  recording_.forget();
  variable_.reset();
  return result;
}

std::string round_replay::unlike(const device_rows* after, bool answered) const {
  if (!recording_.spoiled().empty()) return recording_.spoiled();
  if (!after) return "what a round gives was not on the GPU";
  if (after == variable_.get()) return "a round gives the rows that it got";
  if (after->size() != variable_->size()) return "the number of its rows changes";
  return answered ? "" : "its condition was not answered on the GPU";
}

runtime::round_repeater::outcome round_replay::rounds(const device_rows& after, const device_rows* test, std::uint64_t most, bool& began) {
  const stream_lease s(*gpu_);
  const std::uint64_t bytes = after.size() * after.layout().row->size;
  const device_buffer state = gpu_->memory().allocate(state_words * 8, *s);
  const host_words host(gpu_->on());
  std::uint64_t launched = 0;
  outcome result;
  {
    // Before what waits for the stream, which runs its kernels.
    round_program round(*gpu_, *s, recording_.steps(), {state.address(), host.address(), test ? test->column(0) : 0},
                        {state.address(), variable_->column(0), after.column(0), bytes});
    const drained at_the_end{*s};
    {
      const scoped_context here(gpu_->on());
      QUERY_CUDA(gpu_->on().calls(), cuMemsetD8Async, state.address(), 0, state_words * 8, s->handle());
      QUERY_CUDA(gpu_->on().calls(), cuMemcpyDtoDAsync, variable_->column(0), after.column(0), bytes, s->handle());
    }
    const auto over = [&] { return host[2] != going; };
    for (backoff b; launched < most && !over();) {
      context_->cancel.check();
      if (launched - host[0] < rounds_ahead) {
        began = true;
        round.launch();
        ++launched;
        b = backoff();
      } else {
        (void)s->done();  // throws if the device failed
        b.pause();
      }
    }
    s->synchronize(context_->cancel);
    result.how = round.is_graph() ? "as CUDA graphs" : "by the same launches, without CUDA graphs";
  }
  result.rounds = host[1];
  result.ended = host[2] == ended;
  return result;
}

}  // namespace query::gpu_engine
