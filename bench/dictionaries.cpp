// Arrow columns of strings that come as codes of dictionaries, beside the same strings as utf8, by 2 threads.
//
//   dictionaries ROWS [FOLDER [QUESTION]]    writes codes and numbers to FOLDER, for bench/dictionaries/peers.py, and answers
//
// A line a question: for strings, then for codes, the milliseconds of the first run, which takes the columns over, the best of three that
// follow, and its processor milliseconds; then the answer, or the sum of the groups' answers, which must be the same.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <query/arrow.hpp>
#include <query/query.hpp>

#include "best_times.hpp"

namespace {

struct sale { std::string few, other, many; std::int64_t n; };
QUERY_RECORD(sale, few, other, many, n);
struct label { std::string item; std::int64_t weight; };
QUERY_RECORD(label, item, weight);
struct total { std::string item; std::int64_t sum; };
QUERY_RECORD(total, item, sum);
struct pair_total { std::string few, other; std::int64_t sum; };
QUERY_RECORD(pair_total, few, other, sum);
struct weighted { std::int64_t sum; };
QUERY_RECORD(weighted, sum);

const auto n_of = [](auto s) { return s.n; };
const auto sum_of = [](auto s) { return s.sum; };
const auto item = [](auto s) { return s.item; };
const auto many = [](auto s) { return s.many; };

// ---------------------------------------------------------------- Arrow arrays over vectors that outlive them
struct strings {
  std::vector<std::int32_t> ends{0};
  std::vector<char> characters;
  void add(const std::string& s) {
    characters.insert(characters.end(), s.begin(), s.end());
    ends.push_back(static_cast<std::int32_t>(characters.size()));
  }
  std::size_t size() const { return ends.size() - 1; }
};

struct exported {
  struct one {
    ArrowArray array{};
    ArrowSchema schema{};
    const void* buffers[3] = {};
  };
  one columns[4], entries[3], whole;
  ArrowArray* arrays[4];
  ArrowSchema* schemas[4];

  static void fill(one& to, const char* format, const char* name, std::size_t rows, const void* values, const void* characters = nullptr) {
    to.buffers[1] = values;
    to.buffers[2] = characters;
    to.array = {.length = static_cast<std::int64_t>(rows), .null_count = 0, .offset = 0, .n_buffers = characters ? 3 : 2, .n_children = 0,
                .buffers = to.buffers, .children = nullptr, .dictionary = nullptr, .release = nullptr, .private_data = nullptr};
    to.schema = {.format = format, .name = name, .metadata = nullptr, .flags = 0, .n_children = 0, .children = nullptr,
                 .dictionary = nullptr, .release = nullptr, .private_data = nullptr};
  }
  auto query(std::size_t rows) {
    for (int c = 0; c < 4; ++c) arrays[c] = &columns[c].array, schemas[c] = &columns[c].schema;
    whole.array = {.length = static_cast<std::int64_t>(rows), .null_count = 0, .offset = 0, .n_buffers = 1, .n_children = 4,
                   .buffers = whole.buffers, .children = arrays, .dictionary = nullptr,
                   .release = [](ArrowArray* a) { a->release = nullptr; }, .private_data = nullptr};
    whole.schema = {.format = "+s", .name = "", .metadata = nullptr, .flags = 0, .n_children = 4, .children = schemas,
                    .dictionary = nullptr, .release = [](ArrowSchema* s) { s->release = nullptr; }, .private_data = nullptr};
    return query::from_arrow<sale>(&whole.array, &whole.schema);
  }
};

struct table {
  static constexpr const char* names[3] = {"few", "other", "many"};
  static constexpr std::size_t entries[3] = {100, 100, 100'000};
  std::size_t rows;
  strings dictionaries[3], values[3];
  std::vector<std::int32_t> codes[3];
  std::vector<std::int64_t> n;

  explicit table(std::size_t of) : rows(of) {
    std::uint64_t x = 88172645463325252u;
    for (int c = 0; c < 3; ++c) {
      std::vector<std::string> all;
      for (std::size_t e = 0; e < entries[c]; ++e) {
        std::string number = std::to_string(e + 1);
        number.insert(0, (c == 2 ? 10 : 3) - number.size(), '0');
        all.push_back("id" + number);
        dictionaries[c].add(all.back());
      }
      for (std::size_t r = 0; r < rows; ++r) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        codes[c].push_back(static_cast<std::int32_t>(x % entries[c]));
        values[c].add(all[static_cast<std::size_t>(codes[c].back())]);
      }
    }
    for (std::size_t r = 0; r < rows; ++r) n.push_back(static_cast<std::int64_t>(r * 7919 % 100));
  }

