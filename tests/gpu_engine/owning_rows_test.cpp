// Rows with strings and lists go to the device and come back as they were. Where there is no GPU the two kernels that gather
// what rows view are functions below; both find it by the type's description.
#include "gpu_engine/device_rows.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <query/errors.hpp>

#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/on_device.hpp"
#include "gpu_engine/upload.hpp"
#include "runtime/session_state.hpp"

namespace owning {

struct Note {
  std::int32_t id;
  std::string name;
  std::optional<std::string> text;
  std::vector<double> marks;
  std::vector<std::vector<std::string>> words;
  std::array<std::string, 2> both;
  std::optional<std::pair<std::int16_t, std::string>> place;
  bool operator==(const Note&) const = default;
};
QUERY_RECORD(Note, id, name, text, marks, words, both, place);

using Indexed = std::pair<std::string, std::map<int, int>>;

}  // namespace owning

namespace query::gpu_engine {
namespace {

using ir::kind;
using owning::Note;

std::vector<Note> notes(std::size_t n) {
  std::vector<Note> all(n);
  for (std::size_t i = 0; i < n; ++i) {
    Note& x = all[i];
    x.id = static_cast<std::int32_t>(i);
    x.name = std::string(i % 37, static_cast<char>('a' + i % 26));
    if (i % 3) x.text = std::string("zero\0within", 11) + std::to_string(i);
    x.marks.assign(i % 4, 0.5 * static_cast<double>(i));
    for (std::size_t w = 0; w < i % 3; ++w) x.words.push_back(std::vector<std::string>(w + i % 2, "word " + std::to_string(i)));
    x.both = {std::to_string(i), ""};
    if (i % 2) x.place = std::pair(static_cast<std::int16_t>(i), x.name);
  }
  return all;
}

// ---------------------------------------------------------------- what the kernels do
std::size_t rounded(std::size_t n) { return (n + 7) / 8 * 8; }

template <class F> void each_view(const ir::type* t, std::byte* v, F f) {
  if (same_on_device(t)) return;
  const std::size_t size = t->element ? device_layout(t->element).size : 1;
  switch (t->k) {
    case kind::record:
      for (std::size_t i = 0; i < t->field_list.size(); ++i) each_view(t->field_list[i].of, v + device_offset(t, i), f);
      return;
    case kind::array:
      for (std::size_t i = 0; i < t->count; ++i) each_view(t->element, v + i * size, f);
      return;
    case kind::optional:
      if (v[size] != std::byte{0}) each_view(t->element, v, f);
      return;
    default: {
      std::uint64_t at = 0, n = 0;
      std::memcpy(&n, v + 8, 8);
      f(v, n * size);
      std::memcpy(&at, v, 8);
      for (std::size_t i = 0; t->k == kind::list && i < n; ++i) each_view(t->element, reinterpret_cast<std::byte*>(at) + i * size, f);
    }
  }
}

template <class T> T argument(void** arguments, int i) {
  T value;
  std::memcpy(&value, arguments[i], sizeof value);
  return value;
}

class owning_rows : public on_device {
 protected:
  void SetUp() override {
    on_device::SetUp();
    if (IsSkipped()) return;
    kernel_cache::settings s{.headers = embedded_sources(), .options = {}, .folder = "", .compile = {}};
    if (fake()) {
      s.compile = [](std::string_view source, int) { return image_of(source); };
      fake()->add_kernel("measure_heap", [this](void** a) { measure(a); });
      fake()->add_kernel("pack_heap", [this](void** a) { pack(a); });
    }
    kernels_.emplace(std::move(s));
    gpu_ = std::make_shared<gpu_session>(gpu(), 0, *kernels_);
  }

