// order_by on the driver double, with kernels that move keys and row numbers as the passes of the generated ones do: the buffers that
// share memory never meet, plain numbers are sorted without row numbers where that is right, and little memory is needed for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/gpu_session.hpp"
#include "gpu_engine/words_read.hpp"
#include "gpu_primitives/sampled_bound.cuh"
#include "gpu_primitives/sort_keys.cuh"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;
namespace gpu = query::gpu;

using word = std::uint64_t;
template <class T> T* at(word address) { return reinterpret_cast<T*>(address); }

struct Entry {
  std::uint32_t key;
  double value;
  bool operator==(const Entry&) const = default;
};
QUERY_RECORD(Entry, key, value);

class sorted_rows : public testing::Test {
 protected:
  using call = driver_double::generated_call;
  static constexpr word n = 20'003;  // of no tile, nor of a multiple of 8 bytes

  void SetUp() override {
    fake_.add_generated("count_words", [](const call&) {});
    fake_.add_generated("sweep_words", [this](const call& c) { sweep(c); });
    fake_.add_generated("words_0", [this](const call& c) {  // of the one key here whose words are made: -2 * value
      ++words_made_;
      const auto w = read_by(c, "words_0");  // made, rows
      const std::size_t begin = c.program.find(" sort_word_0("), key = c.program.find("key_", begin);
      const auto* column = at<const double>(read_by(c, c.program.substr(key, 5))[0]);
      for (word j = 0; sorts_ && j < w[1]; ++j) at<word>(w[0])[j] = gpu::sort_key(column[j] * -2.0);
    });
    fake_.add_generated("gather_rows", [this](const call& c) {
      if (!sorts_) return;
      const auto w = read_by(c, "gather_rows");  // out, out_rows, the columns
      const auto* order = at<const std::uint32_t>(read_by(c, "row_at")[0]);
      for (word j = 0; j < w[1]; ++j) {
        if (w.size() == 4)
          at<Entry>(w[0])[j] = {at<const std::uint32_t>(w[2])[order[j]], at<const double>(w[3])[order[j]]};
        else
          at<double>(w[0])[j] = at<const double>(w[2])[order[j]];
      }
    });
    fake_.add_generated("count_keys", [](const call& c) {
      const auto w = read_by(c, "count_keys");  // rows, temporary, untold
      const auto* column = at<const double>(read_by(c, "row_of")[0]);
      if (!std::all_of(column, column + w[0], [](double v) { return gpu::sort_key_tells(v); })) *at<word>(w[2]) = 1;
    });
    fake_.add_generated("sweep_keys", [this](const call& c) {
      const auto w = read_by(c, "sweep_keys");  // keys_0, keys_1, out, kept, pass, rows, temporary
      const auto* column = at<const double>(read_by(c, "row_of")[0]);
      ++keys_alone_;
      rows_sorted_ = w[5];
      if (!sorts_) return;
      std::vector<word> from(w[5]);
      const word target = (8 - w[4]) & 1;  // radix_sort.cuh: of the pass that follows w[4] others
      const word* const source = at<const word>(w[target ? 0 : 1]);
      for (word j = 0; j < from.size(); ++j) from[j] = w[4] ? source[j] : gpu::sort_key(column[j]);
      std::vector<word> to = from;
      by_digit(to, w[4], [](word k) { return k; });
      for (word j = 0; j < to.size(); ++j) {
        if (w[4] < 7)
          at<word>(w[target ? 1 : 0])[j] = to[j];
        else if (j < w[3])
          at<double>(w[2])[j] = gpu::from_sort_key<double>(to[j]);
      }
      EXPECT_TRUE(w[4] == 0 || std::equal(from.begin(), from.end(), source)) << "a pass wrote where it reads: " << w[4];
    });
    select();
    pretended_.emplace(fake_.calls(), 0);
    kernels_.emplace(kernel_cache::settings{
        .headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }});
    session_.emplace(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    engine_ = make_engine(*pretended_, {std::size_t{512} << 20, 0}, *kernels_);
    session_->add_engine(engine_);
    resize(n);
  }
  void resize(word rows) {
    entries_.resize(rows);
    numbers_.resize(rows);
    std::uint64_t x = 1;
    for (word i = 0; i < rows; ++i) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      entries_[i] = {static_cast<std::uint32_t>(x >> 60), static_cast<double>(x >> 33 & 0xffff) - 5e3};
      numbers_[i] = entries_[i].value * 1e-3 + 1e-6 + entries_[i].key;
    }
  }

  // What finds the first of numbers.
  void select() {
    const auto column_of = [](const call& c) { return at<const double>(read_by(c, "first_word")[0]); };
    fake_.add_generated("sample_first", [column_of](const call& c) {
      const double* const column = column_of(c);
      const auto w = read_by(c, "sample_first");  // rows, samples, keys, counts
      for (std::uint32_t j = 0; j < w[1]; ++j) {
        at<word>(w[2])[j] = gpu::sort_key(column[gpu::sampled_row(j, static_cast<std::uint32_t>(w[1]), w[0])]);
        at<unsigned char>(w[3])[j] = 1;
      }
    });
    fake_.add_generated("bound_first", [this](const call& c) {
      const auto w = read_by(c, "bound_first");  // rows, samples, place, by row, keys, counts, bound
      std::vector<std::pair<word, word>> sample;
      for (std::uint32_t j = 0; j < w[1]; ++j)
        sample.emplace_back(at<const word>(w[4])[j], gpu::sampled_row(j, static_cast<std::uint32_t>(w[1]), w[0]));
      std::sort(sample.begin(), sample.end());
      EXPECT_EQ(w[3], 1u) << "a number is a whole key";
      const auto [key, row] = place_ < 0 ? sample[w[2] - 1] : sample[static_cast<std::size_t>(place_ * static_cast<double>(w[1]))];
      at<word>(w[6])[0] = key;
      at<word>(w[6])[1] = row;
    });
    fake_.add_generated("keep_first", [this, column_of](const call& c) {
      const double* const column = column_of(c);
      const auto w = read_by(c, "keep_first");  // out, room, bound, rows, temporary, kept
      ++kept_;
      word left = 0;
      for (word i = 0; i < w[3]; ++i) {
        const std::pair<word, word> own(gpu::sort_key(column[i]), i);
        if (own > std::pair<word, word>(at<const word>(w[2])[0], at<const word>(w[2])[1])) continue;
        if (left < w[1]) at<double>(w[0])[left] = column[i];
        ++left;
      }
      *at<word>(w[5]) = left;
    });
  }

  template <class T, class Key> static void by_digit(std::vector<T>& rows, word pass, Key key) {
    std::vector<std::vector<T>> bins(256);
    for (const T& r : rows) bins[key(r) >> 8 * pass & 255].push_back(r);
    rows.clear();
    for (const auto& bin : bins) rows.insert(rows.end(), bin.begin(), bin.end());
  }

  // One pass of a sort of row numbers by words in a column.
  void sweep(const call& c) {
    if (!sorts_) return;
    const auto w = read_by(c, "sweep_words");  // keys_0, keys_1, values_0, order_out, pass, rows
    const auto of = read_by(c, "word_of");     // column, stride, negative, other, floating
    if (c.program.find("using sort_word = u64;") != std::string::npos)
      pass<word>(c, w, [of](word row) { return gpu::sort_key_of_bits(*at<const word>(of[0] + row * of[1]), {of[2], of[3], of[4] != 0}); });
    else
      pass<std::uint32_t>(c, w, [of](word row) {
        const auto half = [](word x) { return static_cast<std::uint32_t>(x); };
        return gpu::sort_key_of_bits(*at<const std::uint32_t>(of[0] + row * of[1]), {half(of[2]), half(of[3]), of[4] != 0});
      });
  }
  template <class Key, class KeyOf> void pass(const call& c, const std::vector<word>& w, KeyOf key_of) {
    struct pair {
      Key key;
      std::uint32_t row;
      bool operator==(const pair&) const = default;
    };
    const word pass = w[4], last = sizeof(Key) - 1, target = (last + 1 - pass) & 1;
    const word keys[2] = {w[0], w[1]}, values[2] = {w[2], w[3]}, order_in = read_by(c, "row_at")[0];
    const word keys_target = pass & 1;
    const auto source = [&](word j) -> pair {
      if (pass) return {at<const Key>(keys[1 - keys_target])[j], at<const std::uint32_t>(values[1 - target])[j]};
      const std::uint32_t row = order_in ? at<const std::uint32_t>(order_in)[j] : static_cast<std::uint32_t>(j);
      return {key_of(row), row};
    };
    std::vector<pair> from(w[5]);
    for (word j = 0; j < from.size(); ++j) from[j] = source(j);
    std::vector<pair> to = from;
    by_digit(to, pass, [](const pair& p) { return p.key; });
    for (word j = 0; j < to.size(); ++j) {
      if (pass < last) at<Key>(keys[keys_target])[j] = to[j].key;
      at<std::uint32_t>(pass < last ? values[target] : w[3])[j] = to[j].row;
    }
    for (word j = 0; j < to.size(); ++j) {
      ASSERT_TRUE(source(j) == from[j]) << "pass " << pass << " wrote where it reads, row " << j;
      if (pass == last) continue;
      ASSERT_EQ(at<const Key>(keys[keys_target])[j], to[j].key) << "keys and row numbers meet, row " << j;
      ASSERT_EQ(at<const std::uint32_t>(values[target])[j], to[j].row) << "keys and row numbers meet, row " << j;
    }
  }

  auto numbers() { return query::from(numbers_).as_accelerated().in(*session_).cached(); }
  auto entries() { return query::from(entries_).as_accelerated().in(*session_).cached(); }

  // The most memory while `make`'s rows are made, over `needed`.
  template <class Make> double peak(double needed, const Make& make) {
    device_memory& memory = session_of(*engine_).memory();
    memory.reset_peak();
    const auto kept = make().cached();
    (void)kept.take(1).to_vector();
    EXPECT_EQ(kept.explain().find("the last run went to the cpu"), std::string::npos) << kept.explain();
    return static_cast<double>(memory.counters().peak) / needed;
  }
  template <class T> static void expect_same(const std::vector<T>& got, const std::vector<T>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    // Bit by bit.
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(std::memcmp(&got[i], &wanted[i], sizeof(T)), 0) << "row " << i;
  }

  std::vector<Entry> entries_;
  std::vector<double> numbers_;
  driver_double fake_;
  bool sorts_ = true;   // false: where only memory counts
  int keys_alone_ = 0;  // passes
  int words_made_ = 0;
  int kept_ = 0;          // how often the first were looked for
  double place_ = -1;     // of the bound, as a part of the sample; < 0: as the engine asks for it
  word rows_sorted_ = 0;  // by the last of these passes
  std::optional<device> pretended_;
  std::optional<kernel_cache> kernels_;
  std::shared_ptr<query::runtime::engine> engine_;
  std::optional<query::Session> session_;
};

