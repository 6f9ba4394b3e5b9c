#include "wire/json.hpp"

#include "wire/bytes.hpp"
#include "wire/scanner.hpp"

#include <cstring>
#include <stdexcept>

namespace sluice::wire {

namespace {

std::string_view between(const char* from, const char* to) {
    return {from, static_cast<std::size_t>(to - from)};
}

// After the closing quote of the string that opens at p. Validated text.
const char* after_string(const char* p, const char* end) {
    ++p;
    for (;;) {
        p = bytes::find_quote(p, end);
        if (p == end) return end;
        if (*p == '"') return p + 1;
        if (end - p < 2) return end;
        p += 2;
    }
}

const char* after_container(const char* p, const char* end) {
    std::size_t depth = 0;
    while (p != end) {
        switch (*p) {
        case '"':
            p = after_string(p, end);
            break;
        case '[':
        case '{':
            ++depth;
            ++p;
            break;
        default: // a closing one: find_bracket stops at nothing else
            ++p;
            if (--depth == 0) return p;
            break;
        }
        p = bytes::find_bracket(p, end);
    }
    return end;
}

const char* after_value(const char* p, const char* end) {
    if (p == end) return end;
    if (*p == '"') return after_string(p, end);
    if (*p == '{' || *p == '[') return after_container(p, end);
    while (p != end && *p != ',' && *p != '}' && *p != ']' && !bytes::has(*p, bytes::is_space))
        ++p;
    return p;
}

// What follows the opening bracket, if `text` opens with it.
std::string_view past_opening(std::string_view text, char opening) {
    const char* end = bytes::last(text);
    const char* p = bytes::skip_space(bytes::first(text), end);
    if (p == end || *p != opening) return {};
    return between(p + 1, end);
}

// Past white space and at most one comma.
const char* to_next(const char* p, const char* end) {
    p = bytes::skip_space(p, end);
    if (p != end && *p == ',') p = bytes::skip_space(p + 1, end);
    return p;
}

} // namespace

base::result<void> validate(std::string_view text, json_limits limits) {
    scanner scan(text, limits);
    scan.space();
    if (!scan.value()) return scan.fault();
    scan.space();
    if (!scan.at_end()) {
        scan.fail("something follows the value");
        return scan.fault();
    }
    return {};
}

kind kind_of(std::string_view value) {
    const char* end = bytes::last(value);
    const char* p = bytes::skip_space(bytes::first(value), end);
    if (p == end) return kind::null;
    switch (*p) {
    case '{':
        return kind::object;
    case '[':
        return kind::array;
    case '"':
        return kind::string;
    case 't':
        return kind::true_;
    case 'f':
        return kind::false_;
    case 'n':
        return kind::null;
    default:
        return kind::number;
    }
}

bool member::key_is(std::string_view plain) const {
    if (raw_key.size() < 2) return false;
    const auto inner = raw_key.substr(1, raw_key.size() - 2);
    // Escapes only make a name longer, so names of equal length are equal only without any.
    if (inner.size() < plain.size()) return false;
    if (inner.size() == plain.size())
        return inner == plain && plain.find('\\') == std::string_view::npos;
    return inner.find('\\') != std::string_view::npos && unescape(raw_key) == plain;
}

void object_view::iterator::read() {
    const char* end = bytes::last(rest_);
    const char* key = to_next(bytes::first(rest_), end);
    done_ = key == end || *key != '"';
    if (done_) return;
    const char* after_key = after_string(key, end);
    const char* value = bytes::skip_space(after_key, end);
    if (value != end) value = bytes::skip_space(value + 1, end); // the colon
    const char* after = after_value(value, end);
    current_ = {between(key, after_key), between(value, after)};
    rest_ = between(after, end);
}

object_view::iterator object_view::begin() const {
    return iterator(past_opening(text_, '{'));
}

std::optional<std::string_view> object_view::find(std::string_view plain_key) const {
    for (const member& m : *this)
        if (m.key_is(plain_key)) return m.value;
    return std::nullopt;
}

void array_view::iterator::read() {
    const char* end = bytes::last(rest_);
    const char* value = to_next(bytes::first(rest_), end);
    done_ = value == end || *value == ']';
    if (done_) return;
    const char* after = after_value(value, end);
    done_ = after == value; // only in text nobody validated
    current_ = between(value, after);
    rest_ = between(after, end);
}

array_view::iterator array_view::begin() const {
    return iterator(past_opening(text_, '['));
}

bool is_integer(std::string_view number_text) {
    if (!number_text.empty() && number_text.front() == '-') number_text.remove_prefix(1);
    if (number_text.empty() || (number_text.size() > 1 && number_text.front() == '0')) return false;
    const char* end = bytes::last(number_text);
    return bytes::skip_digits(bytes::first(number_text), end) == end;
}

std::optional<std::string_view>
duplicate_key(std::string_view object_text, std::span<const std::string_view> watched) {
    std::vector<bool> seen(watched.size());
    for (const member& m : object_view(object_text)) {
        for (std::size_t i = 0; i < watched.size(); ++i) {
            if (!m.key_is(watched[i])) continue;
            if (seen[i]) return watched[i];
            seen[i] = true;
        }
    }
    return std::nullopt;
}

std::string splice(std::string_view text, std::span<const edit> edits) {
    std::size_t size = text.size();
    std::size_t done = 0;
    for (const edit& e : edits) {
        if (e.where.begin < done || e.where.end < e.where.begin || e.where.end > text.size())
            throw std::invalid_argument("splice: edits out of order or out of range");
        done = e.where.end;
        size = size - e.where.size() + e.with.size();
    }
    std::string out;
    out.reserve(size);
    done = 0;
    for (const edit& e : edits) {
        out.append(text, done, e.where.begin - done).append(e.with);
        done = e.where.end;
    }
    out.append(text, done);
    return out;
}

std::string
first_member(std::string_view object_text, std::string_view plain_key, std::string_view value) {
    std::string out = quote(plain_key);
    out.append(":").append(value);
    if (!object_view(object_text).empty()) out += ',';
    return out;
}

} // namespace sluice::wire
