#include "conformance/compiled_kernels.hpp"

#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "gpu_engine/device_rows.hpp"
#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/nvrtc.hpp"
#include "gpu_engine/several/gpu_set.hpp"
#include "gpu_engine/upload.hpp"
#include "runtime/executor.hpp"
#include "runtime/session_state.hpp"
#include "runtime/table_ports.hpp"

namespace conformance {

using namespace query::gpu_engine;
namespace runtime = query::runtime;
namespace planner = query::planner;

struct compiled_kernels::state {
  driver_double fake{1, std::size_t{8} << 30, 2};
  std::optional<device> pretended, second;
  std::mutex lock;  // of what follows
  std::set<std::string> known;
  std::vector<std::string> fresh;
  std::set<std::string> left;
  std::vector<std::string> missed;
  std::optional<kernel_cache> kernels;
};

namespace {

// Rows that lie on the double, and here too: what brings rows with gaps or strings over are kernels.
class answered_rows final : public device_rows {
 public:
  answered_rows(const device_rows& there, query::detail::table here)
      : device_rows(there.gpu(), there.layout().row, there.size()), here_(std::move(here)) {
    for (std::size_t i = 0; i < there.layout().columns.size(); ++i) add(there.layout().columns[i], there.column(i));
    for (const auto& owner : there.owners()) keep(owner);
    for (const auto& heap : there.heaps()) keep_heap(heap);
  }
  query::detail::table fetch(runtime::run_context&) override { return here_; }

 private:
  query::detail::table here_;
};

const std::string not_there = "not on gpu: ";

// What becomes of the rows decides which kernels there are: they may go through the device in blocks, or be shared by two.
enum class form { whole, blocks, two_devices };
form wanted_form() {
  const char* named = std::getenv("QUERY_COMPILED_FORM");
  const std::string_view name = named ? named : "";
  if (name == "blocks") return form::blocks;
  if (name == "two devices") return form::two_devices;
  if (!name.empty()) throw std::invalid_argument("QUERY_COMPILED_FORM is neither 'blocks' nor 'two devices'");
  return form::whole;
}

// Where it is noted which texts compile: tests run in processes of their own, and many ask for the same kernels.
std::string folder() {
  const char* named = std::getenv("QUERY_COMPILED_KERNELS");
  return named ? named : "";
}
// What beside its text decides whether a kernel compiles.
const std::string& environment() {
  static const std::string text = [] {
    std::string headers;
    for (const named_source& h : embedded_sources()) headers += std::string(h.name) + '\0' + std::string(h.text) + '\0';
    return "compiles with nvrtc " + std::to_string(compiler::find()->version()) + ", headers " + hash_text(headers).hex() + "\n";
  }();
  return text;
}

}  // namespace

class compiled_kernels::answering final : public runtime::engine {
 public:
  answering(state& s, std::shared_ptr<runtime::engine> gpu) : state_(s), gpu_(std::move(gpu)), cpu_(runtime::make_cpu_engine()) {}

  std::string_view name() const override { return "gpu"; }
  bool is_gpu() const override { return true; }
  int retries() const override { return 0; }
  runtime::verdict accepts(const planner::vertex& v) const override {
    runtime::verdict answer = gpu_->accepts(v);
    if (v.folds && !answer) note("fold: " + answer.why);
    return answer;
  }
  void placed(const planner::machine_graph& g) const override {
    for (const auto& v : g.vertices)
      if (v->accelerated && v->engine == "cpu" && v->why.starts_with(not_there) && v->why != not_there + "nothing to compute")
        note((v->node ? std::string(query::detail::name_of(v->node->what)) : "rows") + ": " + v->why.substr(not_there.size()));
  }

  class running final : public runtime::running_vertex {
   public:
    running(answering& of, const planner::vertex& v, runtime::output_port& out, runtime::run_context& context)
        : of_(of), vertex_(v), out_(out), context_(context) {}
    void wait() override {
      // Functions of the user's that get device memory call the driver.
      const bool apply = vertex_.node && vertex_.node->what == query::detail::verb::apply;
      if (!apply) of_.try_out([&] { (void)run_on(*of_.gpu_, vertex_, *of_.cpu_, context_); });
      out_.tell(runtime::signal::begin_stream);
      runtime::vertex_rows rows = run_on(*of_.cpu_, vertex_, *of_.cpu_, context_);
      runtime::block b;
      if (vertex_.folds) {
        b.owner = rows.rows.owner;
        b.rows.rows = const_cast<void*>(rows.rows.rows);
        b.rows.n = rows.rows.n;
      } else {
        b.kept = of_.there(rows, context_);
      }
      out_.push(std::move(b));
      out_.tell(runtime::signal::end_stream);
    }

   private:
    answering& of_;
    const planner::vertex& vertex_;
    runtime::output_port& out_;
    runtime::run_context& context_;
  };
  std::unique_ptr<runtime::running_vertex> start(const planner::vertex& v, std::span<runtime::input_port* const>,
                                                 runtime::output_port& output, runtime::run_context& context) override {
    return std::make_unique<running>(*this, v, output, context);
  }