TEST_F(sorted_rows, numbers_are_sorted_without_row_numbers_where_keys_tell_them_apart) {
  const auto q = numbers().order();
  std::vector<double> wanted = numbers_;
  std::stable_sort(wanted.begin(), wanted.end());
  expect_same(q.to_vector(), wanted);
  EXPECT_EQ(keys_alone_, 8);
  EXPECT_EQ(fake_.launches("gather_rows"), 0u);
  // The first of them: they have no room for the keys of all.
  wanted.resize(1000);
  expect_same(numbers().order().take(1000).to_vector(), wanted);
  EXPECT_EQ(keys_alone_, 16);
}

TEST_F(sorted_rows, numbers_with_a_negative_zero_or_nan_keep_their_order_and_bits) {
  for (const double odd : {-0.0, std::nan(""), std::copysign(std::nan("7"), -1.0)}) {
    numbers_[17] = odd;
    numbers_[n - 1] = std::nan("12");
    numbers_[20] = numbers_[n - 2] = 0.0;
    std::vector<double> wanted = numbers_;
    std::stable_sort(wanted.begin(), wanted.end(), [](double a, double b) { return gpu::sort_key(a) < gpu::sort_key(b); });
    keys_alone_ = 0;
    expect_same(numbers().order().to_vector(), wanted);
    EXPECT_EQ(keys_alone_, 0);
    EXPECT_GT(fake_.launches("gather_rows"), 0u);
  }
}

