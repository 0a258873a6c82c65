// BM25F: the best documents for each of several searches; words in a title count more than words in a body.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "../example_data.hpp"
#include "program.hpp"

// One field of a document: 0 is its title, 1 its body. Words are separated by single spaces.
struct Field {
  std::int32_t document, field;
  std::string text;
};
QUERY_RECORD(Field, document, field, text);

struct Words {
  std::int32_t document, field;
  std::vector<std::string> words;
};
QUERY_RECORD(Words, document, field, words);

struct Term {
  std::int32_t search;
  std::string word;
};
QUERY_RECORD(Term, search, word);

struct Token {
  std::string word;
  std::int32_t document;
  double weight;
};
QUERY_RECORD(Token, word, document, weight);

struct Frequent {
  std::string word;
  double documents;
};
QUERY_RECORD(Frequent, word, documents);

struct Hit {
  std::int32_t search, document;
  double score;
};
QUERY_RECORD(Hit, search, document, score);

constexpr std::array<double, 2> weight{5.0, 1.0}, b{0.5, 0.75};
constexpr double k1 = 1.2;
constexpr int best = 10;

// query:begin
query::Query<Hit> search(const query::Query<Field>& fields, const query::Query<Term>& terms, double documents) {
  const auto word = [](auto x) { return x.word; };
  const auto words = fields.select([](auto f) {
    return query::make<Words>(f.document, f.field, query::split(f.text, ' '));
  });
  const auto lengths = query::broadcast(words.group_by([](auto w) { return w.field; })
      .select([](auto g) { return std::pair(g.key(), g.mean([](auto w) { return w.words.size(); })); })
      .order_by([](auto l) { return l.first; }));
  const auto weights = query::broadcast(weight), bs = query::broadcast(b);
  const auto token = [lengths, weights, bs](auto w, auto word) {
    const auto length = query::cast<double>(w.words.size()) / lengths[w.field].second;
    return query::make<Token>(word, w.document, weights[w.field] / (1 - bs[w.field] + bs[w.field] * length));
  };
  const auto postings = words.select_many([](const auto& w) -> const auto& { return w.words; }, token)
      .semi_join(terms, word, word)
      .group_by([](auto t) { return std::pair(t.word, t.document); })
      .select([](auto g) {
        return query::make<Token>(g.key().first, g.key().second, g.sum([](auto t) { return t.weight; }));
      });
  const auto frequencies = postings.group_by(word).select([](auto g) {
    return query::make<Frequent>(g.key(), g.count());
  });
  return postings.join(frequencies, word, word)
      .join(terms, [](auto p) { return p.first.word; }, word, [documents](auto p, auto t) {
        const auto [posting, frequent] = p;
        const auto rarity = query::log(1 + (documents - frequent.documents + 0.5) / (frequent.documents + 0.5));
        return query::make<Hit>(t.search, posting.document, rarity * posting.weight / (k1 + posting.weight));
      })
      .group_by([](auto h) { return std::pair(h.search, h.document); })
      .select([](auto g) {
        return query::make<Hit>(g.key().first, g.key().second, g.sum([](auto h) { return h.score; }));
      })
      .group_by([](auto h) { return h.search; })
      .top(best, [](auto h) { return std::pair(h.score, -h.document); })
      .order_by([](auto h) { return h.search; })
      .then_by_descending([](auto h) { return h.score; })
      .then_by([](auto h) { return h.document; });
}
// query:end

// loop:begin
template <class F> std::int64_t each_word(const std::string& text, const F& f) {
  std::int64_t n = 0;
  for (std::size_t begin = 0; begin <= text.size(); ++n) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    f(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  return n;
}

std::vector<Hit> search_by_hand(const std::vector<Field>& fields, const std::vector<Term>& terms, double documents) {
  std::array<double, 2> total{}, count{};
  std::vector<double> length;
  for (const Field& f : fields) {
    length.push_back(static_cast<double>(each_word(f.text, [](std::string_view) {})));
    total[f.field] += length.back();
    ++count[f.field];
  }
  std::unordered_map<std::string_view, std::unordered_map<std::int32_t, double>> postings;
  for (const Term& t : terms) postings[t.word];
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field& f = fields[i];
    const double relative = length[i] / (total[f.field] / count[f.field]);
    const double each = weight[f.field] / (1 - b[f.field] + b[f.field] * relative);
    each_word(f.text, [&](std::string_view word) {
      const auto found = postings.find(word);
      if (found != postings.end()) found->second[f.document] += each;
    });
  }
  std::map<std::int32_t, std::unordered_map<std::int32_t, double>> scores;
  for (const Term& t : terms) {
    const auto& of_word = postings[t.word];
    const double n = static_cast<double>(of_word.size()), rarity = std::log(1 + (documents - n + 0.5) / (n + 0.5));
    for (const auto& [document, w] : of_word) scores[t.search][document] += rarity * w / (k1 + w);
  }
  std::vector<Hit> hits;
  for (const auto& [search, of_document] : scores) {
    std::vector<Hit> all;
    for (const auto& [document, score] : of_document) all.push_back({search, document, score});
    const auto end = all.begin() + std::min<std::ptrdiff_t>(best, std::ssize(all));
    std::partial_sort(all.begin(), end, all.end(), [](const Hit& x, const Hit& y) {
      return x.score != y.score ? x.score > y.score : x.document < y.document;
    });
    hits.insert(hits.end(), all.begin(), end);
  }
  return hits;
}
// loop:end

