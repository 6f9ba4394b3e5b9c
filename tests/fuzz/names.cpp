// Public names: what is shown for a server's tool leads back to that server and tool, whatever both
// are called. Input: a line with the separator, lines with prefixes, an empty line, the native
// name.
#include "mcp/names.hpp"

#include "check.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace sluice::mcp;

namespace {

struct setting {
    naming rule;
    std::vector<std::string_view> prefixes;
    std::string_view native;
};

bool is_name(std::string_view text, std::size_t longest) {
    return !text.empty() && text.size() <= longest &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '.' || c == '-';
           });
}

// Decision 17: two prefixes that could stand before the same name are no configuration.
bool collide(std::string_view a, std::string_view b, const std::string& separator) {
    auto one = std::string(a) + separator;
    auto two = std::string(b) + separator;
    return one.starts_with(two) || two.starts_with(one);
}

std::string_view take_line(std::string_view& from) {
    auto at = from.find('\n');
    auto line = from.substr(0, at);
    from.remove_prefix(at == std::string_view::npos ? from.size() : at + 1);
    return line;
}

setting read(std::string_view input) {
    setting out;
    auto separator = take_line(input);
    if (is_name(separator, 4)) out.rule.separator = std::string(separator);
    while (!input.empty() && out.prefixes.size() < 20) {
        auto prefix = take_line(input);
        if (prefix.empty()) break;
        bool fits = is_name(prefix, 32) &&
                    std::none_of(out.prefixes.begin(), out.prefixes.end(), [&](auto other) {
                        return collide(prefix, other, out.rule.separator);
                    });
        if (fits) out.prefixes.push_back(prefix);
    }
    out.native = input;
    return out;
}

// What a split must be, said the long way: the longest prefix that stands there with the separator.
void check_split(const setting& s, std::string_view name) {
    auto got = split_public_name(s.rule, s.prefixes, name);
    std::size_t longest = 0;
    bool any = false;
    for (auto prefix : s.prefixes) {
        auto head = std::string(prefix) + s.rule.separator;
        if (!name.starts_with(head)) continue;
        any = true;
        longest = std::max(longest, prefix.size());
    }
    CHECK(got.has_value() == any);
    if (!got) return;
    auto prefix = s.prefixes[got->prefix_index];
    CHECK(prefix.size() == longest);
    CHECK(std::string(prefix) + s.rule.separator + std::string(got->native) == name);
    CHECK(got->shortened == is_shortened(s.rule, name));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto s = read({reinterpret_cast<const char*>(data), size});
    for (std::size_t i = 0; i < s.prefixes.size(); ++i) {
        auto whole = s.prefixes[i].size() + s.rule.separator.size() + s.native.size();
        auto shown = public_name(s.rule, s.prefixes[i], s.native);
        CHECK(shown.size() <= s.rule.max_length);
        CHECK(shown == public_name(s.rule, s.prefixes[i], s.native));
        auto back = split_public_name(s.rule, s.prefixes, shown);
        CHECK(back.has_value());
        CHECK(back->prefix_index == i);
        if (whole <= s.rule.max_length) {
            CHECK(back->native == s.native);
        } else {
            CHECK(back->shortened);
        }
        check_split(s, shown);
    }
    check_split(s, s.native);
    return 0;
}
