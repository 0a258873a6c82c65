#include "runtime/begun_streams.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include <query/detail/failure.hpp>

namespace query::runtime {

std::shared_ptr<begun_streams::stream> begun_streams::open(int branch, const detail::logical& source) {
  const std::lock_guard hold(lock_);
  auto& known = streams_[branch];
  if (!known) {
    known = std::make_shared<stream>();
    known->rest = source.open(source.source.get());
  }
  if (known->taken != known->kept)
    throw stream_begun("the rows of " + source.label + " (" + detail::place_of(source.where) + ") cannot be read a second time: " +
                       std::to_string(known->taken) + " of them have been taken, which are more than is kept; put them into a "
                       "container, or order the verbs that read them to the CPU by on(query::engine::cpu)");
  return known;
}
bool begun_streams::has(int branch) const {
  const std::lock_guard hold(lock_);
  return streams_.contains(branch);
}
void begun_streams::forget(int branch) {
  std::shared_ptr<stream> last;  // the user's function goes outside of the lock
  const std::lock_guard hold(lock_);
  if (const auto it = streams_.find(branch); it != streams_.end()) {
    last = std::move(it->second);
    streams_.erase(it);
  }
}

begun_reader::begun_reader(begun_streams& all, int branch, const detail::logical& source, std::size_t most_bytes)
    : row_(source.row), most_bytes_(most_bytes), stream_(all.open(branch, source)), again_(stream_->pieces.size()) {}

std::size_t begun_reader::next(void* raw, std::size_t most) {
  if (piece_ < again_) {
    begun_streams::rows& p = stream_->pieces[piece_];
    const std::size_t n = std::min(most, p.n - at_);
    const std::byte* from = static_cast<const std::byte*>(p.at) + at_ * row_->size;
    if (row_->trivial) std::memcpy(raw, from, n * row_->size);
    else row_->life.copy(raw, from, n);
    at_ += n;
    if (at_ == p.n) {
      if (!most_bytes_) {  // nobody reads them after this one, and they may be all that there are
        p.owner = nullptr;
        stream_->kept = 0;
      }
      ++piece_, at_ = 0;
    }
    return n;
  }
  const std::size_t n = stream_->rest->next(raw, most);
  stream_->taken += n;
  return n;
}

void begun_reader::keep(const begun_streams::rows& last) {
  if (stream_->kept + last.n != stream_->taken) return;  // they are not new, or those before them are gone
  stream_->bytes += last.n * row_->size;
  if (stream_->bytes > most_bytes_ || (!row_->trivial && !row_->life.copy)) {
    stream_->pieces.clear();
    return;
  }
  stream_->pieces.push_back(last);
  stream_->kept = stream_->taken;
}

}  // namespace query::runtime
