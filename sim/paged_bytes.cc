#include "sim/paged_bytes.h"

#include <algorithm>
#include <cstring>

namespace booblik::sim {
namespace {

std::size_t page_of(std::int64_t position) {
  return static_cast<std::size_t>(position / kPageBytes);
}

std::size_t within_page(std::int64_t position) {
  return static_cast<std::size_t>(position % kPageBytes);
}

std::size_t pages_for(std::int64_t size) {
  return page_of(size + kPageBytes - 1);
}

}  // namespace

std::size_t PagedBytes::read(MutableBytes buffer, std::int64_t position) const {
  const auto length = static_cast<std::size_t>(
      std::clamp<std::int64_t>(size_ - position, 0, static_cast<std::int64_t>(buffer.size())));
  read_padded(buffer.first(length), position);
  return length;
}

void PagedBytes::read_padded(MutableBytes buffer, std::int64_t position) const {
  while (!buffer.empty()) {
    const std::size_t start = within_page(position);
    const std::size_t piece = std::min(buffer.size(), kPageBytes - start);
    const std::size_t index = page_of(position);
    if (index < pages_.size() && pages_[index] != nullptr) {
      std::memcpy(buffer.data(), pages_[index]->data() + start, piece);
    } else {
      std::memset(buffer.data(), 0, piece);
    }
    buffer = buffer.subspan(piece);
    position += static_cast<std::int64_t>(piece);
  }
}

PagedBytes::Page& PagedBytes::own_page(std::size_t index) {
  if (index >= pages_.size()) {
    pages_.resize(index + 1);
  }
  std::shared_ptr<Page>& page = pages_[index];
  if (page == nullptr) {
    page = std::make_shared<Page>();
    page->fill(std::byte{0});
    ++allocated_pages_;
  } else if (page.use_count() > 1) {
    page = std::make_shared<Page>(*page);
  }
  return *page;
}

void PagedBytes::write(Bytes bytes, std::int64_t position) {
  size_ = std::max(size_, position + static_cast<std::int64_t>(bytes.size()));
  while (!bytes.empty()) {
    const std::size_t start = within_page(position);
    const std::size_t piece = std::min(bytes.size(), kPageBytes - start);
    std::memcpy(own_page(page_of(position)).data() + start, bytes.data(), piece);
    bytes = bytes.subspan(piece);
    position += static_cast<std::int64_t>(piece);
  }
}

void PagedBytes::resize(std::int64_t size) {
  const std::size_t kept = pages_for(size);
  for (std::size_t index = kept; index < pages_.size(); ++index) {
    allocated_pages_ -= pages_[index] != nullptr ? 1 : 0;
  }
  if (kept < pages_.size()) {
    pages_.resize(kept);
  }
  const std::size_t tail = within_page(size);
  if (size < size_ && tail != 0 && kept <= pages_.size() && pages_[kept - 1] != nullptr) {
    Page& last = own_page(kept - 1);
    std::fill(last.begin() + static_cast<std::ptrdiff_t>(tail), last.end(), std::byte{0});
  }
  size_ = size;
}

void PagedBytes::share_page(const PagedBytes& from, std::int64_t page) {
  const auto index = static_cast<std::size_t>(page);
  if (index >= pages_.size()) {
    pages_.resize(index + 1);
  }
  allocated_pages_ -= pages_[index] != nullptr ? 1 : 0;
  pages_[index] = index < from.pages_.size() ? from.pages_[index] : nullptr;
  allocated_pages_ += pages_[index] != nullptr ? 1 : 0;
  // What the other image has behind our end is not ours.
  const std::size_t tail = within_page(size_);
  if (pages_[index] != nullptr && index == page_of(size_) && tail != 0 && from.size_ > size_) {
    Page& last = own_page(index);
    std::fill(last.begin() + static_cast<std::ptrdiff_t>(tail), last.end(), std::byte{0});
  }
}

void PagedBytes::flip_bit(std::int64_t position, unsigned bit) {
  own_page(page_of(position))[within_page(position)] ^= std::byte{1} << bit;
}

std::int64_t PagedBytes::missing_bytes(std::int64_t position, std::int64_t length) const {
  if (length <= 0) {
    return 0;
  }
  std::int64_t missing = 0;
  for (std::size_t index = page_of(position); index <= page_of(position + length - 1); ++index) {
    missing += index >= pages_.size() || pages_[index] == nullptr ? kPageBytes : 0;
  }
  return missing;
}

bool PagedBytes::operator==(const PagedBytes& other) const {
  if (size_ != other.size_) {
    return false;
  }
  const Page zeros{};
  for (std::size_t index = 0; index < std::max(pages_.size(), other.pages_.size()); ++index) {
    const Page* left = index < pages_.size() ? pages_[index].get() : nullptr;
    const Page* right = index < other.pages_.size() ? other.pages_[index].get() : nullptr;
    if (left != right && (left != nullptr ? *left : zeros) != (right != nullptr ? *right : zeros)) {
      return false;
    }
  }
  return true;
}

}  // namespace booblik::sim
