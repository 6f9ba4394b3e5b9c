// The output schemas of tools, from what their servers listed last, per viewpoint. Filled by every
// page of tools/list of a server whose results are checked; a schema is read when it is first
// needed. Bounded: what goes beyond is not known, and its tools' results are not checked.
#pragma once

#include "aio/task.hpp"
#include "base/recent_map.hpp"
#include "catalog/viewpoint.hpp"
#include "mcp/output_schema.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::catalog {

struct tool_output {
    std::string text; // of the schema; empty = the tool has none
    std::optional<base::result<mcp::output_schema>> schema;
    aio::instant read_at;
};

class schemas {
public:
    explicit schemas(aio::duration fresh_for = std::chrono::minutes(10)) : fresh_for_(fresh_for) {}

    // `result_text` is the result of one page of tools/list, as the server sent it.
    void learn(const viewpoint& from, std::string_view result_text);
    void forget(std::size_t server);
    // The list was read to its end: what is not known then is not worth asking for again.
    void learnt_all(const viewpoint& from);
    bool knows_all(const viewpoint& from);

    // Null when the tool was not listed, or too long ago. Good until the next learn or forget.
    tool_output* find(const viewpoint& from, const std::string& tool);

private:
    struct book {
        std::map<std::string, tool_output> tools;
        std::size_t bytes = 0;
        std::optional<aio::instant> whole_at;
    };

    void take(book& into, std::string name, std::string_view schema);

    aio::duration fresh_for_;
    base::recent_map<viewpoint, book> books_{256};
};

} // namespace sluice::catalog
