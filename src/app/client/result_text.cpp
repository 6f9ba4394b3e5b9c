#include "app/client/result_text.hpp"

#include "wire/json.hpp"

namespace sluice::app {

namespace {

bool is_object(std::optional<std::string_view> value) {
    return value && wire::kind_of(*value) == wire::kind::object;
}

std::string bytes_text(std::string_view block, std::string_view what, std::string_view data_key) {
    auto data = text_member(block, data_key);
    auto type = text_member(block, "mimeType").value_or("unknown type");
    std::size_t size = data ? data->size() / 4 * 3 : 0;
    return "[" + std::string(what) + ", " + type + ", about " + std::to_string(size) + " bytes]";
}

std::string block_text(std::string_view block) {
    auto type = text_member(block, "type").value_or("");
    if (type == "text") return text_member(block, "text").value_or("");
    if (type == "image" || type == "audio") return bytes_text(block, type, "data");
    if (type == "resource_link")
        return "[resource " + text_member(block, "uri").value_or("?") + "]";
    auto inner = wire::object_view(block).find("resource");
    if (type == "resource" && is_object(inner)) {
        if (auto text = text_member(*inner, "text")) return *text;
        return bytes_text(*inner, "resource " + text_member(*inner, "uri").value_or("?"), "blob");
    }
    return std::string(block);
}

} // namespace

std::optional<std::string> text_member(std::string_view object, std::string_view key) {
    auto value = wire::object_view(object).find(key);
    if (!value || wire::kind_of(*value) != wire::kind::string) return std::nullopt;
    return wire::unescape(*value);
}

std::string content_text(std::string_view result) {
    wire::object_view object(result);
    std::string text;
    auto content = object.find("content");
    if (content && wire::kind_of(*content) == wire::kind::array) {
        for (auto block : wire::array_view(*content)) {
            text += block_text(block);
            if (!text.ends_with('\n')) text += '\n';
        }
    }
    auto structured = object.find("structuredContent");
    if (text.empty() && structured) text = std::string(*structured) + "\n";
    return text;
}

std::string server_title(std::string_view initialize_result) {
    auto info = wire::object_view(initialize_result).find("serverInfo");
    if (!is_object(info)) return "a server without a name";
    auto name = text_member(*info, "name").value_or("a server without a name");
    auto version = text_member(*info, "version").value_or("");
    return version.empty() ? name : name + " " + version;
}

bool has_capability(std::string_view initialize_result, std::string_view name) {
    auto all = wire::object_view(initialize_result).find("capabilities");
    return is_object(all) && is_object(wire::object_view(*all).find(name));
}

std::vector<std::string> bad_outcomes(std::string_view result) {
    std::vector<std::string> sentences;
    auto meta = wire::object_view(result).find("_meta");
    if (!is_object(meta)) return sentences;
    auto outcomes = wire::object_view(*meta).find("sluice/server_outcomes");
    if (!is_object(outcomes)) return sentences;
    for (const auto& server : wire::object_view(*outcomes)) {
        std::optional<std::string> outcome;
        if (wire::kind_of(server.value) == wire::kind::string)
            outcome = wire::unescape(server.value);
        if (wire::kind_of(server.value) == wire::kind::object)
            outcome = text_member(server.value, "outcome");
        if (outcome && *outcome != "ok")
            sentences.push_back(wire::unescape(server.raw_key) + ": " + *outcome);
    }
    return sentences;
}

} // namespace sluice::app
