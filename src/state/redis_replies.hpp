// Replies of the scripts made the contract's values. Internal to state.
#pragma once

#include "state/redis_link.hpp"
#include "state/store.hpp"

#include <algorithm>

namespace sluice::state {

// Redis refuses a life of nothing.
inline std::string life(milliseconds ttl) {
    return std::to_string(std::max<milliseconds::rep>(ttl.count(), 1));
}

inline base::result<bool> as_yes(const base::result<wire::resp_reply>& got) {
    if (!got) return got.error();
    return got->number > 0;
}

inline base::result<std::optional<std::string>> as_text(base::result<wire::resp_reply> got) {
    if (!got) return got.error();
    if (got->is_nil()) return std::optional<std::string>();
    return std::optional(std::move(got->text));
}

// "name", "value", …, in the order of the names, as every engine gives them.
inline fields as_fields(wire::resp_reply flat) {
    fields all;
    for (std::size_t i = 0; i + 1 < flat.items.size(); i += 2)
        all.emplace_back(std::move(flat.items[i].text), std::move(flat.items[i + 1].text));
    std::sort(all.begin(), all.end());
    return all;
}

inline void add_fields(redis_words& words, fields values) {
    for (auto& [name, value] : values) {
        words.push_back(std::move(name));
        words.push_back(std::move(value));
    }
}

} // namespace sluice::state
