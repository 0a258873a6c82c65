// Rows of a number and a few bytes beside it, on the driver double, with kernels that move keys and what they carry as the passes of the
// generated ones do: which rows are sorted so, that they are sorted right, and that the buffers do not meet.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/gpu_session.hpp"
#include "gpu_engine/words_read.hpp"
#include "gpu_primitives/sort_keys.cuh"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;
namespace gpu = query::gpu;

using word = std::uint64_t;
template <class T> T* at(word address) { return reinterpret_cast<T*>(address); }

struct Wide {  // 4 bytes beside a key of 8, or 8 beside one of 4
  std::uint32_t id;
  double value;
  bool operator==(const Wide&) const = default;
};
QUERY_RECORD(Wide, id, value);
struct Narrow {
  float value;
  std::int32_t id;
  bool operator==(const Narrow&) const = default;
};
QUERY_RECORD(Narrow, value, id);
struct Three {
  std::uint32_t part;
  std::int32_t amount;
  std::int64_t price;
  bool operator==(const Three&) const = default;
};
QUERY_RECORD(Three, part, amount, price);
struct Flagged {
  std::int64_t key;
  bool flag;
  std::uint16_t size;
  bool operator==(const Flagged&) const = default;
};
QUERY_RECORD(Flagged, key, flag, size);

class sorted_pairs : public testing::Test {
 protected:
  using call = driver_double::generated_call;
  static constexpr word n = 20'003;  // of no tile

  void SetUp() override {
    fake_.add_generated("count_words", [this](const call&) { ++others_; });
    fake_.add_generated("sweep_words", [](const call&) {});
    fake_.add_generated("gather_rows", [](const call&) {});
    fake_.add_generated("count_pairs",
                        [](const call& c) { of_types(c, [&](auto key, auto carried) { count<decltype(key), decltype(carried)>(c); }); });
    fake_.add_generated("sweep_pairs", [this](const call& c) {
      ++passes_;
      of_types(c, [&](auto key, auto carried) { sweep<decltype(key), decltype(carried)>(c); });
    });
    pretended_.emplace(fake_.calls(), 0);
    kernels_.emplace(kernel_cache::settings{
        .headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }});
    session_.emplace(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    engine_ = make_engine(*pretended_, {std::size_t{512} << 20, 0}, *kernels_);
    session_->add_engine(engine_);
    session_of(*engine_).carry_from(n);
  }

  template <class F> static void of_types(const call& c, F f) {
    const auto has = [&](const char* text) { return c.program.find(text) != std::string::npos; };
    if (has("radix_policy<u32, u32>")) return f(std::uint32_t{}, std::uint32_t{});
    if (has("radix_policy<u32, u64>")) return f(std::uint32_t{}, word{});
    if (has("radix_policy<u64, u32>")) return f(word{}, std::uint32_t{});
    ASSERT_TRUE(has("radix_policy<u64, u64>"));
    f(word{}, word{});
  }
  template <class Key> static gpu::number_form<Key> form_of(const std::vector<word>& w) {
    return {static_cast<Key>(w[0]), static_cast<Key>(w[1]), w[2] != 0};
  }
  template <class Key> static Key bits_of(const call& c, word row) {
    const auto w = read_by(c, "bits_of");
    return *at<const Key>(w[0] + row * w[1]);
  }

  template <class Key, class Carried> static void count(const call& c) {
    const auto w = read_by(c, "count_pairs");  // form, rows, temporary, untold
    const auto of = read_by(c, "bits_of");
    for (word row = 0; row < w[3]; ++row)
      if (!gpu::sort_key_tells(*at<const Key>(of[0] + row * of[1]), form_of<Key>(w))) *at<word>(w[5]) = 1;
  }

