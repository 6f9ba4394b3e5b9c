// What is known of the upstreams' lists: the native names of each, and whether the list was read to
// its end in one page. Bare names route from here, and only when every permitted list is complete.
// Keyed by server and list; upstream identity is one per server while credentials are static.
#pragma once

#include "aio/task.hpp"
#include "catalog/directory.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::catalog {

struct known_list {
    std::vector<std::string> natives;
    bool complete = false;
    aio::instant read_at;
};

class index {
public:
    explicit index(aio::duration fresh_for = std::chrono::seconds(30)) : fresh_for_(fresh_for) {}

    void learn(std::size_t server, std::string_view list_key, known_list list);
    void forget(std::size_t server);
    // Null when never read or too old.
    const known_list* find(std::size_t server, std::string_view list_key) const;

    // Whether that name stood in the list when it was last read, however long ago.
    bool ever_had(std::size_t server, std::string_view list_key, std::string_view native) const;

private:
    aio::duration fresh_for_;
    std::map<std::pair<std::size_t, std::string>, known_list> lists_;
};

} // namespace sluice::catalog
