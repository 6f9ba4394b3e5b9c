#include "app/demo/lists.hpp"

#include "base/text.hpp"
#include "wire/json.hpp"

#include <array>
#include <vector>

namespace sluice::app::demo {

namespace {

constexpr int invalid_params = -32602;
constexpr int resource_missing = -32002;

constexpr std::array<std::string_view, 5> named_tools = {
    R"({"name":"countdown","title":"Countdown","description":"Counts down from a number and reports progress at every step.",)"
    R"("inputSchema":{"type":"object","properties":{)"
    R"("from":{"type":"integer","minimum":1,"maximum":100000,"default":10,"description":"how many steps"},)"
    R"("delay_ms":{"type":"integer","minimum":0,"maximum":60000,"default":100,"description":"milliseconds between steps"}}},)"
    R"("annotations":{"readOnlyHint":true}})",
    R"({"name":"echo","title":"Echo","description":"Returns its arguments byte for byte, as text and as structured content.",)"
    R"("inputSchema":{"type":"object","additionalProperties":true},"annotations":{"readOnlyHint":true}})",
    R"({"name":"slow","title":"Slow","description":"Says nothing for a while, then answers. Can be cancelled.",)"
    R"("inputSchema":{"type":"object","properties":{)"
    R"("ms":{"type":"integer","minimum":0,"maximum":3600000,"default":1000,"description":"milliseconds to wait"}}},)"
    R"("annotations":{"readOnlyHint":true}})",
    R"({"name":"ask","title":"Ask","description":"Asks the person at the host, with a form or a page to visit; returns the answer byte for byte.",)"
    R"("inputSchema":{"type":"object","properties":{)"
    R"("mode":{"type":"string","enum":["form","url"],"default":"form"},)"
    R"("message":{"type":"string","default":"How shall it be?"},)"
    R"("schema":{"type":"object","description":"the form, instead of one with every kind of field"},)"
    R"("url":{"type":"string","default":"https://example.com/connect?id=demo"}}}})",
    R"({"name":"fail","title":"Fail","description":"Fails, as a tool may: the result has isError.",)"
    R"("inputSchema":{"type":"object","properties":{)"
    R"("message":{"type":"string","default":"this tool always fails"}}}})",
};

std::string extra_tool(std::uint32_t number) {
    std::string n = std::to_string(number);
    return R"({"name":"item-)" + n + R"(","description":"Number )" + n +
           R"( of the paged catalogue; says its own name.","inputSchema":{"type":"object"}})";
}

// A cursor is the index of the first tool of its page, dressed so that nobody counts on it.
std::string cursor_of(std::size_t index) {
    return base::base64url("tools@" + std::to_string(index));
}

std::optional<std::size_t> index_of(const wire::message& m, std::size_t page, std::size_t total) {
    if (!m.cursor.present()) return 0;
    auto text = m.string_at(m.cursor);
    auto plain = text ? base::from_base64url(*text) : std::nullopt;
    if (!plain || !plain->starts_with("tools@")) return std::nullopt;
    auto index = base::parse_unsigned(std::string_view(*plain).substr(6));
    if (!index || page == 0 || *index >= total || *index % page != 0) return std::nullopt;
    return static_cast<std::size_t>(*index);
}

std::string contents(std::string_view uri, std::string_view text) {
    return R"({"contents":[{"uri":)" + wire::quote(uri) + R"(,"mimeType":"text/plain","text":)" +
           wire::quote(text) + "}]}";
}

std::string values(const std::vector<std::string>& found) {
    std::string all;
    for (const auto& one : found)
        all += (all.empty() ? "" : ",") + wire::quote(one);
    return R"({"completion":{"values":[)" + all + R"(],"total":)" + std::to_string(found.size()) +
           R"(,"hasMore":false}})";
}

constexpr std::string_view numbers = "demo://numbers/";

std::optional<std::string> member_text(std::string_view object, std::string_view key) {
    auto value = wire::object_view(object).find(key);
    if (!value || wire::kind_of(*value) != wire::kind::string) return std::nullopt;
    return wire::unescape(*value);
}

} // namespace

std::string text_result(std::string_view text, bool is_error) {
    return R"({"content":[{"type":"text","text":)" + wire::quote(text) + "}]" +
           (is_error ? R"(,"isError":true})" : "}");
}

