#include "net/http_parse.hpp"

#include "base/text.hpp"

#include <boost/beast/http/basic_parser.hpp>

#include <cstring>
#include <limits>

namespace sluice::net {

namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using beast_error = beast::error_code;
using text_view = beast::string_view;

base::fault bad(std::string why) {
    return {base::errc::parse_error, std::move(why)};
}

// Beast's parser of one head, filling our own values. It never sees a body.
template <bool IsRequest>
class head_reader final : public http::basic_parser<IsRequest> {
public:
    head_reader() {
        this->body_limit(boost::none);
        this->header_limit(std::numeric_limits<std::uint32_t>::max());
    }

    std::string method;
    std::string target;
    int version = 11;
    int status = 0;
    fields headers;

private:
    void on_request_impl(http::verb, text_view m, text_view t, int v, beast_error& error) override {
        error = {};
        method.assign(m.data(), m.size());
        target.assign(t.data(), t.size());
        version = v;
    }
    void on_response_impl(int code, text_view, int v, beast_error& error) override {
        error = {};
        status = code;
        version = v;
    }
    void on_field_impl(http::field, text_view name, text_view value, beast_error& error) override {
        error = {};
        headers.add({name.data(), name.size()}, {value.data(), value.size()});
    }
    void on_header_impl(beast_error& error) override { error = {}; }
    void on_body_init_impl(const boost::optional<std::uint64_t>&, beast_error& error) override {
        error = {};
    }
    std::size_t on_body_impl(text_view, beast_error& error) override {
        error = http::error::unexpected_body;
        return 0;
    }
    void on_chunk_header_impl(std::uint64_t, text_view, beast_error& error) override { error = {}; }
    std::size_t on_chunk_body_impl(std::uint64_t, text_view, beast_error& error) override {
        error = http::error::unexpected_body;
        return 0;
    }
    void on_finish_impl(beast_error& error) override { error = {}; }
};

// Beast folds continuation lines silently and answers a fold with the same value as none: look
// first.
base::result<void> check_lines(std::string_view head) {
    if (std::memchr(head.data(), '\0', head.size()) != nullptr)
        return bad("a NUL byte in the head");
    std::size_t at = 0;
    while (at < head.size()) {
        char first = head[at];
        if (first == ' ' || first == '\t') return bad("a line of the head begins with white space");
        auto end = head.find('\n', at);
        if (end == std::string_view::npos || end == at || head[end - 1] != '\r') {
            return bad("a line of the head does not end with CR LF");
        }
        at = end + 1;
    }
    return {};
}

// One pass over the fields that decide where the message ends and whom it is for.
struct framing_fields {
    int hosts = 0;
    int lengths = 0;
    int encodings = 0;
    std::string_view length;
    std::string_view encoding;
    bool expects_continue = false;
};

framing_fields look(const fields& headers) {
    framing_fields found;
    for (const auto& [name, value] : headers.all()) {
        switch (name.size()) {
        case 4:
            if (base::iequals(name, "Host")) ++found.hosts;
            break;
        case 6:
            if (base::iequals(name, "Expect") && base::iequals(value, "100-continue"))
                found.expects_continue = true;
            break;
        case 14:
            if (base::iequals(name, "Content-Length")) {
                ++found.lengths;
                found.length = value;
            }
            break;
        case 17:
            if (base::iequals(name, "Transfer-Encoding")) {
                ++found.encodings;
                found.encoding = value;
            }
            break;
        default:
            break;
        }
    }
    return found;
}

// The body's framing; `fallback` is what holds when no field says anything.
base::result<framing> frame(const framing_fields& found, int version, body_kind fallback) {
    if (found.encodings > 0) {
        if (version < 11) return bad("Transfer-Encoding in HTTP/1.0");
        if (found.encodings > 1 || !base::iequals(found.encoding, "chunked")) {
            return bad("a Transfer-Encoding other than chunked");
        }
        if (found.lengths > 0) return bad("both Transfer-Encoding and Content-Length");
        return framing{body_kind::chunked, 0};
    }
    if (found.lengths == 0) return framing{fallback, 0};
    if (found.lengths > 1) return bad("more than one Content-Length");
    auto length = base::parse_unsigned(found.length);
    if (!length || found.length.size() > 18) return bad("a Content-Length that is not a number");
    if (*length == 0) return framing{};
    return framing{body_kind::length, *length};
}

template <bool IsRequest>
base::result<void> read_head(head_reader<IsRequest>& reader, std::string_view head) {
    auto lines = check_lines(head);
    if (!lines) return lines.error();
    beast_error error;
    auto used = reader.put(boost::asio::const_buffer(head.data(), head.size()), error);
    if (error) return bad("malformed head: " + error.message());
    if (used != head.size() || !reader.is_header_done()) return bad("not one HTTP head");
    return {};
}

// "http://host/x" → "/x", and the Host field is then the target's (RFC 9112 §3.2.2).
base::result<void> to_origin_form(request_head& head) {
    if (head.target.starts_with('/')) return {};
    if (head.target == "*" && head.method == "OPTIONS") return {};
    auto absolute = parse_url(head.target);
    if (!absolute) return bad("a request target that is neither a path nor a URL");
    head.headers.set("Host", absolute->authority());
    head.target = std::move(absolute->target);
    return {};
}

} // namespace

