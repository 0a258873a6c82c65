// Functions of strings that mean the same in native code, in traced lambdas, in texts and over the aggregates of groups.
//
//   .where([](auto t) { return query::like(t.name, "a%"); })
//   .select_many([](auto t) { return query::split(query::lower(t.line), " "); })
//   .select([](auto t) { return query::parse<double>(query::trim(t.price)).value_or(0.0); })
//
// Sizes and positions of size(), find and substr are bytes, as std::string's. length and substring count code points of UTF-8: each
// begins with a byte that is no continuation byte (10xxxxxx), or with the first byte of all, whatever the bytes are. No function reads
// the locale. Regular expressions are RE2's: https://github.com/google/re2/wiki/Syntax
#pragma once

#include <query/detail/after_error.hpp>
#include <query/detail/deferred.hpp>

namespace query {

namespace detail {

// A function's struct is its entry in the interpreter's table (src/cpu_engine/interpreter/kernels_text.cpp). native: what it computes, on
// every way; the views that it gives show parts of its arguments.
#define QUERY_DETAIL_STRINGS(function, Result, ...) \
  struct function##_fn {                            \
    static constexpr const char* name = #function;  \
    static Result native(__VA_ARGS__);              \
  };
QUERY_DETAIL_STRINGS(length, std::size_t, std::string_view s)
QUERY_DETAIL_STRINGS(substring, std::string_view, std::string_view s, std::size_t first, std::size_t count)
QUERY_DETAIL_STRINGS(lower, std::string, std::string_view s)
QUERY_DETAIL_STRINGS(upper, std::string, std::string_view s)
QUERY_DETAIL_STRINGS(trim, std::string_view, std::string_view s, std::string_view characters)
QUERY_DETAIL_STRINGS(trim_start, std::string_view, std::string_view s, std::string_view characters)
QUERY_DETAIL_STRINGS(trim_end, std::string_view, std::string_view s, std::string_view characters)
QUERY_DETAIL_STRINGS(replace, std::string, std::string_view s, std::string_view from, std::string_view to)
QUERY_DETAIL_STRINGS(split, std::vector<std::string>, std::string_view s, std::string_view separator)
QUERY_DETAIL_STRINGS(like, bool, std::string_view s, std::string_view pattern)
QUERY_DETAIL_STRINGS(matches, bool, std::string_view s, std::string_view regex)
QUERY_DETAIL_STRINGS(regex_replace, std::string, std::string_view s, std::string_view regex, std::string_view rewrite)
QUERY_DETAIL_STRINGS(regex_extract, std::optional<std::string_view>, std::string_view s, std::string_view regex, std::size_t group)
#undef QUERY_DETAIL_STRINGS

struct find_fn {
  static constexpr const char* name = "find";
  static std::size_t native(std::string_view s, std::string_view part) { return s.find(part); }
};
struct starts_with_fn {
  static constexpr const char* name = "starts_with";
  static bool native(std::string_view s, std::string_view part) { return s.starts_with(part); }
};
struct ends_with_fn {
  static constexpr const char* name = "ends_with";
  static bool native(std::string_view s, std::string_view part) { return s.ends_with(part); }
};
struct contains_fn {
  static constexpr const char* name = "contains";
  static bool native(std::string_view s, std::string_view part) { return s.find(part) != s.npos; }
};
struct substr_fn {
  static constexpr const char* name = "substr";
  static std::string_view native(std::string_view s, std::size_t at, std::size_t n) { return s.substr(at, n); }
};
template <char First, char Last> std::string shift_case(std::string_view s, int by) {
  std::string r(s);
  for (char& c : r)
    if (c >= First && c <= Last) c = static_cast<char>(c + by);
  return r;
}
struct to_lower_fn {
  static constexpr const char* name = "to_lower";
  static std::string native(std::string_view s) { return shift_case<'A', 'Z'>(s, 'a' - 'A'); }
};
struct to_upper_fn {
  static constexpr const char* name = "to_upper";
  static std::string native(std::string_view s) { return shift_case<'a', 'z'>(s, 'A' - 'a'); }
};
// T: bool, std::int64_t, std::uint64_t, float or double.
template <class T> struct number_text_fn {
  static constexpr const char* name = "to_string";
  static std::string native(T x);
};
inline constexpr const char* parse_names[] = {"parse<i8>",  "parse<i16>", "parse<i32>", "parse<i64>", "parse<u8>",
                                              "parse<u16>", "parse<u32>", "parse<u64>", "parse<f32>", "parse<f64>"};
// T: a number; not bool, char or one of more than 64 bits.
template <class T> struct parse_fn {
  static constexpr const char* name = parse_names[static_cast<std::size_t>(ir::kind_of<T>()) - static_cast<std::size_t>(ir::kind::i8)];
  static std::optional<T> native(std::string_view s);
};

// Calls F::native, or makes the node of the call.
template <class F> struct text_fn : F {
  template <class... X> auto operator()(const X&... x) const {
    if constexpr (any_deferred<X...>) return defer(*this, x...);
    else return called(&F::native, x...);
  }

 private:
  template <class R, class... A, class... X> static auto called(R (*)(A...), const X&... x) {
    using Out = stored_t<R>;
    if constexpr (any_symbolic<X...>) {
      const ir::node* call = ir::current_arena().put(ir::op::call, ir::describe<Out>(), {argument<A>(x)...}, 0, 0, F::name);
      if constexpr (ir::is_optional_v<Out> || ir::is_list_v<Out>) return make_twin<Out>(call);
      else if constexpr (!std::is_same_v<Out, bool>) return wrap_like<Out, X...>(call);
      else if constexpr (lazily<X...>) return lazy_bool(call);
      else return ir::decide(call);
    } else {
      return Out(F::native(static_cast<A>(x)...));
    }
  }
  template <class A, class X> static const ir::node* argument(const X& x) {
    if constexpr (std::is_same_v<A, std::string_view>) return node_as<std::string>(x);
    else return node_as<A>(x);
  }
};

struct to_string_fn {
  template <class X> auto operator()(const X& x) const {
    if constexpr (deferred<X>) {
      return defer(*this, x);
    } else {
      using V = value_of_t<X>;
      static_assert(!std::is_same_v<V, char> && sizeof(V) <= 8,
                    "query::to_string(x): x is a number of at most 64 bits; of a char c, write std::string(1, c)");
      using wide = std::conditional_t<std::is_signed_v<V>, std::int64_t, std::uint64_t>;
      return text_fn<number_text_fn<std::conditional_t<std::is_same_v<V, bool> || std::is_floating_point_v<V>, V, wide>>>{}(x);
    }
  }
};

inline constexpr std::string_view white_space = " \t\n\v\f\r";

}  // namespace detail

