// The documents that contain each word.
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "answer.hpp"

struct Document {
  std::int32_t id;
  std::string text;
};
QUERY_RECORD(Document, id, text);

struct Entry {
  std::string word;
  std::vector<std::int32_t> documents;
};
QUERY_RECORD(Entry, word, documents);

// Splits a text into words: runs of letters, in lower case.
std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> found;
  bool inside = false;
  for (const char c : text) {
    const bool letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
    if (letter && !inside) found.emplace_back();
    if (letter) found.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    inside = letter;
  }
  return found;
}

int main() {
  const std::vector<Document> documents{{1, "The cat sat."}, {2, "A dog; the dog sat!"}, {3, "Cat and dog"}};

  const auto index = query::from(documents)
      .select_many([](const Document& d) { return words(d.text); }, [](auto d, auto word) { return std::pair(word, d.id); })
      .distinct()
      .order_by([](auto p) { return p.second; })
      .group_by([](auto p) { return p.first; })
      .select([](auto g) { return query::make<Entry>(g.key(), g.collect([](auto p) { return p.second; })); })
      .order_by([](auto e) { return e.word; });

  return answer<Entry>(index, {{"a", {2}}, {"and", {3}}, {"cat", {1, 3}}, {"dog", {2, 3}}, {"sat", {1, 2}}, {"the", {1, 2}}});
}