head_state head_scanner::scan(std::string_view buffer) {
    for (;;) {
        auto end = buffer.find('\n', seen_);
        if (end == std::string_view::npos) {
            seen_ = buffer.size();
            return head_state::incomplete;
        }
        if (end == 0 || buffer[end - 1] != '\r') return head_state::malformed;
        bool blank = end == line_ + 1;
        line_ = seen_ = end + 1;
        if (blank) {
            size_ = line_;
            return head_state::complete;
        }
    }
}

base::result<parsed_request> parse_request_head(std::string_view head) {
    head_reader<true> reader;
    auto read = read_head(reader, head);
    if (!read) return read.error();

    auto found = look(reader.headers);
    if (found.hosts > 1 || (found.hosts == 0 && reader.version >= 11))
        return bad("a request needs exactly one Host");
    auto body = frame(found, reader.version, body_kind::none);
    if (!body) return body.error();

    parsed_request out;
    out.body = *body;
    out.http_1_0 = reader.version < 11;
    out.expects_continue = found.expects_continue && !out.http_1_0;
    out.head.method = std::move(reader.method);
    out.head.target = std::move(reader.target);
    out.head.headers = std::move(reader.headers);
    out.head.keep_alive = reader.keep_alive();
    auto origin_form = to_origin_form(out.head);
    if (!origin_form) return origin_form.error();
    return out;
}

base::result<parsed_response> parse_response_head(std::string_view head, bool to_head) {
    head_reader<false> reader;
    auto read = read_head(reader, head);
    if (!read) return read.error();
    if (reader.status < 100 || reader.status > 599) return bad("a status out of range");

    auto body = frame(look(reader.headers), reader.version, body_kind::until_close);
    if (!body) return body.error();
    bool no_body = to_head || reader.status < 200 || reader.status == 204 || reader.status == 304;

    parsed_response out;
    if (!no_body) out.body = *body;
    // Beast's own answer is about its framing, which a response to HEAD does not share.
    bool close = false;
    bool keep = false;
    for (const auto& [name, value] : reader.headers.all()) {
        if (!base::iequals(name, "Connection")) continue;
        for (auto token : base::split(value, ',')) {
            if (base::iequals(base::trim(token), "close")) close = true;
            if (base::iequals(base::trim(token), "keep-alive")) keep = true;
        }
    }
    out.keep_alive =
        !close && (reader.version >= 11 || keep) && out.body.kind != body_kind::until_close;
    out.head.status = reader.status;
    out.head.headers = std::move(reader.headers);
    return out;
}

} // namespace sluice::net