  auto of_codes(exported& e) const {
    for (int c = 0; c < 3; ++c) {
      const strings& d = dictionaries[c];
      exported::fill(e.entries[c], "u", "", d.size(), d.ends.data(), d.characters.data());
      exported::fill(e.columns[c], "i", names[c], rows, codes[c].data());
      e.columns[c].array.dictionary = &e.entries[c].array;
      e.columns[c].schema.dictionary = &e.entries[c].schema;
    }
    exported::fill(e.columns[3], "l", "n", rows, n.data());
    return e.query(rows);
  }
  auto of_strings(exported& e) const {
    for (int c = 0; c < 3; ++c) exported::fill(e.columns[c], "u", names[c], rows, values[c].ends.data(), values[c].characters.data());
    exported::fill(e.columns[3], "l", "n", rows, n.data());
    return e.query(rows);
  }
};

// ---------------------------------------------------------------- questions
template <class F> double ms_of(F f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

constexpr int rounds = 3;
std::string wanted;  // empty: all

template <class Ask> void answer(const char* name, const table& t, const query::Session& session, Ask ask) {
  if (!wanted.empty() && wanted != name) return;
  std::int64_t answers[2];
  double first[2], later[2], processor[2];
  for (int coded = 0; coded < 2; ++coded) {
    exported e;
    const auto q = (coded ? t.of_codes(e) : t.of_strings(e)).in(session);
    first[coded] = ms_of([&] { answers[coded] = ask(q); });
    later[coded] = processor[coded] = 1e9;
    for (int round = 0; round < rounds; ++round) {
      const double begun = bench::processor_ms();
      later[coded] = std::min(later[coded], ms_of([&] { answers[coded] = ask(q); }));
      processor[coded] = std::min(processor[coded], bench::processor_ms() - begun);
    }
  }
  std::printf("%-18s strings %7.1f %7.1f %7.1f ms, codes %7.1f %7.1f %7.1f ms, answer %lld\n", name, first[0], later[0], processor[0],
              first[1], later[1], processor[1], static_cast<long long>(answers[1]));
  if (answers[0] == answers[1]) return;
  std::printf("%s: the answers differ\n", name);
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const table t(argc > 1 ? std::stoul(argv[1]) : 10'000'000);
  if (argc > 3) wanted = argv[3];
  if (argc > 2 && *argv[2]) {
    const auto write = [&](const std::string& name, const auto& values) {
      std::ofstream file(std::string(argv[2]) + "/" + name, std::ios::binary);
      file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof values[0]));
    };
    for (int c = 0; c < 3; ++c) write(table::names[c], t.codes[c]);
    write("n", t.n);
  }
  std::vector<label> labels;
  for (std::size_t e = 0; e < table::entries[2]; e += 2) {
    const auto& d = t.dictionaries[2];
    const auto begin = static_cast<std::size_t>(d.ends[e]);
    const auto size = static_cast<std::size_t>(d.ends[e + 1]) - begin;
    labels.push_back({std::string(d.characters.data() + begin, size), static_cast<std::int64_t>(e % 10)});
  }
  const query::Session session({.threads = 2, .gpu = query::gpu_use::off});
  answer("group 100", t, session, [](const auto& q) {
    return q.group_by([](auto s) { return s.few; }).select([](auto g) { return query::make<total>(g.key(), g.sum(n_of)); }).sum(sum_of);
  });
  answer("group 100 x 100", t, session, [](const auto& q) {
    return q.group_by([](auto s) { return std::tuple(s.few, s.other); }).select([](auto g) {
      return query::make<pair_total>(std::get<0>(g.key()), std::get<1>(g.key()), g.sum(n_of));
    }).sum(sum_of);
  });
  answer("group 100,000", t, session, [](const auto& q) {
    return q.group_by(many).select([](auto g) { return query::make<total>(g.key(), g.sum(n_of)); }).sum(sum_of);
  });
  answer("equals, sum", t, session, [](const auto& q) { return q.where([](auto s) { return s.few == "id042"; }).sum(n_of); });
  answer("prefix, sum", t, session, [](const auto& q) { return q.where([](auto s) { return s.many.starts_with("id000000"); }).sum(n_of); });
  answer("equals, count", t, session, [](const auto& q) { return q.where([](auto s) { return s.many == "id0000000042"; }).count(); });
  answer("join 50,000", t, session, [&](const auto& q) {
    return q.join(query::from(labels), many, item, [](auto s, auto l) { return query::make<weighted>(s.n * l.weight); }).sum(sum_of);
  });
  answer("semi join 50,000", t, session, [&](const auto& q) { return q.semi_join(query::from(labels), many, item).sum(n_of); });
  answer("distinct 100,000", t, session, [](const auto& q) { return q.select(many).distinct().count(); });
}
