// The JSON scan against the oracle: they accept the same texts at every depth limit. What they
// accept is also walked by the views, which must give back every token, and nothing but white space
// is lost.
#include "check.hpp"
#include "oracle.hpp"
#include "wire/json.hpp"

#include <string>

using namespace sluice::wire;

namespace {

std::string without_space(std::string_view text) {
    std::string out;
    bool inside = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (inside && c == '\\') {
            out += c;
            out += text[++i];
            continue;
        }
        if (c == '"') inside = !inside;
        if (inside || (c != ' ' && c != '\t' && c != '\n' && c != '\r')) out += c;
    }
    return out;
}

void check_string(std::string_view literal) {
    const std::string text = unescape(literal);
    const std::string again = quote(text);
    CHECK(validate(again).ok());
    CHECK(unescape(again) == text);
    if (literal.find('\\') == std::string_view::npos)
        CHECK(text == literal.substr(1, literal.size() - 2));
}

void render(std::string& out, std::string_view value) {
    const kind what = kind_of(value);
    if (what == kind::object) {
        out += '{';
        for (const member& m : object_view(value)) {
            check_string(m.raw_key);
            CHECK(m.key_is(unescape(m.raw_key)));
            if (out.back() != '{') out += ',';
            out.append(m.raw_key).append(":");
            render(out, m.value);
        }
        out += '}';
    } else if (what == kind::array) {
        out += '[';
        bool first = true;
        for (std::string_view element : array_view(value)) {
            if (!first) out += ',';
            first = false;
            render(out, element);
        }
        out += ']';
    } else {
        if (what == kind::string) check_string(value);
        out.append(value);
    }
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const bool accepted = validate(text).ok();
    CHECK(accepted == oracle::accepts(text, 128));
    for (std::size_t depth : {0, 1, 2, 5})
        CHECK(validate(text, {.max_depth = depth}).ok() == oracle::accepts(text, depth));
    if (!accepted) {
        // Views must stay inside any text; the sanitizer watches.
        for ([[maybe_unused]] const member& m : object_view(text)) {
        }
        for ([[maybe_unused]] std::string_view e : array_view(text)) {
        }
        return 0;
    }
    std::string out;
    render(out, trimmed(text));
    CHECK(out == without_space(text));
    return 0;
}
