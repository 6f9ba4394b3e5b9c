// A connection's bytes as our server reads them: any split gives the same requests and bodies as
// the whole; what we accept Beast reads with the same body and the same end; and a head that we
// write from whatever fields is read back as one head with the length we meant.
#include "check.hpp"
#include "net/chunks.hpp"
#include "net/http_parse.hpp"
#include "net/http_write.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::net;

namespace {

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

outcome read_whole(std::string_view text) {
    reader all;
    all.feed(text);
    return all.out();
}

outcome read_split(std::string_view text, std::uint32_t seed) {
    reader all;
    while (!text.empty()) {
        seed = seed * 1664525U + 1013904223U;
        auto size = std::min<std::size_t>(text.size(), 1 + (seed >> 24U) % 9);
        all.feed(text.substr(0, size));
        text.remove_prefix(size);
    }
    return all.out();
}

// Where two readers part is where requests are smuggled.
void compare_with_beast(std::string_view text, const outcome& ours) {
    namespace http = boost::beast::http;
    std::size_t begin = 0;
    for (const auto& one : ours.messages) {
        http::request_parser<http::string_body> parser;
        parser.body_limit(boost::none);
        parser.eager(true);
        boost::beast::error_code error;
        auto part = text.substr(begin, one.end - begin);
        auto used = parser.put(boost::asio::const_buffer(part.data(), part.size()), error);
        if (error)
            return; // stricter than we are about trailers and extensions: it refuses, which is safe
        CHECK(parser.is_done());
        CHECK(used == part.size());
        CHECK(parser.get().body() == one.body);
        begin = one.end;
    }
}

void write_and_read_back(std::string_view text) {
    fields headers;
    std::size_t at = 0;
    while (at < text.size()) {
        auto end = std::min(text.find('\x01', at), text.size());
        auto line = text.substr(at, end - at);
        auto middle = std::min(line.find('='), line.size());
        headers.add(
            std::string(line.substr(0, middle)),
            std::string(line.substr(std::min(middle + 1, line.size())))
        );
        at = end + 1;
    }
    std::string head;
    append_request_head(head, "POST", "/", headers, {"a", true, 5});
    head_scanner scanner;
    auto scanned = scanner.scan(head);
    CHECK(scanned == head_state::complete);
    CHECK(scanner.size() == head.size());
    // Names and values are the caller's, so Beast may still refuse them; never read them otherwise.
    auto parsed = parse_request_head(head);
    if (!parsed) return;
    CHECK(parsed->body.kind == body_kind::length);
    CHECK(parsed->body.length == 5);
    CHECK(parsed->head.headers.get("Host") == "a");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1) return 0;
    const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
    const outcome whole = read_whole(text);
    CHECK(read_split(text, data[0]) == whole);
    compare_with_beast(text, whole);
    write_and_read_back(text);
    return 0;
}
