// A connection's bytes as our server reads them: any split gives the same requests and bodies as
// the whole; what we accept Beast reads with the same body and the same end; and a head that we
// write from whatever fields is read back as one head with the length we meant.
#include "check.hpp"
#include "net/http_write.hpp"
#include "request_reader.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::net;
using namespace sluice::net::fuzz;

namespace {

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
