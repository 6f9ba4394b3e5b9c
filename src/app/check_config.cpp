#include "app/check_config.hpp"

#include "app/config.hpp"

#include <cstdio>

namespace sluice::app {

int check_config(const std::string& file) {
    auto loaded = load_config(file);
    if (!loaded.ok()) {
        std::fputs(render(loaded.problems).c_str(), stderr);
        return 2;
    }
    auto servers = loaded.values.upstream.servers.size();
    auto keys = loaded.values.policy.keys.size();
    std::printf(
        "%s: good; %zu %s, %zu %s, listens on %s\n",
        file.c_str(),
        servers,
        servers == 1 ? "server" : "servers",
        keys,
        keys == 1 ? "key" : "keys",
        loaded.values.front.listen.c_str()
    );
    return 0;
}

} // namespace sluice::app
