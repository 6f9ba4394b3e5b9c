#include "net/http_write.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <ctime>

namespace sluice::net {

namespace {

bool breaks_lines(std::string_view text) {
    return std::ranges::any_of(text, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

bool is_odd_name(std::string_view name) {
    return name.empty() || breaks_lines(name) ||
           std::ranges::any_of(name, [](char c) { return c == ':' || c == ' ' || c == '\t'; });
}

// Fields of which this room is the only author.
bool is_ours(std::string_view name) {
    switch (name.size()) {
    case 4:
        return base::iequals(name, "Date") || base::iequals(name, "Host");
    case 10:
        return base::iequals(name, "Connection");
    case 14:
        return base::iequals(name, "Content-Length");
    case 17:
        return base::iequals(name, "Transfer-Encoding");
    default:
        return false;
    }
}

void append_fields(std::string& out, const fields& headers) {
    for (const auto& [name, value] : headers.all()) {
        if (!is_ours(name)) append_field(out, name, value);
    }
}

} // namespace

void append_field(std::string& out, std::string_view name, std::string_view value) {
    if (is_odd_name(name) || breaks_lines(value)) return;
    out.append(name).append(": ").append(value).append("\r\n");
}

void append_number(std::string& out, std::uint64_t number) {
    char text[20];
    auto end = std::to_chars(std::begin(text), std::end(text), number).ptr;
    out.append(text, end);
}

std::string_view chunk_prefix(std::uint64_t size, char (&space)[20]) {
    auto* end = std::to_chars(std::begin(space), std::end(space) - 2, size, 16).ptr;
    *end++ = '\r';
    *end++ = '\n';
    return {space, static_cast<std::size_t>(end - space)};
}

std::string_view date_line::now() {
    auto second = static_cast<std::int64_t>(std::time(nullptr));
    if (second != second_) {
        second_ = second;
        std::time_t at = second;
        std::tm parts{};
        ::gmtime_r(&at, &parts);
        std::strftime(text_, sizeof text_, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    }
    return text_;
}

void append_response_head(
    std::string& out,
    int status,
    const fields& headers,
    std::string_view date,
    const response_marks& marks
) {
    out.append("HTTP/1.1 ");
    append_number(out, static_cast<std::uint64_t>(std::max(status, 0)));
    out.append(" ").append(reason_of(status)).append("\r\n");
    append_fields(out, headers);
    out.append("Date: ").append(date).append("\r\n");
    if (marks.body == body_mark::length) {
        out.append("Content-Length: ");
        append_number(out, marks.length);
        out.append("\r\n");
    } else if (marks.body == body_mark::chunked) {
        out.append("Transfer-Encoding: chunked\r\n");
    }
    if (marks.close) {
        out.append("Connection: close\r\n");
    } else if (marks.say_keep_alive) {
        out.append("Connection: keep-alive\r\n");
    }
    out.append("\r\n");
}

void append_request_head(
    std::string& out,
    std::string_view method,
    std::string_view target,
    const fields& headers,
    const request_marks& marks
) {
    out.append(method)
        .append(" ")
        .append(target)
        .append(" HTTP/1.1\r\nHost: ")
        .append(marks.host)
        .append("\r\n");
    append_fields(out, headers);
    if (marks.with_length) {
        out.append("Content-Length: ");
        append_number(out, marks.length);
        out.append("\r\n");
    }
    out.append("\r\n");
}

} // namespace sluice::net