  template <class Key, class Carried> static void sweep(const call& c) {
    // form, keys, values, out, kept, stride, pass, rows, temporary, places in a row
    const auto w = read_by(c, "sweep_pairs"), key_of = read_by(c, "bits_of"), of = read_by(c, "carried_of");
    const word keys[2] = {w[3], w[4]}, values[2] = {w[5], w[6]}, out = w[7], kept = w[8], stride = w[9], pass = w[10], rows = w[11];
    const word last = sizeof(Key) - 1, target = (last + 1 - pass) & 1;
    struct pair {
      Key key;
      Carried carried;
      bool operator==(const pair&) const = default;
    };
    const auto source = [&](word j) -> pair {
      if (pass) return {at<const Key>(keys[1 - target])[j], at<const Carried>(values[1 - target])[j]};
      pair p{gpu::sort_key_of_bits(*at<const Key>(key_of[0] + j * key_of[1]), form_of<Key>(w)), 0};
      if (of.size() == 2)
        p.carried = *at<const Carried>(of[0] + j * of[1]);
      else
        p.carried =
            static_cast<Carried>(*at<const std::uint32_t>(of[0] + j * of[1]) | word{*at<const std::uint32_t>(of[2] + j * of[3])} << 32);
      return p;
    };
    std::vector<pair> from(rows), to;
    for (word j = 0; j < rows; ++j) from[j] = source(j);
    std::vector<std::vector<pair>> bins(256);
    for (const pair& p : from) bins[p.key >> 8 * pass & 255].push_back(p);
    for (const auto& bin : bins) to.insert(to.end(), bin.begin(), bin.end());
    for (word j = 0; j < rows; ++j) {
      if (pass < last) {
        at<Key>(keys[target])[j] = to[j].key;
        at<Carried>(values[target])[j] = to[j].carried;
      } else if (j < kept) {
        *at<Key>(out + j * stride + w[13]) = gpu::bits_of_sort_key(to[j].key, form_of<Key>(w));
        if (w.size() == 15)
          *at<Carried>(out + j * stride + w[14]) = to[j].carried;
        else
          *at<std::uint32_t>(out + j * stride + w[14]) = static_cast<std::uint32_t>(to[j].carried),
                                                *at<std::uint32_t>(out + j * stride + w[15]) =
                                                    static_cast<std::uint32_t>(word{to[j].carried} >> 32);
      }
    }
    for (word j = 0; j < rows; ++j) {
      ASSERT_TRUE(source(j) == from[j]) << "pass " << pass << " wrote where it reads, row " << j;
      if (pass == last) continue;
      ASSERT_EQ(at<const Key>(keys[target])[j], to[j].key) << "keys and what they carry meet, row " << j;
      ASSERT_EQ(at<const Carried>(values[target])[j], to[j].carried) << "keys and what they carry meet, row " << j;
    }
  }

