// A search form: each field may be empty, and two of them contain a condition and an order that the user typed.
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "answer.hpp"

struct Flat {
  std::string city;
  double rent;
  std::int32_t rooms;
  std::optional<std::int32_t> floor;
};
QUERY_RECORD(Flat, city, rent, rooms, floor);

struct Form {
  std::optional<std::string> city = {};
  std::optional<double> most = {};
  std::string condition = {}, order = {};
};

query::Query<Flat> search(const std::vector<Flat>& flats, const Form& form) {
  query::Query<Flat> found = query::from(flats);
  if (form.city) found = found.where([city = *form.city](auto f) { return f.city == city; });
  if (form.most) found = found.where([most = *form.most](auto f) { return f.rent <= most; });
  if (!form.condition.empty()) found = found.where(form.condition);
  if (!form.order.empty()) found = found.order_by(form.order);
  return found.take(3);
}

int main() {
  const std::vector<Flat> flats{{"Oslo", 900, 2, 3}, {"Bergen", 700, 3, {}}, {"Oslo", 1200, 4, 1},
                                {"Oslo", 850, 1, {}}, {"Oslo", 1000, 3, 5}};

  int failed = answer<Flat>(search(flats, {}), {flats[0], flats[1], flats[2]});
  failed += answer<Flat>(search(flats, {.city = "Oslo", .most = 1000, .order = "rent"}), {flats[3], flats[0], flats[4]});
  failed += answer<Flat>(search(flats, {.condition = "rooms >= 2 and floor is not null", .order = "rooms desc"}),
                         {flats[2], flats[4], flats[0]});
  try {
    search(flats, {.condition = "room > 2"});
    ++failed;
  } catch (const query::text_error& e) {
    std::cout << e.what() << "\n";
    failed += e.position != 0;
  }
  return failed;
}
