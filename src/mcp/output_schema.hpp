// A tool's outputSchema, read once, and results held against it. JSON Schema 2020-12 (what MCP
// takes where `$schema` is absent) and draft-07, as far as they are listed in docs/decisions/015;
// a schema that goes beyond is refused as a whole, never checked in part. Work is bounded.
// Spec: Tools, structured content and output schema.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::mcp {

// The first thing that is wrong, without a value: the keyword, and a JSON pointer in which a member
// that the schema does not name is a *.
struct breach {
    std::string keyword;
    std::string path;
};

struct schema_plan; // its nodes

class output_schema {
public:
    // `text` is validated JSON. errc::unsupported with what is not known, errc::too_large.
    static base::result<output_schema> read(std::string_view text);

    // `value` is validated JSON. Nothing = it conforms; errc::too_large when the work has no end in
    // sight.
    base::result<std::optional<breach>> check(std::string_view value) const;

private:
    explicit output_schema(std::shared_ptr<const schema_plan> plan) : plan_(std::move(plan)) {}

    std::shared_ptr<const schema_plan> plan_;
};

} // namespace sluice::mcp
