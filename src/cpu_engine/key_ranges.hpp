// Ranges of sort keys: a sample of the keys is cut into ranges of about as many rows each, and every row finds its own.
//
// A key that the sample has too often for one range has a range of its own, whose rows tie: samplesort with equality buckets (Sanders,
// Winkel, Super Scalar Sample Sort, ESA 2004). Keys are compared as the sort compares them, by their words first (order_keys.hpp).
//
//   key_ranges ranges(std::move(sample), keys, 64, scheduler, pool, cancel);
//   ranges.find(keys, n, to);                     // to[i]: the range of row i
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu_engine/order_keys.hpp"
#include "cpu_engine/rows_buffer.hpp"
#include "runtime/scheduler.hpp"

namespace query::cpu {

class key_ranges {
 public:
  static constexpr std::size_t most = std::size_t{1} << 12;

  // sample: a buffer of values for each of `keys`, whose places do not matter. wanted: ranges, at most `most`; those of single keys come
  // on top, and fewer are made of a small sample.
  key_ranges(std::vector<rows_buffer> sample, std::span<const sort_key> keys, std::size_t wanted, runtime::scheduler& scheduler,
             runtime::buffer_pool& pool, const runtime::cancel_flag& cancel);

  std::size_t ranges() const { return ties_.size(); }
  bool ties(std::size_t range) const { return ties_[range]; }  // all of its keys are equal

  void find(std::span<const sort_key> keys, std::size_t n, std::uint16_t* to) const;

 private:
  template <class Word> void find_words(const key_encoder& encoder, std::span<const sort_key> keys, std::size_t n, std::uint16_t* to) const;
  template <class Word> std::size_t first_not_below(const Word& word, bool decided, std::span<const sort_key> keys, std::size_t row,
                                                    bool& equal) const;
  std::span<const std::uint64_t> bounds(std::uint64_t) const { return words_; }
  std::span<const wide_word> bounds(const wide_word&) const { return wide_words_; }

  std::vector<rows_buffer> sample_;
  std::vector<sort_key> keys_;           // of the sample
  std::vector<std::size_t> bounds_;      // rows of the sample whose keys are the last of ranges, in order
  std::vector<std::uint64_t> words_;     // of the bounds,
  std::vector<wide_word> wide_words_;    // or these
  std::vector<std::uint16_t> range_of_;  // below each bound; one more: above the last
  std::vector<bool> of_bound_;           // the bound's own key has the next range
  std::vector<bool> ties_;
};

}  // namespace query::cpu
