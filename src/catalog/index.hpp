// What is known of the upstreams' lists: the native names of each, and whether the list was read to
// its end in one page. Bare names route from here, and only when every permitted list is complete.
// Keyed by viewpoint and list: a server may list other things to other credentials.
#pragma once

#include "aio/task.hpp"
#include "base/recent_map.hpp"
#include "catalog/schemas.hpp"
#include "catalog/viewpoint.hpp"

#include <chrono>
#include <functional>
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

    void learn(const viewpoint& from, std::string_view list_key, known_list list);
    // Every list of that server, whoever read it.
    void forget(std::size_t server);
    // Hears of every forget; one at a time, the newest configuration's. `who` names it.
    using hearer = std::function<void(std::size_t server)>;
    void tell(const void* who, hearer of_forgetting);
    void tell_no_more(const void* who);

    class schemas& schemas() { return schemas_; }

    // Null when never read, too old, or pushed out by others. Good until the next learn or forget.
    const known_list* find(const viewpoint& from, std::string_view list_key);

    // Whether that name stood in the list when it was last read, however long ago.
    bool ever_had(const viewpoint& from, std::string_view list_key, std::string_view native);

private:
    aio::duration fresh_for_;
    base::recent_map<std::pair<viewpoint, std::string>, known_list> lists_{most_remembered};
    class schemas schemas_;
    const void* who_ = nullptr;
    hearer hearer_;
};

} // namespace sluice::catalog
