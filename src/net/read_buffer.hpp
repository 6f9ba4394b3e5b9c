// Bytes read from a socket and not yet consumed: flat, grows on demand, and gives its memory back
// when asked to, so that an idle stream holds none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace sluice::net {

class read_buffer {
public:
    std::string_view view() const { return {data_.get() + begin_, end_ - begin_}; }
    std::size_t size() const { return end_ - begin_; }
    bool empty() const { return begin_ == end_; }

    void consume(std::size_t n) {
        begin_ += n;
        if (begin_ == end_) begin_ = end_ = 0;
    }

    // Room for at least `least` more bytes.
    std::span<char> room(std::size_t least) {
        if (capacity_ - end_ < least) make_room(least);
        return {data_.get() + end_, capacity_ - end_};
    }
    void commit(std::size_t n) { end_ += n; }

    // Gives the memory back when nothing is kept in it and it is larger than `keep`.
    void shrink(std::size_t keep) {
        if (!empty() || capacity_ <= keep) return;
        data_.reset();
        begin_ = end_ = capacity_ = 0;
    }

private:
    void make_room(std::size_t least) {
        std::size_t wanted = size() + least;
        if (wanted <= capacity_) {
            std::memmove(data_.get(), data_.get() + begin_, size());
        } else {
            std::size_t grown = std::max(wanted, capacity_ * 2);
            std::unique_ptr<char[]> fresh(new char[grown]);
            if (!empty()) std::memcpy(fresh.get(), data_.get() + begin_, size());
            data_ = std::move(fresh);
            capacity_ = grown;
        }
        end_ = size();
        begin_ = 0;
    }

    std::unique_ptr<char[]> data_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::size_t capacity_ = 0;
};

} // namespace sluice::net
