// The requests that a connection's bytes are, read with the parts that our server reads with.
#pragma once

#include "net/chunks.hpp"
#include "net/http_parse.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::net::fuzz {

struct message {
    std::string head; // method, target and fields, in order
    std::string body;
    std::size_t end = 0; // where in the stream it ended
    bool operator==(const message&) const = default;
};

struct outcome {
    std::vector<message> messages;
    bool refused = false;
    bool operator==(const outcome&) const = default;
};

// Reads requests from bytes that arrive piece by piece.
class reader {
public:
    void feed(std::string_view piece) {
        buffer_ += piece;
        while (!out_.refused && step()) {
        }
    }
    const outcome& out() const { return out_; }

private:
    bool step() {
        if (!in_body_ && !take_head()) return false;
        if (body_.kind == body_kind::chunked) {
            drop(chunks_.feed(buffer_, now_.body));
            if (chunks_.failed()) return refuse();
            if (!chunks_.done()) return false;
        } else {
            auto size =
                static_cast<std::size_t>(std::min<std::uint64_t>(body_.length, buffer_.size()));
            now_.body += buffer_.substr(0, size);
            body_.length -= size;
            drop(size);
            if (body_.length > 0) return false;
        }
        now_.end = consumed_;
        out_.messages.push_back(std::move(now_));
        in_body_ = false;
        return true;
    }

    bool take_head() {
        if (buffer_.empty()) return false;
        auto scanned = scanner_.scan(buffer_);
        if (scanned == head_state::malformed) return refuse();
        if (scanned == head_state::incomplete) return false;
        auto parsed = parse_request_head(std::string_view(buffer_).substr(0, scanner_.size()));
        if (!parsed) return refuse();
        now_ = {};
        now_.head = parsed->head.method + " " + parsed->head.target;
        for (const auto& [name, value] : parsed->head.headers.all())
            now_.head += "\n" + name + "=" + value;
        body_ = parsed->body;
        chunks_ = {};
        drop(scanner_.size());
        scanner_.reset();
        in_body_ = true;
        return true;
    }

    bool refuse() {
        out_.refused = true;
        return false;
    }
    void drop(std::size_t size) {
        buffer_.erase(0, size);
        consumed_ += size;
    }

    std::string buffer_;
    head_scanner scanner_;
    chunk_decoder chunks_;
    framing body_;
    message now_;
    outcome out_;
    std::size_t consumed_ = 0;
    bool in_body_ = false;
};

} // namespace sluice::net::fuzz
