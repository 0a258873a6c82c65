// Regular expressions, by RE2: its time is linear in the text, whatever the expression.
#include <algorithm>
#include <memory>
#include <vector>

#include <query/detail/failure.hpp>
#include <query/strings.hpp>

#if QUERY_HAS_RE2
#include <re2/re2.h>
#endif

namespace query::detail {

using view = std::string_view;

#if QUERY_HAS_RE2

namespace {

constexpr std::size_t most_kept = 16;  // for each thread, the last ones used
constexpr int most_groups = 64;

re2::StringPiece piece(view s) { return {s.data(), s.size()}; }

const RE2& compiled(const char* function, view regex) {
  thread_local std::vector<std::unique_ptr<const RE2>> kept;
  const auto found = std::find_if(kept.begin(), kept.end(), [&](const auto& r) { return r->pattern() == regex; });
  if (found != kept.end()) {
    std::rotate(kept.begin(), found, found + 1);
    return *kept.front();
  }
  RE2::Options options;
  options.set_log_errors(false);
  auto made = std::make_unique<const RE2>(piece(regex), options);
  if (!made->ok())
    throw unplaced_error(std::string(function) + ": the regular expression `" + std::string(regex) + "` is wrong: " + made->error());
  if (kept.size() == most_kept) kept.pop_back();
  kept.insert(kept.begin(), std::move(made));
  return *kept.front();
}

}  // namespace

bool matches_fn::native(view s, view regex) { return RE2::PartialMatch(piece(s), compiled(name, regex)); }

std::string regex_replace_fn::native(view s, view regex, view rewrite) {
  const RE2& r = compiled(name, regex);
  if (std::string why; !r.CheckRewriteString(piece(rewrite), &why))
    throw unplaced_error("regex_replace: the rewrite `" + std::string(rewrite) + "` does not fit `" + r.pattern() + "`: " + why);
  std::string all(s);
  RE2::GlobalReplace(&all, r, piece(rewrite));
  return all;
}

std::optional<view> regex_extract_fn::native(view s, view regex, std::size_t group) {
  if (!s.data()) s = "";  // what RE2 has not found has no address
  const RE2& r = compiled(name, regex);
  const int groups = std::min(r.NumberOfCapturingGroups(), most_groups - 1);
  if (group > static_cast<std::size_t>(groups))
    throw unplaced_error("regex_extract: there is no such group; `" + r.pattern() + "` has the groups 0 to " + std::to_string(groups));
  re2::StringPiece found[most_groups];
  const int wanted = static_cast<int>(group);
  if (!r.Match(piece(s), 0, s.size(), RE2::UNANCHORED, found, wanted + 1) || found[wanted].data() == nullptr) return std::nullopt;
  return view(found[wanted].data(), found[wanted].size());
}

#else

namespace {
[[noreturn]] void fail_without(const char* function) {
  throw unplaced_error(std::string(function) +
                       ": this build of the library has no regular expressions: RE2 was not found; install libre2-dev, then configure "
                       "and build it again");
}
}  // namespace

bool matches_fn::native(view, view) { fail_without(name); }
std::string regex_replace_fn::native(view, view, view) { fail_without(name); }
std::optional<view> regex_extract_fn::native(view, view, std::size_t) { fail_without(name); }

#endif

}  // namespace query::detail
