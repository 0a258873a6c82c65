// order_by through the public API, against std::stable_sort.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <query/query.hpp>

namespace query::tests {

struct Track {
  int artist;
  std::string title;
  double seconds;
  std::optional<int> year;
};
QUERY_RECORD(Track, artist, title, seconds, year);

namespace {

std::vector<Track> some_tracks(std::size_t n) {
  std::mt19937 random(7);
  std::vector<Track> tracks;
  for (std::size_t i = 0; i < n; ++i)
    tracks.push_back({static_cast<int>(random() % 50), "a title of some length, number " + std::to_string(random() % 1000),
                      static_cast<double>(random() % 4096) / 16 - 100,
                      random() % 5 ? std::optional<int>(static_cast<int>(random() % 60)) : std::nullopt});
  return tracks;
}
bool same(const std::vector<Track>& a, const std::vector<Track>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Track& x, const Track& y) {
    return x.artist == y.artist && x.title == y.title && x.seconds == y.seconds && x.year == y.year;
  });
}
template <class Less> std::vector<Track> sorted(std::vector<Track> rows, Less less) {
  std::stable_sort(rows.begin(), rows.end(), less);
  return rows;
}

class order_by : public ::testing::TestWithParam<std::size_t> {
 protected:
  std::vector<Track> tracks = some_tracks(GetParam());
};

TEST_P(order_by, a_field_is_stable) {
  const auto rows = from(tracks).order_by([](const auto& t) { return t.artist; }).to_vector();
  EXPECT_TRUE(same(rows, sorted(tracks, [](const Track& a, const Track& b) { return a.artist < b.artist; })));
}

TEST_P(order_by, several_keys_and_directions) {
  const auto rows = from(tracks)
                        .order_by([](const auto& t) { return t.artist; })
                        .then_by_descending([](const auto& t) { return t.seconds; })
                        .then_by([](const auto& t) { return t.title; })
                        .to_vector();
  EXPECT_TRUE(same(rows, sorted(tracks, [](const Track& a, const Track& b) {
    if (a.artist != b.artist) return a.artist < b.artist;
    if (a.seconds != b.seconds) return a.seconds > b.seconds;
    return a.title < b.title;
  })));
}

TEST_P(order_by, a_computed_key_descending) {
  const auto rows = from(tracks).order_by_descending([](const auto& t) { return t.seconds * t.artist; }).to_vector();
  EXPECT_TRUE(same(rows, sorted(tracks, [](const Track& a, const Track& b) { return a.seconds * a.artist > b.seconds * b.artist; })));
}

TEST_P(order_by, nulls_stay_where_they_are_asked_to_be) {
  const auto before = [](bool nulls_first) {
    return [nulls_first](const Track& a, const Track& b) {
      if (a.year.has_value() != b.year.has_value()) return a.year.has_value() != nulls_first;
      return a.year && *a.year > *b.year;
    };
  };
  const auto year = [](const auto& t) { return t.year; };
  EXPECT_TRUE(same(from(tracks).order_by_descending(year).to_vector(), sorted(tracks, before(false))));
  EXPECT_TRUE(same(from(tracks).order_by_descending(year, nulls::first).to_vector(), sorted(tracks, before(true))));
}

TEST_P(order_by, the_users_own_order_then_a_key) {
  const auto by_length = [](const std::string& a, const std::string& b) { return a.size() < b.size(); };
  const auto rows =
      from(tracks).order_by([](const Track& t) { return t.title; }, by_length).then_by([](const auto& t) { return t.artist; }).to_vector();
  EXPECT_TRUE(same(rows, sorted(tracks, [](const Track& a, const Track& b) {
    if (a.title.size() != b.title.size()) return a.title.size() < b.title.size();
    return a.artist < b.artist;
  })));
}

TEST_P(order_by, take_gives_the_first_of_the_order) {
  const auto all = sorted(tracks, [](const Track& a, const Track& b) { return a.seconds < b.seconds; });
  for (const std::size_t k : {0u, 1u, 10u, 5000u, 40000u}) {
    const auto rows = from(tracks).order_by([](const auto& t) { return t.seconds; }).take(k).to_vector();
    EXPECT_TRUE(same(rows, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(k, all.size()))})) << k;
  }
}

TEST_P(order_by, take_of_filtered_rows_gives_the_first_of_the_order) {
  std::vector<Track> kept;
  std::copy_if(tracks.begin(), tracks.end(), std::back_inserter(kept), [](const Track& t) { return t.artist % 2 == 1; });
  const auto all = sorted(kept, [](const Track& a, const Track& b) { return a.artist > b.artist; });
  for (const std::size_t k : {1u, 100u, 3000u}) {
    const auto rows = from(tracks)
                          .where([](const auto& t) { return t.artist % 2 == 1; })
                          .order_by_descending([](const auto& t) { return t.artist; })
                          .take(k)
                          .to_vector();
    EXPECT_TRUE(same(rows, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(k, all.size()))})) << k;
  }
}

TEST_P(order_by, numbers_are_their_own_keys) {
  std::vector<double> values;
  for (const Track& t : tracks) values.push_back(t.seconds);
  if (values.size() > 2) values[1] = std::numeric_limits<double>::quiet_NaN();
  const auto up = from(values).order().to_vector();
  const auto down = from(values).order_descending().to_vector();
  ASSERT_EQ(up.size(), values.size());
  const auto less = [](double a, double b) { return !std::isnan(a) && (std::isnan(b) || a < b); };
  EXPECT_TRUE(std::is_sorted(up.begin(), up.end(), less));
  EXPECT_TRUE(std::is_sorted(down.rbegin(), down.rend(), less));
}

INSTANTIATE_TEST_SUITE_P(rows, order_by,
                         ::testing::Values(std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{1000}, std::size_t{200000}));

TEST(order_by_form, interpreted_keys_give_the_same_order) {
  session_options options;
  options.interpret = true;
  const Session session(options);
  const auto tracks = some_tracks(3000);
  const auto key = [](const auto& t) { return t.seconds + t.artist; };
  EXPECT_TRUE(same(from(tracks).in(session).order_by(key).to_vector(), from(tracks).order_by(key).to_vector()));
}

}  // namespace
}  // namespace query::tests
