// Arrow data by hand: columns that are exported as a producer would, with a count of what has not been released.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <query/arrow.hpp>

namespace arrow_fixture {

inline std::atomic<int> alive = 0;  // structs that have not been released

struct column {
  std::string format, name;
  std::int64_t length = 0, null_count = 0, offset = 0;
  std::vector<std::shared_ptr<std::vector<std::byte>>> buffers;  // null: a null pointer
  std::vector<column> children;
  std::shared_ptr<column> dictionary;

  column named(std::string n) && {
    name = std::move(n);
    return std::move(*this);
  }
  column slice(std::int64_t from, std::int64_t n) && {
    offset += from;
    length = n;
    return std::move(*this);
  }
};

template <class T> std::shared_ptr<std::vector<std::byte>> buffer(const std::vector<T>& values) {
  auto b = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(b->data(), values.data(), b->size());
  return b;
}
inline std::shared_ptr<std::vector<std::byte>> bits(const std::vector<bool>& values) {
  auto b = std::make_shared<std::vector<std::byte>>((values.size() + 7) / 8);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i]) (*b)[i / 8] |= std::byte{1} << (i % 8);
  return b;
}
inline column with_nulls(column c, const std::vector<bool>& there, std::int64_t count = -1) {
  c.buffers[0] = bits(there);
  c.null_count = count;
  return c;
}

template <class T> column numbers(const char* format, const std::vector<T>& values) {
  return {format, "", static_cast<std::int64_t>(values.size()), 0, 0, {nullptr, buffer(values)}, {}, nullptr};
}
inline column bools(const std::vector<bool>& values) {
  return {"b", "", static_cast<std::int64_t>(values.size()), 0, 0, {nullptr, bits(values)}, {}, nullptr};
}
template <class Offset> column texts(const std::vector<std::string>& values) {
  std::vector<Offset> ends{0};
  std::vector<char> characters;
  for (const std::string& s : values) {
    characters.insert(characters.end(), s.begin(), s.end());
    ends.push_back(static_cast<Offset>(characters.size()));
  }
  const auto n = static_cast<std::int64_t>(values.size());
  return {sizeof(Offset) == 4 ? "u" : "U", "", n, 0, 0, {nullptr, buffer(ends), buffer(characters)}, {}, nullptr};
}
// Long strings in two buffers by turns.
inline column text_views(const std::vector<std::string>& values) {
  std::vector<char> characters[2], views;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& s = values[i];
    char view[16] = {};
    const auto size = static_cast<std::int32_t>(s.size());
    std::memcpy(view, &size, 4);
    if (s.size() <= 12) {
      std::memcpy(view + 4, s.data(), s.size());
    } else {
      const auto which = static_cast<std::int32_t>(i % 2), begin = static_cast<std::int32_t>(characters[which].size());
      std::memcpy(view + 4, s.data(), 4);
      std::memcpy(view + 8, &which, 4);
      std::memcpy(view + 12, &begin, 4);
      characters[which].insert(characters[which].end(), s.begin(), s.end());
    }
    views.insert(views.end(), view, view + 16);
  }
  const std::vector<std::int64_t> sizes{static_cast<std::int64_t>(characters[0].size()), static_cast<std::int64_t>(characters[1].size())};
  return {"vu", "", static_cast<std::int64_t>(values.size()), 0, 0,
          {nullptr, buffer(views), buffer(characters[0]), buffer(characters[1]), buffer(sizes)}, {}, nullptr};
}
template <class Index> column dictionary(const char* format, const std::vector<Index>& keys, column values) {
  column c = numbers(format, keys);
  c.dictionary = std::make_shared<column>(std::move(values));
  return c;
}
inline column structure(std::int64_t n, std::vector<column> children) {
  return {"+s", "", n, 0, 0, {nullptr}, std::move(children), nullptr};
}
// An array of nulls has no buffers.
inline column all_null(std::int64_t n) { return {"n", "", n, n, 0, {}, {}, nullptr}; }
template <class Offset> column lists(const std::vector<Offset>& begins, column child) {
  return {sizeof(Offset) == 4 ? "+l" : "+L", "", static_cast<std::int64_t>(begins.size()) - 1, 0, 0, {nullptr, buffer(begins)},
          {std::move(child)}, nullptr};
}
inline column fixed_lists(std::int64_t count, std::int64_t n, column child) {
  return {"+w:" + std::to_string(count), "", n, 0, 0, {nullptr}, {std::move(child)}, nullptr};
}

