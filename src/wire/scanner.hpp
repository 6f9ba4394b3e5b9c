// The validating scan: one pass over a JSON text that the caller may steer into chosen objects.
// Used by validate() and parse_message(). Accepts exactly RFC 8259 + UTF-8 + a depth limit.
#pragma once

#include "base/result.hpp"
#include "wire/bytes.hpp"
#include "wire/json.hpp"

#include <cstddef>
#include <string_view>

namespace sluice::wire {

class scanner {
public:
    scanner(std::string_view text, json_limits limits);

    bool at(char c) const { return cursor_ != end_ && *cursor_ == c; }
    bool at_end() const { return cursor_ == end_; }
    void space() { cursor_ = bytes::skip_space(cursor_, end_); }
    std::uint32_t offset() const { return static_cast<std::uint32_t>(cursor_ - begin_); }

    // Each consumes one value at the cursor, or fails for good: false, and fault() says why.
    bool value();
    bool string();

    // At '{'. on_member(raw_key) is called at each value and must consume it.
    template <class OnMember>
    bool object(OnMember&& on_member);

    bool fail(const char* reason);
    base::fault fault() const;

private:
    bool array();
    bool number();
    bool literal(std::string_view word);
    bool escape();
    bool enter();

    const char* begin_;
    const char* cursor_;
    const char* end_;
    std::size_t max_depth_;
    std::size_t depth_ = 0;
    const char* reason_ = nullptr;
};

template <class OnMember>
bool scanner::object(OnMember&& on_member) {
    if (!enter()) return false;
    space();
    if (at('}')) {
        ++cursor_;
        --depth_;
        return true;
    }
    for (;;) {
        if (!at('"')) return fail("expected a member name");
        const char* key = cursor_;
        if (!string()) return false;
        const std::string_view raw_key(key, static_cast<std::size_t>(cursor_ - key));
        space();
        if (!at(':')) return fail("expected ':'");
        ++cursor_;
        space();
        if (!on_member(raw_key)) return false;
        space();
        if (at('}')) break;
        if (!at(',')) return fail("expected ',' or '}'");
        ++cursor_;
        space();
    }
    ++cursor_;
    --depth_;
    return true;
}

} // namespace sluice::wire
