#include "mcp/url_required.hpp"

#include "wire/json.hpp"

#include <optional>

namespace sluice::mcp {

namespace {

std::optional<std::string> text_in(std::string_view object, std::string_view key) {
    auto value = wire::object_view(object).find(key);
    if (!value || wire::kind_of(*value) != wire::kind::string) return std::nullopt;
    return wire::unescape(*value);
}

std::string in_words(std::string_view error_object, std::string_view then) {
    auto text = text_in(error_object, "message").value_or("The server wants a page visited first.");
    auto data = wire::object_view(error_object).find("data").value_or("{}");
    auto pages = wire::object_view(data).find("elicitations").value_or("[]");
    for (auto page : wire::array_view(pages)) {
        auto url = text_in(page, "url");
        if (!url) continue;
        auto why = text_in(page, "message");
        text += "\n" + (why ? *why + ": " : std::string()) + *url;
    }
    return text.append("\nThe person should visit what they trust of this in a browser; then ")
        .append(then)
        .append(".");
}

} // namespace

std::string url_required_message(std::string_view error_object) {
    return in_words(error_object, "ask again");
}

std::string url_required_result(std::string_view error_object) {
    auto text = in_words(error_object, "call the tool again");
    return R"({"content":[{"type":"text","text":)" + wire::quote(text) + R"(}],"isError":true})";
}

} // namespace sluice::mcp
