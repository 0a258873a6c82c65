// A service that answers requests. Each has a deadline, a client that may hang up, and a condition that may be invalid.
#include <atomic>
#include <cstdint>
#include <iostream>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <query/query.hpp>

struct Sale {
  std::string city;
  std::int64_t amount;
};
QUERY_RECORD(Sale, city, amount);

struct Reply {
  int status;  // an HTTP status code
  std::int64_t amount = 0;
};

// Computes the total amount of all sales that satisfy the condition.
Reply serve(const query::Session& session, const query::Query<Sale>& sales, const std::string& condition, double seconds,
            std::stop_token client) {
  try {
    return {200, sales.where(condition).in(session).timeout(seconds).stop_on(client).sum([](auto s) { return s.amount; })};
  } catch (const query::cancelled& e) {
    std::cout << e.what() << "\n";
    return {client.stop_requested() ? 499 : 504};
  } catch (const query::resource_error& e) {
    std::cout << e.what() << "\n";
    return {503};
  } catch (const query::user_error& e) {
    std::cout << e.what() << "\n";
    return {400};
  }
}

int main() {
  const query::Session session({.threads = 2, .memory_limit = std::size_t{256} << 20, .checked = true});
  const std::vector<Sale> sales{{"Oslo", 10}, {"Bergen", 5}, {"Oslo", 22}};
  const auto rows = query::from(sales);
  std::atomic<bool> running = false;
  const auto endless = query::generate([&running] {  // a query over these rows ends only when it is stopped
    running = true;
    return std::optional(Sale{"Oslo", 1});
  });

  const Reply good = serve(session, rows, "city = 'Oslo'", 60, {});
  const Reply wrong = serve(session, rows, "town = 'Oslo'", 60, {});
  const Reply divided = serve(session, rows, "100 / (amount - 5) > 5", 60, {});
  const Reply late = serve(session, endless, "amount > 0", 0.05, {});

  std::stop_source client;
  running = false;
  std::jthread hang_up([&] {
    while (!running) std::this_thread::yield();
    client.request_stop();
  });
  const Reply gone = serve(session, endless, "amount > 0", 60, client.get_token());

  const bool right = good.status == 200 && good.amount == 32 && wrong.status == 400 && divided.status == 400 && late.status == 504 &&
                     gone.status == 499;
  return right ? 0 : 1;
}
