// Brings names, addresses and telephone numbers that people typed into one form, and keeps each person once.
#include <cctype>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "answer.hpp"

struct Contact {
  std::string name, email, phone;
};
QUERY_RECORD(Contact, name, email, phone);

struct Person {
  std::string name, email, domain, phone;
};
QUERY_RECORD(Person, name, email, domain, phone);

// Removes blanks at both ends, and leaves one blank between words.
std::string trimmed(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::string digits(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (std::isdigit(static_cast<unsigned char>(c))) out += c;
  return out;
}

int main() {
  const std::vector<Contact> typed{{"  Ada   Lovelace ", "ADA@Example.com", "(020) 7946-0018"},
                                   {"Grace Hopper", " grace@navy.mil ", "555 0199"},
                                   {"nobody", "none", "-"},
                                   {"Ada Lovelace", "ada@example.COM ", "020 7946 0018"}};

  const auto people = query::from(typed)
      .where([](auto c) { return query::contains(c.email, "@"); })
      .select([](const Contact& c) { return Contact{trimmed(c.name), trimmed(c.email), digits(c.phone)}; })
      .select([](auto c) {
        const auto email = query::to_lower(c.email);
        return query::make<Person>(c.name, email, email.substr(email.find("@") + 1), c.phone);
      })
      .distinct_by([](auto p) { return p.email; }).as_ordered();

  return answer<Person>(people, {{"Ada Lovelace", "ada@example.com", "example.com", "02079460018"},
                                 {"Grace Hopper", "grace@navy.mil", "navy.mil", "5550199"}});
}
