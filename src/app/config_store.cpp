// The key `store`: where the facts live that all replicas share.
#include "app/config_checks.hpp"
#include "net/http.hpp"

#include <algorithm>

namespace sluice::app {

namespace {

constexpr std::uint16_t redis_port = 6379;
constexpr std::uint16_t sentinel_port = 26379;

// "host", "host:port", "[v6]:port".
std::optional<state::redis_address> read_address(std::string_view text, std::uint16_t port) {
    auto parsed = net::parse_url("http://" + std::string(text));
    if (!parsed || parsed->target != "/" || text.ends_with('/')) return std::nullopt;
    auto rest = text.substr(text.find(']') == std::string_view::npos ? 0 : text.find(']'));
    bool has_port = rest.find(':') != std::string_view::npos;
    return state::redis_address{parsed->host, has_port ? parsed->port : port};
}

// "user:password" or ":password" or "user"; false when malformed.
bool read_user(std::string_view text, state::redis_settings& out) {
    auto colon = text.find(':');
    auto user = net::percent_decode(text.substr(0, colon));
    if (!user) return false;
    out.user = *user;
    if (colon == std::string_view::npos) return out.user.empty();
    auto password = net::percent_decode(text.substr(colon + 1));
    if (!password) return false;
    out.password = base::secret(std::move(*password));
    return true;
}

// Empty when it was read, else what is wrong; never a part of the URL, it may hold a password.
std::string read_url(std::string_view text, state::redis_settings& out) {
    constexpr std::string_view plain = "redis://";
    constexpr std::string_view sealed = "rediss://";
    out.tls = text.starts_with(sealed);
    if (!out.tls && !text.starts_with(plain)) return "must be memory, redis://… or rediss://…";
    text.remove_prefix(out.tls ? sealed.size() : plain.size());
    if (text.find_first_of("?#") != std::string_view::npos) return "must not have a query";
    auto slash = text.find('/', text.rfind('@') == std::string_view::npos ? 0 : text.rfind('@'));
    auto authority = text.substr(0, slash);
    auto number = slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
    auto sign = authority.rfind('@');
    if (sign != std::string_view::npos) {
        if (!read_user(authority.substr(0, sign), out))
            return "its part before @ must be user:password, with %XX for what is special";
        authority.remove_prefix(sign + 1);
    }
    if (!number.empty()) {
        auto database = base::parse_unsigned(number);
        if (!database || *database > 1'000'000) return "its path must be the number of a database";
        out.database = static_cast<unsigned>(*database);
    }
    if (authority.empty() && !out.sentinels.empty()) return {};
    auto at = read_address(authority, redis_port);
    if (!at) return "its host must be host, host:port or [v6]:port";
    out.at = *at;
    return {};
}

void check_sentinels(const section& top, draft& file, problem_list& problems) {
    auto& redis = file.out.store.redis;
    for (std::size_t i = 0; i < file.sentinels.size(); ++i) {
        auto at = read_address(file.sentinels[i], sentinel_port);
        if (at) {
            redis.sentinels.push_back(*at);
        } else {
            top.complain_item(
                problems, "store.sentinels", i, "must be host, host:port or [v6]:port"
            );
        }
    }
    if (!redis.sentinels.empty() && redis.master.empty())
        top.complain(problems, "store.sentinels", "needs store.master, the name they know it by");
    if (file.sentinels.empty() && !redis.master.empty())
        top.complain(problems, "store.master", "needs store.sentinels");
}

} // namespace

void check_store(const section& top, draft& file, problem_list& problems) {
    auto& store = file.out.store;
    auto& redis = store.redis;
    check_sentinels(top, file, problems);
    auto url = file.store_url.reveal();
    const auto* node = top.find("store");
    bool block = node != nullptr && node->is_map();
    const char* key = block ? "store.url" : "store";
    if (block && url.empty()) return top.complain(problems, key, "is missing");
    store.shared = !url.empty() && url != "memory";
    if (!store.shared) return;
    if (file.out.front.peer_listen.empty())
        top.complain(
            problems, key, "is shared by replicas, which need peer_listen to reach each other"
        );
    auto wrong = read_url(url, redis);
    if (!wrong.empty()) return top.complain(problems, key, std::move(wrong));
    for (const char* file_key : {"store.ca_file", "store.cert_file", "store.key_file"}) {
        if (top.has(file_key) && !redis.tls)
            top.complain(problems, file_key, "needs a URL that begins with rediss://");
    }
    if (top.has("store.key_file") && !top.has("store.cert_file"))
        top.complain(problems, "store.key_file", "needs store.cert_file");
    auto odd = [](char c) { return c == '{' || c == '}' || static_cast<unsigned char>(c) <= ' '; };
    if (std::ranges::any_of(redis.key_prefix, odd))
        top.complain(problems, "store.key_prefix", "must not have spaces or braces");
    if (redis.cluster && redis.database != 0)
        top.complain(problems, key, "a cluster has only database 0");
    if (redis.cluster && !redis.sentinels.empty())
        top.complain(problems, "store.cluster", "a cluster has no sentinels");
}

} // namespace sluice::app
