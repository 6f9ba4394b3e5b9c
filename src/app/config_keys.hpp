// The one table of configuration keys: name, where the value goes, what it means. The reader fills
// settings by it, "did you mean" looks into it, docs/configuration.md is compared with it.
#pragma once

#include "app/settings.hpp"
#include "base/secret.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::app {

using names = std::vector<std::string>;

// Where a value goes; the alternative tells how it is written.
struct duration_slot {
    std::chrono::milliseconds* to;
    std::chrono::milliseconds least{1};
};
struct size_slot {
    std::size_t* to;
    std::size_t least = 1;
};
struct count_slot {
    std::size_t* to;
    std::size_t least = 1;
    std::size_t most = 1'000'000'000;
};
struct small_count_slot {
    std::uint32_t* to;
    std::uint32_t least = 1;
    std::uint32_t most = 1'000'000'000;
};
struct choice_slot {
    std::uint8_t* to; // an enum whose values are the positions in `words`
    std::span<const std::string_view> words;
    std::span<const std::string_view> later = {}; // words of features to come
};
template <class Enum>
choice_slot choose(
    Enum& to, std::span<const std::string_view> words, std::span<const std::string_view> later = {}
) {
    static_assert(std::is_same_v<std::underlying_type_t<Enum>, std::uint8_t>);
    return {reinterpret_cast<std::uint8_t*>(&to), words, later};
}
struct flag_slot { // true and false as two words
    bool* to;
    std::string_view no;
    std::string_view yes;
};
struct text_slot {
    std::string* to;
    std::string_view type = "text";
};
struct list_slot {
    names* to;
    std::string_view type = "list";
};
// Left out and written out empty mean different things.
struct optional_list_slot {
    std::optional<names>* to;
};
struct secret_slot {
    base::secret* to;
};
struct secret_list_slot {
    std::vector<base::secret>* to;
};
struct text_map_slot {
    std::map<std::string, std::string>* to;
    std::string_view type;
};
struct list_map_slot {
    std::map<std::string, names>* to;
    std::string_view type;
};
struct secret_map_slot {
    std::map<std::string, base::secret>* to;
};
struct headers_slot {
    std::vector<std::pair<std::string, base::secret>>* to;
};
// Read elsewhere: its own table, or a rule of its own.
struct block_slot {
    std::string_view type;
};
using slot = std::variant<
    bool*,
    duration_slot,
    size_slot,
    count_slot,
    small_count_slot,
    choice_slot,
    flag_slot,
    text_slot,
    list_slot,
    optional_list_slot,
    secret_slot,
    secret_list_slot,
    text_map_slot,
    list_map_slot,
    secret_map_slot,
    headers_slot,
    block_slot>;

template <class Root>
struct key_row {
    std::string_view name; // below the root, dotted: "limits.body"
    slot (*where)(Root&);
    std::string_view meaning;
    std::string_view shown_default = {}; // where the value itself does not say it
};

template <class Root>
struct key_table {
    std::span<const key_row<Root>> rows;
    // Keys of features to come: "not supported yet". A trailing '*' matches a beginning.
    std::span<const std::string_view> later;
};

enum class auth_mode : std::uint8_t { keys, none };

// What the file's own keys are read into; what servers inherit is put apart.
struct draft {
    settings out;
    upstream::server_settings server_defaults;
    auth_mode auth = auth_mode::keys;
    base::secret store_url; // as written: "memory", or a URL with its password
    names sentinels;
};

const key_table<draft>& file_keys();
std::span<const key_row<draft>> limit_rows();              // the last of them
const key_table<upstream::server_settings>& server_keys(); // of one entry of mcp_servers
const key_table<policy::key_settings>& key_keys();         // of one entry of keys

bool is_later(std::span<const std::string_view> later, std::string_view key);

// As docs/configuration.md shows them: "duration", "size", "one of …"; and the default, empty when
// none.
std::string type_of(const slot& s);
std::string default_of(const slot& s);

} // namespace sluice::app
