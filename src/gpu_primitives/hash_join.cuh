// Hash joins, by what the build side is:
//
//   distinct keys    join_unique.cuh: build_unique, probe_unique           payload beside the key, one pass, output in probe order
//   repeated keys    join_expand.cuh over grouper.cuh                      groups of build rows, output balanced under skew
//
// inner, left, semi and anti are kinds of the probe; right and full are inner and left that mark the build side (`matched`, `asked`) and add
// emit_unmatched_build or unmatched_groups at the end. semi and anti need no more of the build side than a table of its keys.
//
// Which it is the build says itself: build_unique sets `repeated` when a key comes twice.
#pragma once

#include "gpu_primitives/join_expand.cuh"
#include "gpu_primitives/join_unique.cuh"
