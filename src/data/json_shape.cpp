#include "data/json_shape.hpp"

#include <algorithm>
#include <utility>

#include <query/detail/failure.hpp>

#include "data/leaf_columns.hpp"
#include "ir/time_text.hpp"

namespace query::data {
namespace {

class shape_maker {
 public:
  shape_maker(const json_options& options, std::string_view verb) : options_(options), verb_(verb), used_(options.columns.size(), false) {}

  json_shape shape_of(const ir::type* t, const std::string& path) {
    json_shape shape{t, {}, {}};
    switch (t->k) {
      case ir::kind::opaque:
        refuse("a value of JSON is a number, a bool, an enum, a string, a described struct, or a std::optional, std::array or std::vector "
               "of those: " + (path.empty() ? "the row" : "field '" + path + "'") + " is " + type_name(t));
      case ir::kind::record:
        if (!ir::is_time_text(t))
          for (const ir::field& f : t->fields()) add(shape, f, path);
        break;
      case ir::kind::array:
      case ir::kind::optional:
      case ir::kind::list: shape.parts.push_back(shape_of(t->element, path)); break;
      default: break;
    }
    return shape;
  }
  void finish(const ir::type* row) const {
    for (std::size_t i = 0; i < used_.size(); ++i)
      if (!used_[i])
        refuse(".columns names a field that " + type_name(row) + " does not have: '" + options_.columns[i].field + "'");
  }

 private:
  void add(json_shape& to, const ir::field& f, const std::string& path) {
    const std::string name(f.name), whole = path.empty() ? name : path + "." + name;
    std::string key = name;
    for (std::size_t i = 0; i < used_.size(); ++i)
      if (options_.columns[i].field == whole) {
        key = options_.columns[i].column;
        used_[i] = true;
      }
    if (std::find(to.keys.begin(), to.keys.end(), key) != to.keys.end())
      refuse("two fields of " + type_name(to.of) + " have the key '" + key + "'");
    to.keys.push_back(std::move(key));
    to.parts.push_back(shape_of(f.of, whole));
  }
  [[noreturn]] void refuse(const std::string& what) const { throw detail::unplaced_error(std::string(verb_) + ": " + what); }

  const json_options& options_;
  std::string_view verb_;
  std::vector<bool> used_;       // of options.columns
};

}  // namespace

json_shape json_shape_of(const ir::type* row, const json_options& options, std::string_view verb) {
  shape_maker maker(options, verb);
  json_shape shape = maker.shape_of(row, "");
  maker.finish(row);
  return shape;
}

}  // namespace query::data