 private:
  // What the kernels did not do may be an error to whoever reads it; that one does not compile shows elsewhere.
  template <class F> void try_out(F f) {
    try {
      f();
    } catch (const query::internal_error& e) {
      if (std::string_view(e.what()).find("before it ran") == std::string_view::npos) return;
      const std::lock_guard hold(state_.lock);
      state_.missed.emplace_back(e.what());
    } catch (const query::resource_error&) {
    } catch (const query::user_error&) {
    }
  }
  std::shared_ptr<device_rows> there(runtime::vertex_rows& rows, runtime::run_context& context) {
    query::detail::table t = context.fetched(rows);
    const std::shared_ptr<gpu_session> gpu = gpus_of(*gpu_).one();
    const scoped_context here(gpu->on());
    query::detail::row_block block;
    block.rows = const_cast<void*>(t.rows);
    block.n = t.n;
    const stream_lease s = gpu->lease();
    auto made = upload_rows(gpu, block, t.type, {{0, t.type}}, *s, context);
    s->synchronize(context.cancel);
    return std::make_shared<answered_rows>(*made, std::move(t));
  }
  void note(std::string what) const {
    const std::lock_guard hold(state_.lock);
    state_.left.insert(std::move(what));
  }

  state& state_;
  const std::shared_ptr<runtime::engine> gpu_;
  const std::unique_ptr<runtime::local_engine> cpu_;
};

compiled_kernels::compiled_kernels() : state_(std::make_unique<state>()) {
  state& s = *state_;
  s.fake.allow_unknown_kernels();
  s.fake.run_at_once();
  s.pretended.emplace(s.fake.calls(), 0);
  s.second.emplace(s.fake.calls(), 1);
  kernel_cache::settings settings;
  settings.headers = embedded_sources();
  settings.folder = "";
  settings.compile = [&s](std::string_view source, int) {
    const std::lock_guard hold(s.lock);
    if (s.known.emplace(source).second) s.fresh.emplace_back(source);
    return image_of(source);
  };
  settings.link = [](std::string_view source, std::span<const device_code>, int) { return image_of(source); };  // tests/gpu_engine links
  settings.threads = 1;  // so that all kernels of a program are asked for, whichever of them the vertex runs
  s.kernels.emplace(std::move(settings));
}
compiled_kernels::~compiled_kernels() = default;

std::shared_ptr<runtime::engine> compiled_kernels::engine() {
  constexpr std::size_t rows_of_a_block = 700;  // the suites' larger inputs have two blocks and more
  const form how = wanted_form();
  std::vector<const device*> devices = {&*state_->pretended};
  if (how == form::two_devices) devices.push_back(&*state_->second);
  return std::make_shared<answering>(*state_, make_engine(std::move(devices), {.memory = std::size_t{1} << 30}, *state_->kernels,
                                                          how == form::blocks ? rows_of_a_block : 0, how == form::two_devices ? 1 : 0));
}

std::string compiled_kernels::refusal_of(const std::string& text, std::span<const int> for_these) {
  static const std::vector<std::string> options = {separate_products, compiler::to_ptx, "--device-debug"};
  std::string why;
  for (const int capability : for_these) {
    if (text.starts_with(architecture_specific) && capability != 90) continue;
    try {
      (void)compiler::find()->compile(text, embedded_sources(), capability, options);
    } catch (const query::internal_error& e) {
      why += "compute capability " + std::to_string(capability) + ": " + e.what() + "\n";
    }
  }
  return why;
}

std::vector<std::string> compiled_kernels::missing_tables() {
  const std::lock_guard hold(state_->lock);
  return std::exchange(state_->missed, {});
}

std::vector<std::string> compiled_kernels::compile_new() {
  if (!compiler::find()) return {};
  static const disk_cache compiled_before(folder());
  // Those of a program that no vertex has run yet come from a thread of the cache's; what comes later is the next test's.
  const auto next = [this]() -> std::optional<std::string> {
    const std::lock_guard hold(state_->lock);
    if (state_->fresh.empty()) return std::nullopt;
    std::string text = std::move(state_->fresh.back());
    state_->fresh.pop_back();
    return text;
  };
  std::vector<std::string> refused;
  while (const std::optional<std::string> found = next()) {
    const std::string& text = *found;
    const std::string key = environment() + text;
    if (compiled_before.has(hash_text(key))) continue;
    const std::size_t one = text.starts_with(architecture_specific) ? 1 : std::hash<std::string>{}(text) % capabilities.size();
    if (const std::string why = refusal_of(text, std::span(capabilities).subspan(one, 1)); !why.empty()) refused.push_back(why + text);
    else compiled_before.store(key, std::as_bytes(std::span("yes")));
  }
  return refused;
}

std::size_t compiled_kernels::texts() const {
  const std::lock_guard hold(state_->lock);
  return state_->known.size();
}
std::set<std::string> compiled_kernels::left_to_the_cpu() {
  const std::lock_guard hold(state_->lock);
  return std::exchange(state_->left, {});
}

}  // namespace conformance
