#include "cpu_engine/partial_group_pages.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "cpu_engine/padding.hpp"
#include "cpu_engine/value_bytes.hpp"

namespace query::cpu {

namespace {

// A page may come from another process.
bool is_whole(const ir::type* key, const runtime::row_page& page, std::size_t state) {
  const auto* from = page.bytes.as<const std::byte>();
  const std::byte* const end = from + page.bytes.size();
  if (page.bytes.size() < sizeof(std::uint64_t)) return false;
  from += sizeof(std::uint64_t);
  const auto left = [&] { return static_cast<std::size_t>(end - from); };
  if (!key || key->trivial) {
    const std::size_t each = state + (key ? key->size : 0);
    return each ? page.rows == left() / each : page.rows <= 1;
  }
  if (page.rows > left()) return false;
  for (std::uint64_t i = 0; i < page.rows; ++i, from += state)
    if (!(from = end_of_bytes(*key, from, end)) || left() < state) return false;
  return true;
}

}  // namespace

// ---------------------------------------------------------------- writers
std::byte* group_page_writer::room(std::size_t bytes) {
  if (rows_ && bytes_.size() + bytes > runtime::page_bytes) flush();
  const std::size_t at = bytes_.size();
  bytes_.resize(at + bytes);
  ++rows_;
  return bytes_.data() + at;
}

void group_page_writer::flush() {
  if (!rows_) return;
  runtime::row_pages one(1);
  runtime::row_page& page = one.front();
  page.bytes = pool_->allocate(sizeof form_ + bytes_.size());
  page.rows = rows_;
  page.repeatable = repeatable_;
  std::memcpy(page.bytes.data(), &form_, sizeof form_);
  std::memcpy(page.bytes.as<std::byte>() + sizeof form_, bytes_.data(), bytes_.size());
  bytes_.clear();
  rows_ = 0;
  take_(bucket_, std::move(one));
}

// ---------------------------------------------------------------- pages
// Compiled code copies values into its states with the bytes that none decides.
bool group_pages::are_repeatable() const {
  const planner::vertex& v = *v_;
  const detail::logical& n = *v.node;
  if (n.key && !padding(*n.key).known()) return false;
  const detail::pipe& from = n.inputs.front();
  const ir::type* const row = from.native ? from.native->out : from.node->row;
  const auto alike = [&](const std::vector<ir::aggregate_call>& calls, bool compiled) {
    const auto known = [&](const ir::type* t) {
      if (!t) return true;
      const padding unused(*t);
      return unused.known() && !(compiled && unused);
    };
    return std::ranges::all_of(calls, [&](const ir::aggregate_call& c) {
      switch (c.what) {
        case ir::aggregate_kind::first:
        case ir::aggregate_kind::last: return known(c.argument ? c.argument->type : row);
        case ir::aggregate_kind::arg_min:
        case ir::aggregate_kind::arg_max: return known(c.value) && known(row);
        case ir::aggregate_kind::min:
        case ir::aggregate_kind::max: return known(c.value);
        default: return true;
      }
    });
  };
  if (v.group_function) return alike(v.group_function->calls, false);
  const ir::traced t = n.functions.back().trace();
  if (!t) return false;
  const ir::group_analysis a = ir::plan_group_function(t, n.key, n.row);
  return a.plan && alike(a.plan->calls, true);
}

std::uint64_t group_pages::form_of(const group_states& states) const { return states.state_bytes() * 2 + (v_->group_function ? 1 : 0); }
std::uint64_t group_pages::form_of(const runtime::row_page& page) {
  std::uint64_t form = 0;
  std::memcpy(&form, page.bytes.data(), sizeof form);
  return form;
}

std::vector<group_page_writer> group_pages::writers(std::size_t receivers, std::uint64_t form, bool repeatable,
                                                    runtime::bucket_sink take) const {
  std::vector<group_page_writer> all;
  all.reserve(receivers);
  for (std::size_t i = 0; i < receivers; ++i) all.emplace_back(*pool_, form, repeatable, i, take);
  return all;
}

void group_pages::write(partial_groups::run& r, std::vector<group_page_writer>& to, bool apart) const {
  const planner::vertex& v = *v_;
  const std::size_t state = r.states->state_bytes();
  if (!v.node->key) {
    for (std::size_t i = 0; i < r.n; ++i) r.states->save(i, to.front().room(state));
    return;
  }
  const ir::type& key = *v.node->key;
  const padding unused(key);
  const key_equality equality = equality_of(v.node->keys);
  const auto* keys = static_cast<const std::byte*>(r.whole_keys());
  std::uint64_t hashes[batch_rows];
  const detail::stop_point stop;
  for (std::size_t from = 0; from < r.n; from += batch_rows) {
    stop.check();
    const std::size_t n = std::min(batch_rows, r.n - from);
    hash_keys(key, keys + from * key.size, n, hashes, equality);
    for (std::size_t i = 0; i < n; ++i) {
      const std::byte* const k = keys + (from + i) * key.size;
      const std::size_t bytes = bytes_of(key, k);
      std::byte* const at = to[partition_of(apart ? detail::hash_word(hashes[i]) : hashes[i], to.size())].room(bytes + state);
      (void)write_bytes(key, k, at);
      if (unused) unused.clear(at, 1);
      r.states->save(from + i, at + bytes);
    }
  }
}

partial_groups::run group_pages::read(const runtime::row_page& page, const group_program& program) const {
  const planner::vertex& v = *v_;
  runtime::buffer_pool& pool = *pool_;
  partial_groups::run r;
  r.n = page.rows;
  r.states = program.states(pool);
  const std::size_t state = r.states->state_bytes();
  if (!is_whole(v.node->key, page, state)) throw cluster_error("cluster: a page of groups is damaged");
  r.states->grow_to(r.n);
  const auto* from = page.bytes.as<const std::byte>();
  std::uint64_t form = 0;
  std::memcpy(&form, from, sizeof form);
  from += sizeof form;
  if (form != form_of(*r.states)) throw internal_error("query: states of groups come in a form that is not this partition's");
  if (!v.node->key) {
    for (std::size_t i = 0; i < r.n; ++i, from += state) r.states->load(i, from);
    return r;
  }
  const ir::type& type = *v.node->key;
  rows_buffer keys(&type, pool);
  auto* const at = static_cast<std::byte*>(keys.extend(r.n));
  if (!type.trivial) type.life.construct(at, r.n);
  keys.grow(r.n);
  const detail::stop_point stop;
  for (std::size_t i = 0; i < r.n; ++i) {
    if (i % batch_rows == 0) stop.check();
    from = read_bytes(type, at + i * type.size, from);
    r.states->load(i, from);
    from += state;
  }
  r.keys = std::move(keys);
  return r;
}

}  // namespace query::cpu