  // Keys of which many are equal, negative ones too; what is beside them tells the rows apart.
  template <class Row, class Make> static std::vector<Row> rows_of(Make make) {
    std::vector<Row> rows;
    word x = 1;
    for (std::uint32_t i = 0; i < n; ++i) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      rows.push_back(make(static_cast<std::int32_t>(x >> 40 & 0x1fff) - 4096, i));
    }
    return rows;
  }
  static Wide wide(std::int32_t v, std::uint32_t i) { return {i, v / 8.0}; }
  static Three three(std::int32_t v, std::uint32_t i) { return {i, -static_cast<std::int32_t>(i), v * std::int64_t{1'000'000'007}}; }

  // By what `key` says, both ways, all rows and the first of them; the rows lie in columns, or side by side. How many sorts there were of
  // pairs, and others.
  template <class Row, class Key> std::pair<int, int> sorted_right(const std::vector<Row>& rows, Key key, bool columns) {
    passes_ = others_ = 0;
    const auto from = query::from(rows).as_accelerated().in(*session_);
    const auto check = [&](const auto& q) {
      std::vector<Row> up = rows, down = rows;
      std::stable_sort(up.begin(), up.end(), [&](const Row& a, const Row& b) { return key(a) < key(b); });
      std::stable_sort(down.begin(), down.end(), [&](const Row& a, const Row& b) { return key(b) < key(a); });
      EXPECT_EQ(q.order_by(key).to_vector(), up);
      EXPECT_EQ(q.order_by_descending(key).to_vector(), down);
      up.resize(n / 3);
      EXPECT_EQ(q.order_by(key).take(n / 3).to_vector(), up);
    };
    if (columns)
      check(from.cached());
    else
      check(from);
    return {passes_, others_};
  }

  driver_double fake_;
  int passes_ = 0, others_ = 0;
  std::optional<device> pretended_;
  std::optional<kernel_cache> kernels_;
  std::shared_ptr<query::runtime::engine> engine_;
  std::optional<query::Session> session_;
};

using counts = std::pair<int, int>;

TEST_F(sorted_pairs, four_bytes_beside_eight) {
  const auto key = [](auto r) { return r.value; };
  EXPECT_EQ(sorted_right(rows_of<Wide>(wide), key, true), counts(24, 0));
  EXPECT_EQ(sorted_right(rows_of<Wide>(wide), key, false), counts(24, 0));
}

TEST_F(sorted_pairs, eight_bytes_beside_four) {
  const auto rows = rows_of<Wide>([](std::int32_t v, std::uint32_t i) { return Wide{static_cast<std::uint32_t>(v), -1.5 * i}; });
  EXPECT_EQ(sorted_right(
                rows, [](auto r) { return r.id; }, true),
            counts(12, 0));
  EXPECT_EQ(sorted_right(
                rows, [](auto r) { return r.id; }, false),
            counts(12, 0));
}

TEST_F(sorted_pairs, four_beside_four) {
  const auto rows = rows_of<Narrow>([](std::int32_t v, std::uint32_t i) {
    return Narrow{static_cast<float>(v), static_cast<std::int32_t>(i)};
  });
  EXPECT_EQ(sorted_right(
                rows, [](auto r) { return r.value; }, true),
            counts(12, 0));
  EXPECT_EQ(sorted_right(
                rows, [](auto r) { return r.value; }, false),
            counts(12, 0));
}

// Side by side they are one word; in columns two.
TEST_F(sorted_pairs, two_fields_beside_eight) {
  EXPECT_EQ(sorted_right(
                rows_of<Three>(three), [](auto r) { return r.price; }, true),
            counts(24, 0));
  EXPECT_EQ(sorted_right(
                rows_of<Three>(three), [](auto r) { return r.price; }, false),
            counts(24, 0));
}

// Bytes are carried with those beside them, where these lie there.
TEST_F(sorted_pairs, small_fields_go_in_words) {
  const auto rows = rows_of<Flagged>([](std::int32_t v, std::uint32_t i) {
    return Flagged{v, (i & 1) != 0, static_cast<std::uint16_t>(i)};
  });
  EXPECT_EQ(sorted_right(
                rows, [](auto r) { return r.key; }, false),
            counts(24, 0));
}

// Who carries what it cannot, or for nothing, would lose rows or time: those are sorted by their numbers.
TEST_F(sorted_pairs, other_rows_are_sorted_by_number) {
  const auto q = [&](const auto& rows) { return query::from(rows).as_accelerated().in(*session_); };
  const auto threes = rows_of<Three>(three);
  EXPECT_EQ(q(threes).order_by([](auto r) { return r.amount; }).to_vector().size(), n) << "12 bytes beside the key";
  EXPECT_EQ(others_, 1);
  EXPECT_EQ(q(threes).order_by([](auto r) { return r.price; }).then_by([](auto r) { return r.part; }).to_vector().size(), n);
  EXPECT_EQ(others_, 3) << "two keys";
  const auto flags = rows_of<Flagged>([](std::int32_t v, std::uint32_t) { return Flagged{v, true, 7}; });
  EXPECT_EQ(q(flags).cached().order_by([](auto r) { return r.key; }).to_vector().size(), n);
  EXPECT_EQ(others_, 4) << "columns of one and two bytes";
  session_of(*engine_).carry_from(n + 1);
  EXPECT_EQ(q(threes).order_by([](auto r) { return r.price; }).to_vector().size(), n);
  EXPECT_EQ(others_, 5) << "few rows";
  EXPECT_EQ(passes_, 0);
}

TEST_F(sorted_pairs, keys_that_do_not_tell_their_values_are_not_made_into_rows) {
  for (const double odd : {-0.0, std::nan("")}) {
    others_ = 0;
    auto rows = rows_of<Wide>(wide);
    rows[17].value = odd;
    EXPECT_EQ(query::from(rows).as_accelerated().in(*session_).order_by([](auto r) { return r.value; }).to_vector().size(), n);
    EXPECT_EQ(others_, 1);
    EXPECT_EQ(passes_, 0);
  }
}

// Row numbers take less: rows whose carried words find no room are sorted by them, on the device.
TEST_F(sorted_pairs, without_room_row_numbers_are_sorted) {
  const auto rows = rows_of<Three>(three);
  for (const std::size_t room : {std::size_t{46} * n, std::size_t{56} * n}) {
    others_ = passes_ = 0;
    engine_ = make_engine(*pretended_, {room, 0}, *kernels_);
    query::Session tight(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    tight.add_engine(engine_);
    session_of(*engine_).carry_from(n);
    const auto q = query::from(rows).as_accelerated().in(tight).order_by([](auto r) { return r.price; });
    EXPECT_EQ(q.to_vector().size(), n);
    EXPECT_EQ(others_ + passes_, room == std::size_t{46} * n ? 1 : 8) << q.explain();
  }
}

}  // namespace
