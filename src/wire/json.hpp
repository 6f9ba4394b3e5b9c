// JSON as bytes: a strict validator (RFC 8259, UTF-8, depth), lazy views over validated text, and
// splicing. Used wherever a message is read or rewritten; nothing here builds a tree.
// Views and spans point into the caller's text and live as long as it does.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::wire {

// A byte range inside a text; begin == end == 0 means absent.
struct span {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;

    bool present() const { return end != 0; }
    std::uint32_t size() const { return end - begin; }
    std::string_view of(std::string_view bytes) const { return bytes.substr(begin, end - begin); }
    bool operator==(const span&) const = default;
};

// [] has depth 1. Limits over 1024 are taken as 1024: the scan recurses.
struct json_limits {
    std::size_t max_depth = 128;
};

// One whole JSON text, white space around it allowed. No overlong forms, no surrogates in UTF-8, no
// byte order mark; escapes of lone surrogates are legal. Faults carry errc::parse_error.
base::result<void> validate(std::string_view text, json_limits limits = {});

enum class kind : std::uint8_t { object, array, string, number, true_, false_, null };

kind kind_of(std::string_view value);

struct member {
    std::string_view raw_key; // with its quotes, escapes untouched
    std::string_view value;   // exact text, no white space around it

    bool key_is(std::string_view plain) const; // after unescaping
};

// Walks the members of one object in text that validate() has accepted. Anything else: no members.
class object_view {
public:
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = member;
        using difference_type = std::ptrdiff_t;
        using pointer = const member*;
        using reference = const member&;

        iterator() = default;
        explicit iterator(std::string_view rest) : rest_(rest) { read(); }
        const member& operator*() const { return current_; }
        const member* operator->() const { return &current_; }
        iterator& operator++() {
            read();
            return *this;
        }
        void operator++(int) { read(); }
        bool operator==(std::default_sentinel_t) const { return done_; }

    private:
        void read();

        std::string_view rest_;
        member current_;
        bool done_ = true;
    };

    explicit object_view(std::string_view object_text) : text_(object_text) {}
    iterator begin() const;
    std::default_sentinel_t end() const { return {}; }
    std::optional<std::string_view> find(std::string_view plain_key) const;
    bool empty() const { return begin() == end(); }

private:
    std::string_view text_;
};

// The same for the elements of one array.
class array_view {
public:
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = std::string_view;
        using difference_type = std::ptrdiff_t;
        using pointer = const std::string_view*;
        using reference = const std::string_view&;

        iterator() = default;
        explicit iterator(std::string_view rest) : rest_(rest) { read(); }
        const std::string_view& operator*() const { return current_; }
        const std::string_view* operator->() const { return &current_; }
        iterator& operator++() {
            read();
            return *this;
        }
        void operator++(int) { read(); }
        bool operator==(std::default_sentinel_t) const { return done_; }

    private:
        void read();

        std::string_view rest_;
        std::string_view current_;
        bool done_ = true;
    };

    explicit array_view(std::string_view array_text) : text_(array_text) {}
    iterator begin() const;
    std::default_sentinel_t end() const { return {}; }
    bool empty() const { return begin() == end(); }

private:
    std::string_view text_;
};

// A JSON string literal (with quotes) to UTF-8. A lone surrogate escape becomes its three-byte
// WTF-8 form, so different texts stay different.
std::string unescape(std::string_view json_string);

// Text to a JSON string literal; escapes only what JSON demands. Always valid JSON: lone surrogates
// of unescape() go back to escapes, other bytes that are not UTF-8 become U+FFFD.
std::string quote(std::string_view utf8);

// A JSON integer: no fraction, no exponent. -0 counts.
bool is_integer(std::string_view number_text);

// The first of `watched` that occurs twice in the object, names compared after unescaping.
std::optional<std::string_view>
duplicate_key(std::string_view object_text, std::span<const std::string_view> watched);

// Replace `where` by `with`; where.begin == where.end inserts there.
struct edit {
    span where;
    std::string_view with;
};

// Edits sorted by begin, not overlapping, inside the text; anything else throws invalid_argument.
std::string splice(std::string_view bytes, std::span<const edit> edits);

// To add a first member to an object: edit{inside(object), first_member(text, key, value)}.
inline span inside(span object) {
    return {object.begin + 1, object.begin + 1};
}
std::string
first_member(std::string_view object_text, std::string_view plain_key, std::string_view value);

} // namespace sluice::wire