template <class S> struct held {
  std::shared_ptr<const column> of;
  std::vector<S> children;
  std::vector<S*> child_pointers;
  S dictionary{};
  std::vector<const void*> buffers;
};
template <class S> void release(S* s) {
  auto* const h = static_cast<held<S>*>(s->private_data);
  for (S& c : h->children)
    if (c.release) c.release(&c);
  if (h->dictionary.release) h->dictionary.release(&h->dictionary);
  s->release = nullptr;
  delete h;
  --alive;
}
template <class S> held<S>* hold(const std::shared_ptr<const column>& c, S& to) {
  auto* const h = new held<S>{c, {}, {}, {}, {}};
  h->children.resize(c->children.size());
  for (S& child : h->children) h->child_pointers.push_back(&child);
  to.n_children = static_cast<std::int64_t>(c->children.size());
  to.children = h->child_pointers.data();
  to.dictionary = c->dictionary ? &h->dictionary : nullptr;
  to.release = release<S>;
  to.private_data = h;
  ++alive;
  return h;
}
inline void export_schema(const std::shared_ptr<const column>& c, ArrowSchema& to) {
  to = {};
  auto* const h = hold(c, to);
  to.format = c->format.c_str();
  to.name = c->name.c_str();
  to.flags = ARROW_FLAG_NULLABLE;
  for (std::size_t i = 0; i < c->children.size(); ++i) export_schema(std::make_shared<const column>(c->children[i]), h->children[i]);
  if (c->dictionary) export_schema(c->dictionary, h->dictionary);
}
inline void export_array(const std::shared_ptr<const column>& c, ArrowArray& to) {
  to = {};
  auto* const h = hold(c, to);
  to.length = c->length;
  to.null_count = c->null_count;
  to.offset = c->offset;
  for (const auto& b : c->buffers) h->buffers.push_back(b ? b->data() : nullptr);
  to.n_buffers = static_cast<std::int64_t>(h->buffers.size());
  to.buffers = h->buffers.data();
  for (std::size_t i = 0; i < c->children.size(); ++i) export_array(std::make_shared<const column>(c->children[i]), h->children[i]);
  if (c->dictionary) export_array(c->dictionary, h->dictionary);
}

struct exported {
  explicit exported(column c) {
    const auto of = std::make_shared<const column>(std::move(c));
    export_array(of, array);
    export_schema(of, schema);
  }
  ArrowArray array;
  ArrowSchema schema;
};
template <class Row> auto query_of(column c) {
  exported e(std::move(c));
  return query::from_arrow<Row>(&e.array, &e.schema);
}

struct batches {
  std::vector<column> of;
  std::size_t next = 0, fails_at = ~std::size_t{0};
};
inline ArrowArrayStream stream_of(std::vector<column> of, std::size_t fails_at = ~std::size_t{0}) {
  ArrowArrayStream s{};
  s.private_data = new batches{std::move(of), 0, fails_at};
  s.get_schema = [](ArrowArrayStream* self, ArrowSchema* to) {
    export_schema(std::make_shared<const column>(static_cast<batches*>(self->private_data)->of.front()), *to);
    return 0;
  };
  s.get_next = [](ArrowArrayStream* self, ArrowArray* to) {
    auto& b = *static_cast<batches*>(self->private_data);
    *to = {};
    if (b.next == b.fails_at) return 5;
    if (b.next < b.of.size()) export_array(std::make_shared<const column>(b.of[b.next]), *to);
    ++b.next;
    return 0;
  };
  s.get_last_error = [](ArrowArrayStream*) -> const char* { return "the disk is gone"; };
  s.release = [](ArrowArrayStream* self) {
    delete static_cast<batches*>(self->private_data);
    self->release = nullptr;
    --alive;
  };
  ++alive;
  return s;
}

}  // namespace arrow_fixture
