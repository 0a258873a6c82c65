// Hash joins, by what the build side is:
//
//   distinct keys    join_unique.cuh: build_unique, probe_unique           payload beside the key, one pass over the probe rows
//   repeated keys    join_tiles.cuh over grouper.cuh                       groups of build rows, output balanced under skew
//                    join_expand.cuh                                       the same by a list of the probe rows with output
//
// inner, left, semi and anti are kinds of the probe; right and full are inner and left that mark the build side (`matched`, `asked`) and
// add emit_unmatched_build or unmatched_groups at the end. semi and anti need no more of the build side than a table of its keys.
//
// Which it is the build says itself: build_unique sets `repeated` when a key comes twice.
//
// An H200, u64 keys and payloads, 2^27 probe rows that all match, output written, billions of build and probe rows a second: distinct
// build keys, 2^24 of them 27 (24 in the order of the probe rows), 2^27 of them 21 (18); a plain table in the same run 15 and 11.
//
//   build<<<...>>>(builds, table, repeated, ...);          // build_unique
//   if (repeated == 0) probe<<<...>>>(probes, table, ...);  // probe_unique; else the build rows go through map_keys
#pragma once

#include "gpu_primitives/join_expand.cuh"
#include "gpu_primitives/join_unique.cuh"