TEST_F(sorted_rows, buffers_that_share_memory_do_not_meet) {
  std::vector<Entry> wanted = entries_;
  std::stable_sort(wanted.begin(), wanted.end(), [](const Entry& a, const Entry& b) { return a.value < b.value; });
  EXPECT_EQ(entries().order_by([](auto e) { return e.value; }).to_vector(), wanted);
  std::vector<Entry> first(wanted.begin(), wanted.begin() + n / 2);
  EXPECT_EQ(entries().order_by([](auto e) { return e.value; }).take(n / 2).to_vector(), first);
  std::stable_sort(wanted.begin(), wanted.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
  EXPECT_EQ(entries().order_by([](auto e) { return e.key; }).then_by([](auto e) { return e.value; }).to_vector(), wanted);
}

// Words that a kernel makes lie in a buffer of the passes, which read them before they write there.
TEST_F(sorted_rows, words_of_computed_keys_are_made_once) {
  std::vector<Entry> wanted = entries_;
  std::stable_sort(wanted.begin(), wanted.end(), [](const Entry& a, const Entry& b) { return a.value > b.value; });
  EXPECT_EQ(entries().order_by([](auto e) { return e.value * -2.0; }).to_vector(), wanted);
  EXPECT_EQ(words_made_, 1);
  std::vector<Entry> by_key = entries_;
  std::stable_sort(by_key.begin(), by_key.end(),
                   [](const Entry& a, const Entry& b) { return a.key < b.key || (a.key == b.key && a.value > b.value); });
  EXPECT_EQ(entries().order_by([](auto e) { return e.key; }).then_by([](auto e) { return e.value * -2.0; }).to_vector(), by_key);
  EXPECT_EQ(words_made_, 2);
}

// Plain numbers need no kernel of the query's but the one that gathers rows, whatever their direction.
TEST_F(sorted_rows, directions_share_the_sort) {
  std::vector<Entry> wanted = entries_;
  std::stable_sort(wanted.begin(), wanted.end(), [](const Entry& a, const Entry& b) { return a.value > b.value; });
  EXPECT_EQ(entries().order_by([](auto e) { return e.value; }).to_vector().size(), wanted.size());
  const auto before = kernels_->counters().compiled;
  EXPECT_EQ(entries().order_by_descending([](auto e) { return e.value; }).to_vector(), wanted);
  EXPECT_EQ(kernels_->counters().compiled, before);
  EXPECT_EQ(words_made_, 0);
}

TEST_F(sorted_rows, the_first_of_many_are_selected_before_they_are_sorted) {
  session_of(*engine_).select_from(n);
  std::vector<double> wanted = numbers_;
  std::stable_sort(wanted.begin(), wanted.end());
  for (const word k : {word{1}, word{10}, word{1000}, n / 4}) {
    SCOPED_TRACE(k);
    kept_ = 0;
    const std::vector<double> first(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(k));
    expect_same(numbers().order().take(k).to_vector(), first);
    EXPECT_EQ(kept_, 1);
    EXPECT_GE(rows_sorted_, k);
    EXPECT_LE(rows_sorted_, k + k / 2 + 1000) << "not many more than these are sorted";
  }
  // More than a part of them, and the first of fewer.
  for (const word k : {n / 4 + 1, n, n + 1}) {
    kept_ = 0;
    EXPECT_EQ(numbers().order().take(k).to_vector().size(), std::min(k, n));
    EXPECT_EQ(kept_, 0);
  }
  session_of(*engine_).select_from(n + 1);
  EXPECT_EQ(numbers().order().take(10).to_vector().size(), 10u);
  EXPECT_EQ(kept_, 0);
}

TEST_F(sorted_rows, the_first_are_right_whatever_the_sample_says) {
  session_of(*engine_).select_from(1);
  std::vector<double> wanted = numbers_;
  std::stable_sort(wanted.begin(), wanted.end());
  struct {
    double place;
    int looks;
    bool all;  // are sorted
  } cases[] = {{0, 1, true}, {0.04, 1, true}, {0.3, 2, false}, {0.9, 1, true}};
  for (const word k : {word{1000}, word{1100}}) {
    std::vector<double> first(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(k));
    for (const auto& [place, looks, all] : cases) {
      SCOPED_TRACE(std::to_string(k) + ", " + std::to_string(place));
      place_ = place;
      kept_ = 0;
      expect_same(numbers().order().take(k).to_vector(), first);
      EXPECT_EQ(kept_, looks);
      EXPECT_EQ(rows_sorted_ == n, all);
    }
  }
}

TEST_F(sorted_rows, the_first_of_equal_rows_are_few) {
  session_of(*engine_).select_from(1);
  numbers_.assign(n, 7.5);
  const auto first = numbers().order_descending().take(20);
  EXPECT_EQ(first.to_vector(), std::vector<double>(20, 7.5));
  EXPECT_EQ(kept_, 1);
  EXPECT_LT(rows_sorted_, 500u);
  EXPECT_EQ(numbers().order().take(2000).to_vector(), std::vector<double>(2000, 7.5));
  EXPECT_LT(rows_sorted_, 4000u);
}

TEST_F(sorted_rows, the_first_need_little_memory) {
  resize(word{1} << 20);
  sorts_ = false;
  const auto q = numbers();
  (void)q.count();
  const double rows = 8.0 * static_cast<double>(numbers_.size());
  EXPECT_GE(peak(rows, [&] { return q.order().take(100); }), 2.5);
  session_of(*engine_).select_from(1);
  EXPECT_LE(peak(rows, [&] { return q.order().take(100); }), 1.1);
}

// Keys between passes lie where the rows will be, and once more; what tiles tell one another is some 2 %.
TEST_F(sorted_rows, numbers_need_room_for_one_more_column) {
  resize(word{1} << 20);
  sorts_ = false;
  const auto q = numbers();
  (void)q.count();
  EXPECT_LE(peak(16.0 * static_cast<double>(numbers_.size()), [&] { return q.order(); }), 1.53);
  EXPECT_EQ(keys_alone_, 8);
}
// Keys lie where the rows will be; row numbers twice beside them.
TEST_F(sorted_rows, rows_need_room_for_their_numbers) {
  resize(word{1} << 20);
  sorts_ = false;
  const auto q = entries();
  (void)q.count();
  EXPECT_LE(peak(28.0 * static_cast<double>(entries_.size()), [&] { return q.order_by([](auto e) { return e.value; }); }), 1.32);
  EXPECT_GT(fake_.launches("gather_rows"), 0u);
}

}  // namespace
