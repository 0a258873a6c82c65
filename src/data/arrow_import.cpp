// query::from_arrow: takes a producer's structs over and makes a columnar source of them.
#include <cstring>
#include <exception>
#include <string>

#include <query/arrow.hpp>
#include <query/detail/failure.hpp>

#include "data/arrow_table.hpp"

namespace query::detail {

namespace {

constexpr std::string_view verb_name = "from_arrow";

// A struct of the interface that was moved here: released at the end.
template <class S> struct taken : S {
  explicit taken(S& from) : S(from) { from.release = nullptr; }
  taken() : S{} {}
  taken(const taken&) = delete;
  taken& operator=(const taken&) = delete;
  ~taken() {
    if (this->release) this->release(this);
  }
};

std::shared_ptr<const logical> source_of(const ArrowSchema& schema, std::vector<data::arrow_table::batch> batches, const ir::type* row,
                                         call_site at) {
  std::shared_ptr<const data::arrow_table> table;
  try {
    table = std::make_shared<const data::arrow_table>(row, schema, std::move(batches));
  } catch (const data::arrow_mismatch& e) {
    fail(verb_name, e.what(), at);
  }
  auto n = std::make_shared<logical>();
  n->what = verb::source_columns;
  n->label = verb_name;
  n->row = row;
  n->where = at;
  n->view = [](const void* s, row_block& b) { static_cast<const data::arrow_table*>(s)->view(b); };
  n->options = table;  // known by it: runs prepare what they read (runtime/execution.cpp)
  n->source = std::move(table);
  return n;
}

// Says what the stream said.
void check_call(int failed, ArrowArrayStream& stream, call_site at) {
  if (!failed) return;
  const char* const said = stream.get_last_error ? stream.get_last_error(&stream) : nullptr;
  fail(verb_name, "the stream's producer failed: " + std::string(said ? said : std::strerror(failed)), at);
}

}  // namespace

std::shared_ptr<const logical> arrow_source(ArrowArray* array, ArrowSchema* schema, const ir::type* row, call_site at) {
  if (!array || !schema || !array->release || !schema->release)
    fail(verb_name, "there is no Arrow data: the array and the schema must be filled, and not released", at);
  const taken<ArrowSchema> types(*schema);
  std::vector<data::arrow_table::batch> batches;
  batches.push_back(data::arrow_table::take(*array));
  return source_of(types, std::move(batches), row, at);
}

std::shared_ptr<const logical> arrow_source(ArrowArrayStream* stream, const ir::type* row, call_site at) {
  if (!stream || !stream->release) fail(verb_name, "there is no Arrow data: the stream must be filled, and not released", at);
  taken<ArrowArrayStream> from(*stream);
  taken<ArrowSchema> types;
  check_call(from.get_schema(&from, &types), from, at);
  std::vector<data::arrow_table::batch> batches;
  for (;;) {
    ArrowArray next{};
    check_call(from.get_next(&from, &next), from, at);
    if (!next.release) break;
    batches.push_back(data::arrow_table::take(next));
  }
  return source_of(types, std::move(batches), row, at);
}

}  // namespace query::detail
