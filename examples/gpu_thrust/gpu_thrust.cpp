// apply with a form for the GPU: Thrust adds up a column where it lies. Only running_totals.cu is compiled by nvcc.
#include <cmath>
#include <iostream>
#include <span>
#include <vector>

#include <query/query.hpp>

#include "running_totals.hpp"

struct Payment {
  std::int32_t account;
  double amount;
};
QUERY_RECORD(Payment, account, amount);

int main() {
  std::vector<Payment> payments;
  for (int i = 0; i < 300'000; ++i) payments.push_back({i % 100, static_cast<double>(i % 17) / 4});

  const query::Session session;
  const query::Query<double> either = query::from(payments)
                                          .in(session)
                                          .as_accelerated()
                                          .where([](auto p) { return p.account != 13; })
                                          .apply_all(
                                              [](std::span<const Payment> rows) {
                                                std::vector<double> totals;
                                                double sum = 0;
                                                for (const Payment& p : rows) totals.push_back(sum += p.amount);
                                                return totals;
                                              },
                                              query::on_gpu([](auto& rows) {
                                                running_totals(rows.column(&Payment::amount), rows.size(), rows.results(rows.size()),
                                                               rows.stream());
                                              }));
  // So few rows would stay on the CPU: to show the other form they are ordered to the GPU, where there is one.
  const query::Query<double> balances = session.gpu_status().empty() ? either.on(query::engine::gpu) : either;
  std::cout << balances.explain();
  const auto there = balances.to_vector(), here = balances.on(query::engine::cpu).to_vector();
  if (there.size() != here.size()) return 1;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < here.size(); ++i)
    if (!(std::abs(there[i] - here[i]) <= 1e-9 * here[i])) ++wrong;  // Thrust adds in another order
  std::cout << there.size() << " totals, in the end " << there.back() << "; " << wrong << " of them not the CPU's\n";
  return wrong == 0 ? 0 : 1;  // on(engine::gpu) would have thrown, had it not been the GPU
}
