// How terminal verbs read a query's last branch: folded, streamed in order, or window by window.
#pragma once

#include <memory>

#include "runtime/local_engine.hpp"

namespace query::cpu {

void fold_branch(const planner::branch& b, const std::vector<planner::binding>& captures, detail::fold_kind k, detail::fold_state& state,
                 runtime::run_context& context);
void stream_branch(const planner::branch& b, const std::vector<planner::binding>& captures, function_ref<void(std::uint64_t)> expected,
                   function_ref<bool(const detail::row_block&)> take, runtime::run_context& context);
std::unique_ptr<detail::row_cursor> open_branch(const planner::branch& b, const std::vector<planner::binding>& captures,
                                                runtime::run_context& context);

}  // namespace query::cpu
