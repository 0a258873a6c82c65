// Divides a web log into sessions: a session of a user ends when 30 minutes pass without a hit.
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

#include "answer.hpp"

struct Hit {
  std::string user;
  std::int64_t time;  // in seconds
  std::string page;
};
QUERY_RECORD(Hit, user, time, page);

struct Visit {
  std::string user;
  std::int64_t time, session;
};
QUERY_RECORD(Visit, user, time, session);

struct Session {
  std::string user;
  std::int64_t session, hits, seconds;
};
QUERY_RECORD(Session, user, session, hits, seconds);

int main() {
  const std::vector<Hit> log{{"ada", 100, "/"},      {"bob", 150, "/"},      {"ada", 160, "/cart"}, {"ada", 1960, "/pay"},
                             {"bob", 1951, "/help"}, {"ada", 9000, "/"},     {"bob", 2000, "/"},    {"eve", 5, "/"}};
  const auto user = [](auto h) { return h.user; };
  const auto time = [](auto h) { return h.time; };

  const auto sessions = query::from(log)
      .over(user).order_by(time).select([time](auto h, auto w) {
        const auto before = w.lag(time);
        return query::make<Visit>(h.user, h.time, !before || h.time - *before > 30 * 60 ? 1 : 0);  // 1: a session begins
      })
      .over(user).order_by(time).select([](auto v, auto w) {
        return query::make<Visit>(v.user, v.time, w.cum_sum([](auto u) { return u.session; }));
      })
      .group_by([](auto v) { return std::tuple(v.user, v.session); }).select([time](auto g) {
        const auto [name, session] = g.key();
        return query::make<Session>(name, session, g.count(), g.max(time) - g.min(time));
      }).order_by([](auto s) { return std::tuple(s.user, s.session); });

  return answer<Session>(sessions, {{"ada", 1, 3, 1860}, {"ada", 2, 1, 0}, {"bob", 1, 1, 0}, {"bob", 2, 2, 49}, {"eve", 1, 1, 0}});
}
