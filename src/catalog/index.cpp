#include "catalog/index.hpp"

#include <algorithm>

namespace sluice::catalog {

void index::learn(const viewpoint& from, std::string_view list_key, known_list list) {
    list.read_at = aio::clock::now();
    lists_.put({from, std::string(list_key)}, std::move(list));
}

void index::forget(std::size_t server) {
    lists_.erase_if([&](const auto& key) { return key.first.server == server; });
    schemas_.forget(server);
    if (hearer_) hearer_(server);
}

void index::tell(const void* who, hearer of_forgetting) {
    who_ = who;
    hearer_ = std::move(of_forgetting);
}

void index::tell_no_more(const void* who) {
    if (who_ != who) return;
    who_ = nullptr;
    hearer_ = nullptr;
}

const known_list* index::find(const viewpoint& from, std::string_view list_key) {
    const auto* known = lists_.find({from, std::string(list_key)});
    if (known == nullptr || known->read_at + fresh_for_ < aio::clock::now()) return nullptr;
    return known;
}

bool index::ever_had(const viewpoint& from, std::string_view list_key, std::string_view native) {
    const auto* known = lists_.find({from, std::string(list_key)});
    if (known == nullptr) return false;
    return std::find(known->natives.begin(), known->natives.end(), native) != known->natives.end();
}

} // namespace sluice::catalog
