#include "net/chunks.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace sluice::net {

namespace {

// Generous for what is sent in practice, and far below what could hurt.
constexpr std::uint32_t max_size_line = 1024;
constexpr std::uint32_t max_trailers = 16 * 1024;
constexpr std::uint64_t max_chunk = std::uint64_t{1} << 48;

bool is_control(char c) {
    auto u = static_cast<unsigned char>(c);
    return (u < 0x20 && c != '\t') || u == 0x7f;
}

} // namespace

std::size_t chunk_decoder::feed(std::string_view in, std::string& out) {
    std::size_t at = 0;
    while (at < in.size() && at_ != place::done && at_ != place::failed) {
        if (at_ == place::data) {
            auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size() - at));
            out.append(in.substr(at, piece));
            at += piece;
            left_ -= piece;
            if (left_ == 0) at_ = place::data_cr;
            continue;
        }
        step(in[at]);
        ++at;
    }
    return at;
}

void chunk_decoder::step(char c) {
    switch (at_) {
    case place::size:
    case place::extension:
        on_size(c);
        break;
    case place::size_lf:
        if (c != '\n') {
            at_ = place::failed;
        } else {
            line_ = 0;
            at_ = left_ == 0 ? place::trailer_start : place::data;
        }
        break;
    case place::data_cr:
        at_ = c == '\r' ? place::data_lf : place::failed;
        break;
    case place::data_lf:
        at_ = c == '\n' ? place::size : place::failed;
        break;
    case place::trailer_start:
    case place::trailer:
        on_trailer(c);
        break;
    case place::trailer_lf:
        at_ = c == '\n' ? place::trailer_start : place::failed;
        break;
    case place::end_lf:
        at_ = c == '\n' ? place::done : place::failed;
        break;
    case place::data:
    case place::done:
    case place::failed:
        break;
    }
}

void chunk_decoder::on_size(char c) {
    if (++line_ > max_size_line) {
        at_ = place::failed;
        return;
    }
    if (at_ == place::size) {
        int digit = base::hex_digit(c);
        if (digit >= 0) {
            left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
            if (left_ > max_chunk) at_ = place::failed;
            return;
        }
        bool has_digits = line_ > 1;
        if (has_digits && c == '\r') {
            at_ = place::size_lf;
        } else {
            at_ = has_digits && c == ';' ? place::extension : place::failed;
        }
        return;
    }
    if (c == '\r') {
        at_ = place::size_lf;
    } else if (is_control(c)) {
        at_ = place::failed;
    }
}

void chunk_decoder::on_trailer(char c) {
    if (++line_ > max_trailers) {
        at_ = place::failed;
        return;
    }
    if (c == '\r') {
        at_ = at_ == place::trailer_start ? place::end_lf : place::trailer_lf;
        return;
    }
    bool folded = at_ == place::trailer_start && (c == ' ' || c == '\t');
    at_ = folded || is_control(c) ? place::failed : place::trailer;
}

} // namespace sluice::net
