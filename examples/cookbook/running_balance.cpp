// The balance of each account after each booking, and the bookings that first overdrew an account.
#include <string>
#include <vector>

#include <query/query.hpp>

#include "answer.hpp"

struct Booking {
  std::string account, day;
  std::int64_t cents;
};
QUERY_RECORD(Booking, account, day, cents);

struct Balance {
  std::string account, day;
  std::int64_t cents, balance;
};
QUERY_RECORD(Balance, account, day, cents, balance);

int main() {
  const std::vector<Booking> bookings{{"A1", "2026-01-02", 5000}, {"B2", "2026-01-02", 100}, {"A1", "2026-01-09", -7000},
                                      {"A1", "2026-01-05", 1000}, {"B2", "2026-01-07", -50}, {"A1", "2026-01-10", -1}};

  const auto balances = query::from(bookings)
      .over([](auto b) { return b.account; }).order_by([](auto b) { return b.day; })
      .select([](auto b, auto w) {
        return query::make<Balance>(b.account, b.day, b.cents, w.cum_sum([](auto x) { return x.cents; }));
      })
      .order_by([](auto b) { return b.account; }).then_by([](auto b) { return b.day; });
  const auto overdrawn = balances.where([](auto b) { return b.balance < 0; }).over([](auto b) { return b.account; }).take(1);

  return answer<Balance>(balances, {{"A1", "2026-01-02", 5000, 5000}, {"A1", "2026-01-05", 1000, 6000}, {"A1", "2026-01-09", -7000, -1000},
                                    {"A1", "2026-01-10", -1, -1001}, {"B2", "2026-01-02", 100, 100}, {"B2", "2026-01-07", -50, 50}}) +
         answer<Balance>(overdrawn, {{"A1", "2026-01-09", -7000, -1000}});
}
