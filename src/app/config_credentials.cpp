// A server's credential and headers: nothing that could break a request or go up as nobody.
#include "app/config_checks.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace sluice::app {

namespace {

using upstream::auth_type;
using upstream::server_settings;

constexpr std::array set_by_gateway = std::to_array<std::string_view>({
    "accept",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
});
constexpr std::array never_forwarded = std::to_array<std::string_view>({
    "cookie",
    "proxy-authorization",
    "x-litellm-api-key",
    "x-sluice-api-key",
});
constexpr std::array schemes = std::to_array<std::string_view>({
    "apikey",
    "basic",
    "bearer",
    "digest",
    "negotiate",
    "token",
});

template <class Words>
bool holds(const Words& words, std::string_view text) {
    return std::find(words.begin(), words.end(), text) != words.end();
}

// RFC 9110 token.
bool is_header_name(std::string_view name) {
    constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
    auto fine = [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               marks.find(c) != std::string_view::npos;
    };
    return !name.empty() && std::all_of(name.begin(), name.end(), fine);
}

bool is_header_value(std::string_view value) {
    return std::all_of(value.begin(), value.end(), [](char c) {
        auto byte = static_cast<unsigned char>(c);
        return c == '\t' || (byte >= 0x20 && byte != 0x7f);
    });
}

std::string_view without_scheme(std::string_view value, std::string_view scheme) {
    value = base::trim(value);
    if (value.size() < scheme.size()) return value;
    if (!base::iequals(value.substr(0, scheme.size()), scheme)) return value;
    auto rest = value.substr(scheme.size());
    if (!rest.empty() && rest.front() != ' ' && rest.front() != '\t') return value;
    return base::trim(rest);
}

// user:password as base64, base64 of it as it is; empty when it is neither.
std::string basic_value(std::string_view value) {
    if (value.find(':') != std::string_view::npos) return base::base64(value);
    std::string url_form(value.substr(0, value.find('=')));
    std::replace(url_form.begin(), url_form.end(), '+', '-');
    std::replace(url_form.begin(), url_form.end(), '/', '_');
    auto decoded = base::from_base64url(url_form);
    if (!decoded || decoded->find(':') == std::string::npos) return {};
    return base::base64(*decoded);
}

std::string_view scheme_of(auth_type type) {
    switch (type) {
    case auth_type::bearer_token:
        return "bearer";
    case auth_type::basic:
        return "basic";
    case auth_type::token:
        return "token";
    case auth_type::none:
    case auth_type::api_key:
    case auth_type::authorization:
        return "";
    }
    return "";
}

// The value as it goes up after its scheme; empty, with the reason, when it cannot.
std::string settled_value(auth_type type, std::string_view value, std::string& why) {
    if (!is_header_value(value)) why = "holds a line break or another control character";
    auto bare = without_scheme(value, scheme_of(type));
    if (base::trim(value).empty())
        why = "is empty";
    else if (bare.empty() || holds(schemes, base::lower(bare)))
        why = "holds only a scheme, no credential";
    if (!why.empty()) return {};
    if (type == auth_type::basic) {
        auto out = basic_value(bare);
        if (out.empty()) why = "is neither user:password nor its base64";
        return out;
    }
    bool one_word = type == auth_type::bearer_token || type == auth_type::token;
    if (one_word && bare.find_first_of(" \t") != std::string_view::npos) why = "holds a space";
    return std::string(bare);
}

} // namespace

void check_credential(const section& at, server_settings& server, problem_list& problems) {
    auto& auth = server.auth;
    bool older = at.has("authentication_token");
    std::string_view key = older ? "authentication_token" : "auth_value";
    if (older && at.has("auth_value")) {
        at.complain(problems, key, "auth_value is given too; keep one of the two");
    }
    if (!at.has(key)) {
        if (auth.type != auth_type::none) at.complain(problems, "auth_type", "needs auth_value");
        return;
    }
    if (auth.type == auth_type::none) {
        // A misspelt auth_type has been reported already.
        if (!at.has("auth_type"))
            at.complain(problems, key, "needs auth_type to say how it is sent");
        else if (at.find("auth_type")->text == "none")
            at.complain(problems, key, "is never sent: auth_type is none");
        return;
    }
    std::string why;
    auto value = settled_value(auth.type, auth.value.reveal(), why);
    if (!why.empty()) at.complain(problems, key, std::move(why));
    auth.value = base::secret(std::move(value));
}

void check_headers(const section& at, server_settings& server, problem_list& problems) {
    std::set<std::string> seen;
    bool authorized = server.auth.type != auth_type::none && server.auth.type != auth_type::api_key;
    for (const auto& [name, value] : server.static_headers) {
        auto key = dotted("static_headers", name);
        auto low = base::lower(name);
        auto say = [&](const char* text) { at.complain(problems, key, text); };
        if (!is_header_name(name)) say("is not the name of a header");
        if (holds(set_by_gateway, low)) say("is set by the gateway itself");
        if (!seen.insert(low).second) say("given twice; names compare without case");
        if (low == "authorization" && authorized) say("auth_type sends Authorization already");
        if (low == "x-api-key" && server.auth.type == auth_type::api_key) {
            say("auth_type sends X-API-Key already");
        }
        if (!is_header_value(value.reveal()))
            say("holds a line break or another control character");
    }
    for (std::size_t i = 0; i < server.extra_headers.size(); ++i) {
        auto& name = server.extra_headers[i];
        name = base::lower(name);
        auto say = [&](const char* text) { at.complain_item(problems, "extra_headers", i, text); };
        if (!is_header_name(name)) say("is not the name of a header");
        if (holds(set_by_gateway, name)) say("is set by the gateway itself");
        if (holds(never_forwarded, name)) say("is never forwarded");
        if (name == "authorization") say("not supported yet: forwarding the host's Authorization");
    }
}

} // namespace sluice::app