// ---------------------------------------------------------------- bytes
// The position of the first `part` in s, or std::string::npos.
template <detail::textual S, detail::textual Part> auto find(const S& s, const Part& part) {
  return detail::text_fn<detail::find_fn>{}(s, part);
}
template <detail::textual S, detail::textual Part> auto starts_with(const S& s, const Part& part) {
  return detail::text_fn<detail::starts_with_fn>{}(s, part);
}
template <detail::textual S, detail::textual Part> auto ends_with(const S& s, const Part& part) {
  return detail::text_fn<detail::ends_with_fn>{}(s, part);
}
template <detail::textual S, detail::textual Part> auto contains(const S& s, const Part& part) {
  return detail::text_fn<detail::contains_fn>{}(s, part);
}
// n bytes from position `at` on. Throws std::out_of_range if s ends before `at`.
template <detail::textual S, detail::numeric A, detail::numeric N = std::size_t>
auto substr(const S& s, const A& at, const N& n = std::string::npos) {
  return detail::text_fn<detail::substr_fn>{}(s, at, n);
}
// s with all occurrences of `from` replaced, from left to right. An empty `from` occurs nowhere.
template <detail::textual S, detail::textual From, detail::textual To> auto replace(const S& s, const From& from, const To& to) {
  return detail::text_fn<detail::replace_fn>{}(s, from, to);
}
// The parts of s between separators, empty ones included: a std::vector<std::string>, in a traced lambda a list, as a field is. An empty s
// is one empty part. An empty separator separates all code points.
template <detail::textual S, detail::textual Part> auto split(const S& s, const Part& separator) {
  return detail::text_fn<detail::split_fn>{}(s, separator);
}
template <detail::textual S> auto split(const S& s, char separator) { return query::split(s, std::string_view(&separator, 1)); }
// Does s follow SQL's pattern? % stands for any characters, _ for one code point; nothing escapes them.
template <detail::textual S, detail::textual Part> auto like(const S& s, const Part& pattern) {
  return detail::text_fn<detail::like_fn>{}(s, pattern);
}

// ---------------------------------------------------------------- code points
// The number of code points.
template <detail::textual S> auto length(const S& s) { return detail::text_fn<detail::length_fn>{}(s); }
// `count` code points, from number `first` on, counted from 0: fewer, or none, if s is shorter.
template <detail::textual S, detail::numeric A, detail::numeric N = std::size_t>
auto substring(const S& s, const A& first, const N& count = std::string::npos) {
  return detail::text_fn<detail::substring_fn>{}(s, first, count);
}
// s without the code points of `characters` at its ends: by default, ASCII's white space.
template <detail::textual S, detail::textual C = std::string_view> auto trim(const S& s, const C& characters = detail::white_space) {
  return detail::text_fn<detail::trim_fn>{}(s, characters);
}
template <detail::textual S, detail::textual C = std::string_view> auto trim_start(const S& s, const C& characters = detail::white_space) {
  return detail::text_fn<detail::trim_start_fn>{}(s, characters);
}
template <detail::textual S, detail::textual C = std::string_view> auto trim_end(const S& s, const C& characters = detail::white_space) {
  return detail::text_fn<detail::trim_end_fn>{}(s, characters);
}
// Cases by Unicode 14's simple mappings, one code point for each: of the German sharp s, there is no upper case. Bytes that are no UTF-8
// stay as they are. to_lower and to_upper change ASCII's letters only, also on a GPU.
template <detail::textual S> auto lower(const S& s) { return detail::text_fn<detail::lower_fn>{}(s); }
template <detail::textual S> auto upper(const S& s) { return detail::text_fn<detail::upper_fn>{}(s); }
template <detail::textual S> auto to_lower(const S& s) { return detail::text_fn<detail::to_lower_fn>{}(s); }
template <detail::textual S> auto to_upper(const S& s) { return detail::text_fn<detail::to_upper_fn>{}(s); }

