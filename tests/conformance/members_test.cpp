// Member functions of records in lambdas, on every engine and for every form of a row: plain, a view (strings), columns.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"

namespace conformance {
namespace members {

struct Box {
  double left, right;
  QUERY_RECORD_MEMBERS(Box, (left, right),
    auto width() const { return right - left; }
    bool holds(const auto& x) const { return left <= x && x < right; }
    bool inside(const auto& box) const { return box.left <= left && right <= box.right; }
    auto clamped(const auto& x) const { if (x < left) return left; if (x > right) return right; return left + (x - left); }
    auto moved(const auto& by) const { return query::make<Box>(left + by, right + by); }
    auto next() const { return moved(1); }
    auto operator+(const auto& box) const { return query::make<Box>(left + box.left, right + box.right); }
    bool operator==(const auto& box) const { return left == box.left && right == box.right; }
  )
};
struct Parcel {
  int id;
  std::string name;
  Box box;
  QUERY_RECORD_MEMBERS(Parcel, (id, name, box),
    auto label_size() const { return name.size() + 1; }
    auto volume() const { return box.width() * id; }
  )
};
// A template describes each of its kinds.
template <int N> struct Vector {
  std::array<float, N> at;
  QUERY_RECORD_MEMBERS(Vector, (at),
    auto total() const { return query::sum(at); }
  )
};
static_assert(std::is_aggregate_v<Box> && sizeof(Box) == 2 * sizeof(double));
static_assert(query::meta<Parcel>::offsets[2] == offsetof(Parcel, box) && query::meta<Vector<3>>::names[0] == "at");

}  // namespace members

namespace {
using members::Box, members::Parcel;

std::vector<Box> boxes() {
  std::vector<Box> v;
  for (int i = 0; i < 3000; ++i) v.push_back({double(i % 13), double(i % 13 + i % 7)});
  return v;
}
std::vector<Parcel> parcels() {
  std::vector<Parcel> v;
  for (const Box& b : boxes()) v.push_back({int(v.size()), std::string(v.size() % 40, 'x'), b});
  return v;
}
// What f gives natively, called by hand.
template <class T, class F> auto by_hand(const std::vector<T>& rows, F f) {
  std::vector<decltype(f(rows[0]))> v;
  for (const T& r : rows) v.push_back(f(r));
  return v;
}

CONFORMS(members, of_records_in_predicates, "where") {
  const auto rows = boxes();
  const Box home{2, 9};
  const auto f = [home](auto b) { return b.inside(home) && b.width() > 2 && b.holds(home.left + 1); };
  const auto q = source(e, rows).where(f);
  EXPECT_EQ(q.explain().find("opaque"), std::string::npos) << q.explain();
  EXPECT_EQ(q.to_vector(), kept(rows, f));
}
CONFORMS(members, of_records_in_projections, "select") {
  const auto rows = boxes();
  const auto f = [](auto b) { return b.clamped(5) + b.next().moved(b.width()).right; };
  EXPECT_EQ(source(e, rows).select(f).to_vector(), by_hand(rows, f));
  const auto g = [home = Box{2, 9}](auto b) { return (b + home).next() + b; };
  EXPECT_EQ(source(e, rows).select(g).to_vector(), by_hand(rows, g));
}
CONFORMS(members, of_records_in_sums_and_keys, "sum", "group_by") {
  const auto rows = boxes();
  double sum = 0;
  for (const Box& b : rows) sum += b.width();
  EXPECT_EQ(source(e, rows).sum([](auto b) { return b.width(); }), sum);
  const auto groups = source(e, rows).group_by([](auto b) { return b.width(); }).select([](auto g) {
    return std::tuple{g.key(), g.max([](auto b) { return b.next().right; })};
  });
  const auto found = groups.to_vector();
  ASSERT_EQ(found.size(), 7u);
  for (const auto& [width, most] : found) EXPECT_EQ(most, 13 + width);
}
CONFORMS(members, of_rows_with_strings, "where", "select") {
  const auto rows = parcels();
  const auto f = [](auto p) { return p.label_size() > 20u && p.box.width() > 3; };
  const auto g = [](auto p) { return p.volume() + p.box.moved(p.id).left; };
  EXPECT_EQ(source(e, rows).where(f).select(g).to_vector(), by_hand(kept(rows, f), g));
}
CONFORMS(members, of_rows_of_columns, "columns") {
  const std::vector<double> left{1, 2, 3}, right{4, 8, 9};
  const auto q = query::from(query::columns<Box>(left, right)).in(e.session);
  EXPECT_EQ(q.select([](auto b) { return b.next().clamped(b.width()); }).to_vector(), (std::vector<double>{3, 6, 6}));
}
CONFORMS(members, of_rows_of_templates, "select") {
  const std::vector<members::Vector<3>> rows{{{1, 2, 3}}, {{4, 5, 6}}};
  EXPECT_EQ(source(e, rows).select([](auto v) { return v.total(); }).to_vector(), (std::vector<float>{6, 15}));
}
TEST(members, leave_records_as_they_were) {
  const Parcel p{1, "a", {2, 3}};
  EXPECT_EQ(p.volume(), 1);
  const auto [left, right] = p.box;
  EXPECT_EQ(right - left, 1);
}

}  // namespace
}  // namespace conformance