  void measure(void** a) const {
    auto* values = argument<std::byte*>(a, 0);
    const auto n = argument<std::uint64_t>(a, 1);
    auto* offsets = argument<std::uint64_t*>(a, 3);
    offsets[0] = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      offsets[i + 1] = offsets[i];
      each_view(type_, values + i * size(), [&](std::byte*, std::size_t bytes) { offsets[i + 1] += rounded(bytes); });
    }
  }
  void pack(void** a) const {
    auto* values = argument<std::byte*>(a, 0);
    const auto n = argument<std::uint64_t>(a, 1);
    const auto* offsets = argument<const std::uint64_t*>(a, 2);
    auto *heap = argument<std::byte*>(a, 3), *packed = argument<std::byte*>(a, 4);
    std::memcpy(packed, values, n * size());
    for (std::uint64_t i = 0; i < n; ++i) {
      std::byte* to = heap + offsets[i];
      each_view(type_, packed + i * size(), [&](std::byte* view, std::size_t bytes) {
        const std::byte* from = nullptr;
        std::memcpy(&from, view, 8);
        if (bytes) std::memcpy(to, from, bytes);
        std::memcpy(view, &to, 8);
        to += rounded(bytes);
      });
      std::uint64_t name = 0;
      std::memcpy(&name, packed + i * size() + device_offset(type_, 1), 8);
      name += stray_;
      std::memcpy(packed + i * size() + device_offset(type_, 1), &name, 8);
    }
  }
  std::size_t size() const { return device_layout(type_).size; }

  std::shared_ptr<device_rows> upload(const std::vector<Note>& rows, const std::vector<input_column>& columns) {
    detail::row_block block;
    block.rows = const_cast<Note*>(rows.data());
    block.n = rows.size();
    const stream_lease s = gpu_->lease();
    auto made = upload_rows(gpu_, block, ir::describe<Note>(), columns, *s, context_);
    s->synchronize(cancel_);
    return made;
  }
  static std::vector<Note> rows_of(const detail::table& t) {
    const auto* rows = static_cast<const Note*>(t.rows);
    return {rows, rows + t.n};
  }

  const ir::type* type_ = ir::describe<Note>();
  std::uint64_t stray_ = 0;  // names lie so far off
  std::optional<kernel_cache> kernels_;
  std::shared_ptr<gpu_session> gpu_;
  runtime::session_state session_{{}};
  runtime::cancel_flag cancel_;
  runtime::run_context context_{*session_.scheduler, session_.pool, cancel_};
};
QUERY_ON_DEVICES(owning_rows);

TEST_P(owning_rows, come_back_as_they_were) {
  for (const std::size_t n : {0u, 1u, 100u, 40'000u}) {
    SCOPED_TRACE(n);
    const std::vector<Note> rows = notes(n);
    const auto there = upload(rows, {{0, ir::describe<Note>()}});
    EXPECT_TRUE(rows_of(there->fetch(context_)) == rows);
  }
}

TEST_P(owning_rows, come_back_in_pieces_where_the_device_is_short_of_memory) {
  const std::vector<Note> rows = notes(9000);
  const auto there = upload(rows, {{0, ir::describe<Note>()}});
  gpu_->memory().fail_allocation(2);
  EXPECT_TRUE(rows_of(there->fetch(context_)) == rows);
  gpu_->memory().fail_allocation(4);
  EXPECT_TRUE(rows_of(there->fetch(context_)) == rows);
}

TEST_P(owning_rows, are_checked_before_they_are_read) {
  if (!fake()) GTEST_SKIP() << "SKIPPED: a GPU's kernels do not stray";
  const std::vector<Note> rows = notes(50);
  const auto there = upload(rows, {{0, ir::describe<Note>()}});
  stray_ = std::uint64_t{1} << 30;
  EXPECT_THROW((void)there->fetch(context_), internal_error);
}

TEST(owning_row_types, that_the_host_could_not_make_are_refused) {
  EXPECT_NO_THROW(check_host_form(ir::describe<Note>()));
  EXPECT_NO_THROW(check_host_form(ir::describe<std::pair<int, std::string>>()));
  EXPECT_THROW(check_host_form(ir::describe<owning::Indexed>()), not_generated);
  EXPECT_THROW(check_host_form(ir::describe<std::vector<owning::Indexed>>()), not_generated);
}

}  // namespace
}  // namespace query::gpu_engine
