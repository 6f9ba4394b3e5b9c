#include "app/demo/lists.hpp"
#include "app/demo/session.hpp"
#include "wire/json.hpp"

namespace sluice::app::demo {

namespace {

constexpr auto patience = std::chrono::minutes(10);

// Every kind of field that a form may have.
constexpr std::string_view every_field =
    R"({"type":"object","properties":{)"
    R"("name":{"type":"string","title":"Name","description":"who it is for","minLength":2,"maxLength":20},)"
    R"("email":{"type":"string","format":"email"},)"
    R"("day":{"type":"string","format":"date","default":"2025-11-25"},)"
    R"("count":{"type":"integer","minimum":1,"maximum":12,"default":3},)"
    R"("ratio":{"type":"number","minimum":0,"maximum":1.50},)"
    R"("fast":{"type":"boolean","default":true},)"
    R"("size":{"type":"string","enum":["small","medium","large"],"default":"medium"},)"
    R"("colour":{"type":"string","oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}]},)"
    R"("days":{"type":"array","items":{"type":"string","enum":["mon","tue","wed"]},"minItems":1,"default":["mon"]},)"
    R"("extras":{"type":"array","items":{"anyOf":[{"const":"m","title":"Milk"},{"const":"s","title":"Sugar"}]},"maxItems":2}},)"
    R"("required":["name","count","colour"]})";

std::optional<std::string_view> argument(const wire::message& m, std::string_view key) {
    if (!m.arguments.present()) return std::nullopt;
    return wire::object_view(m.view(m.arguments)).find(key);
}

// The argument's exact text when it is of that kind, else the text given.
std::string argument_or(
    const wire::message& m, std::string_view key, wire::kind kind, std::string_view otherwise
) {
    auto given = argument(m, key);
    return std::string(given && wire::kind_of(*given) == kind ? *given : otherwise);
}

} // namespace

aio::task<answer> session::ask(const wire::message& m, call& c, outlet& out) {
    if (!host_answers_) co_return answer::of(text_result("this host cannot be asked", true));
    bool page = argument(m, "mode") == R"("url")";
    std::string id = R"("ask-)" + std::to_string(++questions_) + '"';
    std::string params =
        R"({"message":)" + argument_or(m, "message", wire::kind::string, R"("How shall it be?")");
    if (page)
        params +=
            R"(,"mode":"url","elicitationId":)" + id + R"(,"url":)" +
            argument_or(m, "url", wire::kind::string, R"("https://example.com/connect?id=demo")") +
            "}";
    else
        params += R"(,"requestedSchema":)" +
                  argument_or(m, "schema", wire::kind::object, every_field) + "}";
    std::string question = wire::make_request(id, "elicitation/create", params);
    asking_.emplace(id, &c);
    co_await out.note(std::move(question));
    auto until = aio::clock::now() + patience;
    while (!c.heard && !c.cancelled && aio::clock::now() < until)
        co_await c.flag.wait(until);
    asking_.erase(id);
    if (c.cancelled) co_return answer::nothing();
    if (!c.heard) co_return answer::of(text_result("nobody answered", true));
    co_return answer::of(text_result(*c.heard, c.heard_error));
}

} // namespace sluice::app::demo
