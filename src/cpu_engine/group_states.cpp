#include "cpu_engine/group_states.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include <query/detail/discard.hpp>
#include <query/errors.hpp>

#include "cpu_engine/field_columns.hpp"
#include "cpu_engine/interpreted_states.hpp"
#include "cpu_engine/state_array.hpp"

namespace query::cpu {

namespace {

const ir::type* rows_of(const detail::logical& n) {
  const detail::pipe& from = n.inputs.front();
  return from.native ? from.native->out : from.node->row;
}

// States as the user's compiler laid them out, side by side.
class compiled_states final : public group_states {
 public:
  compiled_states(const detail::logical& n, std::shared_ptr<const void> self, const planner::column_schema* columns,
                  runtime::buffer_pool& pool, bool zeros)
      : calls_(&n.aggregate), own_memory_(n.states_own_memory), zeros_(zeros), self_(std::move(self)), pool_(&pool) {
    if (columns) fields_.emplace(rows_of(n), *columns, pool);
  }
  compiled_states(const compiled_states&) = delete;
  compiled_states& operator=(const compiled_states&) = delete;
  ~compiled_states() override {
    if (own_memory_ && n_ > 0 && std::uncaught_exceptions() > 0) leave();  // a state may hold all rows, and take long to destroy
    compiled_states::clear();
  }

  void grow_to(std::size_t n) override {
    if (n <= n_) return;
    if (n > capacity_) {
      const std::size_t next = std::max({n, capacity_ * 2, first_states(calls_->state_size)});
      runtime::buffer larger = pool_->allocate(runtime::buffer_pool::checked_bytes(next, calls_->state_size));
      // Neither constructors nor assignments of members write the bytes between members.
      if (zeros_) std::memset(larger.data(), 0, larger.size());
      if (n_) calls_->relocate(larger.data(), memory_.data(), n_);
      memory_ = std::move(larger);
      capacity_ = next;
    }
    calls_->init(self_.get(), at(n_), n - n_);
    n_ = n;
  }
  void update(const std::uint32_t* groups, const void* rows, const std::uint32_t* select, std::size_t n) override {
    calls_->update(self_.get(), memory_.data(), groups, rows, select, n);
  }
  void update(const std::uint32_t* groups, const column_batch& rows) override {
    calls_->update_fields(self_.get(), memory_.data(), groups, fields_->of(rows), rows.n);
  }
  bool knows_keys() const override { return calls_->update_known != nullptr; }
  std::size_t update_known(const void* key, const detail::known_keys& keys, const void* rows, std::size_t n, void* missed) override {
    return calls_->update_known(self_.get(), key, keys, memory_.data(), rows, n, missed);
  }
  void merge(const std::uint32_t* groups, group_states& from, const state_numbers& of) override {
    auto& o = static_cast<compiled_states&>(from);
    if (!of.chosen) return calls_->merge(self_.get(), memory_.data(), groups, o.at(of.first), of.n);
    // States that lie side by side at once.
    for (std::size_t i = 0, end = 0; i < of.n; i = end) {
      for (end = i + 1; end < of.n && of[end] == of[end - 1] + 1;) ++end;
      calls_->merge(self_.get(), memory_.data(), groups ? groups + i : nullptr, o.at(of[i]), end - i);
    }
  }
  void finish(const void* keys, std::size_t first, std::size_t n, void* out) override {
    calls_->finish(self_.get(), keys, at(first), n, out);
  }
  void clear() override {
    if (n_) calls_->destroy(memory_.data(), n_);
    n_ = 0;
  }
  std::size_t state_bytes() const override { return calls_->state_size; }
  void save(std::size_t i, std::byte* to) override { std::memcpy(to, at(i), calls_->state_size); }
  void load(std::size_t i, const std::byte* from) override { std::memcpy(at(i), from, calls_->state_size); }

 private:
  void* at(std::size_t i) const { return memory_.as<std::byte>() + i * calls_->state_size; }
  // Hands the states to the thread that destroys what stopped queries leave.
  void leave() noexcept {
    struct left_states {
      left_states(void (*d)(void*, std::size_t), runtime::buffer m, std::size_t count) : destroy(d), memory(std::move(m)), n(count) {}
      ~left_states() { destroy(memory.data(), n); }
      void (*destroy)(void*, std::size_t);
      runtime::buffer memory;
      std::size_t n;
    };
    try {
      auto left = std::make_shared<left_states>(calls_->destroy, std::move(memory_), n_);
      n_ = 0;
      detail::discard(std::move(left));
    } catch (const std::bad_alloc&) {  // then this thread destroys them
    }
  }

  const detail::aggregate_calls* calls_;
  const bool own_memory_, zeros_;
  std::shared_ptr<const void> self_;
  runtime::buffer_pool* pool_;
  std::optional<field_columns> fields_;  // rows come as columns
  runtime::buffer memory_;
  std::size_t n_ = 0, capacity_ = 0;
};

}  // namespace

void group_states::update(const std::uint32_t*, const column_batch&) { throw internal_error("query: states that take rows got columns"); }

void group_states::result(std::size_t, std::size_t, std::size_t, void*) { throw internal_error("query: states that give records"); }

std::size_t group_states::state_bytes() const { throw internal_error("query: states that cannot be sent"); }
void group_states::save(std::size_t, std::byte*) { (void)state_bytes(); }
void group_states::load(std::size_t, const std::byte*) { (void)state_bytes(); }

group_program::group_program(const detail::logical& n, const ir::group_plan* plan, const planner::column_schema* columns,
                             bool gives_columns)
    : node_(&n), gives_columns_(gives_columns) {
  const detail::user_function& f = n.functions.back();
  // Recorded even if expressions keep the states, because recording checks arguments such as that of quantile. A function without code has
  // only expressions.
  auto compiled = n.aggregate.record ? n.aggregate.record(f.f.get()) : nullptr;
  std::optional<ir::group_plan> own;
  if (!plan && !n.aggregate.record) {
    own = ir::plan_group_function(f.trace(), n.key, n.row).plan;
    if (!own) throw internal_error("query: a function of groups has neither code nor a plan");
    plan = &*own;
  }
  if (plan)
    expressions_ = std::make_shared<group_expressions>(*plan, f, rows_of(n), columns, gives_columns);
  else
    compiled_ = std::move(compiled);
  if (columns) columns_ = *columns;
}
group_program::~group_program() = default;

void group_program::spills(runtime::run_context& context) {
  if (expressions_) expressions_->spill_distinct(context);
}

std::unique_ptr<group_states> group_program::states(runtime::buffer_pool& pool) const {
  if (expressions_) return make_interpreted_states(expressions_, pool);
  return std::make_unique<compiled_states>(*node_, compiled_, columns_ ? &*columns_ : nullptr, pool, saves_);
}

}  // namespace query::cpu
