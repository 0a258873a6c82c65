#include "runtime/part_done.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/executor.hpp"
#include "runtime/fold_states.hpp"

namespace query::runtime {

namespace {

// Tables one behind the other, as a source.
struct table_rows {
  std::vector<detail::table> tables;
};

class table_reader final : public detail::row_stream {
 public:
  explicit table_reader(const table_rows& all) : all_(all) {}
  std::size_t next(void* raw, std::size_t most) override {
    while (table_ < all_.tables.size() && at_ == all_.tables[table_].n) ++table_, at_ = 0;
    if (table_ == all_.tables.size()) return 0;
    const detail::table& t = all_.tables[table_];
    const std::size_t n = std::min<std::size_t>(most, t.n - at_);
    const std::byte* from = static_cast<const std::byte*>(t.rows) + at_ * t.type->size;
    if (t.type->trivial) std::memcpy(raw, from, n * t.type->size);
    else t.type->life.copy(raw, from, n);
    at_ += n;
    return n;
  }

 private:
  const table_rows& all_;
  std::size_t table_ = 0, at_ = 0;
};

}  // namespace

vertex_rows run_rest(const planner::vertex& v, const done_in_part& part, local_engine& cpu, run_context& context) {
  if (v.folds) {
    const vertex_rows rest = run_on(cpu, v, cpu, context);
    std::vector<detail::fold_state> all;
    for (const detail::table& t : part.tables) all.insert(all.end(), states_in(t).begin(), states_in(t).end());
    all.insert(all.end(), states_in(rest.rows).begin(), states_in(rest.rows).end());
    return table_of(std::move(all));
  }
  const planner::branch& b = v.inputs.front();
  auto rows = std::make_shared<table_rows>(table_rows{part.tables});
  rows->tables.push_back(cpu.collect(b, v.captures, context));
  detail::logical source;
  source.what = detail::verb::source_stream;
  source.label = b.source->label;
  source.where = b.source->where;
  source.row = b.row;
  source.source = rows;
  source.open = [](const void* from) -> std::unique_ptr<detail::row_stream> {
    return std::make_unique<table_reader>(*static_cast<const table_rows*>(from));
  };
  planner::vertex w = v;
  planner::branch as_they_lie;
  as_they_lie.source = &source;
  as_they_lie.row = b.row;
  as_they_lie.number = -1 - b.number;  // a stream of its own
  w.inputs = {as_they_lie};
  return run_on(cpu, w, cpu, context);
}

}  // namespace query::runtime
