#include "app/config_environment.hpp"

#include <algorithm>

namespace sluice::app {

namespace {

constexpr std::string_view litellm_form = "os.environ/";

bool is_variable_name(std::string_view name) {
    auto letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    auto letter_or_digit = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
    return !name.empty() && letter(name.front()) &&
           std::all_of(name.begin(), name.end(), letter_or_digit);
}

void put_variable(std::string_view name, const environment& env, substituted& out) {
    out.from_environment = true;
    if (!is_variable_name(name)) {
        out.complaints.push_back(
            "\"" + std::string(name) +
            "\" is not the name of an environment variable (write $${ for a plain ${)"
        );
        return;
    }
    if (auto value = env(name)) {
        out.text += *value;
        return;
    }
    out.complaints.push_back("environment variable " + std::string(name) + " is not set");
}

} // namespace

substituted substitute(std::string_view written, const environment& env) {
    substituted out;
    if (written.starts_with(litellm_form)) {
        put_variable(written.substr(litellm_form.size()), env, out);
        return out;
    }
    while (!written.empty()) {
        auto at = written.find("${");
        if (at == std::string_view::npos) break;
        if (at > 0 && written[at - 1] == '$') {
            out.text.append(written.substr(0, at - 1)).append("${");
            written.remove_prefix(at + 2);
            continue;
        }
        out.text.append(written.substr(0, at));
        auto end = written.find('}', at);
        if (end == std::string_view::npos) {
            out.complaints.emplace_back("\"${\" without \"}\" (write $${ for a plain ${)");
            return out;
        }
        put_variable(written.substr(at + 2, end - at - 2), env, out);
        written.remove_prefix(end + 1);
    }
    out.text.append(written);
    return out;
}

} // namespace sluice::app
