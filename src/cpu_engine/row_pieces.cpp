#include "cpu_engine/row_pieces.hpp"

#include <algorithm>

#include <query/cpu/segment_form.hpp>

#include "cpu_engine/rows_buffer.hpp"

namespace query::cpu {

namespace {

class generated final : public row_pieces {
 public:
  generated(std::unique_ptr<detail::row_stream> stream, const ir::type* row, runtime::run_context& context)
      : stream_(std::move(stream)), row_(row), context_(&context) {}
  bool next(detail::table& rows, std::size_t about) override {
    if (ended_) return false;
    about = std::min(about, most_generated_rows(row_->size));
    rows_buffer made(row_, context_->pool);
    made.reserve(std::min(about, std::max<std::size_t>(first_bytes / row_->size, 1)));  // larger pieces grow, as there may be few rows
    const std::size_t limit = context_->pool.limit(), most_heap = limit ? limit / 32 : ~std::size_t{0};
    while (made.size() < about && made.heap().bytes() < most_heap) {
      context_->cancel.check();
      const std::size_t most = std::min(rows_a_batch(row_->size), about - made.size());
      const std::size_t k = stream_->next(made.extend(most), most);
      if (k == 0) {
        ended_ = true;
        break;
      }
      made.grow(k);
    }
    if (made.size() == 0) return false;
    rows = std::move(made).to_table();
    return true;
  }
  bool prompt() const override { return true; }

 private:
  static constexpr std::size_t first_bytes = std::size_t{1} << 18;

  std::unique_ptr<detail::row_stream> stream_;
  const ir::type* row_;
  runtime::run_context* context_;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<row_pieces> generated_rows(std::unique_ptr<detail::row_stream> stream, const ir::type* row, runtime::run_context& context) {
  return std::make_unique<generated>(std::move(stream), row, context);
}

}  // namespace query::cpu
