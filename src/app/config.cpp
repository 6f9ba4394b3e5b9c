#include "app/config.hpp"

#include "app/config_checks.hpp"
#include "app/config_read.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace sluice::app {

namespace {

settings read_all(const yaml_node& root, const environment& env, problem_list& problems) {
    draft file;
    section top{&root, root.where, ""};
    read_map(root, "", "", file, file_keys(), problems);
    if (!root.is_map()) return {};
    check_front(top, file, problems);
    auto sections = read_servers(top, file, problems);
    check_names(sections, file.out.upstream.servers, file.out.catalog.separator, problems);
    read_keys(top, file, problems);
    check_admission(top, file, problems);
    check_store(top, file, problems);
    settle_salts(top, file, env, problems);
    file.out.registry_digest = digest_of(file.out);
    return std::move(file.out);
}

std::optional<std::string> from_process(std::string_view name) {
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
}

constexpr std::size_t largest_file = 4 * 1024 * 1024;

loaded_config unreadable(const std::string& file, std::string why) {
    loaded_config out;
    out.problems.push_back({file, {}, {}, std::move(why), {}});
    return out;
}

} // namespace

loaded_config
parse_config(const std::string& text, const std::string& file, const environment& env) {
    loaded_config out;
    problem_list problems;
    auto root = parse_document(text, env, problems);
    if (root) out.values = read_all(*root, env, problems);
    out.problems = std::move(problems).take(file);
    return out;
}

loaded_config load_config(const std::string& file) {
    errno = 0;
    std::ifstream in(file, std::ios::binary);
    std::string text;
    std::array<char, 64 * 1024> piece{};
    while (in && text.size() <= largest_file) {
        in.read(piece.data(), piece.size());
        text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
    }
    if (in.bad() || !(in || in.eof()) || (errno != 0 && text.empty()))
        return unreadable(file, "cannot be read: " + std::string(std::strerror(errno)));
    // A device without an end must not fill the memory.
    if (text.size() > largest_file)
        return unreadable(file, "is larger than 4 MiB, the most a configuration file may have");
    return parse_config(text, file, from_process);
}

} // namespace sluice::app
