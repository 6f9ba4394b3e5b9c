#include "app/generation.hpp"

#include <algorithm>

namespace sluice::app {

namespace {

bool listens_on_loopback(std::string_view address) {
    return address.starts_with("127.") || address.starts_with("localhost") ||
           address.starts_with("[::1]");
}

} // namespace

generation::generation(
    const gateway::grounds& on,
    settings read,
    std::vector<gateway::shared_served> servers,
    const sys::sealer& seals,
    state::store& store,
    front::doorman& door
)
    : from(std::move(read)), names(from.catalog, from.upstream.servers), keys(from.policy),
      authoriser(from.policy, from.upstream.servers),
      pages(seals, store, {from.gateway.cursor_lifetime, from.catalog.max_pages}),
      in{on, names, authoriser, pages, from.registry_digest, std::move(servers)}, walk(in),
      entrance(walk, keys, door, from.front, listens_on_loopback(from.front.listen)) {}

std::shared_ptr<generation> generation::make(
    const gateway::grounds& on,
    settings from,
    std::vector<gateway::shared_served> servers,
    const sys::sealer& seals,
    state::store& store,
    front::doorman& door
) {
    std::shared_ptr<generation> made(
        new generation(on, std::move(from), std::move(servers), seals, store, door)
    );
    made->in.occupy = [weak = made->weak_from_this()]() -> std::shared_ptr<const void> {
        auto alive = weak.lock();
        return alive ? alive->occupy() : nullptr;
    };
    made->in.whole = made;
    return made;
}

std::shared_ptr<const void> generation::occupy() {
    auto held = lease_.lock();
    if (held) return held;
    held = std::make_shared<lease>(lease{shared_from_this()});
    lease_ = held;
    return held;
}

bool generation::has(const gateway::shared_served& server) const {
    return std::find(in.servers.begin(), in.servers.end(), server) != in.servers.end();
}

} // namespace sluice::app