// Equal scores may differ in the last bit, as their sums add up in another order; then either document may come first.
bool same(const std::vector<Hit>& a, const std::vector<Hit>& b) {
  if (a.size() != b.size()) return false;
  const auto tied = [&](std::size_t i, std::size_t j) { return paper::near(a[i].score, a[j].score, 1e-9); };
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].search != b[i].search || !paper::near(a[i].score, b[i].score, 1e-9)) return false;
    if (a[i].document == b[i].document) continue;
    const bool is_first = i == 0 || a[i - 1].search != a[i].search, is_last = i + 1 == a.size() || a[i + 1].search != a[i].search;
    if (!is_last && !tied(i, i + 1) && (is_first || !tied(i, i - 1))) return false;  // the document after the last one is not known
  }
  return true;
}

struct documents {
  std::vector<Field> fields;
  std::vector<Term> terms;
};

// Documents of 50,000 words by Zipf's law: the word of rank r occurs about 1 / r as often as the first.
documents some_documents(std::int64_t n) {
  paper::random random(7);
  const auto some_words = [&](std::int64_t count) {
    std::string text;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto rank = static_cast<std::int64_t>(std::exp(random.uniform() * std::log(50'000.0)));
      text += (i ? " word" : "word") + std::to_string(rank);
    }
    return text;
  };
  documents all;
  for (std::int32_t d = 0; d < n; ++d) {
    all.fields.push_back({d, 0, some_words(2 + random.below(7))});
    all.fields.push_back({d, 1, some_words(10 + random.below(50))});
  }
  for (std::int32_t search = 0; search < 16; ++search)
    for (const std::int32_t rank : {3 + search, 40 + 7 * search, 300 + 11 * search})
      all.terms.push_back({search, "word" + std::to_string(rank)});
  return all;
}

struct Package {
  std::string name, section, description;
};
QUERY_RECORD(Package, name, section, description);

// Letters and digits, the letters in lower case, with one space between words.
std::string words_of(const std::string& text) {
  std::string words;
  for (const char c : text) {
    const bool upper = c >= 'A' && c <= 'Z', in_word = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (in_word) words += upper ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!words.empty() && words.back() != ' ') words += ' ';
  }
  if (!words.empty() && words.back() == ' ') words.pop_back();
  return words;
}

// The packages of Debian: a title is a name, a body a section and a description.
documents debian_packages() {
  documents all;
  for (const Package& p : query::read_csv<Package>(example_data("debian_packages.csv")).to_vector()) {
    const auto d = static_cast<std::int32_t>(all.fields.size() / 2);
    all.fields.push_back({d, 0, words_of(p.name)});
    all.fields.push_back({d, 1, words_of(p.section + " " + p.description)});
  }
  std::int32_t search = 0;
  for (const char* const of_words :
       {"text editor", "web server", "python library", "image viewer", "music player", "mail client", "fonts japanese",
        "game strategy", "database server", "version control", "compiler", "terminal emulator", "desktop environment",
        "video converter", "kernel headers", "documentation perl"}) {
    each_word(of_words, [&](std::string_view word) { all.terms.push_back({search, std::string(word)}); });
    ++search;
  }
  return all;
}

int main(int argc, char** argv) {
  const paper::options o = paper::read("bm25", std::span(argv, static_cast<std::size_t>(argc)),
                                       {{"test", 500},
                                        {"small", 1 << 18},
                                        {"middle", 1 << 19},
                                        {"large", 1 << 20},
                                        {"real", 63'436}});
  const documents all = o.size == "real" ? debian_packages() : some_documents(o.rows);
  const std::vector<Field>& fields = all.fields;
  const std::vector<Term>& terms = all.terms;
  if (!o.folder.empty()) {
    query::from(fields).write_json_lines(o.folder + "/fields.json");
    query::from(terms).write_json_lines(o.folder + "/terms.json");
  }
  const auto n = static_cast<double>(o.rows);
  return paper::run(
      o, [&] { return search_by_hand(fields, terms, n); },
      [&](const paper::way& on) {
        return search(on.rows(fields), on.rows(terms), n);
      },
      same);
}
