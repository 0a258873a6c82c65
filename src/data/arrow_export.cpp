// query::to_arrow: the chunks of a result as Arrow's record batches, one struct of the interface at a time.
//
// Each exported array owns what it points to: consumers may move a child out of its parent and release it by itself.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <query/arrow.hpp>
#include <query/detail/failure.hpp>

#include "data/arrow_rows.hpp"
#include "ir/column_value.hpp"
#include "ir/time_text.hpp"

namespace query::data {

namespace {

using chunks = std::shared_ptr<const detail::chunk_list>;

// ---------------------------------------------------------------- schemas
struct schema_memory {
  std::string format, name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
};
void release_schema(ArrowSchema* s) {
  auto* const memory = static_cast<schema_memory*>(s->private_data);
  for (ArrowSchema& c : memory->children)
    if (c.release) c.release(&c);
  s->release = nullptr;
  delete memory;
}

// Bytes of a number of the column, where they are not those of the value; 0: they are.
std::size_t other_width(const ir::type* t, std::string_view format) {
  if (format == "tdD") return t->k == ir::kind::i32 ? 0 : sizeof(std::int32_t);
  return format.size() > 1 && (format[1] == 's' || format[1] == 'D') && t->size != sizeof(std::int64_t) ? sizeof(std::int64_t) : 0;
}
// Of times and durations that Arrow has; else empty.
std::string time_format_of(const ir::type* t) {
  const ir::unit& u = t->counts;
  if (u.what == ir::unit::of::date) return "tdD";
  if (!u.ticks() || !ir::is_signed_integer(t->k)) return {};
  const bool time = u.what == ir::unit::of::time;
  if (time && u.num == 86'400 && u.den == 1) return "tdD";
  if (u.num != 1) return {};
  const char unit = u.den == 1 ? 's' : u.den == 1'000 ? 'm' : u.den == 1'000'000 ? 'u' : u.den == 1'000'000'000 ? 'n' : '\0';
  if (unit == '\0') return {};
  return std::string(time ? "ts" : "tD") + unit + (time ? ":UTC" : "");
}

// How strings are exported: to_arrow() gives views, files take offsets of 64 bits, which every reader of them knows.
enum class strings : std::uint8_t { views, offsets };

std::string format_of(const ir::type* t, strings how) {
  if (std::string times = time_format_of(t); !times.empty()) return times;
  switch (t->k) {
    case ir::kind::boolean: return "b";
    case ir::kind::string: return how == strings::views ? "vu" : "U";
    case ir::kind::record: return "+s";
    case ir::kind::list: return "+L";
    case ir::kind::array: return "+w:" + std::to_string(t->count);
    case ir::kind::optional: return format_of(t->element, how);
    default: return std::string(1, "csilCSILfg"[static_cast<int>(t->k) - static_cast<int>(ir::kind::i8)]);
  }
}
static_assert(static_cast<int>(ir::kind::f64) - static_cast<int>(ir::kind::i8) == 9);

// A list's elements are called "item", as Arrow's own libraries do.
void describe(const ir::type* t, std::string_view name, strings how, ArrowSchema& to) {
  auto memory = std::make_unique<schema_memory>();
  memory->format = format_of(t, how);
  memory->name = name;
  const ir::type* const of = t->k == ir::kind::optional ? t->element : t;
  if (of->k == ir::kind::optional) throw user_error("query: to_arrow: an optional of an optional has no Arrow type: " + std::string(name));
  const bool nests = of->k == ir::kind::list || of->k == ir::kind::array;
  memory->children.resize(of->k == ir::kind::record && of->counts.what != ir::unit::of::date ? of->field_list.size()
                          : nests                                                            ? 1
                                                                                             : 0,
                          ArrowSchema{});
  for (ArrowSchema& c : memory->children) memory->pointers.push_back(&c);
  to = {memory->format.c_str(), memory->name.c_str(), nullptr, t->k == ir::kind::optional ? ARROW_FLAG_NULLABLE : 0,
        static_cast<std::int64_t>(memory->children.size()), memory->pointers.empty() ? nullptr : memory->pointers.data(), nullptr,
        release_schema, nullptr};
  auto* const children = &memory->children;
  to.private_data = memory.release();
  try {
    for (std::size_t i = 0; i < children->size(); ++i)
      if (nests) describe(of->element, "item", how, (*children)[i]);
      else describe(of->field_list[i].of, of->field_list[i].name, how, (*children)[i]);
  } catch (...) {
    to.release(&to);
    throw;
  }
}

// ---------------------------------------------------------------- arrays
struct array_memory {
  chunks shared;                                   // what buffers may point to
  std::deque<std::vector<unsigned char>> buffers;  // made for this array
  std::vector<const void*> pointers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;
};
void release_array(ArrowArray* a) {
  auto* const memory = static_cast<array_memory*>(a->private_data);
  for (ArrowArray& c : memory->children)
    if (c.release) c.release(&c);
  a->release = nullptr;
  delete memory;
}

// An array that is being made.
class array_builder {
 public:
  array_builder(chunks shared, std::size_t n, std::size_t children) : memory_(std::make_unique<array_memory>()), n_(n) {
    memory_->shared = std::move(shared);
    memory_->children.resize(children, ArrowArray{});
  }
  ~array_builder() {
    if (!memory_) return;
    for (ArrowArray& c : memory_->children)
      if (c.release) c.release(&c);
  }
  array_builder(const array_builder&) = delete;
  array_builder& operator=(const array_builder&) = delete;

  void share(const void* buffer) { memory_->pointers.push_back(buffer); }
  // Zeros; their address stays.
  void* add(std::size_t bytes) {
    auto& b = memory_->buffers.emplace_back(std::max<std::size_t>(bytes, 1));
    memory_->pointers.push_back(b.data());
    return b.data();
  }
  ArrowArray& child(std::size_t i) { return memory_->children[i]; }
  const chunks& shared() const { return memory_->shared; }

  void finish(ArrowArray& to) {
    for (ArrowArray& c : memory_->children) memory_->child_pointers.push_back(&c);
    to = {static_cast<std::int64_t>(n_), 0, 0, static_cast<std::int64_t>(memory_->pointers.size()),
          static_cast<std::int64_t>(memory_->children.size()), memory_->pointers.data(),
          memory_->child_pointers.empty() ? nullptr : memory_->child_pointers.data(), nullptr, release_array, nullptr};
    to.private_data = memory_.release();
  }

 private:
  std::unique_ptr<array_memory> memory_;
  std::size_t n_;
};

std::int64_t signed_at(ir::kind k, const void* from) {
  const auto as = [&]<class T>(T n) {
    std::memcpy(&n, from, sizeof n);
    return std::int64_t{n};
  };
  return k == ir::kind::i8    ? as(std::int8_t{})
         : k == ir::kind::i16 ? as(std::int16_t{})
         : k == ir::kind::i32 ? as(std::int32_t{})
                              : as(std::int64_t{});
}
void set_bit(void* bits, std::size_t i) {
  auto& byte = static_cast<unsigned char*>(bits)[i / 8];
  byte = static_cast<unsigned char>(byte | 1u << (i % 8));
}

// Arrow's string view of more than 12 characters.
struct long_view {
  std::int32_t size;
  char prefix[4];
  std::int32_t buffer, begin;
};
static_assert(sizeof(long_view) == sizeof(text));

// string_at(i): a view of value i, empty for a null. A text of at most 12 characters has the same bytes in both.
template <class StringAt> void add_views(array_builder& to, std::size_t n, StringAt string_at) {
  constexpr std::size_t most = std::size_t{1} << 30;  // bytes of a buffer of characters
  auto* const views = static_cast<std::byte*>(to.add(n * sizeof(text)));
  std::vector<std::size_t> sizes;  // of the buffers of characters
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t size = string_at(i).size();
    if (size > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      throw user_error("query: to_arrow: a string of " + std::to_string(size) + " bytes is longer than Arrow's string views are");
    if (size <= text::inline_size) continue;
    if (sizes.empty() || (sizes.back() && sizes.back() + size > most)) sizes.push_back(0);
    sizes.back() += size;
  }
  std::size_t buffer = 0, begin = 0;
  char* characters = sizes.empty() ? nullptr : static_cast<char*>(to.add(sizes[0]));
  for (std::size_t i = 0; i < n; ++i) {
    const std::string_view s = string_at(i);
    if (s.size() <= text::inline_size) {
      const text t(s);
      std::memcpy(views + i * sizeof t, &t, sizeof t);
      continue;
    }
    if (begin == sizes[buffer]) {
      characters = static_cast<char*>(to.add(sizes[++buffer]));
      begin = 0;
    }
    long_view v{static_cast<std::int32_t>(s.size()), {}, static_cast<std::int32_t>(buffer), static_cast<std::int32_t>(begin)};
    std::memcpy(v.prefix, s.data(), sizeof v.prefix);
    std::memcpy(views + i * sizeof v, &v, sizeof v);
    std::memcpy(characters + begin, s.data(), s.size());
    begin += s.size();
  }
  auto* const lengths = static_cast<std::byte*>(to.add(sizes.size() * sizeof(std::int64_t)));
  if (!sizes.empty()) std::memcpy(lengths, sizes.data(), sizes.size() * sizeof(std::int64_t));
}
static_assert(sizeof(std::size_t) == sizeof(std::int64_t));

// The same as offsets of 64 bits into all characters.
template <class StringAt> void add_offsets(array_builder& to, std::size_t n, StringAt string_at) {
  auto* const ends = static_cast<std::byte*>(to.add((n + 1) * sizeof(std::int64_t)));
  std::int64_t end = 0;
  for (std::size_t i = 0; i < n; ++i) {
    end += static_cast<std::int64_t>(string_at(i).size());
    std::memcpy(ends + (i + 1) * sizeof end, &end, sizeof end);
  }
  auto* characters = static_cast<char*>(to.add(static_cast<std::size_t>(end)));
  for (std::size_t i = 0; i < n; ++i) {
    const std::string_view s = string_at(i);
    if (s.empty()) continue;
    std::memcpy(characters, s.data(), s.size());
    characters += s.size();
  }
}

// Times and dates that Arrow has in another width.
template <class To> void add_numbers(array_builder& to, const ir::type* t, const std::vector<const void*>& values) {
  auto* const numbers = static_cast<std::byte*>(to.add(values.size() * sizeof(To)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    std::int64_t n = 0;
    const bool there = t->counts.what == ir::unit::of::date ? ir::days_of_date(values[i], n) : (n = signed_at(t->k, values[i]), true);
    const auto number = static_cast<To>(n);
    if (!there || number != n)
      throw user_error("query: to_arrow: a value of type " + std::string(t->name) + " is no date that Arrow holds");
    std::memcpy(numbers + i * sizeof number, &number, sizeof number);
  }
}
bool export_other_width(const ir::type* t, const std::vector<const void*>& values, const chunks& shared, ArrowArray& to) {
  const std::size_t width = other_width(t, time_format_of(t));
  if (width == 0) return false;
  array_builder a(shared, values.size(), 0);
  a.share(nullptr);
  if (width == sizeof(std::int32_t)) add_numbers<std::int32_t>(a, t, values);
  else add_numbers<std::int64_t>(a, t, values);
  a.finish(to);
  return true;
}

// Says which values of an array are there.
void mark_nulls(const std::vector<const void*>& values, ArrowArray& to) {
  const auto nulls = std::count(values.begin(), values.end(), nullptr);
  if (!nulls) return;
  auto* const memory = static_cast<array_memory*>(to.private_data);
  auto& bits = memory->buffers.emplace_back((values.size() + 7) / 8);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i]) set_bit(bits.data(), i);
  memory->pointers[0] = bits.data();
  to.null_count = static_cast<std::int64_t>(nulls);
}

// Values of any type, by their addresses; null: a null, or a part of one.
void export_values(const ir::type* t, const std::vector<const void*>& values, strings how, const chunks& shared, ArrowArray& to) {
  const std::size_t n = values.size();
  if (t->k == ir::kind::optional) {
    std::vector<const void*> there(n);
    for (std::size_t i = 0; i < n; ++i) there[i] = values[i] ? t->get.value(values[i]) : nullptr;
    export_values(t->element, there, how, shared, to);
    return mark_nulls(there, to);
  }
  if (export_other_width(t, values, shared, to)) return;
  const bool nests = t->k == ir::kind::list || t->k == ir::kind::array;
  array_builder a(shared, n, t->k == ir::kind::record ? t->field_list.size() : nests ? 1 : 0);
  a.share(nullptr);  // no nulls
  switch (t->k) {
    case ir::kind::boolean: {
      void* const bits = a.add((n + 7) / 8);
      for (std::size_t i = 0; i < n; ++i)
        if (values[i] && *static_cast<const bool*>(values[i])) set_bit(bits, i);
      break;
    }
    case ir::kind::string: {
      const auto at = [&](std::size_t i) {
        return values[i] ? std::string_view(*static_cast<const std::string*>(values[i])) : std::string_view();
      };
      if (how == strings::views) add_views(a, n, at);
      else add_offsets(a, n, at);
      break;
    }
    case ir::kind::record: {
      std::vector<const void*> parts(n);
      for (std::size_t f = 0; f < t->field_list.size(); ++f) {
        for (std::size_t i = 0; i < n; ++i)
          parts[i] = values[i] ? static_cast<const std::byte*>(values[i]) + t->field_list[f].offset : nullptr;
        export_values(t->field_list[f].of, parts, how, shared, a.child(f));
      }
      break;
    }
    case ir::kind::list:
    case ir::kind::array: {
      const bool fixed = t->k == ir::kind::array;
      auto* const ends = fixed ? nullptr : static_cast<std::byte*>(a.add((n + 1) * sizeof(std::int64_t)));
      std::vector<const void*> elements;
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t size = fixed ? t->count : values[i] ? t->get.size(values[i]) : 0;
        const auto* const first = static_cast<const std::byte*>(fixed || !values[i] ? values[i] : t->get.data(values[i]));
        for (std::size_t e = 0; e < size; ++e) elements.push_back(first ? first + e * t->element->size : nullptr);
        if (!ends) continue;
        const auto end = static_cast<std::int64_t>(elements.size());
        std::memcpy(ends + (i + 1) * sizeof end, &end, sizeof end);
      }
      export_values(t->element, elements, how, shared, a.child(0));
      break;
    }
    default: {
      auto* const numbers = static_cast<std::byte*>(a.add(n * t->size));
      for (std::size_t i = 0; i < n; ++i)
        if (values[i]) std::memcpy(numbers + i * t->size, values[i], t->size);
    }
  }
  a.finish(to);
}

// Numbers, and arrays of them: the bytes of both are the same.
bool is_flat(const ir::type* t) {
  if (other_width(t, time_format_of(t)) != 0) return false;
  return t->k == ir::kind::array ? is_flat(t->element) : t->k != ir::kind::boolean && ir::is_arithmetic(t->k);
}
void share_flat(const ir::type* t, const void* values, std::size_t n, const chunks& shared, ArrowArray& to) {
  array_builder a(shared, n, t->k == ir::kind::array ? 1 : 0);
  a.share(nullptr);
  if (t->k == ir::kind::array) share_flat(t->element, values, n * t->count, shared, a.child(0));
  else a.share(values);
  a.finish(to);
}

// A field of some chunks, in order.
void export_field(const ir::type* t, std::size_t field, std::span<const detail::chunk_list::chunk> of, std::size_t n, const chunks& shared,
                  ArrowArray& to) {
  if (of.size() == 1 && is_flat(t)) return share_flat(t, of[0].columns[field], n, shared, to);
  if (of.size() == 1 && t->k == ir::kind::string) {
    const std::span<const text> texts(static_cast<const text*>(of[0].columns[field]), n);
    if (std::all_of(texts.begin(), texts.end(), [](const text& s) { return s.size() <= text::inline_size; })) {
      array_builder a(shared, n, 0);
      a.share(nullptr);
      a.share(texts.data());
      a.add(0);  // sizes of buffers of characters: there are none
      return a.finish(to);
    }
  }
  std::vector<const void*> values;
  values.reserve(n);
  for (const auto& chunk : of)
    for (std::size_t i = 0; i < chunk.n; ++i)
      values.push_back(static_cast<const std::byte*>(chunk.columns[field]) + i * ir::column_value_size(t));
  if (!ir::gives_texts(t)) return export_values(t, values, strings::views, shared, to);
  if (ir::is_optional_string(t))
    for (const void*& v : values) {
      const auto& string = *static_cast<const std::optional<text>*>(v);
      v = string ? &*string : nullptr;
    }
  array_builder a(shared, n, 0);
  a.share(nullptr);
  add_views(a, n, [&](std::size_t i) { return values[i] ? static_cast<const text*>(values[i])->view() : std::string_view(); });
  a.finish(to);
  mark_nulls(values, to);
}

void export_batch(const ir::type* row, const chunks& from, std::size_t first, std::size_t count, ArrowArray& to) {
  const std::span<const detail::chunk_list::chunk> of = std::span(from->chunks).subspan(first, count);
  std::size_t n = 0;
  for (const auto& c : of) n += c.n;
  array_builder a(from, n, row->field_list.size());
  a.share(nullptr);
  for (std::size_t f = 0; f < row->field_list.size(); ++f) export_field(row->field_list[f].of, f, of, n, from, a.child(f));
  a.finish(to);
}

// ---------------------------------------------------------------- streams
struct stream_memory {
  chunks from;
  const ir::type* row;
  std::size_t next = 0;
  std::string error;
};
// Turns an exception into the error number that a C function returns.
template <class F> int called(ArrowArrayStream* s, F f) {
  auto& memory = *static_cast<stream_memory*>(s->private_data);
  try {
    f(memory);
    return 0;
  } catch (const std::bad_alloc&) {
    memory.error.clear();
    return ENOMEM;
  } catch (const std::exception& e) {
    try {
      memory.error = e.what();
    } catch (...) {
      memory.error.clear();
    }
    return EINVAL;
  }
}

}  // namespace

