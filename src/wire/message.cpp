// What is asked of a parsed message, and the writers.
#include "wire/message.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace sluice::wire {

std::optional<std::string> message::string_at(span s) const {
    if (!s.present() || kind_of(view(s)) != wire::kind::string) return std::nullopt;
    return unescape(view(s));
}

bool message::method_is(std::string_view plain) const {
    return method.present() && member{view(method), {}}.key_is(plain);
}

std::optional<token> message::token_at(span s) const {
    if (!s.present()) return std::nullopt;
    auto parsed = token::parse(view(s));
    if (!parsed) return std::nullopt;
    return *std::move(parsed);
}

void flatten(std::string& json_text) {
    // Bodies are long and breaks rare: one memchr pass for each beats a test of every byte.
    for (char breaker : {'\n', '\r'}) {
        for (auto at = json_text.find(breaker); at != std::string::npos;
             at = json_text.find(breaker, at + 1))
            json_text[at] = ' ';
    }
}

namespace {

std::string join_flat(std::initializer_list<std::string_view> parts) {
    std::size_t size = 0;
    for (std::string_view part : parts)
        size += part.size();
    std::string out;
    out.reserve(size);
    for (std::string_view part : parts)
        out.append(part);
    flatten(out);
    return out;
}

std::string call(std::string_view id_text, std::string_view method, std::string_view params_text) {
    const std::string quoted = quote(method);
    return join_flat(
        {R"({"jsonrpc":"2.0")",
         id_text.empty() ? "" : R"(,"id":)",
         id_text,
         R"(,"method":)",
         quoted,
         params_text.empty() ? "" : R"(,"params":)",
         params_text,
         "}"}
    );
}

} // namespace

std::string make_result(std::string_view id_text, std::string_view result_text) {
    return join_flat({R"({"jsonrpc":"2.0","id":)", id_text, R"(,"result":)", result_text, "}"});
}

std::string make_error(
    std::string_view id_text, int code, std::string_view message, std::string_view data_text
) {
    const std::string number = std::to_string(code);
    const std::string quoted = quote(message);
    return join_flat(
        {R"({"jsonrpc":"2.0","id":)",
         id_text,
         R"(,"error":{"code":)",
         number,
         R"(,"message":)",
         quoted,
         data_text.empty() ? "" : R"(,"data":)",
         data_text,
         "}}"}
    );
}

std::string
make_request(std::string_view id_text, std::string_view method, std::string_view params_text) {
    return call(id_text, method, params_text);
}

std::string make_notification(std::string_view method, std::string_view params_text) {
    return call({}, method, params_text);
}

std::string rewrite(const message& source, std::vector<edit> edits) {
    std::erase_if(edits, [](const edit& e) { return !e.where.present(); });
    const auto by_place = [](const edit& a, const edit& b) {
        return std::pair(a.where.begin, a.where.end) < std::pair(b.where.begin, b.where.end);
    };
    // Few and mostly sorted: insert each, so that two insertions at one place keep their order.
    for (auto e = edits.begin(); e != edits.end(); ++e)
        std::rotate(std::upper_bound(edits.begin(), e, *e, by_place), e, e + 1);
    std::string out = splice(source.bytes, edits);
    flatten(out);
    return out;
}

} // namespace sluice::wire
