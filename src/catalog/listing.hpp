// Lists as bytes: the items of one upstream page with permissions and names applied to their spans,
// and the one result made of many pages. Everything not renamed stays the upstream's exact text.
#pragma once

#include "base/outcome.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::catalog {

// What becomes of one item; absent = unchanged.
struct verdict {
    bool keep = true;
    std::optional<std::string> name;        // plain text
    std::optional<std::string> description; // plain text
};
// Called with the item's `name` (or, for resources, its `uri` or `uriTemplate`).
using item_rule = std::function<verdict(const std::string& native)>;

struct page {
    std::vector<std::string> items;   // exact JSON text
    std::vector<std::string> natives; // the key of every item of the upstream, dropped ones too
    bool changed = false;             // something was dropped or rewritten
    std::optional<std::string> next_cursor; // exact JSON text, a string literal
    std::optional<std::string> revision;    // _meta.revision, exact JSON text, string or integer
};

// `result_text` is a validated JSON object. errc::protocol when it holds no such list, or an item
// that is no object, lacks its key, or has it twice.
base::result<page>
read_page(std::string_view result_text, std::string_view list_key, const item_rule& rule);

// Notes the cursor at which a list goes on among the digests of those it gave before. errc::protocol
// when it gave that one already: such a list would never end.
base::result<void> go_on_at(std::vector<std::uint64_t>& seen, std::string_view cursor);
base::fault too_long(std::uint32_t max_pages);

// The upstream's own result with its list and its cursor replaced; all other members untouched.
// `next_cursor` must be given exactly when the page has one.
std::string with_items(
    std::string_view result_text,
    std::string_view list_key,
    const page& p,
    const std::optional<std::string>& next_cursor
);

struct server_outcome {
    std::string server;
    base::outcome how = base::outcome::ok;
    std::size_t count = 0;
    int http_status = 0;
};

// {"sluice/server_outcomes":{"a":{"outcome":"ok","count":3},…}}: a closed set of words.
std::string outcomes_meta(const std::vector<server_outcome>& outcomes);

// {"<list_key>":[…],"nextCursor":…,"_meta":{…}}
std::string merged_result(
    std::string_view list_key,
    const std::vector<std::string>& items,
    const std::optional<std::string>& next_cursor,
    const std::vector<server_outcome>& outcomes
);

} // namespace sluice::catalog