void describe_rows(const ir::type* row, ArrowSchema& to) { describe(row, "", strings::offsets, to); }

void export_rows(const ir::type* row, const void* rows, std::size_t n, ArrowArray& to) {
  std::vector<const void*> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<const std::byte*>(rows) + i * row->size;
  export_values(row, values, strings::offsets, nullptr, to);
}

}  // namespace query::data

namespace query::detail {

void export_chunks(chunk_list from, const ir::type* row, ArrowArrayStream* out) {
  auto memory = std::make_unique<data::stream_memory>();
  memory->from = std::make_shared<const chunk_list>(std::move(from));
  memory->row = row;
  out->get_schema = [](ArrowArrayStream* s, ArrowSchema* to) {
    return data::called(s, [&](data::stream_memory& m) { data::describe(m.row, "", data::strings::views, *to); });
  };
  out->get_next = [](ArrowArrayStream* s, ArrowArray* to) {
    return data::called(s, [&](data::stream_memory& m) {
      *to = {};  // released: the end
      if (m.next < m.from->chunks.size()) data::export_batch(m.row, m.from, m.next, 1, *to);
      ++m.next;
    });
  };
  out->get_last_error = [](ArrowArrayStream* s) -> const char* {
    const auto& m = *static_cast<data::stream_memory*>(s->private_data);
    return m.error.empty() ? nullptr : m.error.c_str();
  };
  out->release = [](ArrowArrayStream* s) {
    delete static_cast<data::stream_memory*>(s->private_data);
    s->release = nullptr;
  };
  out->private_data = memory.release();
}

void export_chunks(chunk_list from, const ir::type* row, ArrowArray* array, ArrowSchema* schema) {
  const auto all = std::make_shared<const chunk_list>(std::move(from));
  data::describe(row, "", data::strings::views, *schema);
  try {
    data::export_batch(row, all, 0, all->chunks.size(), *array);
  } catch (...) {
    schema->release(schema);
    throw;
  }
}

}  // namespace query::detail
