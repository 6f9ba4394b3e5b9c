#include "catalog/index.hpp"

#include <algorithm>

namespace sluice::catalog {

void index::learn(std::size_t server, std::string_view list_key, known_list list) {
    list.read_at = aio::clock::now();
    lists_[{server, std::string(list_key)}] = std::move(list);
}

void index::forget(std::size_t server) {
    std::erase_if(lists_, [&](const auto& entry) { return entry.first.first == server; });
}

const known_list* index::find(std::size_t server, std::string_view list_key) const {
    auto it = lists_.find({server, std::string(list_key)});
    if (it == lists_.end() || it->second.read_at + fresh_for_ < aio::clock::now()) return nullptr;
    return &it->second;
}

bool index::ever_had(std::size_t server, std::string_view list_key, std::string_view native) const {
    auto it = lists_.find({server, std::string(list_key)});
    if (it == lists_.end()) return false;
    const auto& names = it->second.natives;
    return std::find(names.begin(), names.end(), native) != names.end();
}

} // namespace sluice::catalog
