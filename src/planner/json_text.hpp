// JSON as it is written: members and elements in order, indented, with what strings hold escaped.
//
//   json_text j;
//   j.object("", [&] { j.member("engine", "gpu"); j.list("reads", [&] { j.element("v1"); }); });
//   j.take()                                                  // {"engine": "gpu", "reads": ["v1"]}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace query::planner {

// "\"a\\nb\"". Bytes that are no UTF-8 become U+FFFD: places and file names may be in any encoding.
std::string json_quoted(std::string_view s);

class json_text {
 public:
  // `name`: of the member; empty: an element of a list, or the whole.
  template <class Body> void object(std::string_view name, Body body) { nest(name, '{', '}', body); }
  template <class Body> void list(std::string_view name, Body body) { nest(name, '[', ']', body); }
  void member(std::string_view name, std::string_view value) { begin(name), out_ += json_quoted(value); }
  void member(std::string_view name, const char* value) { member(name, std::string_view(value)); }
  void member(std::string_view name, bool value) { begin(name), out_ += value ? "true" : "false"; }
  void member(std::string_view name, int value) { begin(name), out_ += std::to_string(value); }
  void member(std::string_view name, std::uint64_t value) { begin(name), out_ += std::to_string(value); }
  void member(std::string_view name, double value);  // null where it is not finite: JSON has no word for that
  void element(std::string_view value) { begin(""), out_ += json_quoted(value); }
  // Left out where there is nothing to say.
  void member_if(std::string_view name, std::string_view value) {
    if (!value.empty()) member(name, value);
  }

  std::string take() { return std::move(out_) + "\n"; }

 private:
  template <class Body> void nest(std::string_view name, char open, char close, Body body) {
    begin(name);
    out_ += open;
    ++depth_;
    first_ = true;
    body();
    --depth_;
    if (!first_) line();
    first_ = false;
    out_ += close;
  }
  void begin(std::string_view name);
  void line();

  std::string out_;
  int depth_ = 0;
  bool first_ = true;
};

}  // namespace query::planner