bool is_extra_tool(std::string_view name, const options& wanted) {
    if (!name.starts_with("item-")) return false;
    auto number = base::parse_unsigned(name.substr(5));
    return number && *number >= 1 && *number <= wanted.extra_tools && name[5] != '0';
}

answer list_tools(const wire::message& m, const options& wanted) {
    std::size_t total = named_tools.size() + wanted.extra_tools;
    auto first = index_of(m, wanted.page_size, total);
    if (!first) return answer::failure(invalid_params, "unknown cursor");
    std::size_t end = wanted.page_size == 0 ? total : std::min(total, *first + wanted.page_size);
    std::string tools;
    for (std::size_t i = *first; i < end; ++i) {
        if (i != *first) tools += ',';
        if (i < named_tools.size())
            tools += named_tools[i];
        else
            tools += extra_tool(static_cast<std::uint32_t>(i - named_tools.size() + 1));
    }
    std::string next = end < total ? R"(,"nextCursor":")" + cursor_of(end) + '"' : std::string();
    return answer::of(R"({"tools":[)" + tools + "]" + next + "}");
}

answer list_prompts() {
    return answer::of(
        R"({"prompts":[{"name":"haiku","description":"Asks for a haiku about a subject.",)"
        R"("arguments":[{"name":"subject","description":"what it is about","required":true}]}]})"
    );
}

answer get_prompt(const wire::message& m) {
    if (m.string_at(m.name) != "haiku") return answer::failure(invalid_params, "unknown prompt");
    auto subject = m.arguments.present() ? member_text(m.view(m.arguments), "subject")
                                         : std::optional<std::string>();
    if (!subject) return answer::failure(invalid_params, "the argument 'subject' is missing");
    return answer::of(
        R"({"description":"A haiku","messages":[{"role":"user","content":{"type":"text","text":)" +
        wire::quote("Write a haiku about " + *subject + ".") + "}}]}"
    );
}

answer list_resources() {
    return answer::of(
        R"({"resources":[{"uri":"demo://readme","name":"readme","mimeType":"text/plain",)"
        R"("description":"What this demo server is."}]})"
    );
}

answer list_templates() {
    return answer::of(
        R"({"resourceTemplates":[{"uriTemplate":"demo://numbers/{n}","name":"numbers",)"
        R"("mimeType":"text/plain","description":"Any whole number, as text."}]})"
    );
}

answer read_resource(const wire::message& m) {
    auto uri = m.string_at(m.uri);
    if (!uri) return answer::failure(invalid_params, "params.uri is missing");
    if (*uri == "demo://readme")
        return answer::of(
            contents(*uri, "A small MCP server that comes with Sluice, to try it on.\n")
        );
    if (uri->starts_with(numbers)) {
        auto number = base::parse_unsigned(std::string_view(*uri).substr(numbers.size()));
        if (number) return answer::of(contents(*uri, std::to_string(*number)));
    }
    return answer::failure(
        resource_missing, "Resource not found", "{\"uri\":" + wire::quote(*uri) + "}"
    );
}

answer complete(const wire::message& m) {
    static const std::vector<std::string> subjects = {
        "rain", "rivers", "locks", "weirs", "water mills"
    };
    auto argument = m.params.present() ? wire::object_view(m.view(m.params)).find("argument")
                                       : std::optional<std::string_view>();
    if (!argument || wire::kind_of(*argument) != wire::kind::object)
        return answer::failure(invalid_params, "params.argument is missing");
    auto name = member_text(*argument, "name");
    auto typed = member_text(*argument, "value");
    auto type = m.string_at(m.ref_type);
    if (!name || !typed || !type)
        return answer::failure(invalid_params, "malformed completion request");
    bool prompt = *type == "ref/prompt" && m.string_at(m.ref_name) == "haiku";
    bool resource = *type == "ref/resource" && m.string_at(m.ref_uri) == "demo://numbers/{n}";
    if (!prompt && !resource) return answer::failure(invalid_params, "unknown reference");
    std::vector<std::string> found;
    if (prompt && *name == "subject") {
        for (const auto& one : subjects)
            if (one.starts_with(*typed)) found.push_back(one);
    }
    if (resource && *name == "n") {
        for (char digit = '0'; digit <= '9'; ++digit)
            if (typed->empty() || base::parse_unsigned(*typed)) found.push_back(*typed + digit);
    }
    return answer::of(values(found));
}

} // namespace sluice::app::demo
