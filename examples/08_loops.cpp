// do_while repeats a query on its own result. The body is called once, to build the plan of a round.
#include <cmath>
#include <iostream>
#include <vector>

#include <query/query.hpp>

struct Account {
  std::int32_t id;
  double balance;
};
QUERY_RECORD(Account, id, balance);

int main() {
  const std::vector<Account> accounts{{1, 1000}, {2, 250}, {3, 4000}};
  const auto add_interest = [](query::Query<Account> a) {
    return a.select([](auto x) { return query::make<Account>(x.id, x.balance * 1.05); });
  };

  // A number of rounds.
  query::from(accounts).do_while(add_interest, query::times(10)).print();

  // A condition on the rows before and after a round, as a query: it runs where the loop runs.
  query::from(accounts)
      .do_while(add_interest,
                [](auto before, auto after) {
                  (void)before;
                  return query::value_of(after.select([](auto x) { return x.balance; })).sum() < 10'000.0;
                })
      .print();

  // The same as a function of this program, which sees the rows. Loops that may not end take a limit of rounds.
  const auto rounds = std::make_shared<int>(0);
  query::from(accounts)
      .do_while(add_interest,
                [rounds](std::span<const Account>, std::span<const Account> after) {
                  ++*rounds;
                  double sum = 0;
                  for (const Account& a : after) sum += a.balance;
                  return sum < 10'000;
                },
                1000)
      .to_vector();
  std::cout << *rounds << " rounds\n";
}