// ---------------------------------------------------------------- numbers
// The shortest text that reads back as the same number, as std::to_chars writes it; "true" or "false".
template <detail::numeric X> auto to_string(const X& x) { return detail::to_string_fn{}(x); }
// The number that the whole of s is, by the rules of std::from_chars: no white space, no '+'. An empty optional if it is none, or does not
// fit T.
template <class T, detail::textual S> auto parse(const S& s) {
  static_assert((std::is_integral_v<T> || std::is_floating_point_v<T>) && !std::is_same_v<T, bool> && !std::is_same_v<T, char> &&
                    sizeof(T) <= 8,
                "query::parse<T>(s): T is a number of at most 64 bits, such as int or double");
  return detail::text_fn<detail::parse_fn<T>>{}(s);
}

// ---------------------------------------------------------------- regular expressions
// Is there a match somewhere in s? "^...$" matches the whole. Expressions are compiled once a thread. A wrong one, or a build without RE2,
// throws user_error.
template <detail::textual S, detail::textual Part> auto matches(const S& s, const Part& regex) {
  return detail::text_fn<detail::matches_fn>{}(s, regex);
}
// s with all matches replaced. \1 to \9 in `rewrite` are groups of the match, \0 is the match.
template <detail::textual S, detail::textual Part, detail::textual R> auto regex_replace(const S& s, const Part& regex, const R& rewrite) {
  return detail::text_fn<detail::regex_replace_fn>{}(s, regex, rewrite);
}
// Group number `group` of the first match, 0: the match. An empty optional if nothing matches, or the group takes no part in the match.
template <detail::textual S, detail::textual Part, detail::numeric G = std::size_t>
auto regex_extract(const S& s, const Part& regex, const G& group = 0) {
  return detail::text_fn<detail::regex_extract_fn>{}(s, regex, group);
}

// ---------------------------------------------------------------- texts that may be null
namespace detail {
template <class X> inline constexpr bool null_text = false;
template <> inline constexpr bool null_text<std::optional<std::string>> = true;
template <> inline constexpr bool null_text<std::optional<std::string_view>> = true;
template <class... X> concept any_null_text = (null_text<held_t<X>> || ...);
}  // namespace detail
// The error is said once a function, whatever forms of the row it is called with.
#define QUERY_DETAIL_NULL_TEXT(function, ...)                                                                                             \
  namespace detail {                                                                                                                      \
  template <class Said> constexpr check::after_error function##_of_null() {                                                               \
    static_assert(never<Said>, "query: " #function ": the text is a std::optional. Give t.note.value_or(\"\"), or *t.note after a test, " \
                               "as in `t.note && ...`");                                                                                  \
    return {};                                                                                                                            \
  }                                                                                                                                       \
  }                                                                                                                                       \
  template <__VA_ARGS__ class... X> requires detail::any_null_text<X...> check::after_error function(const X&...) {                       \
    return detail::function##_of_null<std::conditional_t<(sizeof...(X) > 0), check::after_error, void>>();                                \
  }
QUERY_DETAIL_NULL_TEXT(find) QUERY_DETAIL_NULL_TEXT(starts_with) QUERY_DETAIL_NULL_TEXT(ends_with) QUERY_DETAIL_NULL_TEXT(contains)
QUERY_DETAIL_NULL_TEXT(substr) QUERY_DETAIL_NULL_TEXT(replace) QUERY_DETAIL_NULL_TEXT(split) QUERY_DETAIL_NULL_TEXT(like)
QUERY_DETAIL_NULL_TEXT(length) QUERY_DETAIL_NULL_TEXT(substring) QUERY_DETAIL_NULL_TEXT(trim) QUERY_DETAIL_NULL_TEXT(trim_start)
QUERY_DETAIL_NULL_TEXT(trim_end) QUERY_DETAIL_NULL_TEXT(lower) QUERY_DETAIL_NULL_TEXT(upper) QUERY_DETAIL_NULL_TEXT(to_lower)
QUERY_DETAIL_NULL_TEXT(to_upper) QUERY_DETAIL_NULL_TEXT(parse, class T,) QUERY_DETAIL_NULL_TEXT(matches)
QUERY_DETAIL_NULL_TEXT(regex_replace) QUERY_DETAIL_NULL_TEXT(regex_extract)
#undef QUERY_DETAIL_NULL_TEXT

}  // namespace query
